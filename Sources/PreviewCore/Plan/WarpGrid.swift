// The positions of a warped view's outputs in the stored picture: whole numbers at the nodes of a grid, computed once on the CPU,
// between which all renderers interpolate in whole numbers, so that no driver or compiler can move a tap.
internal import Glibc
internal import Synchronization

/// A grid over the outputs of a view, with a position of the stored picture at each node.
///
/// Cells are squares of `1 << shift` outputs, so small that the interpolated positions are within 1/128 of a source pixel of
/// the exact ones, or within 1/256 of the distance to the next output's, unless that takes more than a million nodes.
package final class WarpGrid: Sendable {
  /// Everything that positions depend on.
  package struct Key: Sendable, Hashable {
    /// From positions in the target to those in the flattened picture.
    let seen: AffineTransform
    let map: PointMap
    /// The size of the target, in pixels.
    let target: Size
    /// From the upright picture to the stored one.
    let orientation: Orientation
    /// The size of the stored picture, before it was decoded smaller.
    let stored: Size
  }

  package let key: Key
  /// The binary logarithm of a cell's side, in outputs: 1...4.
  package let shift: Int
  /// Columns and rows of cells; there is one more node along each axis.
  package let cells: Size
  /// x and y of each node, row by row, in 1/256 of a pixel of the stored picture, from its top left corner.
  package let nodes: [Int32]
  /// For each cell, row by row, the source pixels from one output to the next, along rows and columns, in 1/16, rounded up;
  /// at most 255. Zero where the cell shows nothing of the source.
  package let ratios: [UInt8]

  /// The parts of a source pixel in which positions are given.
  package static let unit = 256
  /// The parts of an output in which positions between nodes are counted.
  package static let outputUnit = 16
  /// The longest side of a picture that can be warped, in pixels: sums of positions and weights fit 32 bits.
  package static let maximumSide = 16_384

  /// The most nodes of a grid with cells that are smaller than the largest ones.
  private static let mostNodes = 1 << 20

  /// The farthest coordinate of a node, in pixels: products with 256, the largest part of a cell's side, fit 32 bits.
  fileprivate static let farthest = 32_767.0

  /// The grids that were used last, by all plans.
  private static let latest = Mutex<[WarpGrid]>([])
  /// The most bytes of grids that no plan holds, apart from the latest one.
  private static let mostBytes = 32 << 20

  /// Returns the grid of a key, which is computed once for all plans.
  package static func of(_ key: Key) -> WarpGrid {
    let known = latest.withLock { grids -> WarpGrid? in
      guard let index = grids.firstIndex(where: { $0.key == key }) else { return nil }
      let grid = grids.remove(at: index)
      grids.append(grid)
      return grid
    }
    if let known { return known }
    let grid = WarpGrid(key)
    latest.withLock { grids in
      grids.append(grid)
      var bytes = grids.reduce(0) { $0 + $1.byteCount }
      while bytes > mostBytes, grids.count > 1 { bytes -= grids.removeFirst().byteCount }
    }
    return grid
  }

  private var byteCount: Int { 4 * nodes.count + ratios.count }

  /// Chooses the largest cells whose interpolated positions are exact enough; the smallest if none are.
  package init(_ key: Key) {
    var trial = Trial(key, shift: 4)
    while !trial.isExact, trial.shift > 1, 4 * trial.nodes.count / 2 <= WarpGrid.mostNodes {
      trial = Trial(key, shift: trial.shift - 1)
    }
    self.key = key
    (shift, cells, nodes, ratios) = (trial.shift, trial.cells, trial.nodes, trial.ratios)
  }

  /// Returns the position of a point of the target, in `outputUnit`s, in the stored picture, in 1/256 of its pixels.
  package func position(at point: SIMD2<Int>) -> SIMD2<Int> {
    let (bits, half) = (shift + 4, 1 << (shift + 3))
    let side = 1 << bits
    let (column, row) = (point.x >> bits, point.y >> bits)
    let (x, y) = (point.x & (side - 1), point.y & (side - 1))
    func edge(_ column: Int) -> SIMD2<Int> {
      (node(column, row) &* (side - y) &+ node(column, row + 1) &* y &+ half) &>> bits
    }
    return (edge(column) &* (side - x) &+ edge(column + 1) &* x &+ half) &>> bits
  }

  /// Returns the source pixels from one output to the next in the cell of a point, in 1/16 along rows and columns.
  package func ratio(at point: SIMD2<Int>) -> SIMD2<Int> {
    let cell = 2 * ((point.y >> (shift + 4)) * cells.width + point.x >> (shift + 4))
    return [Int(ratios[cell]), Int(ratios[cell + 1])]
  }

  private func node(_ column: Int, _ row: Int) -> SIMD2<Int> {
    let node = 2 * (row * (cells.width + 1) + column)
    return [Int(nodes[node]), Int(nodes[node + 1])]
  }
}

extension WarpGrid: Hashable {
  package static func == (one: WarpGrid, other: WarpGrid) -> Bool { one === other || one.key == other.key }

  package func hash(into hasher: inout Hasher) { hasher.combine(key) }
}

/// The nodes of a grid with cells of one size.
private struct Trial {
  let shift: Int
  let cells: Size
  private(set) var nodes: [Int32] = []
  private(set) var ratios: [UInt8] = []
  /// Whether all positions in the source are as exact as promised.
  private(set) var isExact = true

  private let key: WarpGrid.Key
  private let toStored: AffineTransform
  private var positions: [SIMD2<Double>?] = []

  init(_ key: WarpGrid.Key, shift: Int) {
    let side = 1 << shift
    // The last sample of chroma may lie half a sample beyond the target.
    func count(_ length: Int) -> Int { (length + side) >> shift }
    self.shift = shift
    self.key = key
    cells = Size(width: count(key.target.width), height: count(key.target.height))
    toStored = key.orientation.transform(toStored: key.stored)
    for row in 0...cells.height {
      for column in 0...cells.width {
        positions.append(position(of: [Double(column * side), Double(row * side)]))
      }
    }
    nodes = positions.flatMap { position -> [Int32] in
      guard let position else { return [0, 0] }
      return [whole(position.x), whole(position.y)]
    }
    ratios.reserveCapacity(2 * cells.pixelCount)
    for row in 0..<cells.height {
      for column in 0..<cells.width { ratios += ratio(column, row) }
    }
  }

  private func whole(_ position: Double) -> Int32 {
    Int32((min(max(position, -WarpGrid.farthest), WarpGrid.farthest) * Double(WarpGrid.unit)).rounded())
  }

  private func position(of point: SIMD2<Double>) -> SIMD2<Double>? {
    guard let position = key.map.position(of: key.seen(point)), position.x.isFinite, position.y.isFinite
    else { return nil }
    return toStored(position)
  }

  /// The ratios of a cell, whose positions it compares with the exact ones.
  private mutating func ratio(_ column: Int, _ row: Int) -> [UInt8] {
    let first = row * (cells.width + 1) + column
    let below = first + cells.width + 1
    let side = Double(1 << shift)
    // The middle of the cell's part inside the target.
    let target = SIMD2(Double(key.target.width), Double(key.target.height))
    let origin = SIMD2(Double(column), Double(row)) * side
    let half = SIMD2(min(side, target.x - origin.x), min(side, target.y - origin.y)) / 2
    guard half.x > 0, half.y > 0 else { return [0, 0] }
    let middle = position(of: origin + half)
    guard let one = positions[first], let two = positions[first + 1], let three = positions[below],
      let four = positions[below + 1]
    else {
      if isNearSource(middle) { isExact = false }
      return [0, 0]
    }
    let along = max(longest(two - one), longest(four - three)) / side
    let down = max(longest(three - one), longest(four - two)) / side
    let part = half / side
    let (above, under) = (one + (two - one) * part.x, three + (four - three) * part.x)
    let mean = above + (under - above) * part.y
    let error = middle.map { longest($0 - mean) } ?? .infinity
    // Where a sphere is cut open, the source lies between nodes on both sides of it.
    let reach = max(along, down) * side
    guard error * 4 <= reach || reach * 2 < Double(max(key.stored.width, key.stored.height)) else {
      if isNearSource(middle) || isNearSource(one) || isNearSource(two) || isNearSource(three)
        || isNearSource(four)
      {
        isExact = false
      }
      return [0, 0]
    }
    let isFar = max(longest(one), longest(two), longest(three), longest(four)) > WarpGrid.farthest
    if isFar || error > max(2, along, down) / 256, isNearSource(middle) || isNearSource(mean) {
      isExact = false
    }
    return [sixteenths(along), sixteenths(down)]
  }

  private func sixteenths(_ ratio: Double) -> UInt8 { UInt8(min(max((ratio * 16).rounded(.up), 1), 255)) }

  private func longest(_ way: SIMD2<Double>) -> Double { max(abs(way.x), abs(way.y)) }

  /// Whether a position lies in the stored picture, or hardly beside it.
  private func isNearSource(_ position: SIMD2<Double>?) -> Bool {
    guard let position else { return false }
    let (width, height) = (Double(key.stored.width), Double(key.stored.height))
    return (-2...width + 2).contains(position.x) && (-2...height + 2).contains(position.y)
  }
}
