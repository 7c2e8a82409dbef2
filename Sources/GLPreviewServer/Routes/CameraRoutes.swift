// `/api/cameras`: the state of everything, and PATCH, which changes a view at run time.
internal import FoundationEssentials
internal import GLPreview
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import Synchronization

/// The served cameras and views as JSON.
struct CameraRoutes: Sendable {
  let registry: CameraRegistry
  let watch: CameraWatch
  let renderer: RendererWatch
  let streams: StreamRegistry
  let events: ServiceEvents
  let version: String

  func add(to group: RouterGroup<ServiceContext>) {
    group.get("api/cameras") { _, context in try all(context) }
    group.get("api/cameras/:camera") { _, context in
      try Response(json: camera(context.parameters.require("camera"), context))
    }
    group.patch("api/cameras/:camera/views/:view") { request, context in try await patch(request, context) }
  }

  // MARK: State

  private func all(_ context: ServiceContext) throws -> Response {
    let (served, state) = (registry.served, renderer.state)
    return try Response(
      json: CamerasAnswer(
        cameras: served.cameras.map { answer($0, context) } + served.scenes.map { answer($0.view, context) },
        device: state.device.map(DeviceAnswer.init), deviceFailure: state.problem, version: version,
        role: (context.role ?? .control).rawValue))
  }

  private func camera(_ name: String, _ context: ServiceContext) throws(Problem) -> CameraAnswer {
    let served = registry.served
    if let camera = served[camera: name] { return answer(camera, context) }
    return answer(try served.view(nil, of: name), context)
  }

  private func answer(_ camera: ServedCamera, _ context: ServiceContext) -> CameraAnswer {
    let configuration = camera.configuration
    let report = watch.report(of: camera)
    let size = registry.session.size(of: camera.source)
    return CameraAnswer(
      name: configuration.name, kind: "camera", state: report.state.rawValue,
      since: report.since.description, reason: report.reason,
      source: context.role == .read ? nil : Redaction.source(configuration.source),
      format: report.mode.map(FormatAnswer.init), width: size?.width, height: size?.height,
      fps: rounded(report.framesPerSecond),
      required: configuration.isRequired, counters: report.counters,
      views: camera.views.map { answer($0, in: context) })
  }

  private func answer(_ scene: ServedPreview, _ context: ServiceContext) -> CameraAnswer {
    let use = streams.use(of: scene.camera, scene.name)
    return CameraAnswer(
      name: scene.camera, kind: "scene", state: SourceState.live.rawValue, since: WallTime.now.description,
      reason: nil, source: nil, format: nil, width: nil, height: nil, fps: rounded(use.framesPerSecond),
      required: false,
      counters: nil,
      views: [answer(scene, in: context)])
  }

  private func answer(_ entry: ServedPreview, in context: ServiceContext) -> ViewAnswer {
    let watchers = streams.all.filter { $0.camera == entry.camera && $0.view == entry.name }
      .flatMap(\.subscriptions).map { subscription in
        WatcherAnswer(
          address: subscription.address, key: subscription.key,
          fps: subscription.framesPerSecond.load(ordering: .relaxed),
          since: WallTime(capturedAt: subscription.since).description)
      }
    return ViewAnswer(
      entry, use: streams.use(of: entry.camera, entry.name), watchers: context.role == .read ? nil : watchers)
  }

  // MARK: Changing

  private func patch(_ request: Request, _ context: ServiceContext) async throws -> Response {
    let (camera, view) = (try context.parameters.require("camera"), try context.parameters.require("view"))
    let body = try await request.body.collect(upTo: context.maxUploadSize)
    let change = try ViewChange(json: Array(body.readableBytesView))
    let changed = try await registry.consistently { try await apply(change, to: view, of: camera) }
    streams.followViews()
    events.viewChanged(camera, view)
    return try Response(json: answer(changed, in: context))
  }

  private func apply(_ change: ViewChange, to view: String, of camera: String) async throws -> ServedPreview {
    let entry = try registry.view(view, of: camera)
    try checkLock(entry.served, view, of: camera)
    var wanted = entry.served
    try change.apply(to: &wanted)
    if wanted.view != entry.served.view, !entry.isScene {
      try await registry.check(wanted.view, of: entry.source)
    }
    return try registry.update(view, of: camera) { served throws(Problem) in
      // The configuration may have changed while waiting for the frame.
      try checkLock(served, view, of: camera)
      try change.apply(to: &served)
    }
  }

  private func checkLock(_ served: ServedView, _ view: String, of camera: String) throws(Problem) {
    guard served.isLocked else { return }
    throw Problem(.forbidden, "view '\(view)' of '\(camera)' is locked: only the configuration can change it")
  }
}

extension DeviceAnswer {
  /// Describes the rendering device.
  init(_ device: GPUDevice) {
    self.init(
      name: device.driver?.renderer ?? device.kind.rawValue, vendor: device.driver?.vendor,
      software: device.isSoftware)
  }
}
