// The GPU state of one renderer, and how frames pass through it.
internal import PreviewCore

enum GLWork {
  /// One picture per view of a frame.
  case views(Frame, RenderPlan, isTimed: Bool)
  /// One picture of several frames.
  case scene([Frame?], ScenePlan)
}

extension GLWork {
  var frames: [Frame] {
    switch self {
    case .views(let frame, _, _): [frame]
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
  private let wordGeometries = WordGeometryCache(capacity: 256) {
    WordGeometry($0.signal, outputsPerGroup: $0.outputsPerGroup)
  }
  private let targets = TargetPool()
  private let clock: PassClock
  /// Nil if frames are drawn and read back one after another.
  private let pipeline: FramePipeline?
  private let sumsWords: Bool
  private let probe = ProbeCache()
  private let context: GLContext

  init(_ device: GPUDevice, _ tuning: RenderTuning) throws {
    let display = try GPUDisplay.open(device.platform)
    let context = if let parked = GLContext.parked(on: display) { parked } else { try GLContext(on: display) }
    sumsWords = tuning.boxes == .words
    programs = ProgramCache(
      ProgramBinaryCache(.ofThisProcess), specialisesAfter: tuning.specialisesAfter,
      hasFlatUniforms: sumsWords)
    tiles = TileCache(targets)
    compositor = Compositor(programs, targets)
    clock = PassClock(isWanted: tuning.timesPasses)
    uploader = FrameUploader(maximumSide: tuning.maximumTargetSide, clock)
    pipeline = tuning.transfer == .direct ? nil : FramePipeline(capacity: tuning.framesInFlight, clock)
    tables = TableCache(inBuffers: sumsWords)
    self.context = context
  }

  /// The state of a frame when its draws have been submitted.
  enum Progress {
    case done(DrawnFrame)
    /// `finish` returns it, by this number.
    case inFlight(Int)
  }

  var keptByteCount: Int {
    uploader.byteCount + targets.idle.byteCount + tiles.byteCount + tables.byteCount
      + (pipeline?.idleByteCount ?? 0)
  }

  var programCount: Int { programs.count }

  borrowing func removeKept() {
    uploader.removeAll()
    tiles.removeAll()
    tables.removeAll()
    targets.idle.removeAll()
    pipeline?.removeIdle()
    probe.draw()
  }

  /// Created at the first draw.
  private final class ProbeCache {
    private var pixel: ProbePixel?

    func draw() {
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
        removeKept()
        return try begin(work)
      }
    }
  }

  private borrowing func begin(_ work: GLWork) throws -> Progress {
    let (timer, upload) = (try timer(of: work), pipeline?.upload())
    return try clock.observed(by: timer) {
      try draw(work, through: upload) { targets in
        timer?.pause()
        guard let pipeline, let upload else {
          let pictures = try targets.map { try $0.read() }
          return .done((pictures, clock.time(of: timer)))
        }
        return .inFlight(try pipeline.submit(targets, of: work.frames, upload, timer))
      }
    }
  }

  private borrowing func timer(of work: GLWork) throws -> PassTimer? {
    guard case .views(_, _, isTimed: true) = work else { return nil }
    return try clock.timer()
  }

  /// Waits for a frame; nil if none with this number is in flight.
  borrowing func finish(_ number: Int) throws -> DrawnFrame? { try pipeline?.finish(number) }

  borrowing func measure(
    _ frame: Frame, _ plan: RenderPlan
  ) throws -> (pictures: [Picture], measurement: RenderMeasurement) {
    let stopwatch = try RenderStopwatch(clock)
    let upload = pipeline?.upload()
    let pictures = try clock.observed(by: stopwatch) {
      try draw(.views(frame, plan, isTimed: false), through: upload) { targets in
        try stopwatch.enter(\.readback)
        guard let pipeline, let upload else { return try targets.map { try $0.read() } }
        return try pipeline.finish(pipeline.submit(targets, of: [frame], upload, nil))?.pictures ?? []
      }
    }
    var measurement = try stopwatch.finish(pictures)
    // Memory that is not copied is read in place by the passes.
    if measurement.upload.byteCount == 0 { measurement.passes.byteCount += frame.storage.count }
    return (pictures, measurement)
  }

  /// Draws the pictures up to their readback, which `read` does; then returns the targets to the pool.
  private borrowing func draw<Result>(
    _ work: GLWork, through upload: BufferedUpload?, read: ([PictureTarget]) throws -> Result
  ) throws -> Result {
    programs.beginDrawing()
    tables.trim()
    wordGeometries.trim()
    compositor.trim()
    targets.idle.beginDrawing()
    pipeline?.beginDrawing()
    switch work {
    case .views(let frame, let plan, _): return try draw(frame, plan, through: upload, read: read)
    case .scene(let frames, let plan): return try draw(frames, plan, through: upload, read: read)
    }
  }

  private borrowing func draw<Result>(
    _ frame: Frame, _ plan: RenderPlan, through upload: BufferedUpload?,
    read: ([PictureTarget]) throws -> Result
  ) throws -> Result {
    let own = TileCache(targets)
    let drawn = plan.views.flatMap { $0.composition?.views(of: 0) ?? [$0] }
    let drawing = drawing(of: frame, drawn, through: upload)
    var pictures: [PictureTarget] = []
    defer {
      for target in pictures.map(\.own).joined() { targets.giveBack(target) }
      drawing.finish(keeping: own)
      own.removeAll()
    }
    for view in plan.views {
      if let composition = view.composition {
        try own.fill(composition.views(of: 0), of: frame, with: drawing)
        pictures.append(try PictureTarget(composing: view, composition, of: [frame], own, compositor))
      } else {
        pictures.append(try PictureTarget(drawing: view, drawing))
      }
    }
    return try read(pictures)
  }

  private borrowing func draw<Result>(
    _ frames: [Frame?], _ plan: ScenePlan, through upload: BufferedUpload?,
    read: ([PictureTarget]) throws -> Result
  ) throws -> Result {
    guard let composition = plan.view.composition else { return try read([]) }
    for (index, frame) in frames.enumerated() {
      guard let frame else { continue }
      let missing = composition.views(of: index).filter { tiles.tile($0, of: frame) == nil }
      guard !missing.isEmpty else { continue }
      let drawing = drawing(of: frame, missing, through: upload)
      defer { drawing.finish(keeping: tiles) }
      try tiles.fill(missing, of: frame, with: drawing)
    }
    let picture = try PictureTarget(composing: plan.view, composition, of: frames, tiles, compositor)
    defer {
      for target in picture.own { targets.giveBack(target) }
      tiles.trim()
    }
    return try read([picture])
  }

  private borrowing func drawing(
    of frame: Frame, _ views: [PlannedView], through upload: BufferedUpload?
  ) -> FrameDrawing {
    uploader.mappedMemory.restock(for: frame)
    let uploaded = uploader.upload(frame, through: upload)
    let painter = PassPainter(
      frame: uploaded, programs: programs, tables: tables, targets: targets)
    let words =
      sumsWords
      ? WordBoxes(frame: uploaded, programs: programs, geometries: wordGeometries, targets: targets) : nil
    return FrameDrawing(
      uploaded: uploaded,
      boxes: BoxPainter(
        painter, words, for: views, of: frame.format, programs: programs, targets: targets))
  }
}

@available(*, unavailable) extension GLState: Sendable {}

/// Draws the planes of one frame's views. Intermediate targets return to the pool at the end.
struct FrameDrawing {
  let uploaded: UploadedFrame
  let boxes: BoxPainter

  /// Draws one plane of a view, lent until `finish`.
  func plane(of pass: PlanePass, _ view: PlannedView) throws -> DrawnPlane {
    guard let box = pass.box else {
      throw RenderError("the plan of view '\(view.name)' is the reference renderer's")
    }
    return try boxes.plane(of: pass, box, view)
  }

  /// Returns the drawn targets, except those that `tiles` holds.
  func finish(keeping tiles: TileCache) {
    boxes.finish { !tiles.holds($0) }
    uploaded.finish()
  }
}
