// `/api/cameras/{camera}/motion`: the motion at a camera, and POST, which reports motion from outside.
internal import FoundationEssentials
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore

struct MotionRoutes: Sendable {
  let registry: CameraRegistry
  let motion: MotionWatch
  let watch: CameraWatch

  private static let box = QueryKey<Bool>.flag(
    "box", "whether to return a thumbnail with a box around the motion")

  /// Numbers of events begin at 1 with each start of the service, but a link must never show another event.
  private static let since = QueryKey<Double>.number(
    "since", in: 0...1e12,
    "the beginning of the event, in seconds since 1970: 404 if it began at another time")

  func add(to group: ServiceRoutes) {
    group.get(
      "api/cameras/:camera/motion",
      as: [
        .init(
          "getMotion", "Returns the state of motion detection of a camera",
          answers: [
            .json(
              WatchedMotion.detailSchema, "the current or last event, and the settings of motion detection")
          ])
      ]
    ) { _, context in
      let camera = try camera(context)
      return Response(json: answer(camera, try known(camera)))
    }
    group.patch(
      "api/cameras/:camera/motion",
      as: [
        .init(
          "changeMotion",
          "Changes the settings of motion detection, until the camera's configuration changes or the service is restarted",
          body: .json(MotionChange.schema),
          answers: [.json(WatchedMotion.detailSchema, "the changed settings")])
      ]
    ) { request, context in try await change(request, context) }
    group.get(
      "api/cameras/:camera/motion/:file", RouteRule(takesLink: true, linkNeedsEvent: true),
      as: [
        .init(
          "getMotionPicture", "Returns the best picture of an event, by its number",
          at: "api/cameras/:camera/motion/{event}.jpg",
          query: .of(Self.box, Self.since), answers: [.bytes("image/jpeg", purpose: "the picture")])
      ]
    ) { request, context in try await picture(request, context) }
    group.get(
      "api/cameras/:camera/timeline",
      as: [
        .init(
          "getTimeline", "Returns the latest events of a camera, the oldest first",
          answers: [.json(Self.timeline, "motion, and when the camera was lost and recovered")])
      ]
    ) { _, context in timeline(try camera(context)) }
    group.get(
      "api/cameras/:camera/motion/cells",
      as: [
        .init(
          "getMotionCells",
          "Returns the motion cells of the last minute, for a report of a missed or false event",
          answers: [
            .bytes("application/octet-stream", purpose: "a file of motion cells, which can be replayed")
          ])
      ]
    ) { _, context in try cells(context) }
    group.post(
      "api/cameras/:camera/motion",
      as: [
        .init(
          "triggerMotion", "Reports motion", body: .json(MotionTrigger.schema, isRequired: false),
          answers: [.json(WatchedMotion.schema, "the state of motion detection")])
      ]
    ) { request, context in
      let camera = try camera(context)
      let body = try await request.body.collect(upTo: context.maxUploadSize)
      let trigger = try MotionTrigger(json: Array(body.readableBytesView))
      return Response(
        json: json(camera, motion.trigger(trigger.label, for: trigger.duration, before: camera)))
    }
    group.delete(
      "api/cameras/:camera/motion",
      as: [
        .init(
          "endMotion", "Reports the end of the motion",
          answers: [.json(WatchedMotion.schema, "the state of motion detection")])
      ]
    ) { _, context in
      let camera = try camera(context)
      return Response(json: json(camera, motion.release(camera)))
    }
  }

  private static let timeline = JSONSchema.object([
    .init("motion", .list(of: .motionEvent)),
    .init(
      "states",
      .list(of: .object([.init("state", .text), .init("since", .time), .optional("reason", .text)]))),
  ])

  private func json(_ camera: ServedCamera, _ known: WatchedMotion) -> [String: JSONValue] {
    known.json(showsAll: camera.showsAll) { motion.pictures.hasPicture(of: $0, camera) }
  }

  private func answer(_ camera: ServedCamera, _ known: WatchedMotion) -> [String: JSONValue] {
    guard camera.showsAll else { return json(camera, known) }
    var members = known.details { motion.pictures.hasPicture(of: $0, camera) }
    members["views_as_configured"] = .array(camera.viewsAsConfigured.map(JSONValue.string))
    return members
  }

  // MARK: Tuning

  private func change(_ request: Request, _ context: ServiceContext) async throws -> Response {
    let camera = try camera(context)
    let body = try await request.body.collect(upTo: context.maxUploadSize)
    let change = try MotionChange(json: Array(body.readableBytesView))
    let before = try known(camera)
    guard let settings = before.settings, let configured = before.configured else { throw notWatched(camera) }
    guard camera.showsAll else {
      throw Problem(
        .forbidden,
        "the views of '\(camera.configuration.name)' are locked: only the configuration can change this")
    }
    var new = try change.applied(to: settings, configured)
    if new.zones != settings.zones {
      // A configured zone that shows nothing has a warning in the log, and must not prevent other changes.
      new.zones.removeAll { configured.zones.contains($0) }
      try check(new, of: camera)
    }
    let changed = try motion.change(camera) { (known) throws(Problem) in
      guard let settings = known.settings, let configured = known.configured else { throw notWatched(camera) }
      return try change.applied(to: settings, configured)
    }
    return Response(json: answer(camera, changed))
  }

  /// Checks zones that are drawn in views, as far as that is possible before the camera's size is known. This
  /// takes time, so that no lock may be held.
  private func check(_ settings: MotionSettings, of camera: ServedCamera) throws(Problem) {
    let size = registry.session[camera.source]?.size ?? camera.configuration.options.referenceSize
    do throws(ParameterError) {
      try settings.checkZones(in: camera.configuration.zoneViews, of: size)
    } catch {
      throw Problem.badParameter("zones", error.reason)
    }
  }

  // MARK: Events

  private func picture(_ request: Request, _ context: ServiceContext) async throws -> Response {
    let camera = try camera(context)
    var query = try QueryParameters(request)
    let isFramed = try query.take(Self.box) ?? false
    let since = try query.take(Self.since)
    try query.finish(known: .of(Self.box, Self.since))
    let file = try context.parameters.require("file")
    guard file.hasSuffix(".jpg"), let event = Int(file.dropLast(4)), event > 0,
      let stored = await stored(event, camera, since: since)
    else { throw Problem.notFound("no motion picture '\(file)'; it may have been removed") }
    let jpeg = isFramed ? stored.framed : stored.whole
    return Response(
      status: .ok, headers: [.contentType: "image/jpeg", .cacheControl: "private, no-cache"],
      body: ResponseBody(byteBuffer: ByteBuffer(bytes: jpeg.bytes)))
  }

  /// The picture of an event, which began within a second of `time`.
  private func stored(
    _ number: Int, _ camera: ServedCamera, since time: Double?
  ) async -> MotionPictures.EventPicture? {
    guard let time else { return await motion.pictures.picture(of: number, camera) }
    let known = motion[camera]?.history.last {
      $0.number == number && abs(WallTime(capturedAt: $0.start).secondsSinceEpoch - time) < 1
    }
    guard let known else { return nil }
    return await motion.pictures.picture(of: number, camera, since: known.start)
  }

  /// The latest events of a camera, and the times when it was lost and available again, oldest first.
  private func timeline(_ camera: ServedCamera) -> Response {
    let name = camera.configuration.name
    let events = (motion[camera]?.history ?? []).map { event in
      let hasPicture = motion.pictures.hasPicture(of: event.number, camera)
      return JSONValue.object(event.json(of: hasPicture ? name : nil, showsAll: camera.showsAll))
    }
    let states = watch.changes(of: camera).map { change in
      var members: [String: JSONValue] = [
        "state": .string(change.state.rawValue), "since": .string("\(change.since)"),
      ]
      members["reason"] = change.reason.map(JSONValue.string)
      return JSONValue.object(members)
    }
    return Response(json: ["motion": .array(events), "states": .array(states)])
  }

  private func camera(_ context: ServiceContext) throws -> ServedCamera {
    let name = try context.parameters.require("camera")
    guard let camera = registry.served[camera: name] else {
      throw Problem.notFound("no camera '\(name)'")
    }
    return camera
  }

  private func known(_ camera: ServedCamera) throws(Problem) -> WatchedMotion {
    if let known = motion[camera] { return known }
    throw notWatched(camera)
  }

  private func notWatched(_ camera: ServedCamera) -> Problem {
    Problem(.conflict, "'\(camera.configuration.name)' has no motion detection: set its 'motion: true'")
  }

  /// The cells of the last minute, as a file that can be replayed.
  private func cells(_ context: ServiceContext) throws -> Response {
    let camera = try camera(context)
    guard camera.showsAll else {
      throw Problem(
        .forbidden,
        "the cells show all of '\(camera.configuration.name)', and its views are locked or switched off")
    }
    let bytes = MotionRecording(try known(camera).recent).bytes
    let name = "\(camera.configuration.name)-motion.cells"
    return Response(
      status: .ok,
      headers: [
        .contentType: "application/octet-stream", .cacheControl: "no-store",
        .contentDisposition: "attachment; filename=\"\(name)\"",
      ], body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
  }
}

extension ServedCamera {
  /// The names of the views whose pictures show motion zones where they were drawn: those that are as
  /// configured and do not move.
  fileprivate var viewsAsConfigured: [String] {
    let (drawn, now) = (configuration.zoneViews, CaptureClock.now)
    return views.filter { view in
      drawn[view.name] == view.served.view.withLens(configuration.options.lens)
        && view.preview.runningMove(at: now) == nil
    }.map(\.name)
  }
}

/// A POST's body: `{"duration": 10, "label": "person"}`, both optional.
struct MotionTrigger: Sendable, Hashable {
  /// At most an hour: the client that reports motion may be gone before it reports the end.
  var duration = Duration.seconds(10)
  var label: String?

  private static let seconds = 0.1...3600.0
  private static let longestLabel = 64

  static let schema = JSONSchema.object([
    .optional("duration", .number(in: seconds), "in seconds; 10 by default"),
    .optional("label", .keywords(["type": "string", "minLength": 1, "maxLength": .integer(longestLabel)])),
  ])

  private struct Body: Decodable {
    var duration: Double?
    var label: String?
  }

  /// - Throws: `Problem` 400.
  init(json: [UInt8]) throws(Problem) {
    guard !json.isEmpty else { return }
    guard let body = try? JSONDecoder().decode(Body.self, from: Data(json)) else {
      throw Problem(.badRequest, "the body must be a JSON object of 'duration', in seconds, and 'label'")
    }
    if let seconds = body.duration {
      guard Self.seconds.contains(seconds) else {
        throw .badParameter("duration", "\(seconds) is not from 0.1 to 3600 seconds")
      }
      duration = .seconds(seconds)
    }
    guard let label = body.label else { return }
    guard !label.isEmpty, label.utf8.count <= Self.longestLabel, !label.contains(where: \.isNewline) else {
      throw .badParameter("label", "a label must be one line of 1 to \(Self.longestLabel) bytes")
    }
    self.label = label
  }
}
