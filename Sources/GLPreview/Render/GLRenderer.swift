// The actor that owns a GL context and everything in it: a frame and a plan go in, pictures come out.
internal import Synchronization

/// Draws frames on one GPU, as a `RenderPlan` describes. Its methods run on their own thread, the only one
/// that calls GL.
public actor GLRenderer: DeviceRenderer {
  package typealias Failure = RenderError

  /// The device that it draws on.
  public nonisolated let device: GPUDevice
  private let thread: GPUThread
  /// Nil before the first line on the GPU thread and after `close()`.
  private var state: GLState?
  /// Stays true after closing, so that waiting callers get the reason.
  private var isLost = false
  /// Makes buffers for cameras; nil once the renderer is closed.
  private var sharing: OpenRendererSharing?
  private var reset = GLReset { false }
  /// The number of frames that may still be submitted, and the waiting callers. A free slot is taken without
  /// leaving the actor.
  private var freeSlots: Int
  private var waiting: [CheckedContinuation<Void, Never>] = []
  private nonisolated let kept = Atomic(0)
  private nonisolated let programs = Atomic(0)

  /// The executor on the renderer's own thread.
  public nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe thread.asUnownedSerialExecutor() }

  /// The limits and preferences for plans of this renderer.
  package nonisolated var tuning: RenderTuning {
    var tuning = givenTuning
    if tuning.codesJPEG == nil { tuning.codesJPEG = codes.load(ordering: .relaxed) }
    return tuning
  }
  private nonisolated let givenTuning: RenderTuning
  /// Whether it codes JPEGs, where a trial decides that.
  private nonisolated let codes = Atomic(false)

  /// The number of frames worth drawing concurrently; 1 for software.
  public nonisolated var framesInFlight: Int { tuning.framesInFlight }

  /// Finds a device and opens a context on it. Faster than `GPUDevice.choose(_:)` and `open(on:)`, because it
  /// draws in the context in which the device was tested.
  ///
  /// - Parameter choice: `.automatic` selects the first that works, hardware before software; `.cpu` selects
  ///   software. (Sessions draw on the CPU without OpenGL instead.)
  /// - Returns: the renderer; `device` is the device found.
  /// - Throws: `DeviceError`, with all attempts and hints; `RenderError` if the driver fails.
  public static func open(_ choice: GPUDevice.Choice = .automatic) async throws -> GLRenderer {
    let thread = try GPUThread.forDevices(named: threadName)
    let device = try await GPUDevice.choose(choice, toDrawOn: thread)
    return try await GLRenderer(on: device, device.tuning, thread)
  }

  /// Opens a context on a new thread.
  ///
  /// - Parameter device: a working device, such as `GPUDevice.choose(_:)` returns.
  /// - Returns: the renderer.
  /// - Throws: `RenderError` if the driver fails.
  public static func open(on device: GPUDevice) async throws -> GLRenderer {
    try await open(on: device, tuning: device.tuning)
  }

  /// Opens a context on a new thread, with a tuning that is not the device's own.
  package static func open(on device: GPUDevice, tuning: RenderTuning) async throws -> GLRenderer {
    try await GLRenderer(on: device, tuning, GPUThread(named: threadName))
  }

  /// Opens a context of the same driver on a thread of the lowest priority; nil if no second context can draw
  /// beside `device`, or, unless it may be `shared`, others draw on its display already.
  static func openInBackground(on device: GPUDevice, shared: Bool = false) async throws -> GLRenderer? {
    let thread = try GPUThread(named: "glpreview-prime", isBackground: true)
    guard let other = await device.beside(toDrawOn: thread, shared: shared) else { return nil }
    return try await GLRenderer(on: other, other.tuning, thread)
  }

  private static let threadName = "glpreview-gl"

  // Not public: Swift 6.3.1 at -O fails with "circular reference" in a module that allocates an actor with an
  // isolated deinit of another module.
  private init(on device: GPUDevice, _ tuning: RenderTuning, _ thread: GPUThread) async throws {
    self.device = device
    givenTuning = tuning
    self.thread = thread
    freeSlots = tuning.framesInFlight
    state = nil  // All properties are set: from the next line on, the init runs on the GPU thread.
    try PassTrial.check(on: device)
    do { state = try GLState(device, tuning) } catch { throw RenderError("\(device.name): \(error)") }
    reset = .ofCurrentContext()
    do throws(GLError) {
      if tuning.passes == nil { try tryPasses() }
      if tuning.codesJPEG == nil { try tryCoding() }
    } catch {
      // The first frame reports it.
      isLost = true
    }
  }

  private func tryPasses() throws(GLError) {
    let faster = try PassTrial.run(on: device, tuning) { method, frame, plan in
      state?.passes = method
      return try measured(frame, plan)
    }
    releaseAll(drawingBy: faster)
  }

  private func tryCoding() throws(GLError) {
    let passes = state?.passes ?? .fragments
    let faster = try CodingTrial.run(on: device, tuning) { frame, plan in try measured(frame, plan) }
    codes.store(faster == .gpu, ordering: .relaxed)
    releaseAll(drawingBy: passes)
  }

  /// Draws for a trial.
  private func measured(
    _ frame: Frame, _ plan: RenderPlan
  ) throws -> (pictures: [Picture], measurement: RenderMeasurement) {
    let refused = state?.refusedCount
    guard let drawn = try state?.measure(frame, plan) else { throw RenderError("the renderer is closed") }
    if state?.refusedCount != refused { throw ShaderRefusal() }
    return drawn
  }

  /// Frees what a trial has used, also what compute shaders were the last to use.
  private func releaseAll(drawingBy passes: PassMethod) {
    state?.passes = .compute
    removeCached()
    state?.passes = passes
  }

  isolated deinit { state = nil }

  /// Makes `pool` allocate frames in memory that the device reads in place, if it can, so that they are drawn
  /// without a copy. Frames of the pool may outlive the renderer.
  package func lendMemory(to pool: FramePool) {
    if state?.uploader.shared != nil {
      let sharing = sharing ?? OpenRendererSharing(renderer: self)
      (self.sharing, pool.sharing) = (sharing, sharing)
    }
    if tuning.boxes == .words { state?.uploader.mappedMemory.serve(pool) }
  }

  /// Frees the memory that pools borrowed, but no frame uses.
  package func removeUnheldMemory() {
    state?.uploader.mappedMemory.removeUnheld()
    state?.uploader.shared?.trim()
  }

  /// For tests: makes all further draws fail as after a GPU reset.
  func loseContext(to reset: GLReset = GLReset { false }) { (isLost, self.reset) = (true, reset) }

  /// Destroys the context and everything in it. On return, nothing is left on the GPU. After a reset of the GPU, this waits until
  /// the reset is over, at most 5 s, so that a renderer that is opened next is not lost to it too.
  public func close() async {
    sharing = nil
    if isLost, state != nil { await reset.wait() }
    state = nil
  }

  /// Plans views of frames, to be drawn by this renderer.
  ///
  /// - Parameters:
  ///   - format: the format of the frames.
  ///   - views: the views to draw.
  ///   - output: the sample format of their pictures.
  ///   - maximumPixels: the most pixels that a picture may have.
  /// - Returns: the plan, for any number of frames of this format. It has the views' labels, except for those
  ///   that show the time, which only sessions draw.
  /// - Throws: `ParameterError` if a crop is not inside the frame, or a picture exceeds the limits.
  public nonisolated func plan(
    _ format: Frame.Format, _ views: [ViewConfiguration], as output: Picture.Format,
    maximumPixels: Int = 100_000_000
  ) throws(ParameterError) -> RenderPlan {
    try planned(format, views, as: output, maximumPixels: maximumPixels)
  }

  /// Draws all views of `plan` from one frame, which is uploaded once.
  ///
  /// Up to `framesInFlight` calls run on the GPU concurrently, so request a frame while others are drawn.
  /// Further calls wait for their turn. Cancelling the task does not stop a drawing.
  ///
  /// - Throws: `RenderError` if the driver fails, the GPU hangs, or the renderer is closed before the call
  ///   ends.
  public func render(_ frame: Frame, _ plan: RenderPlan) async throws(RenderError) -> [Picture] {
    try await render(frame, plan, within: nil).pictures
  }

  /// Does what `render(_:_:)` does, counts the GPU objects made for it against `budget`, and measures the
  /// passes with the GPU's clock. The time is nil if `tuning.timesPasses` is false, the GPU has no clock, or it
  /// was interrupted.
  package func render(
    _ frame: Frame, _ plan: RenderPlan, within budget: MemoryBudget?
  ) async throws(RenderError) -> DrawnFrame {
    try check(frame, plan)
    return try await draw(.views(frame, plan), within: budget)
  }

  /// Draws one picture of several frames, in one framebuffer. The drawn views of frames are cached for a
  /// while, so that a frame that is shown again in the next picture costs nothing.
  package func render(_ frames: [Frame?], _ plan: ScenePlan) async throws(RenderError) -> Picture {
    let drawn = try await render(frames, plan, within: nil)
    guard let picture = drawn.pictures.first else { throw RenderError("the scene has no picture") }
    return picture
  }

  /// Does what `render(_:_:)` does, counts the GPU objects made for it against `budget`, and measures the
  /// passes, as for views of a frame.
  package func render(
    _ frames: [Frame?], _ plan: ScenePlan, within budget: MemoryBudget?
  ) async throws(RenderError) -> DrawnFrame {
    try check(frames, plan)
    return try await draw(.scene(frames, plan), within: budget)
  }

  /// Like `render(_:_:)`, but stage by stage, measuring each. Slower, because nothing overlaps.
  package func measure(
    _ frame: Frame, _ plan: RenderPlan
  ) throws(RenderError) -> (pictures: [Picture], measurement: RenderMeasurement) {
    try check(frame, plan)
    return try onDevice { try state?.measure(frame, plan) }
  }

  /// The bytes kept for the next pictures: targets, buffers, the last frame.
  package nonisolated var cachedByteCount: Int { kept.load(ordering: .relaxed) }

  /// The compiled programs.
  package nonisolated var programCount: Int { programs.load(ordering: .relaxed) }

  /// Frees the memory kept for the next pictures; the next one takes a little longer.
  package func removeCached() {
    state?.removeCached()
    countKept()
  }

  /// Frees the programs, which are loaded from the caches on disk again.
  package func removePrograms() {
    state?.removePrograms()
    countKept()
  }

  private func countKept() {
    kept.store(state?.cachedByteCount ?? 0, ordering: .relaxed)
    programs.store(state?.programCount ?? 0, ordering: .relaxed)
  }

  /// The number of views of frames drawn for scenes so far, not counting cached ones.
  func countTiles() -> Int { state?.tiles.drawnCount ?? 0 }

  /// The passes so far by compute shaders, those of them that wrote a `PictureBuffer`, and by fragment shaders.
  func countPasses() -> (compute: Int, toBuffer: Int, fragments: Int) { state?.passCounts ?? (0, 0, 0) }

  /// Whether the driver refused a shader that codes pictures.
  package var refusesCoding: Bool { state?.refusesCoding ?? false }

  /// For tests: compute shaders of these files count as refused by the driver.
  func refuseComputing(_ fileNames: Set<String>) { state?.refuseComputing(fileNames) }

  private func draw(_ work: GLWork, within budget: MemoryBudget? = nil) async throws(RenderError)
    -> DrawnFrame
  {
    let overlaps = framesInFlight > 1
    if overlaps { await takeSlot() }
    defer {
      if overlaps { giveSlot() }
      countKept()
    }
    switch try onDevice({ try state?.begin(work, within: budget) }) {
    case .done(let drawn): return drawn
    case .inFlight(let number):
      // The thread waits for the GPU only when it has no frame to submit.
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

  /// - Throws: `RenderError` that names the device; if there is no result, that the renderer is closed.
  private func onDevice<Result>(_ work: () throws -> Result?) throws(RenderError) -> Result {
    let result: Result?
    do {
      if isLost { throw GLError.contextLost }
      result = try work()
    } catch let error as RenderError {
      throw error
    } catch {
      if (error as? GLError)?.isContextLost == true { isLost = true }
      var shortage: MemoryBudget.Exceeded?
      if case .budget(let error)? = (error as? GLError)?.reason { shortage = error }
      throw RenderError(
        "\(device.name): \(error)", isContextLost: isLost, isOfDevice: true, shortage: shortage)
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

/// Makes buffers by a renderer for as long as that is open.
private final class OpenRendererSharing: BufferSharing {
  private weak let renderer: GLRenderer?

  init(renderer: GLRenderer) { self.renderer = renderer }

  func makeBuffers(
    _ count: Int, of byteCount: Int, for format: Frame.Format, _ planes: [Frame.Plane]
  ) async throws -> [DMABuffer] {
    guard let renderer else { throw RenderError("the renderer is closed") }
    return try await renderer.makeBuffers(count, of: byteCount, for: format, planes)
  }
}

extension GLRenderer {
  fileprivate func makeBuffers(
    _ count: Int, of byteCount: Int, for format: Frame.Format, _ planes: [Frame.Plane]
  ) throws -> [DMABuffer] {
    guard !isLost, let shared = state?.uploader.shared else { throw RenderError("the renderer is closed") }
    return try shared.make(count, of: byteCount, for: format, planes)
  }
}
