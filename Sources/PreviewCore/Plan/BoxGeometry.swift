// Box filters that are summed sixteen bytes of a row at a time, by a program for their ratio and alignment.

/// The boxes of one signal, the same for all groups of outputs.
package struct BoxGeometry: Sendable, Hashable {
  package let signal: PackedSignal
  package let columns: WordColumns
  package let rows: WordRows
  /// The number of sixteen-byte texels of a row that a group of outputs reads.
  package let texels: Int
  /// The bits of a byte's position in its texel that differ from group to group.
  package let shifts: Int
  /// For each component, the byte that holds a group's first sample.
  package let firstBytes: [Int]

  /// The most texels that a fragment may read.
  private static let maximumTexels = 17

  /// Creates the geometry; nil if the boxes do not repeat, or are too wide or too high.
  init?(_ signal: PackedSignal, outputsPerGroup: Int) {
    guard signal.isWhole,
      let columns = WordColumns(signal.columns, outputsPerGroup: outputsPerGroup),
      let rows = WordRows(signal.rows)
    else { return nil }
    self.signal = signal
    self.columns = columns
    self.rows = rows
    let step = signal.step
    let places = (0..<columns.groupCount).map {
      (columns.firstSample + $0 * columns.samplesPerGroup) * step & 15
    }
    shifts = places.reduce(0) { $0 | ($1 ^ places[0]) }
    texels = ((places.max() ?? 0) + columns.sampleCount * step + 15) / 16
    guard texels <= BoxGeometry.maximumTexels else { return nil }
    let first = places[0] & ~shifts
    firstBytes = signal.components.map { $0.first + first }
  }

  /// Returns the groups whose boxes lie inside the crop, for all rows: rows beyond it are clamped anyway.
  package func interior(rows: Int) -> Rectangle {
    Rectangle(x: columns.interior.lowerBound, y: 0, width: columns.interior.count, height: rows)
  }
}

extension Drawing {
  /// The number of outputs that a fragment computes where boxes repeat evenly.
  package var outputsPerGroup: Int { output == .pixels ? 8 : 16 }

  /// The boxes of its signals; nil unless they repeat evenly.
  var boxes: [BoxGeometry]? {
    guard lightCrop == nil, behind == nil else { return nil }
    var boxes: [BoxGeometry] = []
    for signal in signals.flatMap(\.apart) {
      guard let geometry = BoxGeometry(signal, outputsPerGroup: outputsPerGroup) else { return nil }
      boxes.append(geometry)
    }
    return boxes
  }
}
