// Samples one signal of a frame at a position of an output plane: the weighted sum over its taps.
internal import PreviewCore

/// A signal, sampled through a view's maps.
struct SignalSampler {
  let input: SignalInput
  private let horizontal: TapTable
  private let vertical: TapTable
  private let source: SignalSource

  init(_ input: SignalInput, of view: PlannedView, from frame: Frame) {
    self.input = input
    self.horizontal = TapTable(input.horizontal)
    self.vertical = TapTable(input.vertical)
    self.source = SignalSource(input.signal, of: view, from: frame)
  }

  /// The fraction of the position that the picture covers, 0...1.
  func coverage(_ column: Int, _ row: Int) -> Double { horizontal.coverage[column] * vertical.coverage[row] }

  /// The weighted sum of the samples: R, G, B; or Y' as the first; or Cb, Cr as the last two. Codes 0...255, or
  /// linear light times 255.
  func values(_ column: Int, _ row: Int) -> SIMD3<Double> {
    var sum = SIMD3<Double>.zero
    for y in 0..<vertical.tapCount {
      let (rowIndex, rowWeight) = vertical.tap(y, of: row)
      for x in 0..<horizontal.tapCount {
        let (columnIndex, columnWeight) = horizontal.tap(x, of: column)
        guard rowWeight != 0, columnWeight != 0 else { continue }
        let values =
          input.swapsAxes
          ? source.values(x: rowIndex, y: columnIndex) : source.values(x: columnIndex, y: rowIndex)
        sum += values * (rowWeight * columnWeight)
      }
    }
    return sum
  }
}

extension TapTable {
  fileprivate func tap(_ tap: Int, of sample: Int) -> (index: Int, weight: Double) {
    (indices[sample * tapCount + tap], weights[sample * tapCount + tap])
  }
}
