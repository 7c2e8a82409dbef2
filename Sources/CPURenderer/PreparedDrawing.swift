// A drawing prepared for the vector code: its weights, positions and conversion.
internal import CPixels
internal import PreviewCore

/// Everything of a drawing that does not depend on a frame's samples.
final class PreparedDrawing: Sendable {
  /// The samples of rows: the frame's bytes, or sixteen bits a sample.
  enum Samples: Hashable {
    case bytes
    case words
  }

  let drawing: Drawing
  private let signals: [Signal]
  private let coverageX: FixedArray<Int16>?
  private let coverageY: FixedArray<Int16>?

  private struct Signal: Sendable {
    let packed: PackedSignal
    let rows: WeightTable
    let columns: WeightTable
    /// The planes that it reads.
    let planes: [Int]
  }

  /// A whole pixel's coverage.
  private static let whole = 16384.0

  init(_ drawing: Drawing, _ samples: Samples) {
    self.drawing = drawing
    signals = drawing.signals.map { signal in
      Signal(
        packed: signal, rows: WeightTable(signal.rows, of: samples == .bytes ? .bytes : .words),
        columns: WeightTable(signal.columns, of: .sums), planes: signal.planes)
    }
    let hasBars = !drawing.isWhole
    coverageX = hasBars ? PreparedDrawing.coverage(drawing.signals[0].columns) : nil
    coverageY = hasBars ? PreparedDrawing.coverage(drawing.signals[0].rows) : nil
  }

  /// The bytes of its tables.
  var byteCount: Int {
    signals.reduce((coverageX?.byteCount ?? 0) + (coverageY?.byteCount ?? 0)) {
      $0 + $1.rows.byteCount + $1.columns.byteCount
    }
  }

  /// The stored rows that it reads.
  var rowsRead: [Range<Int>] { signals.flatMap(\.rows.samplesRead) }

  private static func coverage(_ map: SamplingMap) -> FixedArray<Int16> {
    FixedArray(TapTable.coverage(of: map).map { Int16(($0 * whole).rounded()) })
  }

  /// The outputs of the drawing among the conversion's.
  private var outputs: [Int] { drawing.output.components }

  /// Describes the drawing of a frame's planes into memory.
  func description(
    of source: FramePlanes, into targets: [PlaneMemory]
  ) -> pixels_drawing {
    var description = unsafe pixels_drawing()
    unsafe description.signal_count = Int32(signals.count)
    for (index, signal) in signals.enumerated() {
      let described = unsafe self.description(of: signal, in: source)
      if index == 0 {
        unsafe description.signals.0 = unsafe described
      } else {
        unsafe description.signals.1 = unsafe described
      }
    }
    unsafe description.width = Int32(drawing.size.width)
    unsafe description.height = Int32(drawing.size.height)
    unsafe describeConversion(&description)
    unsafe description.coverage_x = coverageX?.pointer
    unsafe description.coverage_y = coverageY?.pointer
    unsafe description.output = drawing.output.inC
    unsafe description.planes.0 = unsafe targets[0].bytes
    unsafe description.strides.0 = targets[0].stride
    if targets.count > 1 {
      unsafe description.planes.1 = unsafe targets[1].bytes
      unsafe description.strides.1 = targets[1].stride
    }
    return unsafe description
  }

  private func description(of signal: Signal, in source: FramePlanes) -> pixels_signal {
    let packed = signal.packed
    var description = unsafe pixels_signal()
    let planes = unsafe signal.planes.map { unsafe source.plane($0) }
    unsafe description.planes.0 = unsafe planes[0]
    if unsafe planes.count > 1 { unsafe description.planes.1 = unsafe planes[1] }
    if unsafe planes.count > 2 { unsafe description.planes.2 = unsafe planes[2] }
    unsafe description.plane_count = unsafe Int32(planes.count)
    // Of rows in which luma and chroma take turns, only one of them is summed.
    let skip = packed.half == nil ? 1 : 2
    unsafe description.samples =
      source.areWords
      ? PIXELS_WORDS
      : packed.half == nil ? PIXELS_BYTES : packed.half == 0 ? PIXELS_EVEN_BYTES : PIXELS_ODD_BYTES
    unsafe description.row_count = Int32(packed.rows.source.samples.upperBound + 1)
    let samples = packed.columns.source.samples
    unsafe description.begin = Int32(samples.lowerBound * packed.step / skip)
    unsafe description.end = Int32((samples.upperBound + 1) * packed.step / skip)
    unsafe description.rows = unsafe signal.rows.taps
    unsafe description.columns = unsafe signal.columns.taps
    let components = packed.components.map { component in
      pixels_component(
        plane: Int32(signal.planes.firstIndex(of: component.plane) ?? 0), step: Int32(packed.step / skip),
        first: Int32(component.first / skip))
    }
    unsafe description.components.0 = components[0]
    if components.count > 1 { unsafe description.components.1 = components[1] }
    if components.count > 2 { unsafe description.components.2 = components[2] }
    unsafe description.component_count = Int32(components.count)
    unsafe description.input = packed.signal == .chroma ? 1 : 0
    return unsafe description
  }

  private func describeConversion(_ description: inout pixels_drawing) {
    let conversion = drawing.conversion
    let read = Set(
      drawing.signals.flatMap { $0.signal == .luma ? [0] : $0.signal == .chroma ? [1, 2] : [0, 1, 2] })
    unsafe description.is_identity = conversion == .identity && read.isSuperset(of: outputs) ? 1 : 0
    unsafe description.first_input = Int32(outputs[0])
    unsafe description.clamps_inputs = drawing.signals[0].signal == .rgb ? 1 : 0
    var rows: [(factors: [Int16], offset: Int32, background: Int16)] = []
    for output in outputs {
      var offset = conversion.offset[output]
      let factors = (0..<3).map { input -> Int16 in
        let factor = conversion.columns[input][output]
        guard read.contains(input) else {
          // What is not read counts as 128.
          offset += factor * 128
          return 0
        }
        return Int16((factor * 8192).rounded())
      }
      rows.append(
        (factors, Int32((offset * 524_288).rounded()), Int16((drawing.background[output] * 16).rounded())))
    }
    func four(_ row: Int) -> (Int16, Int16, Int16, Int16) {
      guard row < rows.count else { return (0, 0, 0, 0) }
      return (rows[row].factors[0], rows[row].factors[1], rows[row].factors[2], 0)
    }
    unsafe description.factors = (four(0), four(1), four(2))
    func offset(_ row: Int) -> Int32 { row < rows.count ? rows[row].offset : 0 }
    unsafe description.offsets = (offset(0), offset(1), offset(2))
    func background(_ row: Int) -> Int16 { row < rows.count ? rows[row].background : 0 }
    unsafe description.background = (background(0), background(1), background(2))
  }
}

extension PackedSignal {
  /// The planes that its components lie in.
  var planes: [Int] {
    components.reduce(into: []) { planes, component in
      if !planes.contains(component.plane) { planes.append(component.plane) }
    }
  }
}
