// Where boxes lie whose places repeat: what a renderer needs that sums up sixteen bytes of a row at a time.

/// Boxes along rows, several outputs together, each group a whole number of samples further on than the one before.
package struct WordColumns: Sendable, Equatable {
  /// The first sample that group 0 stands on; may lie before the plane.
  package let firstSample: Int
  /// From a group to the next; negative where the map runs backwards.
  package let samplesPerGroup: Int
  /// Where a group's leftmost box begins, in sixteenths of a sample from the group's first.
  package let start: Int
  /// The width of a box, in sixteenths of a sample.
  package let width: Int
  /// Samples that a group stands on.
  package let sampleCount: Int
  /// Groups of a row; the last may be partly beyond the target.
  package let groupCount: Int
  /// The groups whose boxes lie within the crop; the others reach over its edge.
  package let interior: Range<Int>

  /// Evaluates a map.
  ///
  /// - Returns: nil where it is not of boxes, or their places are not whole sixteenths, or do not repeat.
  package init?(_ map: SamplingMap, outputsPerGroup: Int) {
    let unit = map.denominator
    guard map.kernel == .box, 16 * map.ratio % unit == 0, outputsPerGroup * map.ratio % unit == 0 else {
      return nil
    }
    /// Where the box of an output begins, times `unit`.
    func boxStart(_ output: Int) -> Int { map.position(of: output) - map.ratio / 2 }
    let isReversed = map.source.isReversed
    let leftmost = boxStart(isReversed ? outputsPerGroup - 1 : 0)
    firstSample = floorDivide(leftmost, by: unit)
    let fraction = 16 * (leftmost - firstSample * unit)
    guard fraction % unit == 0 else { return nil }
    start = fraction / unit
    width = 16 * map.ratio / unit
    let perGroup = outputsPerGroup * map.ratio / unit
    samplesPerGroup = isReversed ? -perGroup : perGroup
    sampleCount = (start + outputsPerGroup * width + 15) / 16
    let outputs = map.output.sampleCount
    groupCount = (outputs + outputsPerGroup - 1) / outputsPerGroup
    let (lowest, highest) = (map.source.samples.lowerBound * unit, (map.source.samples.upperBound + 1) * unit)
    let inside = (0..<groupCount).filter { group in
      // All of the last group too, of which a part may be beyond the target: its samples are read like the others'.
      let first = group * outputsPerGroup
      let last = first + outputsPerGroup - 1
      return boxStart(isReversed ? last : first) >= lowest
        && boxStart(isReversed ? first : last) + map.ratio <= highest
    }
    // The inside of a span has no holes.
    interior = inside.first.map { $0..<$0 + inside.count } ?? 0..<0
  }
}

/// Boxes along columns, whose weights are whole numbers of a common unit.
package struct WordRows: Sendable, Equatable {
  /// Parts of a row that all boxes begin and end at.
  package let unit: Int
  /// The height of a box, in parts: the sum of its rows' weights.
  package let height: Int
  /// Where the box of row 0 begins, in parts.
  package let start: Int
  /// From a box to the next, in parts; negative where the map runs backwards.
  package let step: Int
  /// Rows that a box stands on, at most.
  package let rowCount: Int

  /// Bytes that are summed up in sixteen bits can have weights of this sum: 257 * 255 = 65535.
  package static let maximumHeight = 257

  /// Evaluates a map.
  ///
  /// - Returns: nil where it is not of boxes, or their weights' sum does not fit.
  package init?(_ map: SamplingMap) {
    guard map.kernel == .box else { return nil }
    let first = map.position(of: 0) - map.ratio / 2
    let common = greatestCommonDivisor(greatestCommonDivisor(map.ratio, map.denominator), first)
    unit = map.denominator / common
    height = map.ratio / common
    guard height <= WordRows.maximumHeight else { return nil }
    start = first / common
    step = map.source.isReversed ? -height : height
    let (unit, height, start, step) = (unit, height, start, step)
    rowCount = (0..<map.output.sampleCount).reduce(1) { most, output in
      let top = start + output * step
      return max(most, floorDivide(top + height - 1, by: unit) - floorDivide(top, by: unit) + 1)
    }
  }
}
