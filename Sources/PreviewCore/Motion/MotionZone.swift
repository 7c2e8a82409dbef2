// The parts of the picture in which motion counts, in fractions of the upright picture or of a view's, and their
// text form.

/// A part of the picture in which motion counts.
package struct MotionZone: Sendable, Hashable {
  /// The name in events.
  package var name: String
  /// The corners of a polygon, in fractions of the width and height of the upright picture, or of the picture of
  /// `view`. Its inside follows the non-zero rule, as for masks.
  package var corners: [SIMD2<Double>]
  /// The name of the camera's view in whose picture the zone is drawn; nil for the upright picture.
  package var view: String?
  /// The sensitivity, 1...100; nil uses the camera's.
  package var sensitivity: Int?
  /// The smallest area that must move together there, in per cent of the picture; nil uses the camera's.
  package var minimumSize: Double?

  package init(
    name: String, corners: [SIMD2<Double>], view: String? = nil, sensitivity: Int? = nil,
    minimumSize: Double? = nil
  ) {
    (self.name, self.corners, self.view) = (name, corners, view)
    (self.sensitivity, self.minimumSize) = (sensitivity, minimumSize)
  }

  /// The indices of the cells that share any area with the zone, if it is drawn in the upright picture.
  /// `ZoneFinder` finds those of a zone in a view.
  package var cells: [Int] {
    let size = SIMD2(Double(MotionCells.columns), Double(MotionCells.rows))
    let outline = MaskOutline(corners.map { $0 * size })
    return (0..<MotionCells.rows).flatMap { row in
      outline.columns(ofRow: row, width: MotionCells.columns).flatMap { columns in
        columns.map { row * MotionCells.columns + $0 }
      }
    }
  }
}

extension MotionZone: CustomStringConvertible {
  private static let mostCorners = 100

  /// Parses `NAME=X,Y,WIDTH,HEIGHT` or `NAME=X,Y X,Y X,Y...`, optionally followed by `:sensitivity=N`,
  /// `:min-size=N` and `:view=NAME`, in any order.
  ///
  /// - Throws: `ParameterError` for a bad name, shape or option.
  package init(parsing text: String) throws(ParameterError) {
    guard let equals = text.firstIndex(of: "=") else {
      throw ParameterError("zone", "'\(text)' is not NAME=X,Y,WIDTH,HEIGHT")
    }
    name = text[..<equals].trimmed
    try Self.check(name, "zone")
    let parts = text[text.index(after: equals)...].split(separator: ":", omittingEmptySubsequences: false)
    corners = try Self.corners(parts[0])
    for part in parts.dropFirst() {
      let word = part.prefix { $0 != "=" }
      let value = part.dropFirst(word.count + 1)
      switch word {
      case "sensitivity" where sensitivity == nil:
        sensitivity = try ParameterParser.whole("zone", value, in: 1...100)
      case "min-size" where minimumSize == nil:
        minimumSize = try ParameterParser.number("zone", value, in: MotionSettings.minimumSizes)
      case "view" where view == nil:
        try Self.check(String(value), "view")
        view = String(value)
      default:
        throw ParameterError(
          "zone", "'\(part)' is not sensitivity=N, min-size=N or view=NAME, each given at most once")
      }
    }
  }

  private static func check(_ name: String, _ kind: String) throws(ParameterError) {
    do throws(ParameterError) { try ViewConfiguration.check(name: name) } catch {
      throw ParameterError("\(kind) '\(name)'", error.reason)
    }
  }

  private static func corners(_ text: Substring) throws(ParameterError) -> [SIMD2<Double>] {
    let points = text.split(separator: " ")
    guard points.count > 1 else {
      let sides = try numbers(text.trimmed, count: 4)
      let (low, high) = (SIMD2(sides[0], sides[1]), SIMD2(sides[0] + sides[2], sides[1] + sides[3]))
      guard sides[2] > 0, sides[3] > 0, high.max() <= 1 else {
        throw ParameterError(
          "zone", "'\(text)' has no area, or reaches beyond the picture, which is 1 wide and 1 high")
      }
      return [low, [high.x, low.y], high, [low.x, high.y]]
    }
    guard (3...mostCorners).contains(points.count) else {
      throw ParameterError("zone", "a polygon has 3 to \(mostCorners) points, not \(points.count)")
    }
    var corners: [SIMD2<Double>] = []
    for point in points {
      let numbers = try numbers(String(point), count: 2)
      corners.append([numbers[0], numbers[1]])
    }
    return corners
  }

  private static func numbers(_ text: String, count: Int) throws(ParameterError) -> [Double] {
    let fields = text.split(separator: ",", omittingEmptySubsequences: false)
    guard fields.count == count else {
      throw ParameterError(
        "zone", "'\(text)' is not a zone: use X,Y,WIDTH,HEIGHT or X,Y X,Y X,Y..., in fractions of the picture"
      )
    }
    var numbers: [Double] = []
    for field in fields { numbers.append(try ParameterParser.number("zone", field, in: 0...1)) }
    return numbers
  }

  /// The text that `init(parsing:)` reads.
  package var description: String {
    let corners = corners.map { "\($0.x),\($0.y)" }.joined(separator: " ")
    return "\(name)=\(corners)\(view.map { ":view=\($0)" } ?? "")"
      + (sensitivity.map { ":sensitivity=\($0)" } ?? "") + (minimumSize.map { ":min-size=\($0)" } ?? "")
  }
}
