// Whether a part of the picture has only become brighter or darker: a lamp, headlights, a shadow. Its edges stay where they were.

/// Compares a part of two pictures by its edges. Second differences along rows and columns leave out the light, also where it
/// falls off evenly; what lies there correlates with what was there if it is the same.
struct LocalLight {
  /// Cells that are lit must be so many, or they are too few to tell.
  private static let fewest = 24
  private static let least: Float = 0.85
  /// The least mean square of second differences that makes edges of what is seen, in codes, besides noise.
  private static let leastEdges: Float = 30
  /// Of the part's cells, those that have neighbours in it must be so many.
  private static let leastShare: Float = 0.5

  /// Whether `codes` show in `cells` what `expected` shows there, in another light. `noise` is the variance of a cell.
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
