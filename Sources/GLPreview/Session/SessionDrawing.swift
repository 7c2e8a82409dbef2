// Where a session's pictures are drawn: on a GPU that all sessions share.
internal import PreviewCore
internal import Synchronization

/// Draws for all sources and scenes of a session.
final class SessionDrawing: Sendable {
  private let lease: RendererLease
  private let text: any TextRenderer
  private let maximumPixels: Int
  private let counters: SessionCounters
  private let onRender: (@Sendable (Duration) -> Void)?
  private let scenes = Mutex<[ScenePlanKey: ScenePlan]>([:])

  /// What a plan is made of.
  private struct ScenePlanKey: Hashable {
    let formats: [FrameFormat?]
    let composition: Composition
    let output: PictureFormat
  }

  /// More plans than these are not kept: a scene that changes has a new one each time.
  private static let capacity = 16

  init(
    on choice: GPUChoice, _ text: (any TextRenderer)?, maximumPixels: Int, counting counters: SessionCounters,
    measuring onRender: (@Sendable (Duration) -> Void)? = nil, renderers: SharedRenderers = .ofThisProcess
  ) {
    lease = RendererLease(choice, of: renderers)
    self.text = text ?? NoText()
    self.maximumPixels = maximumPixels
    self.counters = counters
    self.onRender = onRender
  }

  /// What it draws on.
  var device: GPUDevice {
    get async throws { try await lease.withRenderer { $0.device } }
  }

  /// Draws the views of `requests`; `reference` is the size in whose pixels their crops are said.
  ///
  /// `plans` are those of the source that were made before.
  func draw(_ frame: Frame, _ requests: [ViewRequest], _ plans: ViewPlans) async throws -> [Picture] {
    counters.count(\.renders)
    counters.count(\.pictures, by: requests.count)
    return try await lease.withRenderer { [maximumPixels] renderer in
      await plans.lendMemory(of: renderer)
      let planner = RenderPlanner(tuning: renderer.tuning, maximumPixels: maximumPixels)
      let plan = try plans.plan(frame.format, requests, planner)
      return try await self.measured { try await renderer.render(frame, plan) }
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

  /// Draws a scene of the frames that `resolve` finds.
  ///
  /// - Throws: `SceneError`, `ViewError`, `DeviceError`, `RenderError`.
  func draw(
    _ scene: ComposedScene, as output: PictureFormat, named name: String,
    _ resolve: (FrameReference) -> Frame?
  ) async throws -> Picture {
    let frames = scene.inputs.map(resolve)
    counters.count(\.renders)
    counters.count(\.pictures)
    return try await lease.withRenderer { renderer in
      let plan = try self.plan(scene, frames.map { $0?.format }, output, name, renderer.tuning)
      return try await self.measured { try await renderer.render(frames, plan) }
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
  /// - Throws: `ViewError` where it is beyond the limits.
  func size(of view: ViewConfiguration, in size: Size) throws(ViewError) -> Size {
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

/// The plans of one source's views, and the memory that its frames are made in.
final class ViewPlans: Sendable {
  let memory = FramePool()
  private let state = Mutex(State())

  private struct State {
    /// Upright; crops are in its pixels. That of the first frame.
    var reference: Size?
    var plans: [Key: RenderPlan] = [:]
    weak var lender: GLRenderer?
  }

  private struct Key: Hashable {
    let format: FrameFormat
    let requests: [ViewRequest]
  }

  private static let capacity = 16

  /// The size of the first frame; nil before that.
  var knownReference: Size? { state.withLock { $0.reference } }

  /// The size in whose pixels crops are said.
  func reference(for format: FrameFormat) -> Size {
    state.withLock { state in
      let reference = state.reference ?? format.uprightSize
      state.reference = reference
      return reference
    }
  }

  /// The plan of these views for frames of `format`.
  func plan(_ format: FrameFormat, _ requests: [ViewRequest], _ planner: RenderPlanner) throws(ViewError)
    -> RenderPlan
  {
    let key = Key(format: format, requests: requests)
    if let plan = state.withLock({ $0.plans[key] }) { return plan }
    let plan = try planner.plan(format, requests.map { rescaled($0, for: format) })
    state.withLock { state in
      if state.plans.count >= Self.capacity { state.plans = [:] }
      state.plans[key] = plan
    }
    return plan
  }

  /// What cannot be rescaled is said to be wrong, as it was said.
  private func rescaled(_ request: ViewRequest, for format: FrameFormat) -> ViewRequest {
    ViewRequest(rescaled(request.view, for: format), as: request.format)
  }

  /// The view in pixels of frames of `format`.
  func rescaled(_ view: ViewConfiguration, for format: FrameFormat) -> ViewConfiguration {
    let reference = reference(for: format)
    guard reference != format.uprightSize, view.crop?.isInside(reference) == true else { return view }
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

/// Draws no text.
private struct NoText: TextRenderer {
  func bitmap(for text: StyledText) -> Bitmap? { nil }
}
