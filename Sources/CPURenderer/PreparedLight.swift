// A drawing in linear light prepared for the vector code.
internal import CPixels
internal import PreviewCore

/// The tables of sRGB's transfer function, the same for all drawings.
private enum LightTables {
  /// The light of the codes from -512 to before 1024, in quarters of a code.
  static let light = FixedArray(
    (0..<6144).map { Float(TransferFunction.linear((Double($0) / 4 - 512) / 255)) })
  /// The code of each 65535th of light.
  static let codes = FixedArray(
    (0..<65536).map { light -> UInt8 in
      let code = (TransferFunction.encoded(Double(light) / 65535) * 255).rounded()
      return UInt8(min(max(code, 0), 255))
    })
}

/// Everything of a drawing in linear light that does not depend on a frame's samples.
final class PreparedLight: Sendable {
  private let drawing: Drawing
  private let conversion: ColorConversion?
  private let rows: Weights
  private let columns: Weights
  private let across: Neighbours?
  private let down: Neighbours?
  private let coverage: (x: FixedArray<Int16>, y: FixedArray<Int16>)?
  private let signal: PackedSignal

  private struct Weights: Sendable {
    let first: FixedArray<Int32>
    let weights: FixedArray<Float>
    let count: Int

    init(_ map: SamplingMap) {
      let table = TapTable(map)
      let runs = (0..<table.sampleCount).map { table.run(of: $0) }
      count = runs.reduce(1) { max($0, $1.count) }
      var weights = [Float](repeating: 0, count: table.sampleCount * count)
      for output in 0..<table.sampleCount {
        for place in output * table.tapCount..<(output + 1) * table.tapCount where table.weights[place] != 0 {
          weights[output * count + table.indices[place] - runs[output].lowerBound] = Float(
            table.weights[place])
        }
      }
      first = FixedArray(runs.map { Int32($0.lowerBound) })
      self.weights = FixedArray(weights)
    }

    var byteCount: Int { first.byteCount + weights.byteCount }

    var taps: pixels_light_taps {
      unsafe pixels_light_taps(first: first.pointer, weights: weights.pointer, count: Int32(count))
    }
  }

  /// The samples of a component around each pixel along one axis.
  private struct Neighbours: Sendable {
    let first: FixedArray<Int32>
    let second: FixedArray<Int32>
    let part: FixedArray<Float>

    /// Interpolates between samples `step` pixels apart that touch a crop, as docs/semantics.md says.
    init(_ count: Int, step: Int, isLeft: Bool, _ start: Int, _ length: Int, eighths: Int) {
      let siting = isLeft ? 0.5 - 0.5 / Double(step) : 0
      let pixels = 8 * step
      let bounds = start * eighths / pixels...((start + length) * eighths + pixels - 1) / pixels - 1
      let positions = (0..<count).map { (Double($0) + 0.5) / Double(step) + siting - 0.5 }
      func clamped(_ index: Int) -> Int32 { Int32(min(max(index, bounds.lowerBound), bounds.upperBound)) }
      first = FixedArray(positions.map { clamped(Int($0.rounded(.down))) })
      second = FixedArray(positions.map { clamped(Int($0.rounded(.down)) + 1) })
      part = FixedArray(positions.map { Float($0 - $0.rounded(.down)) })
    }

    var byteCount: Int { first.byteCount + second.byteCount + part.byteCount }

    var inC: pixels_neighbours {
      unsafe pixels_neighbours(first: first.pointer, second: second.pointer, part: part.pointer)
    }
  }

  /// Prepares a drawing within a crop of frames of a format.
  init(_ drawing: Drawing, within crop: Rectangle, of format: Frame.Format) {
    self.drawing = drawing
    signal = drawing.signals[0]
    rows = Weights(signal.rows)
    columns = Weights(signal.columns)
    switch format.pixelFormat.model {
    case .rgb: (conversion, across, down) = (nil, nil, nil)
    case .luma: (conversion, across, down) = (ColorConversion(rgbFrom: format.color), nil, nil)
    case .ycbcr(_, let cb, _):
      conversion = ColorConversion(rgbFrom: format.color)
      across = Neighbours(
        format.size.width, step: cb.subsampling.x, isLeft: format.color.siting == .left, crop.x, crop.width,
        eighths: format.eighths)
      down = Neighbours(
        format.size.height, step: cb.subsampling.y, isLeft: false, crop.y, crop.height,
        eighths: format.eighths)
    }
    func parts(_ map: SamplingMap) -> FixedArray<Int16> {
      FixedArray(TapTable.coverage(of: map).map { $0 > 0 ? 1 : 0 })
    }
    coverage = drawing.isWhole ? nil : (parts(signal.columns), parts(signal.rows))
  }

  /// The bytes of its tables.
  var byteCount: Int {
    rows.byteCount + columns.byteCount + (across?.byteCount ?? 0) + (down?.byteCount ?? 0)
      + (coverage?.x.byteCount ?? 0) + (coverage?.y.byteCount ?? 0)
  }

  /// Describes the drawing of a frame's planes into memory.
  func description(of source: FramePlanes, into target: PlaneMemory) -> pixels_light {
    var description = unsafe pixels_light()
    let planes = signal.planes
    unsafe description.planes.0 = unsafe source.plane(planes[0])
    if planes.count > 1 { unsafe description.planes.1 = unsafe source.plane(planes[1]) }
    if planes.count > 2 { unsafe description.planes.2 = unsafe source.plane(planes[2]) }
    let components = signal.components.map { component in
      pixels_component(
        plane: Int32(planes.firstIndex(of: component.plane) ?? 0), step: Int32(component.step),
        first: Int32(component.first))
    }
    unsafe description.components.0 = components[0]
    if components.count > 1 { unsafe description.components.1 = components[1] }
    if components.count > 2 { unsafe description.components.2 = components[2] }
    unsafe description.component_count = Int32(components.count)
    unsafe description.are_words = source.areWords ? 1 : 0
    if let across, let down {
      unsafe (description.across, description.down) = unsafe (across.inC, down.inC)
    }
    if let conversion {
      func row(_ index: Int) -> (Float, Float, Float) {
        let factors = conversion.columns.map { Float($0[index]) }
        return (factors[0], factors[1], factors[2])
      }
      unsafe description.is_converted = 1
      unsafe description.factors = (row(0), row(1), row(2))
      unsafe description.offsets = (
        Float(conversion.offset.x), Float(conversion.offset.y), Float(conversion.offset.z)
      )
    }
    unsafe description.light = LightTables.light.pointer
    unsafe description.codes = LightTables.codes.pointer
    let samples = signal.columns.source.samples
    unsafe (description.begin, description.end) = (Int32(samples.lowerBound), Int32(samples.upperBound + 1))
    unsafe (description.rows, description.columns) = unsafe (rows.taps, columns.taps)
    unsafe (description.width, description.height) = (Int32(drawing.size.width), Int32(drawing.size.height))
    if let coverage {
      unsafe (description.coverage_x, description.coverage_y) = unsafe (
        coverage.x.pointer, coverage.y.pointer
      )
    }
    let background = drawing.background
    unsafe description.background = (UInt8(background.x), UInt8(background.y), UInt8(background.z))
    unsafe (description.pixels, description.stride) = unsafe (target.bytes, target.stride)
    return unsafe description
  }
}
