// The actor that owns a context and everything made in it: a frame and a plan come in, pictures go out.
public import PreviewCore

/// Draws plans on one GPU. Its methods run on a thread of its own, the only one that calls GL.
public actor GLRenderer: Renderer {
  /// What can go wrong.
  public typealias Failure = RenderError

  /// The device it draws on.
  public nonisolated let device: GPUDevice
  private let thread: GPUThread
  /// Nil before the first line on the GPU thread and after `close()`.
  private var state: GLState?
  /// How many more frames may be sent to the GPU, and who waits for that.
  private var freeSlots: Int
  private var waiting: [CheckedContinuation<Void, Never>] = []

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
  public func lendMemory(to pool: FramePool) {
    if tuning.boxes == .words { state?.uploader.lender.serve(pool) }
  }

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
    try await draw(frame, plan, isTimed: false).pictures
  }

  /// Draws one picture of several frames, in one framebuffer.
  ///
  /// What was drawn of a frame is kept for a while, so that a frame that comes again with the next picture costs nothing.
  ///
  /// - Throws: what `render(_:_:)` throws, and where `frames` are not those that the plan was made for.
  public func render(_ frames: [Frame?], _ plan: ScenePlan) async throws(RenderError) -> Picture {
    throw RenderError("not yet")
  }

  /// Draws like `render(_:_:)`, and tells what the passes of all views together took by the GPU's own clock.
  ///
  /// - Returns: the pictures; no time where `tuning.timesPasses` is false, the GPU has no clock, or it was interrupted.
  /// - Throws: what `render(_:_:)` throws.
  public func renderTimed(
    _ frame: Frame, _ plan: RenderPlan
  ) async throws(RenderError) -> (pictures: [Picture], gpuTime: Duration?) {
    try await draw(frame, plan, isTimed: true)
  }

  /// Draws like `render(_:_:)`, stage by stage, and tells what each cost. Slower than `render`: nothing overlaps.
  ///
  /// - Throws: `RenderError` where the driver refuses, or after `close()`.
  public func measure(
    _ frame: Frame, _ plan: RenderPlan
  ) throws(RenderError) -> (pictures: [Picture], measurement: RenderMeasurement) {
    try check(frame, plan)
    return try onDevice { try state?.measure(frame, plan) }
  }

  private func draw(
    _ frame: Frame, _ plan: RenderPlan, isTimed: Bool
  ) async throws(RenderError) -> DrawnFrame {
    try check(frame, plan)
    let overlaps = tuning.framesInFlight > 1
    if overlaps { await takeSlot() }
    defer { if overlaps { giveSlot() } }
    switch try onDevice({ try state?.begin(frame, plan, isTimed: isTimed) }) {
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

  /// - Throws: a `RenderError` that names the device; where there is no result, that the renderer is closed.
  private func onDevice<Result>(_ work: () throws -> Result?) throws(RenderError) -> Result {
    let result: Result?
    do { result = try work() } catch let error as RenderError { throw error } catch {
      throw RenderError("\(device.name): \(error)")
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

  /// Whoever has waited longest gets it at once, so that nobody can come in between.
  private func giveSlot() {
    if waiting.isEmpty { freeSlots += 1 } else { waiting.removeFirst().resume() }
  }
}

/// What lives on the GPU thread. Members end in the order in which they are declared: the context is last.
private struct GLState: ~Copyable {
  let uploader: FrameUploader
  private let programs: ProgramCache
  private let tables = TapTextureCache()
  private let geometries = BoxGeometryCache()
  private let wordGeometries = WordGeometryCache()
  private let targets = TargetPool()
  private let clock: PassClock
  /// Nil where frames are drawn and read one after another.
  private let pipeline: FramePipeline?
  private let sumsWords: Bool
  private let context: GLContext

  init(_ device: GPUDevice, _ tuning: RenderTuning) throws {
    let display = try GPUDisplay.open(device.platform)
    let context = if let parked = GLContext.parked(on: display) { parked } else { try GLContext(on: display) }
    programs = ProgramCache(ProgramBinaryCache(.ofThisProcess))
    uploader = FrameUploader(maximumSide: tuning.maximumTargetSide)
    clock = PassClock(isWanted: tuning.timesPasses)
    pipeline =
      tuning.transfer == .direct ? nil : FramePipeline(capacity: tuning.framesInFlight, clock)
    sumsWords = tuning.boxes == .words
    self.context = context
  }

  /// Where a frame is when its draws have been told.
  enum Progress {
    case done(DrawnFrame)
    /// `finish` gives it, by this number.
    case inFlight(Int)
  }

  /// Sends a frame on its way, which ends here where transfers are direct.
  borrowing func begin(_ frame: Frame, _ plan: RenderPlan, isTimed: Bool) throws -> Progress {
    let timer = isTimed ? try clock.timer() : nil
    guard let pipeline else {
      let pictures = try draw(frame, plan, through: nil, timer) { targets in
        timer?.pause()
        return try targets.map { try $0.read() }
      }
      return .done((pictures, clock.time(of: timer)))
    }
    let upload = pipeline.upload()
    return try draw(frame, plan, through: upload, timer) { targets in
      timer?.pause()
      return .inFlight(try pipeline.submit(targets, of: frame, upload, timer))
    }
  }

  /// Waits for a frame; nil where none of this number is on its way.
  borrowing func finish(_ number: Int) throws -> DrawnFrame? { try pipeline?.finish(number) }

  /// One stage after another.
  borrowing func measure(
    _ frame: Frame, _ plan: RenderPlan
  ) throws -> (pictures: [Picture], measurement: RenderMeasurement) {
    let stopwatch = try RenderStopwatch(clock)
    let upload = pipeline?.upload()
    let pictures = try draw(frame, plan, through: upload, stopwatch) { targets in
      try stopwatch.enter(\.readback)
      guard let pipeline, let upload else { return try targets.map { try $0.read() } }
      return try pipeline.finish(pipeline.submit(targets, of: frame, upload, nil))?.pictures ?? []
    }
    var measurement = try stopwatch.finish(pictures)
    // What is not copied is read where it is.
    if measurement.upload.byteCount == 0 { measurement.passes.byteCount += frame.storage.count }
    return (pictures, measurement)
  }

  /// The picture's way over the GPU, up to where `read` sees to its readback; then the targets are lent to others.
  private borrowing func draw<Result>(
    _ frame: Frame, _ plan: RenderPlan, through upload: BufferedUpload?, _ observer: (any UploadObserver)?,
    read: ([PictureTarget]) throws -> Result
  ) throws -> Result {
    programs.trim()
    tables.trim()
    geometries.trim()
    wordGeometries.trim()
    uploader.lender.restock(for: frame)
    let uploaded = uploader.upload(frame, through: upload, observer)
    let passes = PassExecutor(frame: uploaded, programs: programs, tables: tables, targets: targets)
    let boxes = BoxPainter(
      TexelBoxes(
        frame: uploaded, programs: programs, tables: tables, geometries: geometries, targets: targets),
      sumsWords
        ? WordBoxes(frame: uploaded, programs: programs, geometries: wordGeometries, targets: targets) : nil,
      for: plan)
    var pictures: [PictureTarget] = []
    defer {
      for target in pictures.map(\.own).joined() { targets.giveBack(target) }
      passes.finish()
      boxes.finish()
      uploaded.finish()
    }
    for view in plan.views { pictures.append(try PictureTarget(drawing: view, passes, boxes, targets)) }
    return try read(pictures)
  }
}

@available(*, unavailable) extension GLState: Sendable {}
