// The part of the scene that a lens shows in a picture: its fields of view, its resolution, and curves to draw over the picture.
internal import Glibc

/// The part of the scene that a lens shows in pictures of one size. Angles are in degrees.
package struct LensExtent: Sendable {
  package let map: LensMap
  /// The radius of a fisheye's image circle in pixels; nil if it is not known.
  package let circle: Double?
  /// The largest angle from the axis.
  package let largestAngle: Double
  /// The angles between the picture's left and right edge, upper and lower edge, and opposite corners, each through
  /// the lens's centre.
  package let horizontal: Double
  package let vertical: Double
  package let diagonal: Double
  /// The share of the picture that shows nothing through the lens, 0...1.
  package let outside: Double

  /// Creates the extent of a lens.
  ///
  /// - Throws: `ParameterError` with key `lens`, as for `LensMap`.
  package init(_ lens: Lens, in size: Size) throws(ParameterError) {
    let map = try LensMap(lens, in: size)
    let whole = SIMD2(Double(size.width), Double(size.height))
    let scale = lens.size.map { whole.x / Double($0.width) * (whole.y / Double($0.height)) } ?? 1
    let hasCircle = !lens.isRectilinear && lens.matrix == nil
    let circle: Double? = hasCircle ? lens.radius.map { $0 * scale.squareRoot() } ?? whole.min() / 2 : nil
    let sight = LensSight(map: map, circle: circle)
    let center = map.center
    func angle(to place: SIMD2<Double>) -> Double { sight.angle(towards: place - center) }
    let (left, right) = (angle(to: [0, center.y]), angle(to: [whole.x, center.y]))
    let (top, bottom) = (angle(to: [center.x, 0]), angle(to: [center.x, whole.y]))
    let places: [SIMD2<Double>] = [.zero, [whole.x, 0], [0, whole.y], whole]
    let corners = places.map { angle(to: $0) }
    // Beyond an edge of a picture, the centre is on the same side of both edges.
    horizontal = (0...whole.x).contains(center.x) ? left + right : abs(left - right)
    vertical = (0...whole.y).contains(center.y) ? top + bottom : abs(top - bottom)
    let holdsCenter = (0...whole.x).contains(center.x) && (0...whole.y).contains(center.y)
    diagonal = holdsCenter ? corners[0] + corners[3] : abs(corners[0] - corners[3])
    largestAngle = (corners + [left, right, top, bottom]).max() ?? 0
    let steps = 200
    var dark = 0
    for row in 0..<steps {
      for column in 0..<steps {
        let part = (SIMD2(Double(column), Double(row)) + 0.5) / Double(steps)
        if !sight.shows(part * whole) { dark += 1 }
      }
    }
    outside = Double(dark) / Double(steps * steps)
    self.map = map
    self.circle = circle
  }

  /// The pixels of a degree at the centre.
  package var centerResolution: Double { map.focalLength * .pi / 180 }

  /// The pixels of a degree, away from the centre, at the edge of what the lens shows to the left or right.
  package var edgeResolution: Double? {
    let side = max(map.center.x, Double(map.size.width) - map.center.x)
    let end = min(side, circle ?? side)
    guard let outer = LensSight.angle(at: map.center + SIMD2(end - 1, 0), map),
      let inner = LensSight.angle(at: map.center + SIMD2(end - 2, 0), map), outer > inner
    else { return nil }
    return 1 / (outer - inner)
  }
}

/// The angles that a lens shows.
private struct LensSight {
  let map: LensMap
  let circle: Double?

  /// Returns the angle from the axis at a position, in degrees; nil if nothing is seen there.
  static func angle(at position: SIMD2<Double>, _ map: LensMap) -> Double? {
    map.ray(at: position).map { atan2(hypot($0.x, $0.y), $0.z) * 180 / .pi }
  }

  /// Returns the angle from the axis at an offset from the centre, or at the image circle if that is closer.
  func angle(towards offset: SIMD2<Double>) -> Double {
    let length = (offset * offset).sum().squareRoot()
    guard length > 0 else { return 0 }
    let seen = min(length, circle ?? length)
    // Where a fisheye sees nothing any more, it has seen all.
    return LensSight.angle(at: map.center + offset * (seen / length), map) ?? (map.isRectilinear ? 90 : 180)
  }

  func shows(_ position: SIMD2<Double>) -> Bool {
    let offset = position - map.center
    if let circle, (offset * offset).sum() > circle * circle { return false }
    return map.ray(at: position) != nil
  }
}

// MARK: Curves

extension LensExtent {
  /// A curve in the picture, as points that are joined by straight lines.
  package typealias Curve = [SIMD2<Double>]

  /// The angles of `circle(of:)` that are worth drawing: each 10 degrees.
  package var angles: [Int] { Array(stride(from: 10, through: Int(min(largestAngle, 179)), by: 10)) }

  /// Returns the curve of all directions at an angle from the axis, in degrees.
  package func circle(of angle: Int) -> Curve {
    let angle = Double(angle) * .pi / 180
    return (0...180).compactMap { step in
      let turn = Double(step) * .pi / 90
      return map.position(of: [sin(angle) * cos(turn), sin(angle) * sin(turn), cos(angle)])
    }
  }

  /// The image circle; empty if it is not known.
  package var rim: Curve {
    guard let circle else { return [] }
    return (0...180).map { step in
      let turn = Double(step) * .pi / 90
      return map.center + SIMD2(cos(turn), sin(turn)) * circle
    }
  }

  /// The curves of straight lines: the edges of a cubic room with the lens in its middle, and lines on its walls that
  /// are parallel to the edges, 10 degrees apart as seen from the lens.
  package var room: [Curve] {
    let offsets: [Double] = (-4...4).map { tan(Double($0) * .pi / 18) } + [-1, 1]
    let limit = min(largestAngle + 5, 179)
    var curves: [Curve] = []
    for wall in 0..<3 {
      for side in [-1.0, 1.0] {
        for along in 0..<3 where along != wall {
          for offset in offsets {
            curves += pieces(below: limit) { part in
              var ray = SIMD3<Double>(repeating: offset)
              ray[wall] = side
              ray[along] = tan(part * .pi / 4)
              return ray
            }
          }
        }
      }
    }
    return curves
  }

  /// Returns the curves of a line's parts at angles below `limit` degrees. `ray` takes numbers from -1 to 1.
  private func pieces(below limit: Double, of ray: (Double) -> SIMD3<Double>) -> [Curve] {
    let steps = 48
    var pieces: [Curve] = [[]]
    for step in 0...steps {
      let direction = ray(Double(2 * step - steps) / Double(steps))
      let angle = atan2(hypot(direction.x, direction.y), direction.z) * 180 / .pi
      if angle < limit, let position = map.position(of: direction) {
        pieces[pieces.count - 1].append(position)
      } else if pieces.last?.isEmpty == false {
        pieces.append([])
      }
    }
    return pieces.filter { $0.count > 1 }
  }
}
