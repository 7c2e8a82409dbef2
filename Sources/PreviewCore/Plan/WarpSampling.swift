// How a warped view samples one signal: from positions in the stored picture to samples of a plane, and their weights.

/// The samples that a warped view reads of one signal: those around each position of a grid.
///
/// An output sample is the mean over `count` positions, evenly spaced over its pixels along rows and columns, each interpolated
/// between samples: one where outputs are at most 9/8 of a source sample apart, else so many that they are at most 2/3 of one
/// apart, and 8 where those are over 5.
package struct WarpSampling: Sendable, Hashable {
  package let grid: WarpGrid
  /// The pixels of an output sample.
  package let step: Subsampling
  /// The part of the target that the picture covers, in pixels.
  package let placed: Rectangle
  /// The samples that may be read, along stored rows.
  package let columns: CropSpan
  /// The samples that may be read, along stored columns.
  package let rows: CropSpan
  /// `nearest`, `bilinear` or `bicubic`, at each position.
  package let kernel: Kernel
  /// Whether shrunk parts take the mean of several positions.
  package let supersamples: Bool
  /// The pixels of a source sample, the fewest of all signals that are read together: they take the same positions.
  package let finest: Int

  /// The most positions of an output sample along rows, and along columns.
  package static let maximumCount = 8

  /// Returns the number of positions of an output sample along rows and along columns, 1...8; zeros where its cell shows
  /// nothing of the source.
  package func count(_ column: Int, _ row: Int) -> SIMD2<Int> {
    let ratio = grid.ratio(at: origin(column, row))
    guard ratio.x > 0 else { return .zero }
    guard supersamples else { return [1, 1] }
    func count(_ ratio: Int, _ step: Int) -> Int {
      let sixteenths = ratio * step / finest
      guard sixteenths > 18 else { return 1 }
      let count = (3 * sixteenths + 31) / 32
      return count > 5 ? WarpSampling.maximumCount : count
    }
    return [count(ratio.x, step.x), count(ratio.y, step.y)]
  }

  /// Returns a position of an output sample in the target, in the grid's `outputUnit`s: the one of this index, below `count`,
  /// along rows and columns.
  package func point(_ column: Int, _ row: Int, _ index: SIMD2<Int>, of count: SIMD2<Int>) -> SIMD2<Int> {
    let unit = WarpGrid.outputUnit
    let corner = origin(column, row)
    return [
      corner.x + (unit * step.x * (2 * index.x + 1) + count.x) / (2 * count.x),
      corner.y + (unit * step.y * (2 * index.y + 1) + count.y) / (2 * count.y),
    ]
  }

  private func origin(_ column: Int, _ row: Int) -> SIMD2<Int> {
    let unit = WarpGrid.outputUnit
    return [unit * step.x * column, unit * step.y * row]
  }

  /// Whether a point of the target, in the grid's `outputUnit`s, with this position of the stored picture shows the source.
  package func shows(_ point: SIMD2<Int>, _ position: SIMD2<Int>) -> Bool {
    func contains(_ start: Int, _ length: Int, _ unit: Int, _ value: Int) -> Bool {
      (start * unit..<(start + length) * unit).contains(value)
    }
    return contains(placed.x, placed.width, WarpGrid.outputUnit, point.x)
      && contains(placed.y, placed.height, WarpGrid.outputUnit, point.y)
      && contains(columns.start, columns.length, WarpGrid.unit, position.x)
      && contains(rows.start, rows.length, WarpGrid.unit, position.y)
  }

  /// Returns a position along one axis in 1/256 of a sample of the plane, rounded down, from the first one's edge.
  package static func planePosition(_ position: Int, _ span: CropSpan) -> Int {
    let decoded = (position * span.eighths) >> 3
    let sited = span.siting == .left ? decoded + WarpGrid.unit / 2 * (span.subsampling - 1) : decoded
    return sited >> span.subsampling.trailingZeroBitCount
  }

  /// Returns the first sample and the weights of a position along one axis, over `weightTotal`. Samples outside `span.samples`
  /// count as the nearest one inside.
  package func taps(_ position: Int, _ span: CropSpan) -> (first: Int, weights: [Int]) {
    let position = WarpSampling.planePosition(position, span)
    switch kernel {
    case .nearest: return (position >> 8, [WarpSampling.weightTotal])
    case .bicubic:
      let centred = position - WarpGrid.unit / 2
      return ((centred >> 8) - 1, WarpSampling.cubicWeights[centred & 255])
    default:
      let centred = position - WarpGrid.unit / 2
      let weight = (centred & 255) * (WarpSampling.weightTotal / 256)
      return (centred >> 8, [WarpSampling.weightTotal - weight, weight])
    }
  }

  /// The sum of the weights along one axis.
  package static let weightTotal = 4096

  /// For each 1/256 of a sample between the second and the third, the weights of four: the Catmull-Rom spline (Keys 1981,
  /// a = -1/2).
  package static let cubicWeights: [[Int]] = (0..<256).map { phase in
    let t = Double(phase) / 256
    let exact = [
      ((2 - t) * t - 1) * t / 2, ((3 * t - 5) * t * t + 2) / 2, ((4 - 3 * t) * t + 1) * t / 2,
      (t - 1) * t * t / 2,
    ]
    var weights = exact.map { Int(($0 * Double(weightTotal)).rounded()) }
    // The rounding goes to the larger of the two in the middle.
    weights[phase < 128 ? 1 : 2] += weightTotal - weights.reduce(0, +)
    return weights
  }

  /// For example `bilinear, 8x8 cells`.
  package var description: String {
    "\(supersamples ? "mean of " : "")\(kernel.rawValue) by cells of \(1 << grid.shift)"
  }
}

/// A drawing of one plane, two planes, or pixels of a warped view.
package struct WarpedDrawing: Sendable, Hashable {
  /// A signal: its samples in stored rows, and how they are read.
  package struct Signal: Sendable, Hashable {
    package let signal: PreviewCore.Signal
    /// Stored samples from one sample of its first component to the next: 1, 2, 3 or 4.
    package let step: Int
    /// R, G and B; Y'; or Cb and Cr.
    package let components: [PackedComponent]
    package let sampling: WarpSampling
  }

  /// One, or luma and chroma; all read the same positions.
  package let signals: [Signal]
  package let size: Size
  package let conversion: ColorConversion
  package let output: Drawing.Output
  /// The colour outside the picture, in the codes of all three outputs.
  package let background: SIMD3<Double>
  /// The colour behind a transparent frame; nil if the frame is opaque.
  package let behind: RGBColor?
}

extension WarpedDrawing {
  /// Creates the drawing of a warped pass; nil if the frame lacks a signal, or the pass is not warped.
  init?(_ pass: PlanePass, as output: Drawing.Output, of format: PixelFormat, behind: RGBColor?) {
    var signals: [Signal] = []
    for input in pass.inputs {
      guard case .warp(let sampling) = input.positions,
        let components = PackedComponent.all(of: input.signal, format), let first = components.first
      else { return nil }
      signals.append(
        Signal(signal: input.signal, step: first.step, components: components, sampling: sampling))
    }
    guard !signals.isEmpty else { return nil }
    self.init(
      signals: signals, size: pass.size, conversion: pass.conversion, output: output,
      background: pass.background, behind: behind)
  }
}

extension WarpedDrawing: CustomStringConvertible {
  /// For example `plane 640x360 of warped luma (mean of bilinear by cells of 8)`.
  package var description: String {
    let inputs = signals.map { "\($0.signal.rawValue) (\($0.sampling.description))" }
    return "\(output.rawValue) \(size) of warped \(inputs.joined(separator: ", "))"
  }
}
