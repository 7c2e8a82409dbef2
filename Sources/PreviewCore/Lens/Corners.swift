// Four points of a source that become the corners of a view, and their text form.

/// The corners of a view's picture, in pixels of the upright source at its reference size; (0, 0) is the top left
/// corner of the first pixel. They may lie outside the source, by up to its size.
///
/// ```swift
/// let plate = try Corners(parsing: "410,220 630,244 622,310 404,281")
/// ```
public struct Corners: Sendable, Hashable {
  /// The point that becomes the top left corner.
  public var topLeft: SIMD2<Int>
  /// The point that becomes the top right corner.
  public var topRight: SIMD2<Int>
  /// The point that becomes the bottom right corner.
  public var bottomRight: SIMD2<Int>
  /// The point that becomes the bottom left corner.
  public var bottomLeft: SIMD2<Int>

  /// Creates corners. They are checked when they are used with a source's size.
  public init(
    topLeft: SIMD2<Int>, topRight: SIMD2<Int>, bottomRight: SIMD2<Int>, bottomLeft: SIMD2<Int>
  ) {
    self.topLeft = topLeft
    self.topRight = topRight
    self.bottomRight = bottomRight
    self.bottomLeft = bottomLeft
  }
}

extension Corners: CustomStringConvertible {
  /// The largest coordinate, in pixels.
  private static let farthest = 999_999

  /// Parses `X,Y X,Y X,Y X,Y`: top left, top right, bottom right, bottom left.
  ///
  /// - Throws: `ParameterError` with key `corners`.
  public init(parsing text: String) throws(ParameterError) {
    var points: [SIMD2<Int>] = []
    for corner in text.split(separator: " ") {
      let numbers = corner.split(separator: ",", omittingEmptySubsequences: false)
      let bounds = -Corners.farthest...Corners.farthest
      guard numbers.count == 2, let x = try? ParameterParser.whole("corners", numbers[0], in: bounds),
        let y = try? ParameterParser.whole("corners", numbers[1], in: bounds)
      else {
        throw ParameterError(
          "corners",
          "'\(corner)' is not a point X,Y of whole numbers from -\(Corners.farthest) to \(Corners.farthest)")
      }
      points.append([x, y])
    }
    guard points.count == 4 else {
      throw ParameterError("corners", "'\(text)' has \(points.count) points: use X,Y X,Y X,Y X,Y")
    }
    self.init(topLeft: points[0], topRight: points[1], bottomRight: points[2], bottomLeft: points[3])
    try check()
  }

  /// The text that `init(parsing:)` reads.
  public var description: String {
    [topLeft, topRight, bottomRight, bottomLeft].map { "\($0.x),\($0.y)" }.joined(separator: " ")
  }
}

extension Corners {
  /// The points in their order, as positions.
  var points: [SIMD2<Double>] {
    [topLeft, topRight, bottomRight, bottomLeft].map { SIMD2(Double($0.x), Double($0.y)) }
  }

  /// Checks that they form a convex quadrilateral, in either direction.
  ///
  /// - Throws: `ParameterError` with key `corners`.
  func check() throws(ParameterError) {
    let points = points
    let turns = (0..<4).map { index in
      let (here, next) = (points[(index + 1) % 4], points[(index + 2) % 4])
      let (one, two) = (here - points[index], next - here)
      return one.x * two.y - one.y * two.x
    }
    guard turns.allSatisfy({ $0 != 0 }) else {
      throw ParameterError("corners", "'\(self)': three of the points lie on a line")
    }
    guard turns.allSatisfy({ $0 > 0 }) || turns.allSatisfy({ $0 < 0 }) else {
      throw ParameterError(
        "corners",
        "'\(self)' is not convex: give top left, top right, bottom right and bottom left, in this order")
    }
  }

  /// Returns the warp that makes them the corners of a picture, which is as large as the longer of each two sides.
  ///
  /// - Throws: `ParameterError` with key `corners` if they are not convex, or far outside a source of this size.
  func warp(in size: Size) throws(ParameterError) -> Warp {
    try check()
    let points = points
    let (width, height) = (Double(size.width), Double(size.height))
    for point in points {
      guard (-width...2 * width).contains(point.x), (-height...2 * height).contains(point.y) else {
        throw ParameterError(
          "corners",
          "\(Int(point.x)),\(Int(point.y)) is farther outside the picture than its \(size) pixels")
      }
    }
    func side(_ one: Int, _ two: Int) -> Double {
      let way = points[two] - points[one]
      return (way * way).sum().squareRoot()
    }
    let across = max(max(side(0, 1), side(3, 2)).rounded(), 1)
    let down = max(max(side(0, 3), side(1, 2)).rounded(), 1)
    guard let map = Homography(from: [.zero, [across, 0], [across, down], [0, down]], to: points) else {
      throw ParameterError("corners", "'\(self)': the points are too close to a line")
    }
    return Warp(size: Size(width: Int(across), height: Int(down)), map: .homography(map))
  }

  /// Returns the corners in a source whose upright size changed. Coordinates are rounded towards the middle, so
  /// that they show nothing beyond the old corners, as far as whole numbers allow.
  func rescaled(from reference: Size, to size: Size) -> Corners {
    let scale = SIMD2(
      Double(size.width) / Double(reference.width), Double(size.height) / Double(reference.height))
    let points = points
    let middle = points.reduce(into: SIMD2<Double>.zero) { $0 += $1 } / 4
    func scaled(_ index: Int) -> SIMD2<Int> {
      let point = points[index] * scale
      func whole(_ number: Double, _ middle: Double) -> Int {
        // A position that is whole but for the rounding of the scale stays.
        let number = abs(number - number.rounded()) < 1e-9 ? number.rounded() : number
        return Int(number.rounded(number < middle ? .up : .down))
      }
      return [whole(point.x, middle.x * scale.x), whole(point.y, middle.y * scale.y)]
    }
    return Corners(topLeft: scaled(0), topRight: scaled(1), bottomRight: scaled(2), bottomLeft: scaled(3))
  }
}
