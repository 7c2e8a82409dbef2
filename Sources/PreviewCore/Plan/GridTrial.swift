// The nodes of a warp's grid with cells of one size, and whether positions between them are exact enough.

/// The nodes of a grid with cells of one size.
struct GridTrial {
  let shift: Int
  let cells: Size
  private(set) var nodes: [Int32] = []
  private(set) var ratios: [UInt8] = []
  /// Whether all positions in the source are as exact as promised.
  private(set) var isExact = true

  private let key: WarpGrid.Key
  private let toStored: AffineTransform
  /// The position of each node; not a number where there is none.
  private var positions: [SIMD2<Double>] = []

  /// The farthest coordinate of a node, in pixels.
  private static let farthest = 32_767.0

  init(_ key: WarpGrid.Key, shift: Int) {
    let side = 1 << shift
    // The last sample of chroma may lie half a sample beyond the target.
    func count(_ length: Int) -> Int { (length + side) >> shift }
    self.shift = shift
    self.key = key
    cells = Size(width: count(key.target.width), height: count(key.target.height))
    toStored = key.orientation.transform(toStored: key.stored)
    let (columns, rows) = (2 * cells.width + 1, 2 * cells.height + 1)
    positions.reserveCapacity(columns * rows)
    nodes.reserveCapacity(2 * columns * rows)
    for row in 0..<rows {
      for column in 0..<columns {
        let position = position(of: SIMD2(Double(column), Double(row)) * Double(side / 2))
        positions.append(position)
        nodes.append(Self.whole(position.x))
        nodes.append(Self.whole(position.y))
      }
    }
    ratios.reserveCapacity(2 * cells.pixelCount)
    for row in 0..<cells.height {
      for column in 0..<cells.width {
        let ratio = ratio(column, row)
        ratios.append(ratio.x)
        ratios.append(ratio.y)
      }
    }
  }

  /// Returns a coordinate in 1/256 of a pixel; 0 if there is none.
  private static func whole(_ position: Double) -> Int32 {
    guard !position.isNaN else { return 0 }
    return Int32((min(max(position, -farthest), farthest) * Double(WarpGrid.unit)).rounded())
  }

  private func position(of point: SIMD2<Double>) -> SIMD2<Double> {
    guard let position = key.map.position(of: key.seen(point)), position.x.isFinite, position.y.isFinite
    else { return SIMD2(repeating: .nan) }
    return toStored(position)
  }

  /// Returns the ratios of a cell, whose positions it compares with the exact ones; zeros if it shows nothing.
  private mutating func ratio(_ column: Int, _ row: Int) -> SIMD2<UInt8> {
    let side = Double(1 << shift)
    // The cell's part inside the target.
    let origin = SIMD2(Double(column), Double(row)) * side
    let part = SIMD2(
      min(side, Double(key.target.width) - origin.x), min(side, Double(key.target.height) - origin.y))
    guard part.x > 0, part.y > 0 else { return .zero }
    let line = 2 * cells.width + 1
    let cell = CellNodes(positions: positions, first: 2 * (row * line + column), line: line)

    var (error, isNear, isRough) = (0.0, false, false)
    let (along, down) = cell.longestSteps
    let (perOutput, reach) = (max(along, down) / (side / 2), max(along, down))
    for corner in [SIMD2(0.25, 0.25), [0.75, 0.25], [0.25, 0.75], [0.75, 0.75]] {
      let exact = position(of: origin + part * corner)
      let mean = cell.position(part * corner / (side / 2))
      let distance = longest(exact - mean)
      let isHere = isNearSource(exact) || isNearSource(mean)
      error = distance.isNaN ? .infinity : max(error, distance)
      isNear = isNear || isHere
      isRough = isRough || isHere && !(distance <= max(2, perOutput) / 512)
    }
    if cell.lacksPositions {
      if isNear { isExact = false }
      return .zero
    }
    // Where a sphere is cut open, the source lies between nodes on both sides of it.
    let isCut = error * 4 > reach && reach * 2 >= Double(max(key.stored.width, key.stored.height))
    if isCut || !fits(2 * (row * line + column), line) {
      if isNear || cell.contains(where: isNearSource) { isExact = false }
      return .zero
    }
    if isRough || isNear && cell.contains(where: { longest($0) > Self.farthest }) { isExact = false }
    return [sixteenths(along / (side / 2)), sixteenths(down / (side / 2))]
  }

  /// Whether the whole numbers of a cell are so small that positions between its nodes are computed in 32 bits.
  private func fits(_ first: Int, _ line: Int) -> Bool {
    let half = (WarpGrid.outputUnit / 2) << shift
    func fits(_ node: Int, _ step: Int) -> Bool {
      (0..<2).allSatisfy { axis in
        let (one, two, three) = (
          Int(nodes[2 * node + axis]), Int(nodes[2 * (node + step) + axis]),
          Int(nodes[2 * (node + 2 * step) + axis])
        )
        return max(abs(two - one), abs(three - two)) * 2 * half <= 1 << 30
          && abs(three - 2 * two + one) * 2 * half * half <= 1 << (30 + WarpGrid.bendBits)
      }
    }
    return (0..<3).allSatisfy { fits(first + $0 * line, 1) && fits(first + $0, line) }
  }

  private func sixteenths(_ ratio: Double) -> UInt8 { UInt8(min(max((ratio * 16).rounded(.up), 1), 255)) }

  /// Whether a position lies in the stored picture, or hardly beside it.
  private func isNearSource(_ position: SIMD2<Double>) -> Bool {
    let (width, height) = (Double(key.stored.width), Double(key.stored.height))
    return (-2...width + 2).contains(position.x) && (-2...height + 2).contains(position.y)
  }
}

private func longest(_ way: SIMD2<Double>) -> Double { max(abs(way.x), abs(way.y)) }

/// The positions of a cell's three by three nodes.
private struct CellNodes {
  let positions: [SIMD2<Double>]
  let first: Int
  let line: Int

  private func node(_ column: Int, _ row: Int) -> SIMD2<Double> { positions[first + row * line + column] }

  /// Returns the position at a place in the cell, 0...2 along each side.
  func position(_ place: SIMD2<Double>) -> SIMD2<Double> {
    func parabola(_ one: SIMD2<Double>, _ two: SIMD2<Double>, _ three: SIMD2<Double>, _ part: Double)
      -> SIMD2<Double>
    {
      one + (two - one) * part + (three - two - two + one) * (part * (part - 1) / 2)
    }
    func edge(_ column: Int) -> SIMD2<Double> {
      parabola(node(column, 0), node(column, 1), node(column, 2), place.y)
    }
    return parabola(edge(0), edge(1), edge(2), place.x)
  }

  /// The longest ways along either axis of the source from one node to the next, along rows and along columns.
  var longestSteps: (along: Double, down: Double) {
    var (along, down) = (0.0, 0.0)
    for index in 0..<3 {
      for start in 0..<2 {
        along = max(along, longest(node(start + 1, index) - node(start, index)))
        down = max(down, longest(node(index, start + 1) - node(index, start)))
      }
    }
    return (along, down)
  }

  var lacksPositions: Bool { contains { $0.x.isNaN } }

  func contains(where isWanted: (SIMD2<Double>) -> Bool) -> Bool {
    for row in 0..<3 {
      for column in 0..<3 where isWanted(node(column, row)) { return true }
    }
    return false
  }
}
