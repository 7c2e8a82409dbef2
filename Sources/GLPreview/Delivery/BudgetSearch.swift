// The most that fits into so many bytes, in a few encodes: what the next one would take is told by those before it.
internal import Glibc
internal import PreviewCore

/// Encodes again and again, and keeps count. What it gives back fits, always: its bytes were counted.
///
/// Against the logarithm of the quantizer's step, and against that of the number of pixels, the logarithm of a JPEG's size
/// is nearly a line; so the next attempt is where the line through the nearest two meets the budget.
struct BudgetSearch {
  /// Encodes in all, at most.
  static let attempts = 8

  /// In bytes.
  let budget: Int
  private(set) var remaining = attempts
  /// The least that any attempt came to, in bytes.
  private(set) var least = Int.max
  private let encode: (Size, Int) throws(CodecError) -> EncodedPicture

  /// `encode` makes a picture of a size, at a quality.
  init(budget: Int, encode: @escaping (Size, Int) throws(CodecError) -> EncodedPicture) {
    self.budget = budget
    self.encode = encode
  }

  /// One attempt.
  mutating func attempt(_ size: Size, _ quality: Int) throws(CodecError) -> EncodedPicture {
    remaining -= 1
    let encoded = try encode(size, quality)
    least = min(least, encoded.bytes.count)
    return encoded
  }

  func fits(_ encoded: EncodedPicture) -> Bool { encoded.bytes.count <= budget }

  /// Looks for the highest quality that fits.
  ///
  /// - Parameters:
  ///   - size: of the picture, in pixels.
  ///   - range: where it is looked for; a quality beyond it is known not to fit.
  ///   - beyond: what that quality was, and how many bytes it took or would have taken.
  ///   - enough: what fits and takes so many bytes ends the search.
  ///   - kept: so many attempts are left over where none was found.
  /// - Returns: the best of `range`; nil where none was found to fit.
  /// - Throws: what encoding throws.
  mutating func bestQuality(
    of size: Size, in range: ClosedRange<Int>, beyond: (quality: Int, bytes: Int), enough: Int,
    keeping kept: Int = 0
  ) throws(CodecError) -> EncodedPicture? {
    var curve = BudgetCurve(target: budget)
    curve.add(QuantizerStep.logarithm(beyond.quality), beyond.bytes)
    var (low, high) = (range.lowerBound, range.upperBound)
    var best: EncodedPicture?
    while low <= high, remaining > (best == nil ? kept : 0) {
      let guess = QuantizerStep.quality(curve.crossing(usualSlope: QuantizerStep.usualSlope))
      // If anything fits, the lowest does.
      let isLast = best == nil && remaining == kept + 1
      let quality = isLast ? low : curve.guarded(guess, low, high)
      let encoded = try attempt(size, quality)
      curve.add(QuantizerStep.logarithm(quality), encoded.bytes.count)
      if fits(encoded) {
        best = encoded
        low = quality + 1
        guard encoded.bytes.count < enough else { break }
      } else {
        high = quality - 1
      }
    }
    return best
  }

  /// Looks for the largest size of `full`'s shape that fits. Where none is found, one attempt is left over.
  ///
  /// - Parameters:
  ///   - full: is known not to fit.
  ///   - smallest: what is smaller is not tried.
  ///   - quality: of all.
  ///   - estimate: how many bytes `full` would take.
  ///   - enough: what fits and takes so many bytes ends the search.
  /// - Returns: the largest; nil where none was found to fit.
  /// - Throws: what encoding throws.
  mutating func largestSize(
    of full: Size, above smallest: Size, quality: Int, estimate: Int, enough: Int
  ) throws(CodecError) -> EncodedPicture? {
    var curve = BudgetCurve(target: (budget + enough) / 2)
    curve.add(log(Double(full.pixelCount)), estimate)
    // By the longer side, which has the most sizes.
    let longest = max(full.width, full.height)
    var (low, high) = (max(smallest.width, smallest.height), longest - 1)
    var best: EncodedPicture?
    while low <= high, remaining > 1 {
      let pixels = exp(curve.crossing(usualSlope: Self.usualSlopeOfPixels))
      let guess = Double(longest) * (pixels / Double(full.pixelCount)).squareRoot()
      let side = curve.guarded(Int(min(guess, Double(high))), low, high)
      let size = full.reduced(toSide: side)
      let encoded = try attempt(size, quality)
      curve.add(log(Double(size.pixelCount)), encoded.bytes.count)
      if fits(encoded) {
        best = encoded
        low = side + 1
        guard encoded.bytes.count < enough else { break }
      } else {
        high = side - 1
      }
    }
    return best
  }

  /// How many bytes a picture of so many at one quality would take at another, if they fell so steeply.
  static func bytes(
    _ count: Int, at quality: Int, wouldBeAt other: Int, slope: Double = QuantizerStep.usualSlope
  ) -> Int {
    let steps = QuantizerStep.logarithm(other) - QuantizerStep.logarithm(quality)
    return Int(Double(count) * exp(slope * steps))
  }

  /// Of log(bytes) over log(pixels): smaller pictures have more detail to a pixel.
  private static let usualSlopeOfPixels = 0.85
}

/// The logarithms of what attempts came to, over those of what was asked; rising or falling.
private struct BudgetCurve {
  private let target: Double
  private var above: (x: Double, y: Double)?
  private var below: (x: Double, y: Double)?
  /// Attempts in a row that came to lie on the same side; negative below.
  private var run = 0

  /// Headers take about so much, whatever the picture.
  private static let header = 320

  private static func logarithm(_ bytes: Int) -> Double { log(Double(max(bytes - header, 16))) }

  init(target: Int) { self.target = Self.logarithm(target) }

  /// Keeps the nearest of each side.
  mutating func add(_ x: Double, _ bytes: Int) {
    let point = (x: x, y: Self.logarithm(bytes))
    run = point.y > target ? max(run, 0) + 1 : min(run, 0) - 1
    // What was measured is better than what was thought.
    if above?.x == x { above = nil }
    if below?.x == x { below = nil }
    if point.y > target {
      if point.y < above?.y ?? .infinity { above = point }
    } else if point.y > below?.y ?? -.infinity {
      below = point
    }
  }

  /// `guess` within `low...high`; what always falls short of the target, as no line does, is overtaken by halves.
  func guarded(_ guess: Int, _ low: Int, _ high: Int) -> Int {
    let guess = min(max(guess, low), high)
    // The first point is a guess itself.
    guard high - low > 3, run < -1 || run > 2 else { return guess }
    let middle = (low + high) / 2
    return run < 0 ? max(guess, middle) : min(guess, middle)
  }

  /// Where the target is met: between both sides, or from one on by the usual slope.
  func crossing(usualSlope: Double) -> Double {
    if let above, let below, above.y - below.y > 1e-9 {
      return below.x + (above.x - below.x) * (target - below.y) / (above.y - below.y)
    }
    guard let point = above ?? below else { return 0 }
    return point.x + (target - point.y) / usualSlope
  }
}

/// The step that a quality stands for, in percent of T.81's Annex K (libjpeg: `jpeg_quality_scaling`).
enum QuantizerStep {
  /// Of log(bytes) over log(step), on photographs.
  static let usualSlope = -0.75

  static func logarithm(_ quality: Int) -> Double {
    log(quality < 50 ? 5000 / Double(max(quality, 1)) : max(200 - 2 * Double(quality), 1))
  }

  /// The highest quality with at least this step.
  static func quality(_ logarithm: Double) -> Int {
    let step = exp(min(max(logarithm, 0), 9))
    let quality = step > 100 ? 5000 / step : (200 - step) / 2
    return min(max(Int(quality + 1e-6), 1), 100)
  }
}

extension Size {
  /// The same shape with a longer side of `side`, to the nearest whole pixel, at least 1.
  func reduced(toSide side: Int) -> Size {
    let longest = max(width, height)
    func reduced(_ length: Int) -> Int { max((2 * length * side + longest) / (2 * longest), 1) }
    return Size(width: reduced(width), height: reduced(height))
  }
}
