// `/api/cameras`: the state of all cameras and views, and PATCH, which changes a view at run time.
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import Synchronization

/// The served cameras and views as JSON; members without a value are omitted.
struct CameraRoutes: Sendable {
  let core: ServiceCore
  /// The features, which add members and paths.
  let features: [any ServiceFeature]

  func add(to group: ServiceRoutes) {
    let schema = CameraSchema(features)
    group.get(
      "api/cameras",
      as: [
        .init(
          "listCameras", "Lists all cameras and scenes with their views",
          answers: [.json(schema.listing, "their state")])
      ]
    ) { request, context in all(request, context) }
    group.get(
      "api/cameras/:camera",
      as: [
        .init(
          "getCamera", "Returns a camera or scene with its views",
          answers: [.json(schema.camera, "its state")])
      ]
    ) { _, context in try Response(json: camera(context.parameters.require("camera"), context.role)) }
    group.patch(
      "api/cameras/:camera/views/:view",
      as: [
        .init(
          "changeView", "Changes a view until the service is restarted", body: .json(CameraSchema.change),
          answers: [.json(schema.view, "the changed view")])
      ]
    ) { request, context in try await patch(request, context) }
  }

  // MARK: State

  private func all(_ request: Request, _ context: ServiceContext) -> Response {
    let state = core.renderer.state
    var listing = CameraListing(
      cameras: cameras(for: context.role),
      members: [
        "version": .string(core.version), "role": .string((context.role ?? .control).rawValue),
      ])
    for feature in features { feature.extend(&listing, for: request, context.role) }
    var members = listing.members
    members["cameras"] = .array(listing.cameras.map(JSONValue.object))
    if let device = state.device {
      var known: [String: JSONValue] = ["name": .string(device.name), "software": .bool(device.isSoftware)]
      known["load"] = core.registry.session.gpuLoad.map(Self.hundredths)
      known["passed_over"] = device.passedOver.map(JSONValue.string)
      known["shaders"] = (device.passes?.rawValue).map(JSONValue.string)
      known["jpeg"] = (device.jpegProcessor?.rawValue).map(JSONValue.string)
      known["vendor"] = (device.driver?.vendor).map(JSONValue.string)
      members["device"] = .object(known)
    }
    if context.role != .read { members["links"] = links }
    members["device_failure"] = state.problem.map(JSONValue.string)
    return Response(json: members)
  }

  /// The keys of links; nil if there are none.
  private var links: JSONValue? {
    let access = core.access.configuration
    guard !access.linkKeys.isEmpty else { return nil }
    var members: [String: JSONValue] = [
      "keys": .array(
        access.linkKeys.map { key in
          var members: [String: JSONValue] = [
            "name": .string(key.name), "forever": .bool(key.allowsForever),
          ]
          if !key.cameras.isEmpty { members["cameras"] = .array(key.cameras.map(JSONValue.string)) }
          return .object(members)
        })
    ]
    members["public_url"] = access.publicURL.map { .string($0.text) }
    return .object(members)
  }

  /// The cameras for other nodes, without members that change all the time.
  func lastingCameras() -> [[String: JSONValue]] {
    cameras(for: .read, isLasting: true).map(Self.lasting)
  }

  private func cameras(for role: Role?, isLasting: Bool = false) -> [[String: JSONValue]] {
    let served = core.registry.served
    return served.cameras.map { json(of: $0, role, isLasting: isLasting) }
      + served.scenes.map { json(of: $0, role, isLasting: isLasting) }
  }

  private static func lasting(_ all: [String: JSONValue]) -> [String: JSONValue] {
    var members = all.filter { !["counters", "fps", "replay"].contains($0.key) }
    if members["kind"] == "scene" { members["since"] = nil }
    guard case .array(let views)? = members["views"] else { return members }
    members["views"] = .array(
      views.map { view in
        guard case .object(let view) = view else { return view }
        return .object(view.filter { !["clients", "fps", "video", "move"].contains($0.key) })
      })
    return members
  }

  private func camera(_ name: String, _ role: Role?) throws(Problem) -> [String: JSONValue] {
    let served = core.registry.served
    if let camera = served[camera: name] { return json(of: camera, role) }
    if let scene = served[scene: name] { return json(of: scene, role) }
    throw served.unknown(name)
  }

  private func json(of camera: ServedCamera, _ role: Role?, isLasting: Bool = false) -> [String: JSONValue] {
    let (configuration, report) = (camera.configuration, core.watch.report(of: camera))
    let counters = report.counters
    var members: [String: JSONValue] = [
      "name": .string(configuration.name), "kind": "camera", "state": .string(report.state.rawValue),
      "since": .string(report.since.description), "fps": Self.hundredths(report.framesPerSecond),
      "required": .bool(configuration.isRequired),
      "counters": [
        "received": .integer(counters.received), "dropped": .integer(counters.dropped),
        "missed": .integer(counters.missed), "damaged": .integer(counters.damaged),
        "reconnections": .integer(counters.reconnections),
      ],
      "views": .array(camera.views.map { JSONValue.object(json(ofView: $0, role)) }),
    ]
    members["reason"] = report.reason.map(JSONValue.string)
    for feature in features {
      members.merge(isLasting ? feature.lastingMembers(of: camera) : feature.members(of: camera)) { $1 }
    }
    if role != .read { members["source"] = .string(Redaction.source(configuration.source)) }
    if let mode = report.mode {
      var format: [String: JSONValue] = [
        "format": .string(mode.format), "transport": .string(mode.transport),
      ]
      format["width"] = (mode.size?.width).map(JSONValue.integer)
      format["height"] = (mode.size?.height).map(JSONValue.integer)
      format["fps"] = mode.framesPerSecond.map(Self.hundredths)
      format["not_imported"] = mode.copyingReason.map(JSONValue.string)
      members["format"] = .object(format)
    }
    members["lens"] = configuration.options.lens.map { JSONValue.string("\($0)") }
    // The upright size, in whose pixels crops are given; known after the first frame.
    let size = core.registry.session[camera.source]?.size
    members["width"] = (size?.width).map(JSONValue.integer)
    members["height"] = (size?.height).map(JSONValue.integer)
    members["replay"] = core.registry.session[camera.source]?.replayStatus.map {
      .object(Self.json(of: $0))
    }
    return members
  }

  /// Describes the replay buffer of a camera.
  private static func json(of replay: ReplayStatus) -> [String: JSONValue] {
    [
      "from": .number(replay.span.lowerBound.secondsSinceEpoch),
      "to": .number(replay.span.upperBound.secondsSinceEpoch), "seconds": hundredths(replay.seconds),
      "bytes": .integer(replay.byteCount), "pictures": .integer(replay.pictureCount),
    ]
  }

  private func json(of scene: ServedScene, _ role: Role?, isLasting: Bool = false) -> [String: JSONValue] {
    let view = scene.view
    var members: [String: JSONValue] = [
      "name": .string(view.camera), "kind": "scene", "state": .string(SourceState.live.rawValue),
      "since": .string(WallTime.now.description),
      "fps": Self.hundredths(core.streams.use(of: view.camera, view.name).framesPerSecond),
      "required": false,
      "views": .array([.object(json(ofView: view, role))]),
    ]
    for feature in features {
      members.merge(isLasting ? feature.lastingMembers(of: scene) : feature.members(of: scene)) { $1 }
    }
    return members
  }

  private func json(ofView entry: ServedPreview, _ role: Role?) -> [String: JSONValue] {
    let (served, view) = (entry.served, entry.served.view)
    let use = core.streams.use(of: entry.camera, entry.name)
    let path = "/cameras/\(entry.camera)/\(view.name)"
    let background = view.surround == .blur ? "blur" : "\(view.background)"
    var urls: [String: JSONValue] = [
      "stream": .string(path + ".mjpeg"), "mp4": .string(path + ".mp4"), "jpeg": .string(path + ".jpg"),
      "png": .string(path + ".png"),
    ]
    for feature in features { urls.merge(feature.paths(of: entry).mapValues(JSONValue.string)) { $1 } }
    var members: [String: JSONValue] = [
      "name": .string(view.name), "rotate": Self.number(view.degrees),
      "mirror": .string(view.mirroring.rawValue), "mode": .string(view.contentMode.rawValue),
      "background": .string(background), "filter": .string(view.filter.rawValue),
      "fps": Self.hundredths(use.framesPerSecond), "enabled": .bool(served.isEnabled),
      "locked": .bool(served.isLocked), "quality": .integer(served.encodedQuality),
      "decode": .string((served.decode ?? .exact).rawValue),
      "clients": .integer(use.clients + core.videos.clientCount(of: entry.camera, entry.name)),
      "urls": .object(urls),
    ]
    var video = Self.json(of: served.video, entry.preview.videoFormat(served.video))
    video["not_passed"] = entry.preview.videoRefusal(
      served.video, from: core.watch.report(of: entry.camera).mode
    )
    .map(JSONValue.string)
    video["current_bitrate"] = entry.preview.videoBitrate(served.video).map(JSONValue.integer)
    video["reduced_clients"] = .integer(core.videos.reducedCount(of: entry.camera, entry.name))
    members["video"] = .object(video)
    members["width"] = view.width.map(JSONValue.integer)
    members["height"] = view.height.map(JSONValue.integer)
    members["crop"] = view.crop.map { JSONValue.string("\($0)") }
    members.merge(view.warpMembers) { $1 }
    if !served.positions.isEmpty { members["positions"] = .object(served.positions.mapValues(\.json)) }
    members["move"] = entry.preview.runningMove(at: CaptureClock.now).map {
      .object($0.members(filling: entry.preview.usualField))
    }
    members["label"] = view.labelText.map(JSONValue.string)
    members["time"] = view.timeText.map(JSONValue.string)
    members["fps_limit"] = served.framesPerSecond.map(Self.number)
    if role != .read {
      let hubs = core.streams.all.filter { $0.camera == entry.camera && $0.view == entry.name }
      members["watchers"] = .array(hubs.flatMap(\.subscriptions).map(Self.json(ofWatcher:)))
    }
    return members
  }

  /// Describes the H.264 configuration, and the current encoder if there are viewers.
  private static func json(of video: VideoConfiguration, _ format: H264Format?) -> [String: JSONValue] {
    var members: [String: JSONValue] = [
      "quality": .integer(video.quality), "keyframe": number(video.keyframeInterval / .seconds(1)),
      "encoder": .string(video.encoder.rawValue),
    ]
    members["bitrate"] = video.bitrate.map(JSONValue.integer)
    members["running"] = format.map { .string($0.encoder?.rawValue ?? "passed") }
    members["codec"] = format.map { .string($0.codec) }
    return members
  }

  private static func json(ofWatcher watcher: StreamSubscription) -> JSONValue {
    var members: [String: JSONValue] = [
      "address": .string(watcher.address), "since": .string("\(WallTime(capturedAt: watcher.since))"),
      "fps": .integer(watcher.framesPerSecond.load(ordering: .relaxed)),
    ]
    members["key"] = watcher.key.map(JSONValue.string)
    return .object(members)
  }

  /// Rounds to hundredths; 0 for values that are not finite, which JSON can't represent.
  private static func hundredths(_ number: Double) -> JSONValue {
    let hundredths = (number * 100).rounded()
    return hundredths.isFinite ? Self.number(hundredths / 100) : 0
  }

  private static func number(_ number: Double) -> JSONValue { ViewConfiguration.number(number) }

  // MARK: Changes

  private func patch(_ request: Request, _ context: ServiceContext) async throws -> Response {
    let (camera, view) = (try context.parameters.require("camera"), try context.parameters.require("view"))
    let body = try await request.body.collect(upTo: context.maxUploadSize)
    let change = try ViewChange(json: Array(body.readableBytesView))
    let changed = try await core.registry.consistently { try await apply(change, to: view, of: camera) }
    core.events.viewChanged(camera, view)
    return Response(json: json(ofView: changed, context.role))
  }

  private func apply(_ change: ViewChange, to view: String, of camera: String) async throws -> ServedPreview {
    let entry = try core.registry.view(view, of: camera)
    try entry.served.checkLock(of: camera)
    if change.endsMove { try core.moves.check(entry, at: CaptureClock.now) }
    var wanted = entry.served
    try change.apply(to: &wanted)
    let isDrawn = wanted.view != entry.served.view && !entry.isScene
    let moment = try await isDrawn ? core.registry.moment(of: entry) : nil
    return try core.registry.update(view, of: camera, endsMove: change.endsMove) { served throws(Problem) in
      // The configuration may have changed, and the view may have moved, during the wait for the frame.
      try served.checkLock(of: camera)
      let before = served.view
      try change.apply(to: &served)
      guard let moment else {
        guard entry.isScene || served.view == before else { throw .reconfigured(entry) }
        return
      }
      do throws(ParameterError) { try core.registry.check(served.view, at: moment) } catch {
        throw .badParameter(error.key, error.reason)
      }
    }
  }
}
