// The served objects by name: one session for all cameras, a preview per view, and the scenes.
internal import HTTPTypes
internal import Logging
internal import Synchronization

/// The cameras, views and scenes of a running service.
package final class CameraRegistry: Sendable {
  package let session: PreviewSession
  /// The memory budget for everything that is decoded, drawn, encoded and cached.
  package let budget: MemoryBudget
  let limits: ServiceLimits
  package let timeouts: ServiceTimeouts
  private let logger: Logger
  private let makeSource: SourceMaker
  private let state: Watched<ServedState>
  /// The grants of all views that are shown for longer than one answer. When a change forbids a view, its
  /// grants are revoked before the change completes.
  package let grants: Grants<ViewRight>
  /// A counter for unique names of sources and previews in the session, because a new camera may take over
  /// the name of an old one.
  private let names = Atomic<Int>(0)

  /// Creates a source from its text, name and options; tests replace it.
  package typealias SourceMaker = @Sendable (String, String, SourceOptions) -> SessionSource

  /// Creates the registry. Opens only the fallback pictures of cameras.
  ///
  /// - Throws: `SessionError`; `SourceError` if a picture can't be read.
  init(
    _ configuration: ServerConfiguration, logger: Logger,
    options: PreviewSession.Options = PreviewSession.Options(),
    makeSource: @escaping SourceMaker = SessionSource.init
  ) async throws {
    self.logger = logger
    self.makeSource = makeSource
    let state = Watched(ServedState())
    self.state = state
    grants = Grants { right throws(Problem) in try state.value.check(right) }
    limits = configuration.limits
    timeouts = configuration.timeouts
    var options = options
    options.gpu = configuration.gpu
    // Required hardware that fails must not be replaced by the CPU.
    if configuration.requiresHardware, configuration.gpu == .automatic { options.gpu = .hardware }
    budget = MemoryBudget(capacity: limits.memory ?? MachineMemory.usualBudget)
    options.budget = budget
    var prepared = PreparedState(configuration, from: ServedState())
    var sources: [SessionSource] = []
    for camera in prepared.missingCameras {
      sources.append(try await Self.source(of: camera, named: "\(camera.name)-0", makeSource, timeouts))
    }
    session =
      try sources.isEmpty
      ? PreviewSession(addingSourcesLater: options) : PreviewSession(sources, options: options)
    try prepared.take(sources)
    try prepared.addPreviews(to: session) { nextName("view") }
    _ = swap(prepared) {}
    for camera in prepared.newCameras { warn(of: camera) }
  }

  /// Rejects a requested view that can't be drawn from the target's source, or is too large.
  ///
  /// - Throws: `ParameterError`; the errors of getting a frame, whose size is needed.
  package func check(_ view: ViewConfiguration, of target: ServedPreview) async throws {
    let moment = try await moment(of: target)
    try check(view, at: moment)
  }

  /// Returns the frame of a view's camera on which the sizes of pictures depend: of any age, or the fallback.
  ///
  /// - Throws: the errors of getting a frame.
  func moment(of target: ServedPreview) async throws -> CapturedFrame {
    let request = SnapshotRequest(.newest(maxAge: .seconds(3600)), timeout: timeouts.snapshot)
    return try await target.preview.moment(request)
  }

  /// Rejects a view that can't be drawn from a frame that is already available, or is too large.
  func check(_ view: ViewConfiguration, at moment: CapturedFrame) throws(ParameterError) {
    let lensed = moment.withLens(view)
    try lensed.checkSettings()
    // Without a frame, the size that a warp refers to is unknown.
    let view = moment.size == nil ? view.unwarped : lensed
    if let reference = moment.size { _ = try view.visiblePart(of: reference) }
    // An uncropped view has the frame's size; a crop is in pixels of the reference size.
    let size = (view.isCropped ? nil : moment.frameSize) ?? moment.size ?? Size(width: 640, height: 360)
    let planner = RenderPlanner(maximumPixels: limits.pixels)
    _ = try planner.size(of: view, in: size)
    // It is drawn in the pixels of the frame.
    if view.isCropped, let reference = moment.size, let frame = moment.frameSize, frame != reference,
      frame.hasShape(of: reference)
    {
      _ = try planner.size(of: view.rescaled(from: reference, to: frame), in: frame)
    }
  }

  private static func source(
    of camera: CameraConfiguration, named name: String, _ make: SourceMaker, _ timeouts: ServiceTimeouts
  ) async throws -> SessionSource {
    var source = make(camera.source, name, camera.options)
    source.opensWithin = timeouts.opening
    source.keepsWarm = camera.keepsWarm
    source.warmup = camera.warmup
    source.replay = camera.replay
    source.showsFailures = true
    if let file = camera.avatar {
      let picture = try await SourceLocator(file).open(SourceOptions())
      defer { Task { await picture.close() } }
      guard let frame = try await picture.nextFrame() else {
        throw SourceError(.badData, path: file, reason: "delivered no frame")
      }
      source.fallback = Fallback(avatar: StillImage(frame))
    }
    return source
  }

  package func nextName(_ word: String) -> String {
    "\(word)-\(names.add(1, ordering: .relaxed).newValue)"
  }

  /// Creates a preview for a view that is not served; it moves with `leader`, and has at most `limits.pixels`
  /// whatever the view and the source become. The caller removes it from the session when it is no longer needed.
  func makeAdHocPreview(
    _ view: ViewConfiguration, of target: ServedPreview, following leader: Preview?
  ) throws -> Preview {
    let preview = try session.addPreview(
      view.named(nextName("view")), of: target.source, updateEvery: target.served.updateEvery,
      counting: target.preview.gpuTime
    ).preview
    preview.update { $0.maximumPixels = limits.pixels }
    if let leader { preview.follow(leader) }
    return preview
  }

  /// Whether the current task continues a stream that has begun, and is not refused any more.
  @TaskLocal static var isContinuing = false

  /// Refuses another view by URL while the GPU is busy with those that there are.
  ///
  /// - Throws: `Problem` 429.
  func checkGPU() throws(Problem) {
    guard limits.gpu > 0, !Self.isContinuing, let load = session.gpuLoad else { return }
    let percent = Int(load * 100)
    guard percent >= limits.gpu else { return }
    throw .busy(
      .tooManyRequests,
      "the GPU is busy for \(percent) % of the time; from \(limits.gpu) % on, views by URL are refused (limits.gpu)",
      retryAfter: 3)
  }

  // MARK: Lookup

  package var served: ServedState { state.value }

  /// Waits until the state changes after the one with `known` changes.
  ///
  /// - Returns: the new state, or at `deadline` the current one.
  /// - Throws: `CancellationError`.
  @discardableResult
  package func served(after known: Int, until deadline: CaptureInstant? = nil) async throws -> ServedState {
    try await state.first(until: deadline) { $0.changes == known ? nil : $0 } ?? served
  }

  package var cameras: [ServedCamera] { served.cameras }

  /// Returns a view of a camera or scene. A nil name means the first one.
  ///
  /// - Throws: `Problem` 404.
  package func view(_ view: String?, of camera: String?) throws(Problem) -> ServedPreview {
    try served.view(view, of: camera)
  }

  /// - Throws: `Problem` if the view of a right may not be shown now.
  package func check(_ right: ViewRight) throws(Problem) { try served.check(right) }

  /// Whether anything that is served must be drawn, or has been. Otherwise JPEGs of cameras may be passed
  /// through.
  var needsRenderer: Bool {
    session.statistics.renders > 0
      || served.allViews.contains { view in
        view.served.isEnabled && !(view.served.quality == nil && view.preview.mayPass(view.served.view))
      }
  }

  // MARK: Changes

  /// Changes a view at run time, as `ServedState.update` does.
  func update(
    _ view: String, of camera: String, endsMove: Bool = false,
    _ change: (inout ServedView) throws(Problem) -> Void
  ) throws(Problem) -> ServedPreview {
    let changed = try state.update { state throws(Problem) in
      try state.update(view, of: camera, endsMove: endsMove, change)
    }
    grants.revokeLost()
    return changed
  }

  /// Moves a view at run time, as `ServedState.move` does.
  func move(
    _ view: String, of camera: String, over duration: Duration,
    to target: (ServedPreview) throws(Problem) -> LensPose?
  ) throws(Problem) -> (entry: ServedPreview, begun: BegunMove) {
    let moved = try state.update { state throws(Problem) in
      try state.move(view, of: camera, over: duration, to: target)
    }
    grants.revokeLost()
    return moved
  }

  /// Runs `work`, which looks up names itself. If it fails and the configuration has changed meanwhile,
  /// `work` is run again, because objects that it found may have been removed.
  package func consistently<Result>(_ work: () async throws -> Result) async throws -> Result {
    while true {
      let generation = served.generation
      do { return try await work() } catch {
        guard !Task.isCancelled, served.generation != generation else { throw error }
      }
    }
  }

  /// Switches to another configuration in one step. Unchanged parts continue to run with their run-time
  /// changes; removed parts are closed in the background, however long that takes. `swapping` is called at
  /// the moment of the switch.
  ///
  /// - Throws: `SourceError` if a picture can't be read, `CancellationError`; nothing is changed then.
  func apply(_ configuration: ServerConfiguration, swapping: () -> Void = {}) async throws {
    while true {
      var prepared = PreparedState(configuration, from: served)
      var remains: PreparedState.Remains?
      do {
        var sources: [SessionSource] = []
        for camera in prepared.missingCameras {
          let name = nextName(camera.name)
          sources.append(try await Self.source(of: camera, named: name, makeSource, timeouts))
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
      // Another change was applied first.
      prepared.giveUp(in: session)
    }
  }

  /// Serves the prepared state. Returns nil if it was prepared for a state that is no longer served.
  private func swap(_ prepared: PreparedState, _ swapping: () -> Void) -> PreparedState.Remains? {
    defer {
      grants.revokeLost()
      // Cameras may have become required.
      session.activity.note(cameras.map(\.source))
    }
    return state.update { state in
      guard state.generation == prepared.base.generation else { return nil }
      let (next, remains) = prepared.swapped(state)
      state = next
      for view in next.cameras.flatMap(\.views) {
        if case .view(let preview) = view.content { preview.show(view.served) }
      }
      swapping()
      return remains
    }
  }

  /// Removes objects that are no longer served from the session. Requests that still wait for them get an
  /// error at once and look them up again.
  private func retire(_ remains: PreparedState.Remains, after prepared: PreparedState) {
    for camera in remains.cameras {
      logger.info("camera removed", metadata: ["camera": "\(camera.configuration.name)"])
    }
    for camera in prepared.newCameras {
      logger.info("camera added", metadata: ["camera": "\(camera.name)"])
      warn(of: camera)
    }
    for preview in remains.previews { session.remove(preview) }
    for camera in remains.cameras { Task { [session] in await session.removeSource(camera.source) } }
  }

  private func warn(of camera: CameraConfiguration) {
    if let warning = SourceLocator(camera.source).warning(of: camera.options) {
      logger.warning("\(warning)", metadata: ["camera": "\(camera.name)"])
    }
    guard camera.lacksReferenceSize else { return }
    logger.warning(
      "masks and crops refer to the size of the first frame; set 'reference' to fix that size",
      metadata: ["camera": "\(camera.name)"])
  }
}

extension CameraConfiguration {
  /// Whether its masks and crops refer to the size of the first frame.
  fileprivate var lacksReferenceSize: Bool {
    let locator = SourceLocator(source)
    guard options.referenceSize == nil, locator.isLive, !locator.kind.hasSizes else { return false }
    return !options.masks.isEmpty || views.contains(where: \.view.isCropped)
  }
}
