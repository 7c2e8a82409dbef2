// The actor that owns a context and everything made in it: a frame and a plan come in, pictures go out.
public import PreviewCore
internal import Synchronization

/// Draws plans on one GPU. Its methods run on a thread of its own, the only one that calls GL.
public actor GLRenderer: Renderer {
  /// What can go wrong.
  package typealias Failure = RenderError

  /// The device it draws on.
  public nonisolated let device: GPUDevice
  private let thread: GPUThread
  /// Nil before the first line on the GPU thread and after `close()`.
  private var state: GLState?
  /// Stays so, also once it is closed: whoever still waits for a picture is told why there is none.
  private var isLost = false
  /// How many more frames may be sent to the GPU, and who waits for that.
  private var freeSlots: Int
  private var waiting: [CheckedContinuation<Void, Never>] = []
  private nonisolated let kept = Atomic(0)

  /// The renderer's own thread.
  public nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe thread.asUnownedSerialExecutor() }

  /// What plans for this renderer must keep to.
  public nonisolated let tuning: RenderTuning

  /// Finds the device that a user wants, and opens a context on it: sooner there than `open(on:)` after
  /// `GPUDevice.choose(_:)`, since it draws in the context that the device was tried in.
  ///
  /// - Parameter choice: `.automatic` is the first that works, hardware before software.
  /// - Returns: the renderer; `device` is what was found.
  /// - Throws: `DeviceError`, with all that was tried and what may help; `RenderError` where the driver refuses.
  public static func open(_ choice: GPUChoice = .automatic) async throws -> GLRenderer {
    let thread = try GPUThread.forDevices(named: threadName)
    let device = try await GPUDevice.choose(choice, toDrawOn: thread)
    return try await GLRenderer(on: device, device.tuning, thread)
  }

  /// Opens a context on a new thread.
  ///
  /// - Parameters:
  ///   - device: one that works, as `GPUDevice.choose(_:)` gives it.
  ///   - tuning: how to go about it; what the device does best by default.
  /// - Returns: the renderer.
  /// - Throws: `RenderError` where the driver refuses.
  public static func open(on device: GPUDevice, tuning: RenderTuning? = nil) async throws -> GLRenderer {
    try await GLRenderer(on: device, tuning ?? device.tuning, GPUThread(named: threadName))
  }

  private static let threadName = "glpreview-gl"

  // Not public: Swift 6.3.1 at -O fails with "circular reference" in a module that allocates an actor with an
  // isolated deinit of another module.
  private init(on device: GPUDevice, _ tuning: RenderTuning, _ thread: GPUThread) async throws {
    self.device = device
    self.tuning = tuning
    self.thread = thread
    freeSlots = tuning.framesInFlight
    state = nil  // All properties are set: from the next line on, the init runs on the GPU thread.
    do { state = try GLState(device, tuning) } catch { throw RenderError("\(device.name): \(error)") }
  }

  isolated deinit { state = nil }

  /// Lends memory to `pool`, so that frames which a source makes there need not be copied to be drawn, where the device
  /// can read them in place. Frames of the pool may outlive the renderer.
  package func lendMemory(to pool: FramePool) {
    if tuning.boxes == .words { state?.uploader.lender.serve(pool) }
  }

  /// Lets all that is drawn from now on fail as a driver does whose GPU was reset: for tests.
  func loseContext() { isLost = true }

  /// Gives the context and all that was made in it back; when it returns, nothing is left on the GPU.
  public func close() { state = nil }

  /// Draws all views of `plan` from one frame, which is uploaded once.
  ///
  /// Where `tuning.framesInFlight` is more than 1, so many calls at a time are on their way over the GPU; ask for a frame
  /// while others are drawn. A call that is one too many waits for its turn. A task that is cancelled gets its pictures all
  /// the same.
  ///
  /// - Throws: `RenderError` where the driver refuses or the GPU hangs, or after `close()`, also where that comes meanwhile.
  public func render(_ frame: Frame, _ plan: RenderPlan) async throws(RenderError) -> [Picture] {
    try await render(frame, plan, within: nil)
  }

  /// The same, where what is made for it on the GPU counts against `budget`.
  func render(_ frame: Frame, _ plan: RenderPlan, within budget: MemoryBudget?) async throws(RenderError)
    -> [Picture]
  {
    try check(frame, plan)
    return try await draw(.views(frame, plan, isTimed: false), within: budget).pictures
  }

  /// Draws one picture of several frames, in one framebuffer.
  ///
  /// What was drawn of a frame is kept for a while, so that a frame that comes again with the next picture costs nothing.
  ///
  /// - Throws: what `render(_:_:)` throws, and where `frames` are not those that the plan was made for.
  package func render(_ frames: [Frame?], _ plan: ScenePlan) async throws(RenderError) -> Picture {
    try await render(frames, plan, within: nil)
  }

  /// The same, where what is made for it on the GPU counts against `budget`.
  func render(_ frames: [Frame?], _ plan: ScenePlan, within budget: MemoryBudget?) async throws(RenderError)
    -> Picture
  {
    try check(frames, plan)
    let drawn = try await draw(.scene(frames, plan), within: budget)
    guard let picture = drawn.pictures.first else { throw RenderError("the scene has no picture") }
    return picture
  }

  /// Draws like `render(_:_:)`, and tells what the passes of all views together took by the GPU's own clock.
  ///
  /// - Returns: the pictures; no time where `tuning.timesPasses` is false, the GPU has no clock, or it was interrupted.
  /// - Throws: what `render(_:_:)` throws.
  package func renderTimed(
    _ frame: Frame, _ plan: RenderPlan
  ) async throws(RenderError) -> (pictures: [Picture], gpuTime: Duration?) {
    try check(frame, plan)
    return try await draw(.views(frame, plan, isTimed: true))
  }

  /// Draws like `render(_:_:)`, stage by stage, and tells what each cost. Slower than `render`: nothing overlaps.
  ///
  /// - Throws: `RenderError` where the driver refuses, or after `close()`.
  package func measure(
    _ frame: Frame, _ plan: RenderPlan
  ) throws(RenderError) -> (pictures: [Picture], measurement: RenderMeasurement) {
    try check(frame, plan)
    return try onDevice { try state?.measure(frame, plan) }
  }

  /// Bytes of what is kept for the next pictures: targets, buffers, the last frame.
  nonisolated var keptByteCount: Int { kept.load(ordering: .relaxed) }

  /// Lets go of it; what comes next takes a little longer.
  func removeKept() {
    state?.removeKept()
    countKept()
  }

  private func countKept() { kept.store(state?.keptByteCount ?? 0, ordering: .relaxed) }

  /// How many views of frames were drawn for scenes so far; those that were there already are not counted.
  func countTiles() -> Int { state?.tiles.drawnCount ?? 0 }

  private func draw(_ work: GLWork, within budget: MemoryBudget? = nil) async throws(RenderError)
    -> DrawnFrame
  {
    let overlaps = tuning.framesInFlight > 1
    if overlaps { await takeSlot() }
    defer {
      if overlaps { giveSlot() }
      countKept()
    }
    switch try onDevice({ try state?.begin(work, within: budget) }) {
    case .done(let drawn): return drawn
    case .inFlight(let number):
      // The thread waits for the GPU only when it has no frame to send it.
      if overlaps { await thread.idle() }
      return try onDevice { try state?.finish(number) }
    }
  }

  private func check(_ frame: Frame, _ plan: RenderPlan) throws(RenderError) {
    guard frame.format == plan.source else {
      throw RenderError("the plan is for other frames than this one of \(frame.format.size)")
    }
  }

  private func check(_ frames: [Frame?], _ plan: ScenePlan) throws(RenderError) {
    guard frames.count == plan.sources.count else {
      throw RenderError("the plan is for \(plan.sources.count) frames, not \(frames.count)")
    }
    for (index, (frame, source)) in zip(frames, plan.sources).enumerated() {
      guard let source, frame?.format != source else { continue }
      throw RenderError("the plan is for another frame \(index), of \(source)")
    }
  }

  /// - Throws: a `RenderError` that names the device; where there is no result, that the renderer is closed.
  private func onDevice<Result>(_ work: () throws -> Result?) throws(RenderError) -> Result {
    let result: Result?
    do {
      if isLost { throw GLError.contextLost }
      result = try work()
    } catch let error as RenderError {
      throw error
    } catch {
      if (error as? GLError)?.isContextLost == true { isLost = true }
      var shortage: MemoryBudgetExceeded?
      if case .budget(let error)? = (error as? GLError)?.reason { shortage = error }
      throw RenderError("\(device.name): \(error)", isContextLost: isLost, shortage: shortage)
    }
    guard let result else { throw RenderError("the renderer is closed") }
    return result
  }

  // MARK: Slots

  private func takeSlot() async {
    if freeSlots > 0 {
      freeSlots -= 1
    } else {
      await withCheckedContinuation { waiting.append($0) }
    }
  }

  /// FIFO hand-off: the slot goes to the longest waiter.
  private func giveSlot() {
    if waiting.isEmpty { freeSlots += 1 } else { waiting.removeFirst().resume() }
  }
}
