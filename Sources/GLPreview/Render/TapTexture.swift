// Tap tables as textures, for the maps of a plan.
internal import PreviewCore

/// A map's taps as a texture: (index, whole weight) for each tap of each sample, then (coverage, 0) for each sample.
final class TapTexture {
  let sampleCount: Int
  let tapCount: Int
  /// The sum of a sample's weights.
  let total: Int
  private let texture: Texture

  /// Entries per row; a power of two within every GLES 3.0 device's limit.
  private static let entriesPerRow = 2048

  init(_ map: SamplingMap) throws(GLError) {
    let taps = WholeTaps(map)
    (sampleCount, tapCount, total) = (taps.table.sampleCount, taps.table.tapCount, taps.total)
    var entries: [Float] = []
    for (index, weight) in zip(taps.table.indices, taps.weights) { entries += [Float(index), Float(weight)] }
    for coverage in taps.table.coverage { entries += [Float(coverage), 0] }
    let count = entries.count / 2
    let width = min(count, TapTexture.entriesPerRow)
    let height = (count + width - 1) / width
    texture = try Texture(.rg32f, width: width, height: height)
    let padded = entries + [Float](repeating: 0, count: (width * height - count) * 2)
    try texture.replace(with: padded.span)
  }

  /// The entry of the first sample's coverage.
  var firstCoverage: Int { sampleCount * tapCount }

  func bind(unit: Int) { texture.bind(unit: unit) }
}

typealias TapTextureCache = DrawingCache<SamplingMap, TapTexture, GLError>
