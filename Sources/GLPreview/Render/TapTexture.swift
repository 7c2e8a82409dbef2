// Tap tables as textures, for the maps of a plan.
internal import PreviewCore

enum TapTableKey: Hashable {
  /// A map's taps; `from` is the index of the first sample in the source texture.
  case taps(SamplingMap, from: Int)
  /// A map whose axis is already reduced: one tap per sample, with the map's coverage.
  case reduced(SamplingMap)
  /// Consecutive samples from `lowerBound` on.
  case whole(ClosedRange<Int>)
  /// A map's taps with whole weights.
  case sums(SamplingMap)
}

/// One table as a texture: (index, weight) for each tap of each sample, then (coverage, 0) for each sample.
final class TapTexture {
  let sampleCount: Int
  let tapCount: Int
  /// The sum of an output's weights: 1, or that of whole weights.
  let total: Int
  private let texture: Texture

  /// Entries per row; a power of two within every GLES 3.0 device's limit.
  private static let entriesPerRow = 2048

  init(_ key: TapTableKey) throws(GLError) {
    let entries: [Float]
    var total = 1
    switch key {
    case .taps(let map, let from):
      let table = TapTable(map)
      (sampleCount, tapCount) = (table.sampleCount, table.tapCount)
      entries =
        zip(table.indices, table.weights).flatMap { [Float($0 - from), Float($1)] }
        + table.coverage.flatMap { [Float($0), 0] }
    case .reduced(let map):
      (sampleCount, tapCount) = (map.output.sampleCount, 1)
      entries =
        (0..<sampleCount).flatMap { [Float($0), 1] } + TapTable.coverage(of: map).flatMap { [Float($0), 0] }
    case .sums(let map):
      let taps = WholeTaps(map)
      (sampleCount, tapCount) = (taps.table.sampleCount, taps.table.tapCount)
      total = taps.total
      entries =
        zip(taps.table.indices, taps.weights).flatMap { [Float($0), Float($1)] }
        + taps.table.coverage.flatMap { [Float($0), 0] }
    case .whole(let range):
      (sampleCount, tapCount) = (range.count, 1)
      entries = range.flatMap { [Float($0), 1] } + range.flatMap { _ in [1, 0] }
    }
    self.total = total
    let count = entries.count / 2
    let width = min(count, TapTexture.entriesPerRow)
    let height = (count + width - 1) / width
    texture = try Texture(.rg32f, width: width, height: height)
    let padded = entries + [Float](repeating: 0, count: (width * height - count) * 2)
    try texture.replace(with: padded.span)
  }

  func bind(unit: Int) { texture.bind(unit: unit) }
}

typealias TapTextureCache = DrawingCache<TapTableKey, TapTexture, GLError>
