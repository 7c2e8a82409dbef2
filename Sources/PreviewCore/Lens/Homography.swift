// The map of a plane that is seen from somewhere else, and the map between two quadrilaterals.

/// A projective map of the plane: a matrix of 3 x 3 numbers, applied to (x, y, 1) and divided by the third
/// coordinate.
package struct Homography: Sendable, Hashable {
  private let x: SIMD3<Double>
  private let y: SIMD3<Double>
  private let w: SIMD3<Double>

  /// Points with a smaller third coordinate are on the horizon or behind it.
  private static let horizon = 1e-9

  private init(_ x: SIMD3<Double>, _ y: SIMD3<Double>, _ w: SIMD3<Double>) {
    (self.x, self.y, self.w) = (x, y, w)
  }

  /// Creates the map with a transform's coefficients.
  package init(_ map: AffineTransform) {
    self.init([map.a, map.c, map.tx], [map.b, map.d, map.ty], [0, 0, 1])
  }

  /// Creates the map that takes four points to four others, in their order; nil if there is none, as when three
  /// points lie on a line.
  package init?(from sources: [SIMD2<Double>], to targets: [SIMD2<Double>]) {
    guard sources.count == 4, targets.count == 4 else { return nil }
    var rows: [[Double]] = []
    for (source, target) in zip(sources, targets) {
      let across = source * -target.x
      let down = source * -target.y
      rows.append([source.x, source.y, 1, 0, 0, 0, across.x, across.y, target.x])
      rows.append([0, 0, 0, source.x, source.y, 1, down.x, down.y, target.y])
    }
    guard let h = Homography.solution(of: rows) else { return nil }
    self.init([h[0], h[1], h[2]], [h[3], h[4], h[5]], [h[6], h[7], 1])
    guard inverse != nil else { return nil }
    for (source, target) in zip(sources, targets) {
      guard let point = self(source) else { return nil }
      let miss = max(abs(point.x - target.x), abs(point.y - target.y))
      guard miss <= 1e-6 * (1 + max(abs(target.x), abs(target.y))) else { return nil }
    }
  }

  /// The nine numbers, row by row.
  package var elements: [Double] { [x.x, x.y, x.z, y.x, y.y, y.z, w.x, w.y, w.z] }

  /// The map back; nil if there is none.
  package var inverse: Homography? {
    // The columns of the adjugate matrix.
    let first = Homography.cross(y, w)
    let second = Homography.cross(w, x)
    let third = Homography.cross(x, y)
    let determinant = (x * first).sum()
    // Beside the product of the rows' lengths, it is above rounding.
    let volume = ((x * x).sum() * (y * y).sum() * (w * w).sum()).squareRoot()
    guard determinant.isFinite, abs(determinant) > 1e-14 * volume else { return nil }
    return Homography(
      SIMD3(first.x, second.x, third.x) / determinant, SIMD3(first.y, second.y, third.y) / determinant,
      SIMD3(first.z, second.z, third.z) / determinant)
  }

  /// Returns the image of a point; nil if it is on the horizon or behind it.
  package func callAsFunction(_ point: SIMD2<Double>) -> SIMD2<Double>? {
    let point = SIMD3(point, 1)
    let depth = (w * point).sum()
    guard depth > Homography.horizon, depth.isFinite else { return nil }
    return SIMD2((x * point).sum(), (y * point).sum()) / depth
  }

  private static func cross(_ a: SIMD3<Double>, _ b: SIMD3<Double>) -> SIMD3<Double> {
    [a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x]
  }

  /// Solves linear equations, each with its right side at the end, by elimination with the largest pivots.
  private static func solution(of equations: [[Double]]) -> [Double]? {
    var rows = equations
    let count = rows.count
    for column in 0..<count {
      var pivot = column
      for row in column..<count where abs(rows[row][column]) > abs(rows[pivot][column]) { pivot = row }
      guard abs(rows[pivot][column]) > 1e-12, rows[pivot][column].isFinite else { return nil }
      rows.swapAt(column, pivot)
      for row in 0..<count where row != column {
        let factor = rows[row][column] / rows[column][column]
        guard factor != 0 else { continue }
        for place in column...count { rows[row][place] -= factor * rows[column][place] }
      }
    }
    return (0..<count).map { rows[$0][count] / rows[$0][$0] }
  }
}
