// What a service serves, by name: one session for all cameras, a preview for each of their views, and the scenes of them.
internal import GLPreview
internal import HTTPTypes
internal import Logging
internal import Synchronization

/// Cameras, views and scenes while the service runs.
final class CameraRegistry: Sendable {
  let session: PreviewSession
  /// What all that is decoded, drawn, encoded and held counts against.
  let budget: MemoryBudget
  let patience: ServicePatience
  private let logger: Logger
  private let makeSource: SourceMaker
  private let state = Mutex(ServedState())
  /// Sources and previews of the session have names of their own: a camera's may be taken by the one that replaces it.
  private let names = Atomic<Int>(0)

  /// Makes a source of its text, name and options; tests have some of their own.
  typealias SourceMaker = @Sendable (String, String, SourceOptions) -> SessionSource

  /// Opens nothing but the pictures that stand in for cameras.
  ///
  /// - Throws: `SessionError`; `SourceError` for a picture that can't be read.
  init(
    _ configuration: ValidatedConfiguration, logger: Logger, options: SessionOptions = SessionOptions(),
    makeSource: @escaping SourceMaker = SessionSource.init,
    onRender: @escaping @Sendable (Duration) -> Void = { _ in }
  ) async throws {
    self.logger = logger
    self.makeSource = makeSource
    patience = configuration.patience
    var options = options
    options.gpu = configuration.gpu
    options.onRender = onRender
    budget = MemoryBudget(capacity: configuration.limits.memory ?? MachineMemory.usualBudget)
    options.budget = budget
    var prepared = PreparedState(configuration.configuration, from: ServedState())
    var sources: [SessionSource] = []
    for camera in prepared.missingCameras {
      sources.append(try await Self.source(of: camera, named: "\(camera.name)-0", makeSource, patience))
    }
    session = try PreviewSession(sources, options: options)
    try prepared.take(sources)
    try prepared.addPreviews(to: session) { nextName("view") }
    _ = swap(prepared) {}
    for camera in prepared.newCameras { warn(of: camera) }
  }

  /// What a source shows or has shown last, or what stands in for it: for who must know its size.
  func lastMoment(of source: String?) async throws -> SourceMoment {
    try await session.moment(
      of: source,
      SnapshotRequest(.newest(maxAge: .seconds(3600)), fallback: .placeholder, timeout: patience.snapshot))
  }

  private static func source(
    of camera: CameraConfiguration, named name: String, _ make: SourceMaker, _ patience: ServicePatience
  ) async throws -> SessionSource {
    var source = make(camera.source, name, camera.options)
    source.opensWithin = patience.opening
    source.keepsWarm = camera.keepsWarm
    source.showsFailures = true
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

  private func nextName(_ word: String) -> String {
    "\(word)-\(names.add(1, ordering: .relaxed).newValue)"
  }

  /// A preview for who wants a view that is not served; to be removed from the session when nobody wants it any more.
  func makeAdHocPreview(_ view: ViewConfiguration, of target: ServedPreview) throws -> Preview {
    try session.addPreview(view.named(nextName("view")), of: target.source)
  }

  /// Whether every camera's part of the session answers; one that hangs makes this wait.
  func isAnswering() async -> Bool {
    for camera in cameras { _ = await session.status(of: camera.source) }
    return true
  }

  // MARK: Looking up

  /// As it is now.
  var served: ServedState { state.withLock { $0 } }

  /// In the order of the configuration.
  var cameras: [ServedCamera] { served.cameras }

  /// In the order of the configuration.
  var scenes: [ServedPreview] { served.scenes.map(\.view) }

  /// The views of a camera, or the one of a scene.
  ///
  /// - Throws: `Problem` 404.
  func views(of name: String) throws(Problem) -> [ServedPreview] { try served.views(of: name) }

  /// A view of a camera, or of a scene; nil as a name is the first.
  ///
  /// - Throws: `Problem` 404.
  func view(_ view: String?, of camera: String?) throws(Problem) -> ServedPreview {
    try served.view(view, of: camera)
  }

  // MARK: Changing

  /// Changes a view while it runs.
  ///
  /// - Throws: `Problem` 404; what `change` throws, and then nothing is changed.
  func update(
    _ view: String, of camera: String, _ change: (inout ServedView) throws(Problem) -> Void
  ) throws(Problem) -> ServedPreview {
    try state.withLock { state throws(Problem) in try state.update(view, of: camera, change) }
  }

  /// Does `work`, which looks up what it needs. Where it fails and another configuration has come meanwhile, it is done
  /// again: what it found by name may have been taken away.
  func consistently<Result>(_ work: () async throws -> Result) async throws -> Result {
    while true {
      let generation = served.generation
      do { return try await work() } catch {
        guard !Task.isCancelled, served.generation != generation else { throw error }
      }
    }
  }

  /// Takes another configuration over, all at once. What is the same in both runs on, with what was changed of it
  /// meanwhile; what goes is closed behind this, however long that takes.
  ///
  /// - Parameters:
  ///   - configuration: what is served from now on.
  ///   - swapping: is called in the moment in which that is so.
  /// - Throws: `SourceError` for a picture that can't be read, `CancellationError`; then nothing is changed.
  func apply(_ configuration: ValidatedConfiguration, swapping: () -> Void = {}) async throws {
    while true {
      var prepared = PreparedState(configuration.configuration, from: served)
      var remains: PreparedState.Remains?
      do {
        var sources: [SessionSource] = []
        for camera in prepared.missingCameras {
          let name = nextName(camera.name)
          sources.append(try await Self.source(of: camera, named: name, makeSource, patience))
        }
        try Task.checkCancellation()
        try prepared.take(sources) { try session.addSource($0, replacing: $1) }
        try prepared.addPreviews(to: session) { nextName("view") }
        remains = swap(prepared, swapping)
      } catch {
        prepared.giveUp(in: session)
        throw error
      }
      if let remains { return retire(remains, after: prepared) }
      // Another one was faster.
      prepared.giveUp(in: session)
    }
  }

  /// Serves what was prepared; nil where it was prepared for something that is not served any more.
  private func swap(_ prepared: PreparedState, _ swapping: () -> Void) -> PreparedState.Remains? {
    state.withLock { state in
      guard state.generation == prepared.base.generation else { return nil }
      let (next, remains) = prepared.swapped(state)
      state = next
      for view in next.cameras.flatMap(\.views) { view.show() }
      swapping()
      return remains
    }
  }

  /// Takes out of the session what nobody finds any more. Who still waits for it is told so at once, and looks again.
  private func retire(_ remains: PreparedState.Remains, after prepared: PreparedState) {
    for camera in remains.cameras {
      logger.info("a camera goes", metadata: ["camera": "\(camera.configuration.name)"])
    }
    for camera in prepared.newCameras {
      logger.info("a camera comes", metadata: ["camera": "\(camera.name)"])
      warn(of: camera)
    }
    for preview in remains.previews { session.remove(preview) }
    for camera in remains.cameras { Task { [session] in await session.removeSource(camera.source) } }
  }

  /// Tells of what can't be relied on.
  private func warn(of camera: CameraConfiguration) {
    guard camera.lacksReferenceSize else { return }
    logger.warning(
      "masks and crops are in pixels of the first frame, whatever its size; set 'reference' to fix it",
      metadata: ["camera": "\(camera.name)"])
  }
}

extension CameraConfiguration {
  /// Whether its masks and crops are in pixels of whatever frame comes first.
  fileprivate var lacksReferenceSize: Bool {
    guard options.referenceSize == nil, SourceLocator(source).isLive, !V4L2Camera.isNamed(by: source) else {
      return false
    }
    return !options.masks.isEmpty || views.contains { $0.view.crop != nil }
  }
}
