// Where, along one axis, the samples of an output plane lie in a plane of the source. Exact: whole numbers
// over a common denominator, so that no driver, compiler or order of operations can move a tap.

/// The kernel that a `Filter` comes to along one axis.
package enum Kernel: String, Sendable, Hashable {
  /// One sample.
  case nearest
  /// Two samples.
  case bilinear
  /// The mean over a box as wide as an output sample.
  case box
  /// Lanczos with three lobes, as wide as the larger of a source and an output sample.
  case lanczos
}

/// The part of a plane that a view may read along one axis of the stored picture.
package struct CropSpan: Sendable, Hashable {
  /// First pixel of the stored picture, at its reference size.
  package let start: Int
  /// Pixels of the stored picture, at its reference size.
  package let length: Int
  /// Whether the view sees them from the far end to the near one.
  package let isReversed: Bool
  /// Decoded pixels to a sample of the plane.
  package let subsampling: Int
  /// Where the plane's samples sit among the pixels.
  package let siting: ChromaSiting
  /// Decoded pixels to eight pixels of the reference.
  package let eighths: Int

  /// A span of `length` pixels from `start` on.
  package init(
    start: Int, length: Int, isReversed: Bool = false, subsampling: Int = 1, siting: ChromaSiting = .centred,
    eighths: Int = 8
  ) {
    self.start = start
    self.length = length
    self.isReversed = isReversed
    self.subsampling = subsampling
    self.siting = siting
    self.eighths = eighths
  }

  /// The samples that belong to the span: those that touch it.
  package var samples: ClosedRange<Int> {
    let (scale, pixels) = (scale, scale.reference * subsampling)
    return start * scale.decoded / pixels...((start + length) * scale.decoded + pixels - 1) / pixels - 1
  }

  /// Decoded pixels to pixels of the reference, in lowest terms: 1 to 1 where a picture was decoded in full.
  var scale: (decoded: Int, reference: Int) {
    let common = 1 << min(eighths.trailingZeroBitCount, 3)
    return (eighths / common, 8 / common)
  }
}

/// The part of an output plane that the picture takes along one axis.
package struct PlacedSpan: Sendable, Hashable {
  /// Pixels of the whole target.
  package let target: Int
  /// First pixel of the picture.
  package let start: Int
  /// Pixels of the picture.
  package let length: Int
  /// Pixels to an output sample: 2 for the chroma of 4:2:0.
  package let step: Int

  /// Of `target` pixels, `length` from `start` on are the picture's.
  package init(target: Int, start: Int, length: Int, step: Int = 1) {
    self.target = target
    self.start = start
    self.length = length
    self.step = step
  }

  /// Samples of the output plane.
  package var sampleCount: Int { (target + step - 1) / step }
}

/// From an output sample to a position in the source's plane, along one axis.
package struct SamplingMap: Sendable, Hashable {
  /// Which samples it makes.
  package let output: PlacedSpan
  /// Which samples it reads.
  package let source: CropSpan
  /// Which part of the crop, as seen, fills the placed pixels.
  package let window: SourceWindow
  /// How samples are weighted.
  package let kernel: Kernel

  /// Resolves `filter` for this axis and this plane.
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
      case .lanczos: .lanczos
      }
  }

  /// The denominator of `position` and of `ratio`; divisible by 4.
  var denominator: Int {
    4 * output.length * window.denominator * source.subsampling * source.scale.reference
  }

  /// Samples of the source's plane to an output sample, times `denominator`.
  var ratio: Int { 4 * output.step * window.length * source.scale.decoded }

  /// The centre of output sample `index` in the source's plane (sample k covers k...k+1), times `denominator`.
  ///
  /// Position x of the reference is luma position X = x * eighths / 8; that is chroma position X/s + (centred: 0;
  /// left: 1/2 - 1/(2s)).
  func position(of index: Int) -> Int {
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

  /// How much of output sample `index` the picture takes, 0...1; the rest is background. What lies beyond
  /// the target counts for nothing.
  func coverage(of index: Int) -> Double {
    let first = index * output.step
    let last = min(first + output.step, output.target)
    let covered = min(last, output.start + output.length) - max(first, output.start)
    return Double(max(0, covered)) / Double(last - first)
  }

  /// Whether every output sample is one source sample, unchanged.
  package var isCopy: Bool {
    // Before a picture that has a bar on its left positions are negative, and so are their remainders.
    ratio == denominator && (kernel == .nearest || kernel == .box)
      && abs(position(of: 0) % denominator) == denominator / 2
  }
}

extension SamplingMap: CustomStringConvertible {
  /// For example `box 1920->640`.
  package var description: String {
    "\(kernel.rawValue) \(source.samples.count)->\(output.sampleCount)\(source.isReversed ? " reversed" : "")"
  }
}
