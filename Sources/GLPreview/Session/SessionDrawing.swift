// Draws a session's pictures, on a GPU that all sessions share.
internal import Synchronization

/// Draws for all sources and scenes of a session.
final class SessionDrawing: Sendable {
  private let lease: RendererLease
  /// Draws labels; nil leaves them out.
  let text: (any TextRenderer)?
  let maximumPixels: Int
  /// The budget of frames and pictures; nil for none.
  let budget: MemoryBudget?
  /// The number of drawings, and the task that waits until there are no more.
  private let drawings = Atomic(0)
  private let idling = Mutex<Task<Void, Never>?>(nil)
  private let latest = Mutex(LatestRenderer())
  private let load = Mutex(GPULoad())
  private let counters: SessionCounters
  private let onRender: (@Sendable (Duration) -> Void)?
  /// Called with the duration of each JPEG encode.
  let onEncode: @Sendable (Duration) -> Void
  /// Nil where programs are compiled when they are needed.
  private let primer: ProgramPrimer?
  private let scenes = Mutex(LRUCache<ScenePlanKey, ScenePlan>(capacity: 16))
  /// The plans for frames that come from no source, by their upright sizes.
  private let others = Mutex(LRUCache<Size, ViewPlans>(capacity: 8))

  /// The inputs of a plan.
  private struct ScenePlanKey: Hashable {
    let formats: [Frame.Format?]
    let composition: Composition
    let form: PictureForm
  }

  private struct LatestRenderer {
    weak var renderer: (any DeviceRenderer)?
  }

  /// The interval between checks whether anything was drawn. If nothing was, a renderer that keeps more than
  /// this releases it.
  private static let pollInterval = Duration.seconds(1)
  private static let mostIdleBytes = 16 << 20
  /// After this long without drawing, the renderer releases everything, and the next drawing takes about 40
  /// ms longer.
  private static let restsAfter = Duration.seconds(30)

  init(
    on choice: GPUDevice.Choice, _ text: (any TextRenderer)?, maximumPixels: Int,
    within budget: MemoryBudget?, counting counters: SessionCounters,
    onRender: (@Sendable (Duration) -> Void)?, onEncode: (@Sendable (Duration) -> Void)?,
    primesPrograms: Bool, renderers: SharedRenderers
  ) {
    primer = primesPrograms ? ProgramPrimer() : nil
    lease = RendererLease(choice, of: renderers)
    self.text = text
    self.maximumPixels = maximumPixels
    self.budget = budget
    self.counters = counters
    self.onRender = onRender
    self.onEncode = { duration in
      counters.count(\.jpegs)
      onEncode?(duration)
    }
  }

  /// The memory and the programs that the last renderer keeps for later pictures; zero if it is closed.
  var caches: PreviewSession.RendererCaches {
    guard let renderer = latest.withLock({ $0.renderer }) else { return PreviewSession.RendererCaches() }
    return PreviewSession.RendererCaches(bytes: renderer.cachedByteCount, programs: renderer.programCount)
  }

  var device: GPUDevice {
    get async throws { try await lease.withRenderer { $0.device } }
  }

  /// The reason why the CPU draws in place of a GPU that has failed; nil if it does not.
  var deviceFailure: String? { get async { await lease.standInReason } }

  /// Has the renderer lend its memory to the source of `plans`. One that does not open soon is not waited for.
  func lendMemory(to plans: ViewPlans) async {
    _ = try? await withDeadline(.seconds(5)) {
      try await self.lease.withRenderer { await plans.lendMemory(of: $0) }
    }
  }

  /// The share of the GPU's time, 0 to 1, that drawing has lately taken; nil if it is not known.
  var gpuLoad: Double? { load.withLock { $0.share(at: CaptureClock.now) }.map { min($0, 1) } }

  /// Returns the plans for frames that come from no source.
  func plans(for size: Size) -> ViewPlans {
    others.withLock { others in
      if let plans = others[size] { return plans }
      var options = SourceOptions()
      options.referenceSize = size
      let plans = ViewPlans(of: options, memory: FramePool(budget: budget))
      others.insert(plans, for: size)
      return plans
    }
  }

  /// Draws the views of `requests`, and counts the GPU's time for each; `plans` are the existing plans of their
  /// source.
  func draw(
    _ frame: Frame, _ requests: [(view: ViewRequest, gpuTime: GPUTime)], _ plans: ViewPlans
  ) async throws -> [Picture] {
    counters.count(\.renders)
    counters.count(\.pictures, by: requests.count)
    return try await lease.withRenderer { [maximumPixels] renderer in
      await plans.lendMemory(of: renderer)
      let planner = RenderPlanner(tuning: renderer.tuning, maximumPixels: maximumPixels)
      let plan = try plans.plan(
        frame.format, at: frame.timestamp, requests.map(\.view), planner, text: self.text)
      defer { self.primer?.saw(frame.format.pixelFormat, on: renderer.device) }
      return try await self.drawn(plan.views, by: renderer, counting: requests.map(\.gpuTime)) {
        try await renderer.render(frame, plan, within: self.budget)
      }
    }
  }

  /// Draws `views` with `render`. Each picture holds its part of the budget until it is released.
  ///
  /// - Throws: `MemoryBudget.Exceeded` if there is no room for the pictures or for drawing.
  private func drawn(
    _ views: [PlannedView], by renderer: any DeviceRenderer, counting gpuTimes: [GPUTime],
    _ render: () async throws -> DrawnFrame
  ) async throws -> [Picture] {
    let leases = try views.compactMap { try budget?.reserve($0.byteCount) }
    latest.withLock { $0.renderer = renderer }
    defer { letGoWhenIdle(renderer) }
    do {
      let (pictures, gpuTime) = try await measured(render)
      if let gpuTime { count(gpuTime, of: views, in: gpuTimes) }
      counters.count(\.coded, by: pictures.count { $0.scan != nil })
      guard leases.count == pictures.count else { return pictures }
      for (picture, lease) in zip(pictures, leases) where picture.scan != nil {
        try lease.resize(to: picture.byteCount)
      }
      return zip(pictures, leases).map { $0.holding($1) }
    } catch let error as RenderError {
      if let shortage = error.shortage { throw shortage }
      throw error
    }
  }

  /// Counts the GPU's time for one drawing; each view has its part by the size of its picture.
  private func count(_ time: Duration, of views: [PlannedView], in gpuTimes: [GPUTime]) {
    load.withLock { $0.add(time, at: CaptureClock.now) }
    let pixelCount = views.reduce(0) { $0 + $1.size.pixelCount }
    for (view, gpuTime) in zip(views, gpuTimes) {
      gpuTime.add(time * (Double(view.size.pixelCount) / Double(pixelCount)))
    }
  }

  /// Releases a renderer's memory when nothing is being drawn, and its programs after a long time without
  /// drawing.
  private func letGoWhenIdle(_ renderer: any DeviceRenderer) {
    drawings.add(1, ordering: .relaxed)
    idling.withLock { idling in
      idling =
        idling
        ?? Task { [weak self, weak renderer] in
          var (seen, rest) = (-1, Duration.zero)
          while rest < Self.restsAfter, let count = self?.drawings.load(ordering: .relaxed) {
            rest = count == seen ? rest + Self.pollInterval : .zero
            seen = count
            if rest == Self.pollInterval, let renderer,
              renderer.cachedByteCount > Self.mostIdleBytes || renderer.programCount > ProgramCache.mostAtRest
            {
              await renderer.removeCached()
            }
            try? await pause(Self.pollInterval)
          }
          guard let self else { return }
          self.idling.withLock { $0 = nil }
          await renderer?.removeCached()
          await renderer?.removePrograms()
        }
    }
  }

  /// Releases the renderer's memory that `memory` has borrowed; the source of `memory` is closed.
  func release(_ memory: FramePool) async {
    memory.removeAll()
    await latest.withLock { $0.renderer }?.removeUnheldMemory()
  }

  /// Runs `render` and reports its duration.
  private func measured<Value: Sendable>(_ render: () async throws -> Value) async throws -> Value {
    guard let onRender else { return try await render() }
    let start = CaptureClock.now
    let value = try await render()
    onRender(CaptureClock.now - start)
    return value
  }

  /// Draws a scene from the frames of its inputs; `gpuTime` counts the GPU's time for it.
  ///
  /// - Throws: `ParameterError`, `DeviceError`, `RenderError`.
  func draw(
    _ scene: ComposedScene, _ frames: [Frame?], as form: PictureForm, named name: String,
    counting gpuTime: GPUTime
  ) async throws -> Picture {
    counters.count(\.renders)
    counters.count(\.pictures)
    return try await lease.withRenderer { renderer in
      let plan = try self.plan(scene, frames.map { $0?.format }, form, name, renderer.tuning)
      return try await self.drawn([plan.view], by: renderer, counting: [gpuTime]) {
        try await renderer.render(frames, plan, within: self.budget)
      }[0]
    }
  }

  private func plan(
    _ scene: ComposedScene, _ formats: [Frame.Format?], _ form: PictureForm, _ name: String,
    _ tuning: RenderTuning
  ) throws -> ScenePlan {
    let form = tuning.codesJPEG == true ? form : PictureForm(form.format)
    let key = ScenePlanKey(formats: formats, composition: scene.composition, form: form)
    if let plan = scenes.withLock({ $0[key] }) { return plan }
    let planner = RenderPlanner(tuning: tuning, maximumPixels: maximumPixels)
    let plan = try planner.plan(formats, scene.composition, name: name, as: form.format, coding: form.coding)
    scenes.withLock { $0.insert(plan, for: key) }
    return plan
  }

  func end() async {
    primer?.end()
    await lease.giveBack()
  }
}
