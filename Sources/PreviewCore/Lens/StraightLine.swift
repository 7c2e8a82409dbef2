// Points of a picture on an edge that is straight in the scene, the curve that a lens makes of one straight line, and the
// points' distances from it.
internal import Glibc

/// Points on an edge that is straight in the scene, in pixels of the upright picture; (0, 0) is the top left corner
/// of the first pixel.
package struct StraightLine: Sendable, Hashable {
  /// Three points or more.
  package let points: [SIMD2<Double>]

  private static let farthest = 999_999.0
  private static let counts = 3...1000

  /// Creates a line.
  ///
  /// - Throws: `ParameterError` with key `line` if there are fewer than three points, two are the same, or all are
  ///   within a pixel.
  package init(_ points: [SIMD2<Double>]) throws(ParameterError) {
    guard StraightLine.counts.contains(points.count) else {
      throw ParameterError("line", "a line has 3 to 1000 points, not \(points.count)")
    }
    guard Set(points).count == points.count else { throw ParameterError("line", "two points are the same") }
    guard points.contains(where: { (($0 - points[0]) * ($0 - points[0])).sum() >= 1 }) else {
      throw ParameterError("line", "all points are within a pixel")
    }
    self.points = points
  }

  /// Parses `X,Y X,Y X,Y...`, in pixels.
  ///
  /// - Throws: `ParameterError` with key `line`.
  package init(parsing text: String) throws(ParameterError) {
    var points: [SIMD2<Double>] = []
    for part in text.split(separator: " ") {
      let numbers = part.split(separator: ",", omittingEmptySubsequences: false)
      let bounds = 0...StraightLine.farthest
      guard numbers.count == 2, let x = try? ParameterParser.number("line", numbers[0], in: bounds),
        let y = try? ParameterParser.number("line", numbers[1], in: bounds)
      else { throw ParameterError("line", "'\(part)' is not a point X,Y in pixels of the picture") }
      points.append([x, y])
    }
    do throws(ParameterError) {
      self = try StraightLine(points)
    } catch {
      throw ParameterError("line", "'\(text)': \(error.reason)")
    }
  }

  /// Checks that the picture has the points, and that the lens sees them.
  ///
  /// - Throws: `ParameterError` with key `line`.
  package func check(in lens: LensMap) throws(ParameterError) {
    let size = lens.size
    for point in points {
      guard point.x <= Double(size.width), point.y <= Double(size.height) else {
        throw ParameterError("line", "\(StraightLine.name(of: point)) is outside the \(size) picture")
      }
    }
    guard distances(through: lens) != nil else {
      throw ParameterError(
        "line", "the lens does not see all of the points from \(StraightLine.name(of: points[0])) on")
    }
  }

  private static func name(of point: SIMD2<Double>) -> String { "\(point.x.shortText),\(point.y.shortText)" }
}

extension StraightLine {
  /// The direction that is seen at a point, and how it changes by a pixel to the right and a pixel down.
  private struct Sight {
    let ray: SIMD3<Double>
    let right: SIMD3<Double>
    let down: SIMD3<Double>

    private static let step = 0.01

    init?(_ point: SIMD2<Double>, _ lens: LensMap) {
      let step = Sight.step
      guard let ray = lens.ray(at: point), let east = lens.ray(at: point + SIMD2(step, 0)),
        let west = lens.ray(at: point - SIMD2(step, 0)), let south = lens.ray(at: point + SIMD2(0, step)),
        let north = lens.ray(at: point - SIMD2(0, step))
      else { return nil }
      self.ray = ray
      right = (east - west) / (2 * step)
      down = (south - north) / (2 * step)
    }

    /// The pixels over which the distance from a plane grows by 1, inverted.
    func slope(_ normal: SIMD3<Double>) -> Double {
      max(hypot((right * normal).sum(), (down * normal).sum()), 1e-12)
    }
  }

  /// The plane that a straight line and the lens span, in which the rays of all the line's points lie.
  private struct Plane {
    let sights: [Sight]
    let normal: SIMD3<Double>
    /// The distances from the plane of a ray for a pixel beside each point.
    let slopes: [Double]
  }

  /// Returns the plane that fits best, as the eigenvector of the smallest eigenvalue of the rays' products, weighted by
  /// the gradients; nil if the lens does not see all points.
  private func plane(through lens: LensMap) -> Plane? {
    var sights: [Sight] = []
    for point in points {
      guard let sight = Sight(point, lens) else { return nil }
      sights.append(sight)
    }
    var slopes = [Double](repeating: 1, count: sights.count)
    var normal = SIMD3<Double>.zero
    for _ in 0..<6 {
      guard let found = StraightLine.normal(of: sights, slopes) else { return nil }
      normal = found
      slopes = sights.map { $0.slope(found) }
    }
    return Plane(sights: sights, normal: normal, slopes: slopes)
  }

  /// Returns the distance of each point, in pixels, from the curve of the straight line that fits best; its sign is
  /// the side. Nil if the lens does not see all points.
  ///
  /// The distance is that to the line's plane, divided by its gradient in the picture (Sampson's distance).
  package func distances(through lens: LensMap) -> [Double]? {
    guard let plane = self.plane(through: lens) else { return nil }
    // The side must not depend on rounding: the first point and the one farthest from it give it.
    let origin = points[0]
    func length(_ way: SIMD2<Double>) -> Double { (way * way).sum() }
    let farthest = points.indices.max { length(points[$0] - origin) < length(points[$1] - origin) } ?? 0
    let across = StraightLine.cross(plane.sights[0].ray, plane.sights[farthest].ray)
    let side = (plane.normal * across).sum() < 0 ? -1.0 : 1.0
    return zip(plane.sights, plane.slopes).map { side * ($0.ray * plane.normal).sum() / $1 }
  }

  /// The part of a line's plane from its first point to its last: directions at angles, in radians, from one in
  /// the middle.
  private struct Arc {
    let middle: SIMD3<Double>
    /// At an angle of 90 degrees.
    let across: SIMD3<Double>
    let angles: ClosedRange<Double>
  }

  private func arc(through lens: LensMap) -> Arc? {
    guard let plane = self.plane(through: lens) else { return nil }
    let normal = plane.normal
    let rays = plane.sights.map { sight in
      let height = (sight.ray * normal).sum()
      return sight.ray - normal * height
    }
    let sum = rays.reduce(SIMD3<Double>.zero) { $0 + $1 }
    let length = (sum * sum).sum().squareRoot()
    guard length > 1e-9 else { return nil }
    let middle = sum / length
    let across = StraightLine.cross(normal, middle)
    let angles = rays.map { atan2(($0 * across).sum(), ($0 * middle).sum()) }
    guard let first = angles.min(), let last = angles.max(), first <= last else { return nil }
    return Arc(middle: middle, across: across, angles: first...last)
  }

  /// Returns the angle, in degrees, that the lens sees between the line's ends; nil if it does not see all points. A
  /// straight line spans less than 180 degrees.
  package func span(through lens: LensMap) -> Double? {
    arc(through: lens).map { ($0.angles.upperBound - $0.angles.lowerBound) * 180 / .pi }
  }

  private static let curveSteps = 64

  /// Returns the curve of the straight line that fits best, from the first point along it to the last, as positions that
  /// are joined by straight lines; empty if the lens does not see all points.
  package func curve(through lens: LensMap) -> [SIMD2<Double>] {
    guard let arc = self.arc(through: lens) else { return [] }
    let (first, last) = (arc.angles.lowerBound, arc.angles.upperBound)
    return (0...StraightLine.curveSteps).compactMap { step in
      let angle = first + (last - first) * Double(step) / Double(StraightLine.curveSteps)
      let (cosine, sine) = (cos(angle), sin(angle))
      return lens.position(of: arc.middle * cosine + arc.across * sine)
    }
  }

  /// Returns the normal of the plane that is closest to the rays, by inverse iteration.
  private static func normal(of sights: [Sight], _ slopes: [Double]) -> SIMD3<Double>? {
    var (x, y, z) = (SIMD3<Double>.zero, SIMD3<Double>.zero, SIMD3<Double>.zero)
    let flattest = slopes.min() ?? 1
    for (sight, slope) in zip(sights, slopes) {
      let ray = sight.ray
      let weighted = ray * (flattest / slope * (flattest / slope))
      x += weighted * ray.x
      y += weighted * ray.y
      z += weighted * ray.z
    }
    let trace = x.x + y.y + z.z
    guard trace.isFinite, trace > 0 else { return nil }
    let shift = 1e-13 * trace
    (x.x, y.y, z.z) = (x.x + shift, y.y + shift, z.z + shift)
    // The columns of the inverse, but for a factor.
    var columns = [cross(y, z), cross(z, x), cross(x, y)]
    let lengths = columns.map { ($0 * $0).sum().squareRoot() }
    guard let longest = lengths.indices.max(by: { lengths[$0] < lengths[$1] }), lengths[longest] > 0,
      lengths[longest].isFinite
    else { return nil }
    columns = columns.map { $0 / lengths[longest] }
    var normal = columns[longest]
    for _ in 0..<30 {
      normal = columns[0] * normal.x + columns[1] * normal.y + columns[2] * normal.z
      normal /= (normal * normal).sum().squareRoot()
    }
    return normal.x.isFinite && normal.y.isFinite && normal.z.isFinite ? normal : nil
  }

  private static func cross(_ a: SIMD3<Double>, _ b: SIMD3<Double>) -> SIMD3<Double> {
    [a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x]
  }
}

extension [Double] {
  /// The root of the mean square; 0 for none.
  package var rms: Double {
    isEmpty ? 0 : (reduce(0) { $0 + $1 * $1 } / Double(count)).squareRoot()
  }
}
