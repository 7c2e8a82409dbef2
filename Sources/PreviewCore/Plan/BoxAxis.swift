// Where the boxes of neighbouring outputs lie along one axis.

/// The boxes along one axis: of four outputs together along rows, of one output along columns.
package struct BoxAxis: Sendable, Equatable {
  /// The same boxes over and over, a whole number of texels further each time.
  package struct Period: Sendable, Hashable {
    /// The first texel of group 0, were it regular too.
    package let first: Int
    /// From a group to the next, in texels.
    package let step: Int
    /// Where the first box begins, in samples from the group's first texel.
    package let start: Double
  }

  /// For each group its first texel.
  package let firsts: [Int]
  /// For each group where its leftmost box begins, in samples from its first texel.
  package let starts: [Double]
  /// Texels that a group stands on, at most.
  package let texelCount: Int
  /// From an output to the next, and the width of a box, in samples.
  package let ratio: Double
  /// Outputs are made of pairs of neighbours, by their nearness to the middle of the box.
  package let isBilinear: Bool
  /// The groups whose boxes lie within the crop; the others reach over its edge.
  package let interior: Range<Int>
  /// How the interior's groups repeat, if they do, by numbers that are whole sixteenths: such as 3 and 0.25.
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
      // The leftmost box is that of the last output where the map runs backwards; outputs beyond the last are not
      // looked at, but for where a backward group begins.
      let last = min(first + outputsPerGroup, map.output.sampleCount) - 1
      let leftmost = map.source.isReversed ? first + outputsPerGroup - 1 : first
      let rightmost = map.source.isReversed ? first : last
      let start = map.position(of: leftmost) - map.ratio / 2
      let firstSeen = map.source.isReversed ? last : first
      let end = map.position(of: rightmost) + map.ratio / 2
      // Pairs: the neighbours of each centre. Boxes: whatever they cover.
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
    /// Times the map's denominator.
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
