// The positions of a signal's boxes in sixteen-byte texels, computed once for all frames of a plan.
internal import PreviewCore
internal import Shaders

/// The boxes of one signal that can be summed sixteen bytes at a time.
struct WordGeometry {
  let signal: PackedSignal
  let columns: WordColumns
  let rows: WordRows
  /// The same for all groups of outputs.
  let packing: WordVariant.Packing

  /// Bytes from one sample of a component to the next.
  var step: Int { 4 / signal.samplesPerTexel }

  /// The most texels that a fragment may read.
  private static let maximumTexels = 17

  /// Nil if the boxes do not repeat, or are too wide or too high.
  init?(_ signal: PackedSignal, outputsPerGroup: Int) {
    guard let columns = WordColumns(signal.columns, outputsPerGroup: outputsPerGroup),
      let rows = WordRows(signal.rows)
    else { return nil }
    self.signal = signal
    self.columns = columns
    self.rows = rows
    let step = 4 / signal.samplesPerTexel
    let places = (0..<columns.groupCount).map {
      (columns.firstSample + $0 * columns.samplesPerGroup) * step & 15
    }
    let shifts = places.reduce(0) { $0 | ($1 ^ places[0]) }
    let texels = ((places.max() ?? 0) + columns.sampleCount * step + 15) / 16
    guard texels <= WordGeometry.maximumTexels else { return nil }
    packing = WordVariant.Packing(
      texels: texels, shifts: shifts, samples: columns.sampleCount, step: step,
      firstBytes: signal.components.map { $0.firstByte + (places[0] & ~shifts) },
      columns: SIMD2(columns.start, columns.width), rows: SIMD3(rows.rowCount, rows.unit, rows.height))
  }
}

/// Caches the geometries of plans in use.
final class WordGeometryCache {
  private struct Key: Hashable {
    let signal: PackedSignal
    let outputsPerGroup: Int
  }

  private var geometries = LRUCache<Key, WordGeometry?>(capacity: 256)

  /// Called between frames.
  func trim() { geometries.trim() }

  func geometry(_ signal: PackedSignal, outputsPerGroup: Int) -> WordGeometry? {
    let key = Key(signal: signal, outputsPerGroup: outputsPerGroup)
    if let geometry = geometries[key] { return geometry }
    let geometry = WordGeometry(signal, outputsPerGroup: outputsPerGroup)
    geometries.hold(geometry, for: key)
    return geometry
  }
}
