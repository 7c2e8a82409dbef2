// The positions of box filters for neighbouring outputs along one axis.

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
