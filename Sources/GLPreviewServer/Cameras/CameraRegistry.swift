// What a service serves, by name: one session for all cameras, a preview for each of their views, and the scenes of them.
internal import GLPreview
internal import HTTPTypes
internal import Logging
internal import Synchronization

/// A view, or a scene, as it is found by its name in a URL.
struct ServedPreview: Sendable {
  /// The camera's name, or the scene's.
  let camera: String
  /// As it is now.
  var served: ServedView
  let preview: Preview
  let isScene: Bool
  /// What a snapshot is where the camera gives nothing.
  let offline: OfflinePolicy

  var name: String { served.view.name }
}

/// Cameras, views and scenes while the service runs.
final class CameraRegistry: Sendable {
  let session: PreviewSession
  private let logger: Logger
  private let makeSource: SourceMaker
  private let state: Mutex<State>

  /// Makes a source of its text, name and options; tests have some of their own.
  typealias SourceMaker = @Sendable (String, String, SourceOptions) -> SessionSource

  struct Camera: Sendable {
    var configuration: CameraConfiguration
    var views: [ServedPreview]
  }

  private struct State {
    var cameras: [Camera] = []
    var scenes: [(configuration: SceneConfiguration, preview: ServedPreview)] = []
    var nextPreview = 0
  }

  /// Opens nothing but the pictures that stand in for cameras.
  ///
  /// - Throws: `SessionError`; `SourceError` for a picture that can't be read.
  init(
    _ configuration: ValidatedConfiguration, logger: Logger,
    makeSource: @escaping SourceMaker = SessionSource.init,
    onRender: @escaping @Sendable (Duration) -> Void = { _ in }
  ) async throws {
    self.logger = logger
    self.makeSource = makeSource
    var sources: [SessionSource] = []
    for camera in configuration.cameras { sources.append(try await Self.source(of: camera, makeSource)) }
    var options = SessionOptions(gpu: configuration.gpu)
    options.onRender = onRender
    session = try PreviewSession(sources, options: options)
    state = Mutex(State())
    for camera in configuration.cameras { try add(camera) }
    for scene in configuration.scenes { try add(scene) }
  }

  private static func source(of camera: CameraConfiguration, _ make: SourceMaker) async throws -> SessionSource
  {
    var source = make(camera.source, camera.name, camera.options)
    source.keepsWarm = camera.keepsWarm
    source.showsFailures = true
    source.keepsReferenceSize = camera.hasLockedViews
    if let file = camera.avatar {
      let picture = try await SourceLocator(file).open(SourceOptions())
      defer { Task { await picture.close() } }
      guard let frame = try await picture.nextFrame() else {
        throw SourceError(.badData, path: file, reason: "has no picture")
      }
      source.fallback = Fallback(avatar: StillImage(frame))
    }
    return source
  }

  /// Tells of what can't be relied on.
  private func warn(of camera: CameraConfiguration) {
    guard camera.lacksReferenceSize else { return }
    logger.warning(
      "masks and crops are in pixels of the first frame, whatever its size; set 'reference' to fix it",
      metadata: ["camera": "\(camera.name)"])
  }

  // MARK: Adding

  private func add(_ camera: CameraConfiguration) throws {
    warn(of: camera)
    var views: [ServedPreview] = []
    for view in camera.views { views.append(try makePreview(view, of: camera)) }
    state.withLock { $0.cameras.append(Camera(configuration: camera, views: views)) }
  }

  private func makePreview(_ served: ServedView, of camera: CameraConfiguration) throws -> ServedPreview {
    let preview = try session.addPreview(
      served.view.named(nextName()), of: camera.name, updateEvery: served.updateEvery)
    preview.isEnabled = served.isEnabled
    return ServedPreview(
      camera: camera.name, served: served, preview: preview, isScene: false, offline: camera.offline)
  }

  private func add(_ scene: SceneConfiguration) throws {
    let served = scene.served
    let preview = try session.addScene(scene.scene, name: nextName(), updateEvery: served.updateEvery)
    let entry = ServedPreview(
      camera: scene.name, served: served, preview: preview, isScene: true, offline: .placeholder)
    state.withLock { $0.scenes.append((scene, entry)) }
  }

  /// Previews of the session have names of their own: those of views are different within a camera alone.
  private func nextName() -> String {
    state.withLock { state in
      state.nextPreview += 1
      return "p\(state.nextPreview)"
    }
  }

  /// A preview for who wants a view that is not served; to be removed from the session when nobody wants it any more.
  func makeAdHocPreview(_ view: ViewConfiguration, of camera: String) throws -> Preview {
    try session.addPreview(view.named(nextName()), of: camera)
  }

  /// Whether every camera's part of the session answers; one that hangs makes this wait.
  func isAnswering() async -> Bool {
    for camera in cameras { _ = await session.status(of: camera.configuration.name) }
    return true
  }

  // MARK: Looking up

  /// In the order of the configuration.
  var cameras: [Camera] { state.withLock { $0.cameras } }

  /// In the order of the configuration.
  var scenes: [ServedPreview] { state.withLock { $0.scenes.map(\.preview) } }

  /// The views of a camera, or the one of a scene.
  ///
  /// - Throws: `Problem` 404.
  func views(of name: String) throws(Problem) -> [ServedPreview] {
    let found = state.withLock { state in
      state.cameras.first { $0.configuration.name == name }?.views
        ?? state.scenes.first { $0.configuration.name == name }.map { [$0.preview] }
    }
    guard let found else { throw .notFound("there is no camera '\(name)' (there are: \(names))") }
    return found
  }

  /// A view of a camera, or of a scene; nil as a name is the first.
  ///
  /// - Throws: `Problem` 404.
  func view(_ view: String?, of camera: String?) throws(Problem) -> ServedPreview {
    let camera = camera ?? cameras.first?.configuration.name ?? ""
    let views = try views(of: camera)
    guard let found = views.first(where: { view == nil || $0.name == view }) else {
      let names = views.map(\.name).joined(separator: ", ")
      throw .notFound("camera '\(camera)' has no view '\(view ?? "")' (it has: \(names))")
    }
    return found
  }

  private var names: String {
    state.withLock { state in
      (state.cameras.map(\.configuration.name) + state.scenes.map(\.configuration.name)).joined(
        separator: ", ")
    }
  }

  // MARK: Changing

  /// Changes a view while it runs.
  ///
  /// - Throws: `Problem` 404; what `change` throws, and then nothing is changed.
  func update(
    _ view: String, of camera: String, _ change: (inout ServedView) throws(Problem) -> Void
  ) throws(Problem) -> ServedPreview {
    let found = try self.view(view, of: camera)
    guard !found.isScene else { throw Problem(.conflict, "a scene is changed in the configuration") }
    return try state.withLock { state throws(Problem) in
      guard let index = state.cameras.firstIndex(where: { $0.configuration.name == camera }),
        let place = state.cameras[index].views.firstIndex(where: { $0.name == view })
      else { throw .notFound("camera '\(camera)' is gone") }
      var entry = state.cameras[index].views[place]
      try change(&entry.served)
      entry.show()
      state.cameras[index].views[place] = entry
      return entry
    }
  }

  /// Takes another configuration over: what is the same in both runs on, with what was changed of it meanwhile.
  ///
  /// - Throws: where a picture can't be read; then nothing is changed.
  func apply(_ configuration: ValidatedConfiguration) async throws {
    let before = cameras
    var sources: [String: SessionSource] = [:]
    for camera in configuration.cameras { sources[camera.name] = try await Self.source(of: camera, makeSource) }
    for old in before {
      let name = old.configuration.name
      let new = configuration.cameras.first { $0.name == name }
      if new?.isSameSource(as: old.configuration) != true {
        logger.info("a camera goes", metadata: ["camera": "\(name)"])
        await session.removeSource(name)
      }
    }
    var after: [Camera] = []
    for camera in configuration.cameras {
      let old = before.first { $0.configuration.name == camera.name }
      if let old, old.configuration.isSameSource(as: camera) {
        after.append(try updated(old, to: camera))
      } else if let source = sources[camera.name] {
        logger.info("a camera comes", metadata: ["camera": "\(camera.name)"])
        warn(of: camera)
        try session.addSource(source)
        after.append(
          Camera(configuration: camera, views: try camera.views.map { try makePreview($0, of: camera) }))
      }
    }
    state.withLock { [after] state in state.cameras = after }
    try applyScenes(configuration.scenes)
  }

  private func updated(_ old: Camera, to camera: CameraConfiguration) throws -> Camera {
    var views: [ServedPreview] = []
    for view in camera.views {
      guard var entry = old.views.first(where: { $0.name == view.view.name }) else {
        views.append(try makePreview(view, of: camera))
        continue
      }
      // What somebody changed while it ran stays, unless the file says something new.
      if old.configuration.views.first(where: { $0.view.name == view.view.name }) != view {
        entry.served = view
        entry.show()
      }
      views.append(
        ServedPreview(
          camera: camera.name, served: entry.served, preview: entry.preview, isScene: false,
          offline: camera.offline))
    }
    for gone in old.views where !camera.views.contains(where: { $0.view.name == gone.name }) {
      session.remove(gone.preview)
    }
    return Camera(configuration: camera, views: views)
  }

  private func applyScenes(_ scenes: [SceneConfiguration]) throws {
    let gone = state.withLock { state in
      defer { state.scenes.removeAll { old in !scenes.contains(old.configuration) } }
      return state.scenes.filter { old in !scenes.contains(old.configuration) }.map(\.preview)
    }
    for entry in gone { session.remove(entry.preview) }
    let kept = state.withLock { $0.scenes.map(\.configuration) }
    for scene in scenes where !kept.contains(scene) { try add(scene) }
  }
}

extension ServedPreview {
  /// Lets the preview show what is served.
  fileprivate func show() {
    preview.update { [served] configuration in
      configuration.view = served.view
      configuration.isEnabled = served.isEnabled
      configuration.updateEvery = served.updateEvery
    }
  }
}

extension ServedView {
  /// The shortest time between two pictures.
  var updateEvery: Duration { framesPerSecond.map { .seconds(1 / $0) } ?? .zero }
}

extension SceneConfiguration {
  /// Its one view.
  var served: ServedView {
    var served = ServedView(ViewConfiguration(width: scene.size.width, height: scene.size.height))
    served.framesPerSecond = framesPerSecond
    served.quality = quality
    return served
  }
}

extension CameraConfiguration {
  /// Whether a source that was made of the other one serves this one.
  fileprivate func isSameSource(as other: CameraConfiguration) -> Bool {
    source == other.source && options == other.options && keepsWarm == other.keepsWarm
      && avatar == other.avatar && hasLockedViews == other.hasLockedViews
  }

  /// Whether somebody is to see no more than such a view shows.
  fileprivate var hasLockedViews: Bool { views.contains(where: \.isLocked) }

  /// Whether its masks and crops are in pixels of whatever frame comes first.
  fileprivate var lacksReferenceSize: Bool {
    guard options.referenceSize == nil, SourceLocator(source).isLive, !V4L2Camera.isNamed(by: source) else {
      return false
    }
    return !options.masks.isEmpty || views.contains { $0.view.crop != nil }
  }
}

extension ViewConfiguration {
  /// The same of another name.
  func named(_ name: String) -> ViewConfiguration {
    var view = self
    view.name = name
    return view
  }
}
