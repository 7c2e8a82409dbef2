// The positions of a warped view's outputs in the stored picture: whole numbers at the nodes of a grid, computed once on the CPU,
// between which all renderers interpolate in whole numbers, so that no driver or compiler can move a tap.
internal import Synchronization

/// A grid over the outputs of a view, with positions of the stored picture at its nodes.
///
/// Cells are squares of `1 << shift` outputs, with three nodes along each side. Positions between them are on parabolas through
/// three nodes. Cells are so small that positions are within 1/256 of a source pixel of the exact ones, or within 1/512 of the
/// distance to the next output's, unless that takes more than a million nodes.
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
  /// Columns and rows of cells.
  package let cells: Size
  /// x and y of each node, row by row, in 1/256 of a pixel of the stored picture, from its top left corner.
  package let nodes: [Int32]
  /// For each cell, row by row, the source pixels from one output to the next, along rows and columns, in 1/16, rounded up;
  /// at most 255. Zero where the cell shows nothing of the source.
  package let ratios: [UInt8]

  /// The parts of a source pixel in which positions are given.
  package static let unit = 256
  /// The parts of an output in which positions between nodes are counted.
  package static let outputUnit = 1 << outputBits
  private static let outputBits = 6
  /// The bits of a place's square that parabolas leave out, so that products fit 32 bits. They are zeros for 1, 2, 4 or 8
  /// positions an output.
  static let bendBits = 4
  /// The longest side of a picture that can be warped, in pixels: sums of positions and weights fit 32 bits.
  package static let maximumSide = 16_384

  /// The most nodes of a grid with cells that are smaller than the largest ones.
  private static let mostNodes = 1 << 20

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

  /// Columns and rows of nodes.
  package var nodeSize: Size { Size(width: 2 * cells.width + 1, height: 2 * cells.height + 1) }

  /// Chooses the largest cells whose interpolated positions are exact enough; the smallest if none are.
  package init(_ key: Key) {
    var trial = GridTrial(key, shift: 4)
    while !trial.isExact, trial.shift > 1, 2 * trial.nodes.count <= WarpGrid.mostNodes {
      trial = GridTrial(key, shift: trial.shift - 1)
    }
    self.key = key
    (shift, cells, nodes, ratios) = (trial.shift, trial.cells, trial.nodes, trial.ratios)
  }

  /// Returns the position of a point of the target, in `outputUnit`s, in the stored picture, in 1/256 of its pixels.
  package func position(at point: SIMD2<Int>) -> SIMD2<Int> {
    let bits = shift + WarpGrid.outputBits
    let (column, row) = (2 * (point.x >> bits), 2 * (point.y >> bits))
    let (x, y) = (point.x & (1 << bits - 1), point.y & (1 << bits - 1))
    func edge(_ column: Int) -> SIMD2<Int> {
      between(node(column, row), node(column, row + 1), node(column, row + 2), y)
    }
    return between(edge(column), edge(column + 1), edge(column + 2), x)
  }

  /// Returns the position at a part of the way along a cell's side, in `outputUnit`s, on the parabola through three.
  private func between(_ first: SIMD2<Int>, _ second: SIMD2<Int>, _ third: SIMD2<Int>, _ part: Int)
    -> SIMD2<Int>
  {
    let bits = shift + WarpGrid.outputBits - 1
    let half = 1 << bits
    let square = (part * (part - half)) >> WarpGrid.bendBits
    let bend = ((third &- second &- second &+ first) &* square) &>> (bits + 1 - WarpGrid.bendBits)
    return first &+ ((second &- first) &* part &+ bend &+ half / 2) &>> bits
  }

  /// Returns the source pixels from one output to the next in the cell of a point, in 1/16 along rows and columns.
  package func ratio(at point: SIMD2<Int>) -> SIMD2<Int> {
    let bits = shift + WarpGrid.outputBits
    let cell = 2 * ((point.y >> bits) * cells.width + point.x >> bits)
    return [Int(ratios[cell]), Int(ratios[cell + 1])]
  }

  private func node(_ column: Int, _ row: Int) -> SIMD2<Int> {
    let node = 2 * (row * nodeSize.width + column)
    return [Int(nodes[node]), Int(nodes[node + 1])]
  }
}

extension WarpGrid: Hashable {
  package static func == (one: WarpGrid, other: WarpGrid) -> Bool { one === other || one.key == other.key }

  package func hash(into hasher: inout Hasher) { hasher.combine(key) }
}
