// The grids of warped views as tables that shaders read. A view that moves has another grid for each picture.

/// The nodes of a grid: a texel for each but those of the last row, with the node below it.
final class WarpTable {
  private let table: Table
  /// The number of words, which does not change.
  fileprivate let wordCount: Int

  fileprivate init(_ words: [UInt32], inBuffer: Bool) throws(GLError) {
    wordCount = words.count
    table = try Table(words, inBuffer: inBuffer)
  }

  fileprivate func replace(with words: [UInt32]) throws(GLError) { try table.replace(with: words) }

  /// The texture that holds a grid on devices without buffers as textures.
  static func textureSize(of grid: WarpGrid) -> Size { Table.textureSize(ofTexels: grid.texelCount) }

  var byteCount: Int { table.byteCount }

  func bind(unit: Int) { table.bind(unit: unit) }
}

extension WarpGrid {
  fileprivate var texelCount: Int { nodeSize.width * (nodeSize.height - 1) }

  /// Four words for each node but those of the last row: x and y in 24 bits, with the ratios of its cell above them, then x and
  /// y of the node below.
  fileprivate var words: [UInt32] {
    var words: [UInt32] = []
    words.reserveCapacity(texelCount * 4)
    let (columns, below) = (nodeSize.width, 2 * nodeSize.width)
    for row in 0..<2 * cells.height {
      for column in 0..<columns {
        let node = 2 * (row * columns + column)
        // The last node of a row begins no cell.
        let ratio = 2 * (row / 2 * cells.width + min(column / 2, cells.width - 1))
        for axis in 0..<2 {
          words.append(
            UInt32(bitPattern: nodes[node + axis]) & 0xFF_FFFF | UInt32(ratios[ratio + axis]) << 24)
        }
        for axis in 0..<2 { words.append(UInt32(bitPattern: nodes[node + below + axis])) }
      }
    }
    return words
  }
}

/// The tables of the grids that drawings use.
///
/// Only a grid that a second drawing uses is kept for long. Others are a moving view's, and their tables are used again
/// for its next grids, so that they take no room from views that stay.
final class WarpTables {
  private struct Passing {
    let key: WarpGrid.Key
    let table: WarpTable
    /// The drawing that made it.
    let drawing: Int
  }

  private let isInBuffers: Bool
  private var lasting = LRUCache<WarpGrid.Key, WarpTable>(capacity: 64, maximumCost: 16 << 20)
  /// The grids that only one drawing has used so far, the newest last.
  private var passing: [Passing] = []
  /// Tables for further grids, by their number of words.
  private var idle = ReusePool<Int, WarpTable>(mostCount: 4, mostBytes: 4 << 20)
  private var drawing = 0

  /// More than hardware has frames in flight, so that no table is filled while an earlier drawing reads it.
  private static let mostPassing = 8
  private static let mostPassingBytes = 8 << 20

  init(inBuffers: Bool) { isInBuffers = inBuffers }

  func table(of grid: WarpGrid) throws(GLError) -> WarpTable {
    if let table = lasting[grid.key] { return table }
    if let index = passing.firstIndex(where: { $0.key == grid.key }) {
      let known = passing[index]
      guard known.drawing != drawing else { return known.table }
      passing.remove(at: index)
      lasting.hold(known.table, for: known.key, cost: known.table.byteCount)
      return known.table
    }
    let table = try filled(with: grid.words)
    passing.append(Passing(key: grid.key, table: table, drawing: drawing))
    return table
  }

  private func filled(with words: [UInt32]) throws(GLError) -> WarpTable {
    guard let table = idle.take(words.count) else { return try WarpTable(words, inBuffer: isInBuffers) }
    try table.replace(with: words)
    return table
  }

  private var passingByteCount: Int { passing.reduce(0) { $0 + $1.table.byteCount } }

  var byteCount: Int { lasting.cost + passingByteCount + idle.byteCount }

  /// Called between drawings.
  func trim() {
    drawing += 1
    lasting.trim()
    var bytes = passingByteCount
    while let oldest = passing.first,
      passing.count > Self.mostPassing || (passing.count > 1 && bytes > Self.mostPassingBytes)
    {
      passing.removeFirst()
      bytes -= oldest.table.byteCount
      idle.put(oldest.table, oldest.table.wordCount, byteCount: oldest.table.byteCount)
    }
    idle.beginDrawing()
  }

  /// Called between drawings.
  func removeAll() {
    lasting.removeAll()
    passing = []
    idle.removeAll()
  }
}
