// The positions of box filters for a renderer that sums sixteen bytes of a row at a time.

/// Boxes along rows, in groups of outputs; each group is a whole number of samples after the one before.
package struct WordColumns: Sendable, Hashable {
  /// The first sample that group 0 reads; it may lie before the plane.
  package let firstSample: Int
  /// Samples from one group to the next; negative if the map runs backwards.
  package let samplesPerGroup: Int
  /// The start of a group's leftmost box, in sixteenths of a sample from the group's first.
  package let start: Int
  /// A box's width, in sixteenths of a sample.
  package let width: Int
  /// The number of samples that a group reads.
  package let sampleCount: Int
  /// Groups per row; the last may lie partly beyond the target.
  package let groupCount: Int
  /// The groups whose boxes lie inside the crop; the others reach over its edge.
  package let interior: Range<Int>

  /// Computes the positions for a map.
  ///
  /// - Returns: nil if the map has no boxes, or their positions are not whole sixteenths or do not repeat.
  package init?(_ map: SamplingMap, outputsPerGroup: Int) {
    let unit = map.denominator
    guard map.kernel == .box, 16 * map.ratio % unit == 0, outputsPerGroup * map.ratio % unit == 0 else {
      return nil
    }
    /// Returns the start of an output's box, times `unit`.
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
      // Includes the part of the last group beyond the target, because its samples are read too.
      let first = group * outputsPerGroup
      let last = first + outputsPerGroup - 1
      return boxStart(isReversed ? last : first) >= lowest
        && boxStart(isReversed ? first : last) + map.ratio <= highest
    }
    // The interior is contiguous.
    interior = inside.first.map { $0..<$0 + inside.count } ?? 0..<0
  }
}

/// Boxes along columns, with integer weights in a common unit.
package struct WordRows: Sendable, Hashable {
  /// Parts per row; all boxes start and end on a part.
  package let unit: Int
  /// A box's height in parts, which is the sum of its rows' weights.
  package let height: Int
  /// The start of row 0's box, in parts.
  package let start: Int
  /// Parts from one box to the next; negative if the map runs backwards.
  package let step: Int
  /// The most rows that a box reads.
  package let rowCount: Int

  /// The largest sum of weights whose weighted bytes fit sixteen bits: 257 * 255 = 65535.
  package static let maximumHeight = 257

  /// Computes the positions for a map.
  ///
  /// - Returns: nil if the map has no boxes, or the sum of their weights is too large.
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
