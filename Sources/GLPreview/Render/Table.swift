// Tables that shaders read: taps along an axis, weights of columns, and nodes of warps.

/// Texels of four words: a buffer, which software renderers read at less cost, or a texture in rows of 2048.
struct Table: ~Copyable {
  private enum Store: ~Copyable {
    case buffer(TexelBuffer)
    case texture(Texture)
  }

  let byteCount: Int
  private let store: Store

  /// A power of two within every GLES 3.0 device's limit.
  private static let texelsPerRow = 2048

  init(_ words: [UInt32], inBuffer: Bool) throws(GLError) {
    byteCount = words.count * 4
    if inBuffer {
      let buffer = try TexelBuffer(byteCount: byteCount)
      try buffer.replace(with: words.span)
      store = .buffer(buffer)
    } else {
      let size = Table.textureSize(ofTexels: words.count / 4)
      let texture = try Texture(.rgba32ui, width: size.width, height: size.height)
      try texture.replace(with: Table.padded(words, to: size).span)
      store = .texture(texture)
    }
  }

  /// The size of the texture that holds this many texels.
  static func textureSize(ofTexels count: Int) -> Size {
    let width = min(count, texelsPerRow)
    return Size(width: width, height: (count + width - 1) / width)
  }

  private static func padded(_ words: [UInt32], to size: Size) -> [UInt32] {
    words + [UInt32](repeating: 0, count: size.pixelCount * 4 - words.count)
  }

  /// Replaces all words by as many others.
  borrowing func replace(with words: [UInt32]) throws(GLError) {
    switch store {
    case .buffer(let buffer): try buffer.replace(with: words.span)
    case .texture(let texture): try texture.replace(with: Table.padded(words, to: texture.size).span)
    }
  }

  borrowing func bind(unit: Int) {
    switch store {
    case .buffer(let buffer): buffer.bind(unit: unit)
    case .texture(let texture): texture.bind(unit: unit)
    }
  }
}

extension [UInt32] {
  /// Appends texels of two taps each, as the bits of floats. A missing second tap has weight 0.
  fileprivate mutating func add(taps: some Collection<(index: Int, weight: Int)>) {
    for tap in taps { self += [Float(tap.index).bitPattern, Float(tap.weight).bitPattern] }
    if let first = taps.first, taps.count % 2 != 0 { self += [Float(first.index).bitPattern, 0] }
  }
}

/// A map's taps.
final class AxisTable {
  let tapCount: Int
  /// The sum of a sample's weights.
  let total: Int
  /// The texel of the first sample's coverage.
  let firstCoverage: Int
  private let table: Table

  init(_ map: SamplingMap, inBuffer: Bool) throws(GLError) {
    let taps = WholeTaps(map)
    let count = taps.table.tapCount
    (tapCount, total) = (count, taps.total)
    var words: [UInt32] = []
    words.reserveCapacity(taps.table.sampleCount * ((count + 1) / 2 + 1) * 4)
    for sample in 0..<taps.table.sampleCount {
      let range = sample * count..<(sample + 1) * count
      words.add(taps: range.map { (taps.table.indices[$0], taps.weights[$0]) })
    }
    firstCoverage = words.count / 4
    for coverage in taps.table.coverage { words += [Float(coverage).bitPattern, 0, 0, 0] }
    table = try Table(words, inBuffer: inBuffer)
  }

  var byteCount: Int { table.byteCount }

  func bind(unit: Int) { table.bind(unit: unit) }
}

/// A map's taps for sums of bytes: a run of rows with one weight, and single rows.
final class RunTable {
  /// Texels of two single taps for each sample, after the one of its run.
  let pairCount: Int
  /// The sum of a sample's weights.
  let total: Int
  private let table: Table

  init(_ map: SamplingMap, inBuffer: Bool) throws(GLError) {
    let taps = WholeTaps(map)
    let runs = TapRuns(taps)
    let count = runs.singleCount
    (pairCount, total) = ((count + 1) / 2, taps.total)
    var words: [UInt32] = []
    words.reserveCapacity(runs.runs.count * (1 + pairCount) * 4)
    for (sample, run) in runs.runs.enumerated() {
      words += [UInt32(run.x), UInt32(run.y), Float(run.z).bitPattern, 0]
      words.add(taps: runs.singles[sample * count..<(sample + 1) * count].map { ($0.x, $0.y) })
    }
    table = try Table(words, inBuffer: inBuffer)
  }

  var byteCount: Int { table.byteCount }

  func bind(unit: Int) { table.bind(unit: unit) }
}

/// Weights of neighbouring samples for four outputs at a time.
final class NeighbourTable {
  let total: Int
  private let weights: NeighbourWeights
  private let table: Table
  private var fits: [SIMD3<Int>: Bool] = [:]

  init(_ map: SamplingMap, inBuffer: Bool) throws(GLError) {
    weights = NeighbourWeights(map)
    total = weights.total
    // The outputs of the last texel that are beyond the picture read what the last output reads.
    let missing = (4 - weights.words.count % 4) % 4
    table = try Table(
      weights.words + repeatElement(weights.words.last ?? 0, count: missing), inBuffer: inBuffer)
  }

  /// Does what `NeighbourWeights.fitWindows` does, for the bytes of one component or two, and stores the
  /// result.
  func fitWindows(step: Int, _ first: Int, _ second: Int) -> Bool {
    let key = SIMD3(step, first, second)
    if let known = fits[key] { return known }
    let fit = weights.fitWindows(step: step, firsts: [first, second])
    fits[key] = fit
    return fit
  }

  var byteCount: Int { table.byteCount }

  func bind(unit: Int) { table.bind(unit: unit) }
}

/// Weights of columns, and the layout of the sums that they apply to.
final class ColumnTable {
  let windowCount: Int
  let recordLength: Int
  let total: Int
  private let table: Table
  /// The first texels that each four outputs read; nil unless they go one way only.
  private let firsts: [UInt32]?
  private let texelsPerRecord: Int

  struct Key: Hashable {
    let map: SamplingMap
    let layout: ColumnWeights.Layout
  }

  init(_ key: Key, inBuffer: Bool) throws(GLError) {
    let weights = ColumnWeights(key.map, key.layout)
    (windowCount, recordLength, total) = (weights.windowCount, weights.recordLength, weights.total)
    table = try Table(weights.words, inBuffer: inBuffer)
    texelsPerRecord = weights.windowCount * key.layout.texelsPerWindow
    let firsts = stride(from: 0, to: weights.words.count, by: weights.recordLength * 4).map {
      weights.words[$0]
    }
    let pairs = zip(firsts, firsts.dropFirst())
    self.firsts = pairs.allSatisfy { $0 <= $1 } || pairs.allSatisfy { $0 >= $1 } ? firsts : nil
  }

  /// Returns the most texels of a row that tiles of `columns` times four outputs read. Nil if the texels of a tile are
  /// not between those of its ends.
  func texels(ofTiles columns: Int) -> Int? {
    guard let firsts else { return nil }
    return stride(from: 0, to: firsts.count, by: columns).map { start in
      let ends = (Int(firsts[start]), Int(firsts[min(start + columns, firsts.count) - 1]))
      return abs(ends.0 - ends.1) + texelsPerRecord
    }.max()
  }

  var byteCount: Int { table.byteCount + (firsts?.count ?? 0) * 4 }

  func bind(unit: Int) { table.bind(unit: unit) }
}

/// All tables of a device, which are made once and reused.
final class TableCache {
  /// Whether tables, like frames, are in buffers.
  let isInBuffers: Bool
  private let taps: DrawingCache<SamplingMap, AxisTable, GLError>
  private let runs: DrawingCache<SamplingMap, RunTable, GLError>
  private let neighbours: DrawingCache<SamplingMap, NeighbourTable, GLError>
  private let columns: DrawingCache<ColumnTable.Key, ColumnTable, GLError>
  private let warps: WarpTables

  init(inBuffers: Bool) {
    isInBuffers = inBuffers
    warps = WarpTables(inBuffers: inBuffers)
    taps = DrawingCache(capacity: 512, maximumCost: 8 << 20) { map throws(GLError) in
      try AxisTable(map, inBuffer: inBuffers)
    } cost: {
      $0.byteCount
    }
    runs = DrawingCache(capacity: 512, maximumCost: 8 << 20) { map throws(GLError) in
      try RunTable(map, inBuffer: inBuffers)
    } cost: {
      $0.byteCount
    }
    neighbours = DrawingCache(capacity: 512, maximumCost: 4 << 20) { map throws(GLError) in
      try NeighbourTable(map, inBuffer: inBuffers)
    } cost: {
      $0.byteCount
    }
    columns = DrawingCache(capacity: 256, maximumCost: 16 << 20) { key throws(GLError) in
      try ColumnTable(key, inBuffer: inBuffers)
    } cost: {
      $0.byteCount
    }
  }

  func taps(_ map: SamplingMap) throws(GLError) -> AxisTable { try taps.value(of: map) }

  func runs(_ map: SamplingMap) throws(GLError) -> RunTable { try runs.value(of: map) }

  func neighbours(_ map: SamplingMap) throws(GLError) -> NeighbourTable { try neighbours.value(of: map) }

  func columns(_ key: ColumnTable.Key) throws(GLError) -> ColumnTable { try columns.value(of: key) }

  func nodes(_ grid: WarpGrid) throws(GLError) -> WarpTable { try warps.table(of: grid) }

  var byteCount: Int {
    taps.totalCost + runs.totalCost + neighbours.totalCost + columns.totalCost + warps.byteCount
  }

  /// Called between drawings.
  func trim() {
    taps.trim()
    runs.trim()
    neighbours.trim()
    columns.trim()
    warps.trim()
  }

  /// Called between drawings.
  func removeAll() {
    taps.removeAll()
    runs.removeAll()
    neighbours.removeAll()
    columns.removeAll()
    warps.removeAll()
  }
}
