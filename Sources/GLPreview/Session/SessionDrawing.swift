// Where a session's pictures are drawn: on a GPU that all sessions share.
internal import PreviewCore
internal import Synchronization

/// Draws for all sources and scenes of a session.
final class SessionDrawing: Sendable {
  private let lease: RendererLease
  private let text: any TextRenderer
  private let maximumPixels: Int
  /// What frames and pictures count against; nil counts nothing.
  let budget: MemoryBudget?
  /// How often it was drawn, and what waits for that to have stopped.
  private let drawings = Atomic(0)
  private let idling = Mutex<Task<Void, Never>?>(nil)
  private let counters: SessionCounters
  private let onRender: (@Sendable (Duration) -> Void)?
  private let scenes = Mutex<[ScenePlanKey: ScenePlan]>([:])

  /// What a plan is made of.
  private struct ScenePlanKey: Hashable {
    let formats: [FrameFormat?]
    let composition: Composition
    let output: PictureFormat
  }

  /// A renderer that has drawn nothing for so long keeps no more than this.
  private static let idleAfter = Duration.seconds(1)
  private static let mostIdleBytes = 16 << 20

  /// More plans than these are not kept: a scene that changes has a new one each time.
  private static let capacity = 16

  init(
    on choice: GPUChoice, _ text: (any TextRenderer)?, maximumPixels: Int, within budget: MemoryBudget? = nil,
    counting counters: SessionCounters,
    measuring onRender: (@Sendable (Duration) -> Void)? = nil, renderers: SharedRenderers = .ofThisProcess
  ) {
    lease = RendererLease(choice, of: renderers)
    self.text = text ?? NoText()
    self.maximumPixels = maximumPixels
    self.budget = budget
    self.counters = counters
    self.onRender = onRender
  }

  /// What it draws on.
  var device: GPUDevice {
    get async throws { try await lease.withRenderer { $0.device } }
  }

  /// Draws the views of `requests`; `plans` are those of the source that were made before.
  func draw(_ frame: Frame, _ requests: [ViewRequest], _ plans: ViewPlans) async throws -> [Picture] {
    counters.count(\.renders)
    counters.count(\.pictures, by: requests.count)
    return try await lease.withRenderer { [maximumPixels] renderer in
      await plans.lendMemory(of: renderer)
      let planner = RenderPlanner(tuning: renderer.tuning, maximumPixels: maximumPixels)
      let plan = try plans.plan(frame.format, requests, planner)
      return try await self.drawn(plan.views, by: renderer) {
        try await renderer.render(frame, plan, within: self.budget)
      }
    }
  }

  /// What `render` gives for `views`; each picture holds its part of the budget for as long as it is there.
  ///
  /// - Throws: `MemoryBudgetExceeded` where there is no room for the pictures, or for what drawing takes.
  private func drawn(
    _ views: [PlannedView], by renderer: GLRenderer, _ render: () async throws -> [Picture]
  ) async throws -> [Picture] {
    let leases = try views.compactMap { try budget?.reserve($0.byteCount) }
    defer { letGoWhenIdle(renderer) }
    do {
      let pictures = try await measured(render)
      guard leases.count == pictures.count else { return pictures }
      return zip(pictures, leases).map { $0.holding($1) }
    } catch let error as RenderError {
      if let shortage = error.shortage { throw shortage }
      throw error
    }
  }

  /// A renderer keeps little while nothing is drawn.
  private func letGoWhenIdle(_ renderer: GLRenderer) {
    drawings.add(1, ordering: .relaxed)
    guard renderer.keptByteCount > Self.mostIdleBytes else { return }
    idling.withLock { idling in
      idling =
        idling
        ?? Task { [weak self, weak renderer] in
          var seen = -1
          while let count = self?.drawings.load(ordering: .relaxed), count != seen {
            seen = count
            try? await pause(Self.idleAfter)
          }
          self?.idling.withLock { $0 = nil }
          await renderer?.removeKept()
        }
    }
  }

  /// What `render` gives; how long that took is told.
  private func measured<Value: Sendable>(_ render: () async throws -> Value) async throws -> Value {
    guard let onRender else { return try await render() }
    let start = CaptureClock.now
    let value = try await render()
    onRender(CaptureClock.now - start)
    return value
  }

  /// Draws a scene of the frames that its inputs stand for.
  ///
  /// - Throws: `WordError`, `WordError`, `DeviceError`, `RenderError`.
  func draw(
    _ scene: ComposedScene, _ frames: [Frame?], as output: PictureFormat, named name: String
  ) async throws -> Picture {
    counters.count(\.renders)
    counters.count(\.pictures)
    return try await lease.withRenderer { renderer in
      let plan = try self.plan(scene, frames.map { $0?.format }, output, name, renderer.tuning)
      return try await self.drawn([plan.view], by: renderer) {
        [try await renderer.render(frames, plan, within: self.budget)]
      }[0]
    }
  }

  private func plan(
    _ scene: ComposedScene, _ formats: [FrameFormat?], _ output: PictureFormat, _ name: String,
    _ tuning: RenderTuning
  ) throws -> ScenePlan {
    let key = ScenePlanKey(formats: formats, composition: scene.composition, output: output)
    if let plan = scenes.withLock({ $0[key] }) { return plan }
    let planner = RenderPlanner(tuning: tuning, maximumPixels: maximumPixels)
    let plan = try planner.plan(formats, scene.composition, name: name, as: output)
    scenes.withLock { scenes in
      if scenes.count >= Self.capacity { scenes = [:] }
      scenes[key] = plan
    }
    return plan
  }

  /// The layers of a scene.
  func compose(_ scene: Scene, _ sources: [String: SourceAppearance], at time: WallClockTime) throws
    -> ComposedScene
  {
    try scene.composed(sources, at: time, text: text)
  }

  /// The size of a view's pictures of an upright source of `size`.
  ///
  /// - Throws: `WordError` where it is beyond the limits.
  func size(of view: ViewConfiguration, in size: Size) throws(WordError) -> Size {
    try RenderPlanner(maximumPixels: maximumPixels).size(of: view, in: size)
  }

  /// The layers of what stands in for a view's source.
  func compose(
    _ fallback: Fallback, _ state: FallbackState, of source: String, hasFrame: Bool,
    _ view: ViewConfiguration,
    in size: Size
  ) -> ComposedScene {
    fallback.composed(
      size: size, state: state, of: source, hasFrame: hasFrame, view: view, at: .now(), text: text)
  }

  func end() async { await lease.giveBack() }
}

/// The plans of one source's views, in pixels of which size their crops are, and the memory that its frames are made in.
final class ViewPlans: Sendable {
  let memory: FramePool
  /// Whether the source has a choice of sizes: in another than its reference size it may show another part.
  private let hasSizes: Bool
  private let state: Mutex<State>

  private struct State {
    /// Upright; crops are in its pixels. Once it is known, it stays.
    var reference: Size?
    /// The size of frames of a source that was to take its reference size: a camera that has no such size takes another.
    var pinned: Size?
    var plans: [Key: RenderPlan] = [:]
    weak var lender: GLRenderer?
  }

  private struct Key: Hashable {
    let format: FrameFormat
    let requests: [ViewRequest]
  }

  private static let capacity = 16

  /// Of a source whose frames count against `budget`.
  init(of source: SessionSource, within budget: MemoryBudget? = nil) {
    memory = FramePool(budget: budget)
    hasSizes = source.origin.hasSizes
    state = Mutex(State(reference: source.options.referenceSize ?? source.options.masks.referenceSize))
  }

  /// The size in whose pixels crops are; nil before it is known.
  var knownReference: Size? { state.withLock { $0.reference } }

  /// A frame has come, of a source that says that its reference size is `reference`, or leaves that to its first frame.
  func sawFrame(of format: FrameFormat, reference: Size?, isPinned: Bool) {
    state.withLock { state in
      state.reference = state.reference ?? reference ?? format.uprightSize
      if isPinned {
        state.pinned = format.uprightSize
      } else if state.pinned == format.uprightSize {
        // A mode of this size may show another part than what was of this size then.
        state.pinned = nil
      }
    }
  }

  /// Why nobody can tell where a crop lies in frames of a format; nil where it can be told.
  func misfit(_ format: FrameFormat) -> Misfit? {
    let size = format.uprightSize
    let (reference, pinned) = state.withLock { ($0.reference ?? size, $0.pinned) }
    if size == reference { return nil }
    if hasSizes, size != pinned { return .mode(size, reference) }
    return size.hasShape(of: reference) ? nil : .shape(size, reference)
  }

  /// The same for a view: without a crop it shows all of whatever there is.
  func misfit(_ view: ViewConfiguration, _ format: FrameFormat) -> Misfit? {
    view.crop == nil ? nil : misfit(format)
  }

  /// The plan of these views for frames of `format`.
  func plan(_ format: FrameFormat, _ requests: [ViewRequest], _ planner: RenderPlanner) throws(WordError)
    -> RenderPlan
  {
    var rescaled: [ViewRequest] = []
    for request in requests {
      rescaled.append(ViewRequest(try self.rescaled(request.view, for: format), as: request.format))
    }
    let key = Key(format: format, requests: rescaled)
    if let plan = state.withLock({ $0.plans[key] }) { return plan }
    let plan = try planner.plan(format, rescaled)
    state.withLock { state in
      if state.plans.count >= Self.capacity { state.plans = [:] }
      state.plans[key] = plan
    }
    return plan
  }

  /// The view in pixels of frames of `format`.
  ///
  /// - Throws: `WordError` of key `crop`, where that lies outside the reference size, or does not fit such frames.
  func rescaled(_ view: ViewConfiguration, for format: FrameFormat) throws(WordError) -> ViewConfiguration {
    guard let crop = view.crop else { return view }
    let reference = knownReference ?? format.uprightSize
    guard crop.isInside(reference) else {
      throw WordError(
        "crop", "\(crop) is not inside the picture, which has \(reference) pixels (view '\(view.name)')")
    }
    if let misfit = misfit(format) { throw WordError("crop", misfit.reason) }
    return view.rescaled(from: reference, to: format.uprightSize)
  }

  /// Lets frames be made where the renderer can read them in place; once for each renderer.
  func lendMemory(of renderer: GLRenderer) async {
    let isNew = state.withLock { state in
      defer { state.lender = renderer }
      return state.lender !== renderer
    }
    if isNew { await renderer.lendMemory(to: memory) }
  }

  func end() {
    memory.removeAll()
    state.withLock { $0.plans = [:] }
  }
}

/// Why crops can't be drawn of a frame: nobody can tell what they would show.
enum Misfit: Sendable, Hashable {
  /// The camera is in another size than its reference size, for readers without a crop, and is being switched.
  case mode(Size, Size)
  /// The source has another shape now.
  case shape(Size, Size)

  /// For people.
  var reason: String {
    switch self {
    case .mode(_, let reference): "is being switched to \(reference)"
    case .shape(let size, let reference):
      "is \(size) now, and its crops are for \(reference): what they show can't be told"
    }
  }

  /// What stands in for the source.
  func state(since time: Duration) -> FallbackState {
    switch self {
    case .mode: FallbackState(.opening, sinceCapture: time)
    case .shape: FallbackState(.lost, text: reason, sinceCapture: time)
    }
  }
}

extension PlannedView {
  /// Of its picture.
  fileprivate var byteCount: Int {
    format.planeSizes(of: size).reduce(0) { $0 + $1.pixelCount * format.bytesPerSample }
  }
}

/// Draws no text.
private struct NoText: TextRenderer {
  func bitmap(for text: StyledText) -> Bitmap? { nil }
}
