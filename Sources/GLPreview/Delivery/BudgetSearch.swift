// Finds the best encoding within a byte budget in a few attempts, by extrapolating from the sizes of earlier
// attempts.
internal import Glibc

/// Encodes repeatedly and counts the attempts. A returned picture always fits, because its actual bytes were
/// counted.
///
/// The logarithm of a JPEG's size is almost linear in the logarithm of the quantizer step, and in that of the
/// pixel count. The next attempt is where the line through the two nearest points meets the budget.
struct BudgetSearch {
  static let attempts = 8

  let budget: Int
  private(set) var remaining = attempts
  /// The bytes of the smallest attempt.
  private(set) var least = Int.max
  let encode: (Size, Int) throws(CodecError) -> EncodedPicture

  mutating func attempt(_ size: Size, _ quality: Int) throws(CodecError) -> EncodedPicture {
    remaining -= 1
    let encoded = try encode(size, quality)
    least = min(least, encoded.bytes.count)
    return encoded
  }

  func fits(_ encoded: EncodedPicture) -> Bool { encoded.bytes.count <= budget }

  /// Finds the picture of the highest quality in `range` that fits; nil if there is none. `beyond` is the
  /// next higher tried quality, and the bytes that it took or would take. A result of at least `enough` bytes
  /// ends the search; if none fits, `kept` attempts are left over.
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
      // If any quality fits, the lowest does.
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

  /// Finds the largest picture of `full`'s aspect ratio that fits, where `full` would take `estimate` bytes;
  /// nil if there is none, and then one attempt is left over. A result of at least `enough` bytes ends the
  /// search.
  mutating func largestSize(
    of full: Size, above smallest: Size, quality: Int, estimate: Int, enough: Int
  ) throws(CodecError) -> EncodedPicture? {
    var curve = BudgetCurve(target: (budget + enough) / 2)
    curve.add(log(Double(full.pixelCount)), estimate)
    // Search by the longer side, which has the finest steps.
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

  /// Estimates the bytes of a picture at another quality, from its bytes at one quality.
  static func bytes(
    _ count: Int, at quality: Int, wouldBeAt other: Int, slope: Double = QuantizerStep.usualSlope
  ) -> Int {
    let steps = QuantizerStep.logarithm(other) - QuantizerStep.logarithm(quality)
    return Int(Double(count) * exp(slope * steps))
  }

  /// The slope of log(bytes) over log(pixels). It is below 1 because smaller pictures have more detail per
  /// pixel.
  private static let usualSlopeOfPixels = 0.85
}

/// The logarithms of the attempts' sizes over those of the searched parameter; rising or falling.
private struct BudgetCurve {
  private let target: Double
  private var above: (x: Double, y: Double)?
  private var below: (x: Double, y: Double)?
  /// The number of consecutive attempts on the same side of the target; negative if below.
  private var run = 0

  /// The approximate bytes of a JPEG's headers, whatever the picture.
  private static let header = 320

  private static func logarithm(_ bytes: Int) -> Double { log(Double(max(bytes - header, 16))) }

  init(target: Int) { self.target = Self.logarithm(target) }

  /// Adds a point, keeping the nearest on each side.
  mutating func add(_ x: Double, _ bytes: Int) {
    let point = (x: x, y: Self.logarithm(bytes))
    run = point.y > target ? max(run, 0) + 1 : min(run, 0) - 1
    // A measurement replaces an estimate.
    if above?.x == x { above = nil }
    if below?.x == x { below = nil }
    if point.y > target {
      if point.y < above?.y ?? .infinity { above = point }
    } else if point.y > below?.y ?? -.infinity {
      below = point
    }
  }

  /// `guess` clamped to `low...high`. If attempts keep falling short on one side, the interval is halved
  /// instead.
  func guarded(_ guess: Int, _ low: Int, _ high: Int) -> Int {
    let guess = min(max(guess, low), high)
    // The first point is only an estimate.
    guard high - low > 3, run < -1 || run > 2 else { return guess }
    let middle = (low + high) / 2
    return run < 0 ? max(guess, middle) : min(guess, middle)
  }

  /// Where the target is met: between both sides, or extrapolated from one side by the usual slope.
  func crossing(usualSlope: Double) -> Double {
    if let above, let below, above.y - below.y > 1e-9 {
      return below.x + (above.x - below.x) * (target - below.y) / (above.y - below.y)
    }
    guard let point = above ?? below else { return 0 }
    return point.x + (target - point.y) / usualSlope
  }
}

/// The quantizer step of a quality, in percent of T.81's Annex K (libjpeg: `jpeg_quality_scaling`).
enum QuantizerStep {
  /// The slope of log(bytes) over log(step), measured on photographs.
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

extension CodecError {
  static func overBudget(_ size: Size, _ least: Int, _ budget: Int) -> CodecError {
    CodecError(.tooLarge, "a \(size) picture takes at least \(least) bytes, the budget is \(budget)")
  }
}

extension Size {
  /// Returns the size of this aspect ratio whose longer side is `side`, rounded to whole pixels, at least 1.
  func reduced(toSide side: Int) -> Size {
    let longest = max(width, height)
    func reduced(_ length: Int) -> Int { max((2 * length * side + longest) / (2 * longest), 1) }
    return Size(width: reduced(width), height: reduced(height))
  }
}
