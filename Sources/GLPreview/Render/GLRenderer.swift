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
  /// - Throws: `RenderError` where the driver refuses, or after `close()`.
  public func render(_ frame: Frame, _ plan: RenderPlan) throws(RenderError) -> [Picture] {
    try render(frame, plan, nil)
  }

  /// Draws like `render(_:_:)`, stage by stage, and tells what each cost. Slower than `render`: nothing overlaps.
  ///
  /// - Throws: `RenderError` where the driver refuses, or after `close()`.
  public func measure(
    _ frame: Frame, _ plan: RenderPlan
  ) throws(RenderError) -> (pictures: [Picture], measurement: RenderMeasurement) {
    let stopwatch = RenderStopwatch()
    let pictures = try render(frame, plan, stopwatch)
    return (pictures, stopwatch.finish(pictures))
  }

  private func render(
    _ frame: Frame, _ plan: RenderPlan, _ stopwatch: RenderStopwatch?
  ) throws(RenderError) -> [Picture] {
    guard frame.format == plan.source else {
      throw RenderError("the plan is for other frames than this one of \(frame.format.size)")
    }
    do {
      guard let pictures = try state?.render(frame, plan, stopwatch) else {
        throw RenderError("the renderer is closed")
      }
      return pictures
    } catch let error as RenderError {
      throw error
    } catch {
      throw RenderError("\(device.name): \(error)")
    }
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
  private let sumsWords: Bool
  private let context: GLContext

  init(_ device: GPUDevice, _ tuning: RenderTuning) throws {
    let display = try GPUDisplay.open(device.platform)
    let context = if let parked = GLContext.parked(on: display) { parked } else { try GLContext(on: display) }
    programs = ProgramCache(ProgramBinaryCache(.ofThisProcess))
    uploader = FrameUploader(maximumSide: tuning.maximumTargetSide)
    sumsWords = tuning.boxes == .words
    self.context = context
  }

  /// The picture's way over the GPU.
  borrowing func render(
    _ frame: Frame, _ plan: RenderPlan, _ stopwatch: RenderStopwatch?
  ) throws -> [Picture] {
    programs.trim()
    tables.trim()
    geometries.trim()
    wordGeometries.trim()
    uploader.lender.restock()
    let uploaded = uploader.upload(frame, stopwatch)
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
    }
    for view in plan.views { pictures.append(try PictureTarget(drawing: view, passes, boxes, targets)) }
    stopwatch?.enter(\.readback)
    return try pictures.map { try $0.read() }
  }
}

@available(*, unavailable) extension GLState: Sendable {}
