// A lens's radius as a function of an angle or of an undistorted radius, its derivative, and its inverse.
internal import Glibc

/// A rising function of a distance from the centre. It follows its formula up to the picture's farthest corner
/// and a little further, and is a straight line from there, so that it never returns to the picture.
struct RadialProfile: Sendable, Hashable {
  /// The formula.
  enum Form: Sendable, Hashable {
    /// t (1 + k1 t² + k2 t⁴ + k3 t⁶ + k4 t⁸) of an angle t.
    case angle(SIMD4<Double>)
    /// t (1 + k1 t² + k2 t⁴ + k3 t⁶) / (1 + k4 t² + k5 t⁴ + k6 t⁶) of an undistorted radius t.
    case rational(SIMD4<Double>, SIMD4<Double>)
    /// t (a t³ + b t² + c t + 1 - a - b - c) of an undistorted radius t.
    case quartic(SIMD3<Double>)
    /// An ideal fisheye of an angle t.
    case curve(Lens.Curve)
  }

  /// The picture's farthest corner is beyond the radius at which the formula stops rising.
  struct Fold: Error {
    /// In the profile's units.
    let radius: Double
  }

  let form: Form
  /// The end of the formula's part, the value there, and the slope beyond.
  let end: Double
  let endValue: Double
  let endSlope: Double

  /// The steps to the farthest corner in which folds are looked for.
  private static let steps = 2048.0
  /// How far beyond the farthest corner the formula is followed.
  private static let margin = 1.05
  private static let leastSlope = 1e-3

  /// Creates a profile that rises at least to the radius `farthest`, which is above 0.
  ///
  /// - Throws: `Fold` if the formula does not rise so far.
  init(_ form: Form, reaching farthest: Double) throws(Fold) {
    let end: Double
    if case .curve(let curve) = form {
      end = RadialProfile.end(of: curve, farthest)
    } else {
      end = try RadialProfile.end(of: form, farthest)
    }
    let sample = form.sample(end)
    self.form = form
    self.end = end
    endValue = sample.value
    // An orthographic lens sees nothing beyond 90 degrees: the line leaves the image circle at once.
    endSlope = form == .curve(.orthographic) ? 1 : max(sample.slope, RadialProfile.leastSlope)
  }

  private static func end(of curve: Lens.Curve, _ farthest: Double) -> Double {
    switch curve {
    case .equidistant, .equisolid: .pi
    case .stereographic: 2 * atan(margin * max(farthest, 1) / 2)
    case .orthographic: .pi / 2
    }
  }

  private static func end(of form: Form, _ farthest: Double) throws(Fold) -> Double {
    guard form.sample(0).slope > 0 else { throw Fold(radius: 0) }
    var (before, reached) = (0.0, 0.0)
    var step = min(farthest, 1) / steps
    while before < form.longest {
      let here = min(before + step, form.longest)
      let sample = form.sample(here)
      guard sample.isRising, sample.value > reached else {
        let fold = turn(of: form, between: before, here)
        let radius = form.sample(fold).value
        guard radius >= farthest else { throw Fold(radius: radius) }
        return form.inverse(farthest, upTo: fold)
      }
      (before, reached) = (here, sample.value)
      if reached >= margin * farthest { return here }
      step = max(step, here / 1000)
    }
    // No light arrives from behind at more than 180 degrees; other lenses see up to 90 degrees, without end.
    if case .angle = form { return before }
    guard reached >= farthest else { throw Fold(radius: reached) }
    return before
  }

  /// Returns the last place, to the precision of numbers, at which a formula still rises.
  private static func turn(of form: Form, between rising: Double, _ falling: Double) -> Double {
    var (low, high) = (rising, falling)
    for _ in 0..<60 {
      let middle = (low + high) / 2
      if form.sample(middle).isRising { low = middle } else { high = middle }
    }
    return low
  }

  /// Returns the radius of a distance of 0 or more.
  func value(_ distance: Double) -> Double {
    distance <= end ? form.sample(distance).value : endValue + endSlope * (distance - end)
  }

  /// Returns the distance that has a radius of 0 or more.
  func inverse(_ radius: Double) -> Double {
    radius < endValue ? form.inverse(radius, upTo: end) : end + (radius - endValue) / endSlope
  }
}

extension RadialProfile.Form {
  /// A formula's value and derivative.
  struct Sample {
    let value: Double
    let slope: Double

    var isRising: Bool { value.isFinite && slope.isFinite && slope > 0 }
  }

  /// The farthest distance that is looked at: 180 degrees, or 89.99.
  var longest: Double {
    switch self {
    case .angle, .curve: .pi
    case .rational, .quartic: 1e4
    }
  }

  /// Whether distances are angles in radians.
  var isAngular: Bool {
    switch self {
    case .angle, .curve: true
    case .rational, .quartic: false
    }
  }

  func sample(_ t: Double) -> Sample {
    let s = t * t
    switch self {
    case .angle(let k):
      let factor = RadialProfile.Form.series(s, k)
      return Sample(value: t * factor.value, slope: factor.value + 2 * s * factor.slope)
    case .rational(let numerator, let denominator):
      let above = RadialProfile.Form.series(s, numerator)
      let below = RadialProfile.Form.series(s, denominator)
      guard below.value > 0 else { return Sample(value: .nan, slope: .nan) }
      let factor = above.value / below.value
      let change = (above.slope - factor * below.slope) / below.value
      return Sample(value: t * factor, slope: factor + 2 * s * change)
    case .quartic(let k):
      let factor = SIMD4(1 - k.sum(), k.z, k.y, k.x)
      let powers = SIMD4(1, t, s, s * t)
      let slopes = factor * powers * SIMD4(1, 2, 3, 4)
      return Sample(value: t * (factor * powers).sum(), slope: slopes.sum())
    case .curve(.equidistant): return Sample(value: t, slope: 1)
    case .curve(.equisolid): return Sample(value: 2 * sin(t / 2), slope: cos(t / 2))
    case .curve(.stereographic):
      let tangent = tan(t / 2)
      return Sample(value: 2 * tangent, slope: 1 + tangent * tangent)
    case .curve(.orthographic): return Sample(value: sin(t), slope: cos(t))
    }
  }

  /// Returns 1 + k1 s + k2 s² + k3 s³ + k4 s⁴, and its derivative.
  private static func series(_ s: Double, _ k: SIMD4<Double>) -> Sample {
    let powers = SIMD4(1, s, s * s, s * s * s)
    let slopes = k * powers
    return Sample(value: 1 + s * slopes.sum(), slope: (slopes * SIMD4(1, 2, 3, 4)).sum())
  }

  /// Returns the distance from 0 to `end`, where the formula rises, that has this value: by Newton's method, and
  /// by bisection where a step of it would leave the part that contains the solution.
  fileprivate func inverse(_ value: Double, upTo end: Double) -> Double {
    var (low, high) = (0.0, end)
    var t = min(max(value, 0), end)
    for _ in 0..<80 {
      let sample = sample(t)
      let excess = sample.value - value
      if excess > 0 { high = t } else { low = t }
      var next = t - excess / sample.slope
      if !(next >= low && next <= high) { next = (low + high) / 2 }
      if abs(next - t) <= 1e-16 + t * 2e-16 { return next }
      t = next
    }
    return t
  }
}
