// Linear least squares of a few unknowns, and how well their equations determine them.

/// Equations whose columns are the changes of all residuals with each unknown.
struct LeastSquares: Sendable {
  /// The lengths of the columns. Unknowns are divided by them, so that their units do not matter.
  private let lengths: [Double]
  /// The eigenvalues of the columns' correlations, which are 1 for columns that have nothing in common, and their
  /// eigenvectors, as columns.
  private let values: [Double]
  private let vectors: [[Double]]
  /// The residuals' products with the columns, along each eigenvector.
  private let slopes: [Double]

  /// Creates the equations, of columns as long as `residuals`.
  init(_ columns: [[Double]], _ residuals: [Double]) {
    func product(_ one: [Double], _ other: [Double]) -> Double {
      zip(one, other).reduce(0) { $0 + $1.0 * $1.1 }
    }
    let squares = columns.map { product($0, $0) }
    // An unknown that changes nothing now may do so later.
    let least = max(1e-12 * (squares.max() ?? 0), 1e-300)
    let lengths = squares.map { max($0, least).squareRoot() }
    let correlations = columns.indices.map { row in
      columns.indices.map { product(columns[row], columns[$0]) / (lengths[row] * lengths[$0]) }
    }
    let (values, vectors) = LeastSquares.eigenvectors(of: correlations)
    let products = columns.indices.map { product(columns[$0], residuals) / lengths[$0] }
    slopes = columns.indices.map { index in
      columns.indices.reduce(0) { $0 + vectors[$1][index] * products[$1] }
    }
    self.lengths = lengths
    self.values = values
    self.vectors = vectors
  }

  /// Returns the change of the unknowns that makes the residuals smallest, as far as they are linear. A higher
  /// damping gives a smaller step.
  func step(damping: Double) -> [Double] {
    let along = zip(slopes, values).map { -$0 / (max($1, 0) + damping) }
    return lengths.indices.map { row in
      along.indices.reduce(0) { $0 + vectors[row][$1] * along[$1] } / lengths[row]
    }
  }

  /// The standard errors of the unknowns if those of the residuals are 1.
  var errors: [Double] {
    let deviations = self.deviations
    return lengths.indices.map { row in deviations.reduce(0) { $0 + $1[row] * $1[row] }.squareRoot() }
  }

  /// The changes of the unknowns along each eigenvector that are its standard error if those of the residuals are 1.
  /// They are independent of each other.
  var deviations: [[Double]] {
    values.indices.map { index in
      let factor = 1 / max(values[index], 1e-14).squareRoot()
      return lengths.indices.map { vectors[$0][index] * factor / lengths[$0] }
    }
  }

  /// Returns the eigenvalues of a symmetric matrix, and the eigenvectors as columns, by Jacobi's rotations.
  static func eigenvectors(of matrix: [[Double]]) -> (values: [Double], vectors: [[Double]]) {
    let all = matrix.indices
    var rest = matrix
    var vectors = all.map { row in all.map { row == $0 ? 1.0 : 0.0 } }
    for _ in 0..<60 {
      var size = 0.0
      for first in all {
        for second in all where second > first && rest[first][second] != 0 {
          let shared = rest[first][second]
          size = max(size, abs(shared))
          let ratio = (rest[second][second] - rest[first][first]) / (2 * shared)
          let tangent = (ratio < 0 ? -1 : 1) / (abs(ratio) + (ratio * ratio + 1).squareRoot())
          let cosine = 1 / (tangent * tangent + 1).squareRoot()
          let sine = tangent * cosine
          for row in all {
            rotate(&rest[row], first, second, cosine, sine)
            rotate(&vectors[row], first, second, cosine, sine)
          }
          for column in all {
            let (one, other) = (rest[first][column], rest[second][column])
            rest[first][column] = cosine * one - sine * other
            rest[second][column] = sine * one + cosine * other
          }
        }
      }
      if size < 1e-15 { break }
    }
    return (all.map { rest[$0][$0] }, vectors)
  }

  private static func rotate(
    _ row: inout [Double], _ first: Int, _ second: Int, _ cosine: Double, _ sine: Double
  ) {
    let (one, other) = (row[first], row[second])
    row[first] = cosine * one - sine * other
    row[second] = sine * one + cosine * other
  }
}
