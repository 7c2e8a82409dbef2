// A drawing of a warped view, described to the vector code. It copies nothing of the grid, because that of a
// moving view changes with every frame.
internal import CPixels
internal import PreviewCore

/// The bicubic weights, the same for all drawings.
private enum CubicWeights {
  static let table = FixedArray(WarpSampling.cubicWeights.flatMap { $0.map { Int16($0) } })
}

/// A drawing whose samples are read around the positions of a grid.
struct PreparedWarp {
  private let drawing: WarpedDrawing
  /// How the first signal is sampled: all others have the same positions.
  private let sampling: WarpSampling

  init(_ drawing: WarpedDrawing) {
    (self.drawing, sampling) = (drawing, drawing.signals[0].sampling)
  }

  /// Calls `body` with the description of the drawing of a frame's planes into memory. It is valid during the
  /// call.
  func withDescription(
    of source: FramePlanes, into targets: [PlaneMemory], _ body: (pixels_warp) -> Void
  ) {
    let grid = sampling.grid
    unsafe grid.nodes.withUnsafeBufferPointer { nodes in
      unsafe grid.ratios.withUnsafeBufferPointer { ratios in
        var description = unsafe pixels_warp()
        unsafe description.grid = unsafe pixels_warp_grid(
          nodes: nodes.baseAddress, ratios: ratios.baseAddress, shift: Int32(grid.shift),
          columns: Int32(grid.cells.width))
        unsafe describeReads(&description, source)
        unsafe describePositions(&description)
        unsafe describeConversion(&description)
        unsafe describeTargets(&description, targets)
        unsafe body(description)
      }
    }
  }

  private func describeReads(_ description: inout pixels_warp, _ source: FramePlanes) {
    let reads = unsafe drawing.signals.flatMap { unsafe described($0, in: source) }
    unsafe description.reads.0 = unsafe reads[0]
    if unsafe reads.count > 1 { unsafe description.reads.1 = unsafe reads[1] }
    if unsafe reads.count > 2 { unsafe description.reads.2 = unsafe reads[2] }
    unsafe description.read_count = unsafe Int32(reads.count)
    unsafe description.are_words = source.areWords ? 1 : 0
    unsafe description.kernel =
      switch sampling.kernel {
      case .nearest: PIXELS_WARP_NEAREST
      case .bicubic: PIXELS_WARP_BICUBIC
      default: PIXELS_WARP_BILINEAR
      }
    unsafe description.cubic = CubicWeights.table.pointer
  }

  /// Returns how a signal is read: at once if its components lie in one plane, or else each by itself.
  private func described(_ signal: WarpedDrawing.Signal, in source: FramePlanes) -> [pixels_warp_read] {
    let isInOnePlane = signal.components.allSatisfy { $0.plane == signal.components[0].plane }
    let groups = isInOnePlane ? [signal.components] : signal.components.map { [$0] }
    return unsafe groups.enumerated().map { index, components in
      var read = unsafe pixels_warp_read()
      unsafe read.plane = unsafe source.plane(components[0].plane)
      unsafe read.columns = span(signal.sampling.columns)
      unsafe read.rows = span(signal.sampling.rows)
      unsafe read.step = Int32(signal.step)
      func first(_ index: Int) -> Int32 { index < components.count ? Int32(components[index].first) : 0 }
      unsafe read.firsts = (first(0), first(1), first(2))
      unsafe read.component_count = Int32(components.count)
      unsafe read.input = Int32((signal.signal == .chroma ? 1 : 0) + index)
      return unsafe read
    }
  }

  private func span(_ span: CropSpan) -> pixels_warp_span {
    let samples = span.samples
    return pixels_warp_span(
      first: Int32(samples.lowerBound), last: Int32(samples.upperBound), eighths: Int32(span.eighths),
      offset: Int32(span.siting == .left ? WarpGrid.unit / 2 * (span.subsampling - 1) : 0),
      shift: Int32(span.subsampling.trailingZeroBitCount))
  }

  private func describePositions(_ description: inout pixels_warp) {
    unsafe (description.width, description.height) = (Int32(drawing.size.width), Int32(drawing.size.height))
    unsafe (description.step_x, description.step_y) = (Int32(sampling.step.x), Int32(sampling.step.y))
    unsafe description.supersamples = sampling.supersamples ? 1 : 0
    unsafe description.finest = Int32(sampling.finest)
    let placed = sampling.placed
    func point(_ pixel: Int) -> Int32 { Int32(pixel * WarpGrid.outputUnit) }
    unsafe (description.placed_left, description.placed_top) = (point(placed.x), point(placed.y))
    unsafe description.placed_right = point(placed.x + placed.width)
    unsafe description.placed_bottom = point(placed.y + placed.height)
    let (columns, rows) = (sampling.columns, sampling.rows)
    func position(_ pixel: Int) -> Int32 { Int32(pixel * WarpGrid.unit) }
    unsafe (description.left, description.top) = (position(columns.start), position(rows.start))
    unsafe description.right = position(columns.start + columns.length)
    unsafe description.bottom = position(rows.start + rows.length)
  }

  private func describeConversion(_ description: inout pixels_warp) {
    let (conversion, background) = (drawing.conversion, drawing.background)
    let outputs = drawing.output.components
    let read = Set(
      drawing.signals.flatMap { $0.signal == .luma ? [0] : $0.signal == .chroma ? [1, 2] : [0, 1, 2] })
    func factors(_ row: Int) -> (Float, Float, Float) {
      guard row < outputs.count else { return (0, 0, 0) }
      func factor(_ input: Int) -> Float {
        read.contains(input) ? Float(conversion.columns[input][outputs[row]]) : 0
      }
      return (factor(0), factor(1), factor(2))
    }
    func offset(_ row: Int) -> Float {
      guard row < outputs.count else { return 0 }
      let output = outputs[row]
      // What is not read counts as 128.
      return Float(
        (0..<3).reduce(conversion.offset[output]) { sum, input in
          read.contains(input) ? sum : sum + conversion.columns[input][output] * 128
        })
    }
    func behind(_ row: Int) -> Float { row < outputs.count ? Float(background[outputs[row]]) : 0 }
    unsafe description.factors = (factors(0), factors(1), factors(2))
    unsafe description.offsets = (offset(0), offset(1), offset(2))
    unsafe description.background = (behind(0), behind(1), behind(2))
    unsafe description.clamps_inputs = drawing.signals[0].signal == .rgb ? 1 : 0
  }

  private func describeTargets(_ description: inout pixels_warp, _ targets: [PlaneMemory]) {
    unsafe description.output = drawing.output.inC
    unsafe description.planes.0 = unsafe targets[0].bytes
    unsafe description.strides.0 = targets[0].stride
    guard targets.count > 1 else { return }
    unsafe description.planes.1 = unsafe targets[1].bytes
    unsafe description.strides.1 = targets[1].stride
  }
}

extension WarpedDrawing {
  /// The stored rows that it may read.
  var rowsRead: [Range<Int>] { signals.map { Range($0.sampling.rows.samples) } }

  /// The samples that it reads and writes, roughly.
  var work: Int {
    let sampling = signals[0].sampling
    // The positions of outputs change slowly.
    let columns = stride(from: 0, to: size.width, by: size.width / 8 + 1)
    let rows = stride(from: 0, to: size.height, by: size.height / 8 + 1)
    var (positions, outputs) = (0, 0)
    for row in rows {
      for column in columns {
        let count = sampling.count(column, row)
        positions += count.x * count.y
        outputs += 1
      }
    }
    let components = signals.reduce(0) { $0 + $1.components.count }
    let read = size.pixelCount * positions / max(outputs, 1) * components
    return read * (sampling.kernel == .bicubic ? 64 : 4) + size.pixelCount * output.bytesPerSample
  }
}

extension Drawing.Output {
  /// The conversion's outputs that it takes.
  var components: [Int] {
    switch self {
    case .plane: [0]
    case .twoPlanes: [1, 2]
    case .pixels: [0, 1, 2]
    }
  }

  /// The bytes of a sample in each of its planes.
  var bytesPerSample: Int { self == .pixels ? 4 : 1 }

  var inC: pixels_output {
    switch self {
    case .plane: PIXELS_ONE_PLANE
    case .twoPlanes: PIXELS_TWO_PLANES
    case .pixels: PIXELS_RGBA
    }
  }
}
