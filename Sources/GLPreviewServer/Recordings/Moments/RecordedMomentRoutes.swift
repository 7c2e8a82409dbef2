// `/recordings/{camera}.jpg` and `.png`: the recorded picture of a time. `.mp4` is a span.
internal import HTTPTypes
internal import Hummingbird
internal import PreviewCore

struct RecordedMomentRoutes: Sendable {
  let rights: RecordingRights
  /// Nil if nothing is recorded.
  let moments: RecordedMoments?
  let pictures: StillPictures
  let spans: RecordedSpanRoutes

  /// A request in one of its forms.
  private enum Time: Sendable {
    case latest
    case at(TimePoint)
  }

  /// The picture that is enough in place of the exact one.
  private enum Near: String, CaseIterable, Sendable {
    case keyframe
  }

  private static let times = QueryKey<Time>(
    "at", .text, usual: "latest",
    "the time: `latest`, a time before now such as `-90s`, seconds since 1970, or RFC 3339; the picture is the newest one then"
  ) { name, text throws(ParameterError) in
    text == "latest" ? .latest : .at(try TimePoint(parsing: text, key: name))
  }
  private static let views = QueryKey<String>.text(
    "view", "the recorded view; by default the one that the camera's `record` names")
  private static let nears = QueryKey<Near>.choice(
    "near", "`keyframe` gives the nearest keyframe instead, which takes less time")
  private static let query = [QueryEntry].of(times, views, nears) + StillQuery.query

  func add(to group: ServiceRoutes) {
    // Not named `camera`: a recording stays at its node even if its camera moves.
    group.get(
      "recordings/:folder", .unlinked,
      as: [
        .init(
          "getRecordedJPEG", "Returns the recorded picture of a time as JPEG",
          at: "recordings/{folder}.jpg", query: Self.query,
          answers: [
            .bytes(
              "image/jpeg", "text/plain", purpose: "the picture; `X-Timestamp` is its time of capture"),
            .notModified,
          ], problems: Self.problems),
        .init(
          "getRecordedPNG", "Returns the recorded picture of a time as PNG", at: "recordings/{folder}.png",
          query: Self.query,
          answers: [
            .bytes("image/png", "text/plain", purpose: "the picture"), .notModified,
          ], problems: Self.problems),
        RecordedSpanRoutes.entry,
      ]
    ) { request, context in try await picture(request, context) }
  }

  private static let problems: [HTTPResponse.Status] = [
    .notImplemented, .internalServerError, .badGateway, .gatewayTimeout,
  ]

  private func picture(_ request: Request, _ context: ServiceContext) async throws -> Response {
    let file = try context.parameters.require("folder").percentDecoded
    let camera = file.lastIndex(of: ".").map { String(file[..<$0]) } ?? ""
    if file.lowercased().hasSuffix(".mp4") { return try await spans.file(camera: camera, request, context) }
    guard let format = EncodedPicture.Format(fileName: file) else {
      throw Problem.notFound("'\(file)' is not a camera's name with .jpg, .png or .mp4")
    }
    var query = try QueryParameters(request)
    let wanted = try query.take(Self.times) ?? .latest
    let time: WallTime? = if case .at(let point) = wanted { point.time(before: .now) } else { nil }
    let view = try query.take(Self.views)
    let nearKey = try query.take(Self.nears) != nil
    let end = time ?? RecordedMoments.endOfTime
    let pictures = RecordedRequest(camera: camera, view: view, kind: .picture, from: end, to: end)
    return try await rights.answer(request, context, for: pictures, isNewest: time == nil) { [query] in
      let moment = try await context.whileClientStays {
        try await found(time, of: camera, view, nearKey: nearKey)
      }
      guard let moment else { return nil }
      return try await answer(to: request, moment, query, format, context)
    }
  }

  /// Returns nil if nothing was recorded then.
  private func found(
    _ time: WallTime?, of camera: String, _ view: String?, nearKey: Bool
  ) async throws -> RecordedMoment? {
    let configuration = rights.registry.served[camera: camera]?.configuration
    return try await moments?.find(
      time, of: camera, view: view,
      preferring: configuration?.record.view ?? configuration?.views.first?.view.name, nearKey: nearKey)
  }

  private func answer(
    to request: Request, _ moment: RecordedMoment, _ query: QueryParameters, _ format: EncodedPicture.Format,
    _ context: ServiceContext
  ) async throws -> Response {
    guard let moments else { throw Problem.notFound("nothing is recorded") }
    let recording = moment.recording
    let showing = rights.showing(recording)
    if showing == .hidden { try context.require(.control) }
    // Another node asks whether it is here.
    if request.method == .head, request.isFromPeer { return Response(status: .ok) }
    let served = rights.registry.served[camera: recording.camera]?.views
      .first { $0.name == recording.view }?.served
    var base = ServedView(ViewConfiguration(name: recording.view))
    (base.quality, base.isLocked) = (served?.quality, served?.isLocked == true && context.role != .control)
    let still = try StillQuery(
      query, of: base, as: format, timeout: rights.registry.timeouts.snapshot, known: Self.query)
    var fields = HTTPFields()
    fields[named: "X-Recording"] = recording.path
    let name = "\(recording.camera)-\(moment.time.description.replacing(":", with: "-"))"
    let (seesAll, budget) = (context.role == .control, rights.registry.budget)
    return try await pictures.response(
      to: request, still, named: name,
      of: "\(recording.path) \(moment.number) \(moment.time.secondsText) \(showing) \(seesAll)",
      at: moment.time, fields: fields, context,
      while: {
        // The view may have been hidden or masked meanwhile.
        guard rights.showing(recording) == showing || seesAll && showing == .hidden else {
          throw Problem.busy(
            .serviceUnavailable, "the configuration of '\(recording.camera)' has just changed", retryAfter: 1)
        }
      }
    ) {
      let decoded = try await moments.picture(of: moment)
      guard case .masked(let masks, let geometry) = showing else {
        return Still(decoded.frame, size: decoded.size)
      }
      // The camera's size has changed within the file.
      guard geometry.size == decoded.size else {
        if seesAll { return Still(decoded.frame, size: decoded.size) }
        throw Problem(.forbidden, "what the masks hide can't be found in this recording")
      }
      // The frame is shared, so masks are drawn into a copy.
      let lease = try budget.reserve(decoded.frame.storage.count)
      let masked = await Task(executorPreference: DecodingQueue.shared) {
        decoded.frame.masked(by: MaskPlan(masks, shownBy: geometry, format: decoded.frame.format))
      }.value
      return Still(masked, size: decoded.size, holding: lease)
    }
  }
}
