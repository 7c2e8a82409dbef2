// The positions of box filters for neighbouring outputs along one axis: for four-byte texels, and for a renderer that
// sums sixteen bytes of a row at a time.

/// Box positions along one axis, in groups: four outputs per group along rows, one along columns.
package struct BoxAxis: Sendable, Equatable {
  /// A regular part in which all groups have the same boxes, each a whole number of texels after the previous.
  package struct Period: Sendable, Hashable {
    /// The first texel of group 0, extrapolated from the regular part.
    package let first: Int
    /// Texels from one group to the next.
    package let step: Int
    /// The start of the first box, in samples from the group's first texel.
    package let start: Double
  }

  /// The first texel of each group.
  package let firsts: [Int]
  /// The start of each group's leftmost box, in samples from the group's first texel.
  package let starts: [Double]
  /// The most texels that a group reads.
  package let texelCount: Int
  /// Samples from one output to the next, which is also a box's width.
  package let ratio: Double
  /// Whether outputs interpolate two neighbours, weighted by their distance from the box's centre.
  package let isBilinear: Bool
  /// The groups whose boxes lie inside the crop; the others reach over its edge.
  package let interior: Range<Int>
  /// How the interior's groups repeat; nil unless all numbers are whole sixteenths, such as 3 and 0.25.
  package let period: Period?

  /// Evaluates a map.
  ///
  /// - Parameters:
  ///   - map: of boxes.
  ///   - outputsPerGroup: 4 along rows, 1 along columns.
  ///   - samplesPerTexel: 4, 2 or 1 along rows, 1 along columns.
  package init(_ map: SamplingMap, outputsPerGroup: Int, samplesPerTexel: Int) {
    let bounds = map.source.samples
    let (lowest, highest) = (bounds.lowerBound * map.denominator, (bounds.upperBound + 1) * map.denominator)
    var groups: [Group] = []
    for first in stride(from: 0, to: map.output.sampleCount, by: outputsPerGroup) {
      // If the map runs backwards, the leftmost box belongs to the last output. Outputs beyond the last are ignored,
      // except to find the start of a backward group.
      let last = min(first + outputsPerGroup, map.output.sampleCount) - 1
      let leftmost = map.source.isReversed ? first + outputsPerGroup - 1 : first
      let rightmost = map.source.isReversed ? first : last
      let start = map.position(of: leftmost) - map.ratio / 2
      let firstSeen = map.source.isReversed ? last : first
      let end = map.position(of: rightmost) + map.ratio / 2
      // For bilinear, the neighbours of each centre; for boxes, everything that they cover.
      let half = map.denominator / 2
      let from = map.kernel == .bilinear ? map.position(of: leftmost) - half : start
      let upTo = map.kernel == .bilinear ? map.position(of: rightmost) + half : end
      let seen =
        map.kernel == .bilinear
        ? map.position(of: firstSeen) - half : map.position(of: firstSeen) - map.ratio / 2
      let sample = min(max(floorDivide(from, by: map.denominator), bounds.lowerBound), bounds.upperBound)
      let lastSample = min(max(floorDivide(upTo - 1, by: map.denominator), sample), bounds.upperBound)
      let texel = sample / samplesPerTexel
      groups.append(
        Group(
          texel: texel, start: start - texel * samplesPerTexel * map.denominator,
          texelCount: lastSample / samplesPerTexel - texel + 1,
          isInside: min(from, seen) >= lowest && upTo <= highest))
    }
    firsts = groups.map(\.texel)
    starts = groups.map { Double($0.start) / Double(map.denominator) }
    texelCount = groups.reduce(1) { max($0, $1.texelCount) }
    ratio = Double(map.ratio) / Double(map.denominator)
    isBilinear = map.kernel == .bilinear
    let from = groups.firstIndex(where: \.isInside) ?? groups.count
    let to = groups[from...].firstIndex { !$0.isInside } ?? groups.count
    interior = from..<to
    period = BoxAxis.period(of: groups[from..<to], map)
  }

  private struct Group {
    let texel: Int
    /// Multiplied by the map's denominator.
    let start: Int
    let texelCount: Int
    let isInside: Bool
  }

  private static func period(of groups: ArraySlice<Group>, _ map: SamplingMap) -> Period? {
    guard groups.count > 1, let first = groups.first else { return nil }
    let step = groups[groups.startIndex + 1].texel - first.texel
    guard map.ratio * 16 % map.denominator == 0, first.start * 16 % map.denominator == 0,
      groups.allSatisfy({ $0.start == first.start }),
      zip(groups, groups.dropFirst()).allSatisfy({ $1.texel - $0.texel == step })
    else { return nil }
    return Period(
      first: first.texel - groups.startIndex * step, step: step,
      start: Double(first.start) / Double(map.denominator))
  }
}

/// Boxes along rows, in groups of outputs; each group is a whole number of samples after the one before.
package struct WordColumns: Sendable, Equatable {
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
    /// The start of an output's box, times `unit`.
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
package struct WordRows: Sendable, Equatable {
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
