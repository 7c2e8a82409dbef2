// A lens at a source's size: from directions to positions in the source's picture, and back.
internal import Glibc

/// A lens at the size of a source's upright picture.
///
/// Directions are vectors of any length: x points right, y down, z forward. Positions are in pixels; (0, 0) is the
/// top left corner of the first pixel.
package struct LensMap: Sendable, Hashable {
  /// The size of the source's upright picture.
  package let size: Size
  /// The position of the direction straight ahead.
  package let center: SIMD2<Double>
  /// The horizontal and the vertical focal length, in pixels.
  package let focal: SIMD2<Double>
  /// Whether it shows straight lines as straight lines, but for its distortion.
  let isRectilinear: Bool
  private let profile: RadialProfile
  /// Pixels for 1 of the profile's values, along each axis.
  private let unit: SIMD2<Double>
  /// OpenCV's p1 and p2.
  private let tangential: SIMD2<Double>

  /// Creates the map of a lens for pictures of this size.
  ///
  /// - Throws: `ParameterError` with key `lens` if a number is out of bounds, the lens is for pictures of another
  ///   shape, or its distortion folds the picture.
  package init(_ lens: Lens, in size: Size) throws(ParameterError) {
    let (width, height) = (Double(size.width), Double(size.height))
    try self.init(lens, in: size, reaching: [.zero, [width, 0], [0, height], [width, height]])
    if tangential != .zero { try checkFolds() }
  }

  /// Creates the map of a lens whose distortion may fold the picture farther from the centre than these positions,
  /// as `LensFit` needs it on the way to a lens.
  ///
  /// - Throws: `ParameterError` with key `lens`.
  init(_ lens: Lens, in size: Size, reaching positions: [SIMD2<Double>]) throws(ParameterError) {
    try lens.check()
    guard (1...Size.maximumSide).contains(size.width), (1...Size.maximumSide).contains(size.height) else {
      throw ParameterError("lens", "a picture of \(size) has no lens")
    }
    let calibrated = lens.size ?? size
    guard calibrated.hasShape(of: size) else {
      throw ParameterError("lens", "it is for \(calibrated) pictures, which have another shape than \(size)")
    }
    let whole = SIMD2(Double(size.width), Double(size.height))
    let scale = whole / SIMD2(Double(calibrated.width), Double(calibrated.height))
    let form = RadialProfile.Form(lens.model)
    self.size = size
    isRectilinear = lens.isRectilinear
    if let matrix = lens.matrix {
      center = (SIMD2(matrix.cx, matrix.cy) + 0.5) * scale
      focal = SIMD2(matrix.fx, matrix.fy) * scale
    } else {
      center = lens.center.map { $0 * scale } ?? whole / 2
      let angle = (lens.fov ?? lens.usualFOV) * .pi / 360
      let radius = lens.radius.map { $0 * (scale.x * scale.y).squareRoot() } ?? whole.min() / 2
      // The undistorted picture's width, or the image circle.
      let length = lens.isRectilinear ? whole.x / 2 / tan(angle) : radius / form.sample(angle).value
      guard length.isFinite, length > 0 else {
        throw ParameterError("lens", "its distortion gives the image circle no focal length")
      }
      focal = SIMD2(repeating: length)
    }
    let (lowest, highest) = (whole * -2, whole * 3)
    guard center.x >= lowest.x, center.y >= lowest.y, center.x <= highest.x, center.y <= highest.y else {
      throw ParameterError(
        "lens", "its centre \(center.x.shortText),\(center.y.shortText) is far outside the \(size) picture")
    }
    if case .ptlens = lens.model { unit = SIMD2(repeating: whole.min() / 2) } else { unit = focal }
    if case .pinhole(let k) = lens.model {
      tangential = [k.count > 2 ? k[2] : 0, k.count > 3 ? k[3] : 0]
    } else {
      tangential = .zero
    }
    var farthest = 0.0
    for position in positions { farthest = max(farthest, ((position - center) / unit).length) }
    do throws(RadialProfile.Fold) {
      profile = try RadialProfile(form, reaching: farthest)
    } catch {
      throw LensMap.folds(at: error.radius * unit.sum() / 2, size)
    }
  }

  private static func folds(at radius: Double, _ size: Size) -> ParameterError {
    let pixels = radius.rounded().shortText
    return ParameterError(
      "lens", "its distortion folds the \(size) picture at a radius of \(pixels) pixels from its centre")
  }

  /// The pixels of a radian at the centre: the mean of both axes.
  package var focalLength: Double { focal.sum() / 2 * profile.form.sample(0).slope }

  /// Returns the position at which a direction is seen; nil if there is none, as behind a pinhole. It may lie
  /// outside the picture.
  package func position(of ray: SIMD3<Double>) -> SIMD2<Double>? {
    let across = SIMD2(ray.x, ray.y)
    let distance = across.length
    let seen: SIMD2<Double>
    if profile.form.isAngular {
      guard distance > 0 else { return ray.z > 0 ? center : nil }
      seen = across * (profile.value(atan2(distance, ray.z)) / distance)
    } else {
      guard ray.z > 0 else { return nil }
      seen = distorted(across / ray.z * (focal / unit))
    }
    let position = center + unit * seen
    return position.x.isFinite && position.y.isFinite ? position : nil
  }

  /// Returns the direction, of length 1, that is seen at a position; nil if there is none. The inverse of
  /// `position(of:)`.
  package func ray(at position: SIMD2<Double>) -> SIMD3<Double>? {
    let seen = (position - center) / unit
    let radius = seen.length
    guard radius.isFinite else { return nil }
    guard radius > 0 || tangential != .zero else { return [0, 0, 1] }
    guard profile.form.isAngular else {
      guard let point = undistorted(seen) else { return nil }
      let across = point * (unit / focal)
      return SIMD3(across, 1) / SIMD3(across, 1).length
    }
    let angle = profile.inverse(radius)
    guard angle <= .pi else { return nil }
    return SIMD3(seen * (sin(angle) / radius), cos(angle))
  }

  // MARK: Distortion of points

  private func distorted(_ point: SIMD2<Double>) -> SIMD2<Double> {
    let radius = point.length
    guard radius > 0 else { return .zero }
    let straight = point * (profile.value(radius) / radius)
    guard tangential != .zero else { return straight }
    let (p1, p2) = (tangential.x, tangential.y)
    let (x, y) = (point.x / radius, point.y / radius)
    let mixed: Double = 2 * x * y
    let shift: SIMD2<Double> = [p1 * mixed + p2 * (1 + 2 * x * x), p2 * mixed + p1 * (1 + 2 * y * y)]
    // Beyond the picture it grows as a straight line, like the profile.
    let end = profile.end
    return straight + shift * (radius <= end ? radius * radius : end * (2 * radius - end))
  }

  /// Returns the point whose distorted one is given.
  private func undistorted(_ seen: SIMD2<Double>) -> SIMD2<Double>? {
    let radius = seen.length
    var point = radius > 0 ? seen * (profile.inverse(radius) / radius) : .zero
    guard tangential != .zero else { return point }
    for _ in 0..<50 {
      let rest = distorted(point) - seen
      let size = 1 + point.length
      if rest.length <= 1e-14 * size { return point }
      let change = jacobian(at: point)
      let determinant = change.x.x * change.y.y - change.y.x * change.x.y
      guard determinant.isFinite, determinant != 0 else { return nil }
      let step = SIMD2(
        (change.y.y * rest.x - change.y.x * rest.y) / determinant,
        (change.x.x * rest.y - change.x.y * rest.x) / determinant)
      point -= step
      if step.length <= 1e-15 * size { break }
    }
    return (distorted(point) - seen).length <= 1e-9 * (1 + point.length) ? point : nil
  }

  /// Returns the derivatives of the distorted point by x and by y.
  private func jacobian(at point: SIMD2<Double>) -> (x: SIMD2<Double>, y: SIMD2<Double>) {
    let step = 1e-6 * (1 + point.length)
    let (right, down) = (SIMD2(step, 0), SIMD2(0, step))
    return (
      (distorted(point + right) - distorted(point - right)) / (2 * step),
      (distorted(point + down) - distorted(point - down)) / (2 * step)
    )
  }

  /// Checks that tangential distortion keeps the picture's positions apart.
  private func checkFolds() throws(ParameterError) {
    let parts = 8
    for row in 0...parts {
      for column in 0...parts {
        let part = SIMD2(Double(column), Double(row)) / Double(parts)
        let position = part * SIMD2(Double(size.width), Double(size.height))
        if let point = undistorted((position - center) / unit) {
          let change = jacobian(at: point)
          if change.x.x * change.y.y - change.y.x * change.x.y > 0 { continue }
        }
        throw LensMap.folds(at: (position - center).length, size)
      }
    }
  }
}

extension RadialProfile.Form {
  fileprivate init(_ model: Lens.Model) {
    func at(_ index: Int, of numbers: [Double]) -> Double { index < numbers.count ? numbers[index] : 0 }
    switch model {
    case .fisheye(let k):
      self = .angle([at(0, of: k), at(1, of: k), at(2, of: k), at(3, of: k)])
    case .pinhole(let k):
      self = .rational(
        [at(0, of: k), at(1, of: k), at(4, of: k), 0], [at(5, of: k), at(6, of: k), at(7, of: k), 0])
    case .curve(let curve): self = .curve(curve)
    case .ptlens(let a, let b, let c): self = .quartic([a, b, c])
    }
  }
}

extension SIMD2<Double> {
  /// The distance from (0, 0).
  fileprivate var length: Double { (self * self).sum().squareRoot() }
}

extension SIMD3<Double> {
  fileprivate var length: Double { (self * self).sum().squareRoot() }
}
