// Joins neighbouring cells that differ from the background to regions of motion.

/// Neighbouring cells that differ from the background.
struct MotionRegion: Sendable, Hashable {
  var box: MotionBox
  /// The number of cells at or above the threshold for motion.
  var count: Int
  /// The mean score of these cells: 0 is exactly the threshold, 1 far above it.
  var score: Double
  /// The zones that the cells belong to, one bit each.
  var zones: UInt64
  /// All cells, including neighbours that differ less.
  let cells: [Int]

  /// Returns the regions with enough cells at or above the threshold (1), the one with the largest sum of
  /// scores first. Neighbouring cells at or above half the threshold join them, including diagonal ones.
  static func regions(in differences: [Float], _ field: MotionField) -> [MotionRegion] {
    var isFound = [Bool](repeating: false, count: differences.count)
    var regions: [MotionRegion] = []
    var weights: [Double] = []
    for seed in differences.indices where differences[seed] >= 1 && !isFound[seed] {
      isFound[seed] = true
      var (cells, next) = ([seed], 0)
      while next < cells.count {
        for neighbour in neighbours(of: cells[next])
        where !isFound[neighbour] && differences[neighbour] >= half {
          isFound[neighbour] = true
          cells.append(neighbour)
        }
        next += 1
      }
      var region = MotionRegion(cells, differences, field)
      weights.append(region.weight)
      guard let zones = field.zones(region.zones, enoughFor: region.count) else { continue }
      region.zones = zones
      regions.append(region)
    }
    regions.sort { $0.weight > $1.weight }
    // If there are many regions, as in rain or snow, only those much larger than the rest count. Regions that
    // are too small to count are part of the comparison.
    guard weights.count >= crowd else { return regions }
    let usual = max(
      weights.sorted()[weights.count * 3 / 4], regions.count >= crowd ? regions[regions.count / 2].weight : 0)
    return regions.filter { $0.weight > outstanding * usual }
  }

  private static let (crowd, outstanding) = (6, 4.0)

  /// The sum of scores. The region with the largest sum represents an event.
  var weight: Double { Double(count) * score }

  private static let half: Float = 0.5

  private init(_ cells: [Int], _ differences: [Float], _ field: MotionField) {
    self.cells = cells
    box = cells.reduce(MotionBox(cell: cells[0])) { $0.union(MotionBox(cell: $1)) }
    let moving = cells.filter { differences[$0] >= 1 }
    count = moving.count
    score = moving.reduce(0) { $0 + 1 - 1 / Double(differences[$1]) } / Double(max(count, 1))
    zones = cells.reduce(0) { $0 | field.zones[$1] }
  }

  private static func neighbours(of cell: Int) -> [Int] {
    let (row, column) = cell.quotientAndRemainder(dividingBy: MotionCells.columns)
    return (max(row - 1, 0)...min(row + 1, MotionCells.rows - 1)).flatMap { row in
      (max(column - 1, 0)...min(column + 1, MotionCells.columns - 1)).map {
        row * MotionCells.columns + $0
      }
    }
  }
}
