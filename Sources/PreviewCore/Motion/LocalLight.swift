// Detects that part of a picture has only become brighter or darker, as by a lamp, headlights or a shadow.
// Its edges do not move.

/// Compares part of two pictures by its edges. Second differences along rows and columns cancel the light,
/// even where it falls off evenly. They correlate if the part still shows the same objects.
struct LocalLight {
  /// The fewest cells that can be judged.
  private static let fewest = 24
  private static let least: Float = 0.85
  /// The lowest mean square of second differences, in codes, that counts as edges. Noise is added to it.
  private static let leastEdges: Float = 30
  /// The lowest number of second differences per cell. Each cell has up to two: along its row and its column.
  private static let leastShare: Float = 0.5

  /// Returns whether `codes` show the same objects in `cells` as `expected` does, in different light. `noise`
  /// is the variance of a cell.
  static func explains(_ cells: [Int], _ expected: [Float], _ codes: [UInt8], noise: Float) -> Bool {
    guard cells.count >= fewest else { return false }
    var isPart = [Bool](repeating: false, count: codes.count)
    for cell in cells { isPart[cell] = true }
    var (both, before, now, count) = (Float(0), Float(0), Float(0), Float(0))
    func add(_ cell: Int, _ step: Int) {
      guard isPart[cell - step], isPart[cell + step] else { return }
      let was = 2 * expected[cell] - expected[cell - step] - expected[cell + step]
      let code = { Float(codes[$0]) }
      let became = 2 * code(cell) - code(cell - step) - code(cell + step)
      both += was * became
      before += was * was
      now += became * became
      count += 1
    }
    for cell in cells {
      let (row, column) = cell.quotientAndRemainder(dividingBy: MotionCells.columns)
      if (1..<MotionCells.columns - 1).contains(column) { add(cell, 1) }
      if (1..<MotionCells.rows - 1).contains(row) { add(cell, MotionCells.columns) }
    }
    guard count >= leastShare * Float(cells.count), before >= count * (leastEdges + 12 * noise), now > 0
    else {
      return false
    }
    return both > 0 && both * both >= least * least * before * now
  }
}
