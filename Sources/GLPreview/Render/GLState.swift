// The GPU state of one renderer, and how frames pass through it.
internal import Shaders

enum GLWork {
  /// One picture per view of a frame.
  case views(Frame, RenderPlan)
  /// One picture of several frames.
  case scene([Frame?], ScenePlan)
}

extension GLWork {
  var frames: [Frame] {
    switch self {
    case .views(let frame, _): [frame]
    case .scene(let frames, _): frames.compactMap(\.self)
    }
  }
}

/// Everything that lives on the GPU thread. Members are destroyed in declaration order, so the context is last.
struct GLState: ~Copyable {
  let uploader: FrameUploader
  /// The drawn views of scenes' frames.
  let tiles: TileCache
  private let compositor: Compositor
  private let programs: ProgramCache
  private let tables: TableCache
  private let targets: TargetPool
  private let clock: PassClock
  /// The shaders that draw frames.
  var passes: PassMethod
  /// Whether compute shaders may code pictures.
  private let codes: Bool
  /// Nil if frames are drawn and read back one after another.
  private let pipeline: FramePipeline?
  private let probe = ProbeCache()
  private let context: GLContext

  init(_ device: GPUDevice, _ tuning: RenderTuning) throws {
    guard let platform = device.platform else { throw RenderError("OpenGL does not draw on it") }
    let context =
      if let parked = GLContext.parked(on: try GPUDisplay.usedForContexts(on: platform)) {
        parked
      } else {
        try GLContext(on: .forContext(on: platform))
      }
    let shared = SharedFrames(
      on: try GPUDisplay.usedForContexts(on: platform), node: device.drmNode, tuning)
    let sumsWords = tuning.boxes == .words
    clock = PassClock(isWanted: tuning.timesPasses)
    passes = tuning.passes ?? .fragments
    codes = tuning.codesJPEG != false
    programs = ProgramCache(
      ProgramBinaryCache(.ofThisProcess), specialisesAfter: tuning.specialisesAfter,
      hasFlatUniforms: sumsWords, clock)
    targets = TargetPool(discards: tuning.discardsTargets)
    tiles = TileCache(targets)
    compositor = Compositor(programs, targets)
    uploader = FrameUploader(maximumSide: tuning.maximumTargetSide, clock, shared)
    pipeline =
      tuning.transfer == .direct
      ? nil
      : FramePipeline(
        capacity: tuning.framesInFlight, clock,
        coder: codes ? JPEGCoder(programs, capacity: tuning.framesInFlight) : nil)
    tables = TableCache(inBuffers: sumsWords)
    self.context = context
  }

  /// The state of a frame when its draws have been submitted.
  enum Progress {
    case done(DrawnFrame)
    /// `finish` returns it, by this number.
    case inFlight(Int)
  }

  var cachedByteCount: Int {
    uploader.byteCount + targets.idle.byteCount + tiles.byteCount + tables.byteCount
      + (pipeline?.idleByteCount ?? 0)
  }

  var programCount: Int { programs.count }

  /// The passes so far by compute shaders, those of them that wrote a `PictureBuffer`, and by fragment shaders,
  /// except for those of word buffers.
  var passCounts: (compute: Int, toBuffer: Int, fragments: Int) {
    let toBuffer = programs.passes[.buffer] ?? 0
    return ((programs.passes[.images] ?? 0) + toBuffer, toBuffer, programs.passes[.fragment] ?? 0)
  }

  /// The compute shaders that the driver refused.
  var refusedCount: Int { programs.refusedCount }

  var refusesCoding: Bool { programs.hasRefused(.coding) }

  /// For tests: compute shaders of these files count as refused by the driver.
  borrowing func refuseComputing(_ fileNames: Set<String>) {
    programs.refuses = { fileNames.contains($0.source.fileName) }
  }

  borrowing func removePrograms() {
    programs.removeAll()
    pipeline?.removePrograms()
  }

  borrowing func removeCached() {
    uploader.removeAll()
    tiles.removeAll()
    tables.removeAll()
    programs.removeUnused()
    targets.idle.removeAll()
    pipeline?.removeIdle()
    probe.draw(computing: passes == .compute || codes)
  }

  /// Created at the first draw.
  private final class ProbeCache {
    private var pixel: ProbePixel?
    private var dispatch: ProbeDispatch?

    func draw(computing: Bool) {
      // Without it, the driver keeps memory until the next picture.
      if computing { dispatch = dispatch ?? (try? ProbeDispatch()) }
      if computing { dispatch?.run() }
      do {
        if let pixel { pixel.draw() } else { pixel = try ProbePixel(ProgramBinaryCache(.ofThisProcess)) }
        GLCommands.finish()
      } catch {
        // The next picture reports the driver's problem.
      }
    }
  }

  /// Submits frames; with direct transfers this also completes them. If memory runs out, kept objects are freed first.
  borrowing func begin(_ work: GLWork, within budget: MemoryBudget?) throws -> Progress {
    try GLMemory.counted(against: budget) {
      do {
        return try begin(work)
      } catch let error as GLError where error.isOutOfMemory {
        removeCached()
        return try begin(work)
      }
    }
  }

  private borrowing func begin(_ work: GLWork) throws -> Progress {
    let (timer, upload) = (clock.timer(), pipeline?.upload())
    return try clock.observed(by: timer) {
      try draw(work, through: upload) { targets, buffer in
        let coded = try pipeline?.code(targets, in: buffer)
        timer?.pause()
        guard let pipeline, let upload, let coded else {
          let pictures = try targets.map { try $0.read() }
          return .done((pictures, clock.time(of: timer)))
        }
        return .inFlight(try pipeline.submit(coded, of: work.frames, upload, timer))
      }
    }
  }

  /// Waits for a frame; nil if none with this number is in flight.
  borrowing func finish(_ number: Int) throws -> DrawnFrame? { try pipeline?.finish(number) }

  borrowing func measure(
    _ frame: Frame, _ plan: RenderPlan
  ) throws -> (pictures: [Picture], measurement: RenderMeasurement) {
    let stopwatch = try RenderStopwatch(clock)
    let upload = pipeline?.upload()
    let pictures = try clock.observed(by: stopwatch) {
      try draw(.views(frame, plan), through: upload) { targets, buffer in
        let coded = try pipeline?.code(targets, in: buffer)
        try stopwatch.enter(\.readback)
        guard let pipeline, let upload, let coded else { return try targets.map { try $0.read() } }
        return try pipeline.finish(pipeline.submit(coded, of: [frame], upload, nil))?.pictures ?? []
      }
    }
    var measurement = try stopwatch.finish(pictures)
    // Memory that is not copied is read in place by the passes.
    if measurement.upload.byteCount == 0 { measurement.passes.byteCount += frame.storage.count }
    return (pictures, measurement)
  }

  /// Draws the pictures up to their readback, which `read` does, from targets, and from a buffer where planes are already; then
  /// returns the targets to the pool.
  private borrowing func draw<Result>(
    _ work: GLWork, through upload: BufferedUpload?, read: ([PictureTarget], PictureBuffer?) throws -> Result
  ) throws -> Result {
    programs.beginDrawing()
    tables.trim()
    compositor.trim()
    targets.idle.beginDrawing()
    pipeline?.beginDrawing()
    switch work {
    case .views(let frame, let plan): return try draw(frame, plan, through: upload, read: read)
    case .scene(let frames, let plan): return try draw(frames, plan, through: upload, read: read)
    }
  }

  private borrowing func draw<Result>(
    _ frame: Frame, _ plan: RenderPlan, through upload: BufferedUpload?,
    read: ([PictureTarget], PictureBuffer?) throws -> Result
  ) throws -> Result {
    let painter = try painter(of: frame, plan.drawing, through: upload, of: plan.views)
    let own = TileCache(targets)
    var pictures: [PictureTarget] = []
    defer {
      for target in pictures.map(\.own).joined() { targets.giveBack(target) }
      painter.finish(keeping: own.holds)
      own.removeAll()
    }
    try painter.drawAll()
    var drawn = 0
    for view in plan.views {
      let first = drawn
      if let composition = view.composition {
        drawn += composition.views(of: 0).count
        own.fill(Array(first..<drawn), of: frame, from: painter)
        pictures.append(try PictureTarget(composing: view, composition, of: [frame], own, compositor))
      } else {
        drawn += 1
        pictures.append(PictureTarget(view, painter.planes(of: first)))
      }
    }
    return try read(pictures, painter.buffer)
  }

  private borrowing func draw<Result>(
    _ frames: [Frame?], _ plan: ScenePlan, through upload: BufferedUpload?,
    read: ([PictureTarget], PictureBuffer?) throws -> Result
  ) throws -> Result {
    guard let composition = plan.view.composition else { return try read([], nil) }
    for (frame, drawing) in zip(frames, plan.drawings) {
      guard let frame, let drawing else { continue }
      let views = drawing.plan.views
      let missing = views.indices.filter { tiles.tile(views[$0], of: frame) == nil }
      guard !missing.isEmpty else { continue }
      let painter = try painter(of: frame, drawing, through: upload)
      defer { painter.finish(keeping: tiles.holds) }
      try painter.draw(missing)
      tiles.fill(missing, of: frame, from: painter)
    }
    let picture = try PictureTarget(composing: plan.view, composition, of: frames, tiles, compositor)
    defer {
      for target in picture.own { targets.giveBack(target) }
      tiles.trim()
    }
    return try read([picture], nil)
  }

  private borrowing func painter(
    of frame: Frame, _ drawing: FrameDrawing?, through upload: BufferedUpload?, of views: [PlannedView] = []
  ) throws -> FramePainter {
    guard let drawing else { throw RenderError("the plan is the reference renderer's") }
    var (frame, plan) = (frame, drawing.plan)
    if let ofOpaque = drawing.ofOpaque, let opaque = uploader.withoutUnusedAlpha(frame) {
      (frame, plan) = (opaque, ofOpaque)
    }
    uploader.mappedMemory.restock(for: frame)
    var computing: Computing?
    if passes == .compute, !tables.isInBuffers {
      let buffer = try pipeline.flatMap { pipeline in
        try PictureBuffer.take(for: views, plan) { count throws(GLError) in try pipeline.takeStorage(count) }
      }
      computing = Computing(buffer)
    }
    return FramePainter(
      uploader.upload(frame, through: upload), plan, programs, tables, targets, computing)
  }
}

@available(*, unavailable) extension GLState: Sendable {}
