// Maps output samples to source positions along one axis. Exact: integers over a common denominator, so that
// no driver, compiler or order of operations can move a tap.

/// The kernel that a `Filter` uses along one axis.
package enum Kernel: String, Sendable, Hashable {
  case nearest
  case bilinear
  /// The mean over a box as wide as an output sample.
  case box
  /// The Catmull-Rom spline, scaled to the larger of a source and an output sample.
  case bicubic
  /// The cubic of Mitchell and Netravali, scaled in the same way.
  case mitchell
  /// Lanczos with three lobes, scaled in the same way.
  case lanczos

  /// Whether weighted sums may lie outside the range of the samples.
  var hasNegativeWeights: Bool { self == .bicubic || self == .mitchell || self == .lanczos }
}

/// The part of a plane that a view may read along one axis of the stored picture.
package struct CropSpan: Sendable, Hashable {
  /// The first pixel of the stored picture, at its reference size.
  package let start: Int
  /// Pixels of the stored picture, at its reference size.
  package let length: Int
  /// Whether the view shows the pixels in reverse.
  package let isReversed: Bool
  /// Decoded pixels per sample of the plane.
  package let subsampling: Int
  /// The position of the plane's samples among the pixels.
  package let siting: ColorDescription.ChromaSiting
  /// Decoded pixels per eight reference pixels.
  package let eighths: Int

  package init(
    start: Int, length: Int, isReversed: Bool = false, subsampling: Int = 1,
    siting: ColorDescription.ChromaSiting = .centred,
    eighths: Int = 8
  ) {
    self.start = start
    self.length = length
    self.isReversed = isReversed
    self.subsampling = subsampling
    self.siting = siting
    self.eighths = eighths
  }

  /// The samples that touch the span.
  package var samples: ClosedRange<Int> {
    let (scale, pixels) = (scale, scale.reference * subsampling)
    return start * scale.decoded / pixels...((start + length) * scale.decoded + pixels - 1) / pixels - 1
  }

  /// Decoded pixels per reference pixels, reduced; 1 to 1 if the picture was decoded at full size.
  var scale: (decoded: Int, reference: Int) {
    let common = 1 << min(eighths.trailingZeroBitCount, 3)
    return (eighths / common, 8 / common)
  }
}

/// The part of an output plane that the picture covers along one axis.
package struct PlacedSpan: Sendable, Hashable {
  /// Pixels of the whole target.
  package let target: Int
  /// First pixel of the picture.
  package let start: Int
  /// Pixels of the picture.
  package let length: Int
  /// Pixels per output sample: 2 for the chroma of 4:2:0.
  package let step: Int

  package init(target: Int, start: Int, length: Int, step: Int = 1) {
    self.target = target
    self.start = start
    self.length = length
    self.step = step
  }

  /// Samples of the output plane.
  package var sampleCount: Int { (target + step - 1) / step }
}

/// The map from output samples to positions in a source plane, along one axis.
package struct SamplingMap: Sendable, Hashable, CustomStringConvertible {
  package let output: PlacedSpan
  /// The source samples that may be read.
  package let source: CropSpan
  /// The part of the crop, as seen, that fills the placed pixels.
  package let window: SourceWindow
  package let kernel: Kernel

  /// Selects the kernel of `filter` for this axis and plane.
  package init(output: PlacedSpan, source: CropSpan, window: SourceWindow, filter: Filter) {
    self.output = output
    self.source = source
    self.window = window
    let scale = source.scale
    let shrinksOrStays =
      output.step * window.length * scale.decoded
      >= window.denominator * output.length * source.subsampling * scale.reference
    self.kernel =
      switch filter {
      case .nearest: .nearest
      case .bilinear: .bilinear
      case .auto, .area: shrinksOrStays ? .box : .bilinear
      case .bicubic: .bicubic
      case .mitchell: .mitchell
      case .lanczos: .lanczos
      }
  }

  /// The denominator of `position` and `ratio`; divisible by 4.
  package var denominator: Int {
    4 * output.length * window.denominator * source.subsampling * source.scale.reference
  }

  /// Source samples per output sample, times `denominator`.
  var ratio: Int { 4 * output.step * window.length * source.scale.decoded }

  /// Returns the centre of output sample `index` in the source's plane (sample k covers k...k+1), times
  /// `denominator`.
  ///
  /// Position x of the reference is luma position X = x * eighths / 8; that is chroma position X/s +
  /// (centred: 0; left: 1/2 - 1/(2s)).
  package func position(of index: Int) -> Int {
    let twicePlaced = (2 * index + 1) * output.step - 2 * output.start
    // In pixels of the crop as seen, over 2 * output.length * window.denominator.
    let seen = 2 * output.length * window.start + twicePlaced * window.length
    let pixel = 2 * output.length * window.denominator
    let stored =
      source.isReversed ? (source.start + source.length) * pixel - seen : source.start * pixel + seen
    let (decoded, reference) = source.scale
    return 2 * stored * decoded
      + (source.siting == .left ? (source.subsampling - 1) * pixel * reference : 0)
  }

  /// Returns the fraction of output sample `index` that the picture covers, 0...1; the rest is background.
  /// The part beyond the target is ignored.
  func coverage(of index: Int) -> Double {
    let first = index * output.step
    let last = min(first + output.step, output.target)
    let covered = min(last, output.start + output.length) - max(first, output.start)
    return Double(max(0, covered)) / Double(last - first)
  }

  /// Whether every output sample equals one source sample.
  package var isCopy: Bool {
    // If a bar precedes the picture, positions there are negative, and so are their remainders.
    ratio == denominator && (kernel == .nearest || kernel == .box)
      && abs(position(of: 0) % denominator) == denominator / 2
  }

  /// For example `box 1920->640`.
  package var description: String {
    "\(kernel.rawValue) \(source.samples.count)->\(output.sampleCount)\(source.isReversed ? " reversed" : "")"
  }
}
