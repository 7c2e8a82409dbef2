// A map's weights as whole numbers, which shaders add up exactly, for drawing in two passes: sums of rows,
// then sums of their columns.

/// The taps of a map with whole weights that add up to the same total for each output.
///
/// Boxes and pairs of neighbours have few different fractions, so their weights are exact. Others are rounded
/// to sixteen bits, in units so small that the sum of all errors stays far below half a code.
package struct WholeTaps: Sendable, Equatable {
  package let table: TapTable
  /// One per tap of `table`; within sixteen bits.
  package let weights: [Int]
  /// The sum of an output's weights.
  package let total: Int

  package init(_ map: SamplingMap) {
    let table = TapTable(map)
    let largest = table.weights.reduce(0) { max($0, abs($1)) }
    // One less than fits, because rounding may add it.
    let total = map.exactTotal ?? Int(Double(WholeTaps.largestWeight - 1) / max(largest, 1e-9))
    // Rounds the running sum instead of each weight, so that an output's weights always add up to the total.
    var weights: [Int] = []
    weights.reserveCapacity(table.weights.count)
    for first in stride(from: 0, to: table.weights.count, by: table.tapCount) {
      var (sum, before) = (0.0, 0)
      for weight in table.weights[first..<first + table.tapCount] {
        sum += weight * Double(total)
        let rounded = Int(sum.rounded())
        weights.append(rounded - before)
        before = rounded
      }
    }
    (self.table, self.weights, self.total) = (table, weights, total)
  }

  fileprivate static let largestWeight = Int(Int16.max)
}

/// The taps of each output, split into a run of neighbouring samples with equal weights, which are summed
/// before they are weighted, and single taps.
package struct TapRuns: Sendable, Equatable {
  /// For each output, the run's first sample, length and weight.
  package let runs: [SIMD3<Int>]
  /// The number of single taps per output.
  package let singleCount: Int
  /// `singleCount` sample indices and weights for each output. Unused ones have the weight 0.
  package let singles: [SIMD2<Int>]

  package init(_ taps: WholeTaps) {
    let count = taps.table.tapCount
    var runs: [SIMD3<Int>] = []
    var singles: [[SIMD2<Int>]] = []
    for first in stride(from: 0, to: taps.weights.count, by: count) {
      let used = (first..<first + count).filter { taps.weights[$0] != 0 }
        .map { SIMD2(taps.table.indices[$0], taps.weights[$0]) }
      var run = TapRuns.longest(used)
      // Shaders read at least one pair of single taps.
      if run.count > 1, run.count == used.count { run = 1..<used.count - 1 }
      runs.append(run.isEmpty ? .zero : SIMD3(used[run.lowerBound].x, run.count, used[run.lowerBound].y))
      singles.append(Array(used[..<run.lowerBound] + used[run.upperBound...]))
    }
    let singleCount = singles.reduce(0) { max($0, $1.count) }
    self.runs = runs
    self.singleCount = singleCount
    self.singles = singles.enumerated().flatMap { output, singles in
      let unused = SIMD2(taps.table.indices[output * count], 0)
      return singles + repeatElement(unused, count: singleCount - singles.count)
    }
  }

  /// Returns the longest run of neighbours with equal weights.
  private static func longest(_ taps: [SIMD2<Int>]) -> Range<Int> {
    var (longest, start) = (0..<0, 0)
    for index in taps.indices.dropFirst() {
      if taps[index] != taps[index - 1] &+ SIMD2(1, 0) { start = index }
      if index + 1 - start > longest.count { longest = start..<index + 1 }
    }
    return longest
  }
}

extension SamplingMap {
  /// The smallest total for which all weights are whole; nil if there is none within sixteen bits.
  fileprivate var exactTotal: Int? {
    let (whole, start): (Int, Int)
    switch kernel {
    case .nearest: return 1
    case .bicubic, .mitchell, .lanczos: return nil
    case .box: (whole, start) = (ratio, position(of: 0) - ratio / 2)
    case .bilinear: (whole, start) = (denominator, position(of: 0) - denominator / 2)
    }
    let total = whole / greatestCommonDivisor(greatestCommonDivisor(ratio, denominator), abs(start))
    return total <= WholeTaps.largestWeight ? total : nil
  }

  /// Returns how a sum of rows is stored in sixteen bits: its code times `scale` plus `offset`.
  ///
  /// Sums of few parts are stored exactly. Negative weights take sums beyond 0...255: by up to 70.5 codes for
  /// Lanczos (at a ratio of 1.04), 34.3 for bicubic, 17.9 for Mitchell.
  package func stored(total: Int) -> (scale: Double, offset: Double) {
    guard !kernel.hasNegativeWeights else { return (164, 72 * 164) }
    return (total <= 257 ? Double(257 / total * total) : 256, 0)
  }
}

/// The second pass's weights along a row, for four outputs at a time.
///
/// A record of four outputs starts with one texel of four words: the first texel of sums that they read,
/// counted from the first texel that is summed, and the fraction of each output that the picture covers.
/// Their weights follow, for two samples a texel: word i holds those of output i, the first sample's in its
/// lower half.
package struct ColumnWeights: Sendable {
  /// The layout of samples in the sums of a stored row, in texels of eight samples.
  package struct Layout: Sendable, Hashable {
    /// Stored samples from one sample of a component to the next: 1, 2, 3 or 4.
    package let step: Int

    package init(step: Int) { self.step = step }

    /// The smallest number of samples that fills whole texels.
    package var samplesPerWindow: Int { step == 3 ? 8 : 8 / step }
    /// The number of texels that they fill.
    package var texelsPerWindow: Int { step == 3 ? 3 : 1 }

    /// Returns the texels of a stored row that hold these samples. The first index and the count are even,
    /// because two texels are summed at a time.
    package func texels(of samples: ClosedRange<Int>) -> Range<Int> {
      let first = samples.lowerBound / samplesPerWindow * texelsPerWindow
      let end = (samples.upperBound / samplesPerWindow + 1) * texelsPerWindow
      return first & ~1..<(end + 1) & ~1
    }
  }

  /// The number of windows that four outputs read.
  package let windowCount: Int
  /// Texels of four words from one record to the next.
  package let recordLength: Int
  package let words: [UInt32]
  package let total: Int

  package init(_ map: SamplingMap, _ layout: Layout) {
    let taps = WholeTaps(map)
    let (count, perOutput) = (taps.table.sampleCount, taps.table.tapCount)
    let perWindow = layout.samplesPerWindow
    let samples = map.source.samples
    let firstWindow = samples.lowerBound / perWindow
    let allWindows = samples.upperBound / perWindow - firstWindow + 1
    /// The windows that each four outputs read; nil beside the picture.
    let read: [ClosedRange<Int>?] = stride(from: 0, to: count, by: 4).map { first in
      let used = (first * perOutput..<min(first + 4, count) * perOutput).filter { taps.weights[$0] != 0 }
      let windows = used.map { taps.table.indices[$0] / perWindow - firstWindow }
      guard let first = windows.min(), let last = windows.max() else { return nil }
      return first...last
    }
    // Outputs beside the picture read what those at its edge read, so that windows go one way only.
    var edge = read.lazy.compactMap(\.self).first ?? 0...0
    let spans = read.map { span in
      edge = span ?? edge
      return edge
    }
    windowCount = spans.reduce(1) { max($0, $1.count) }
    let texels = 1 + windowCount * perWindow / 2
    recordLength = texels
    var words = [UInt32](repeating: 0, count: spans.count * texels * 4)
    for (group, span) in spans.enumerated() {
      let first = min(span.lowerBound, allWindows - windowCount)
      let record = group * texels * 4
      words[record] = UInt32(
        (firstWindow + first) * layout.texelsPerWindow - layout.texels(of: samples).lowerBound)
      for place in 0..<min(4, count - group * 4) {
        let output = group * 4 + place
        let covered = UInt32((taps.table.coverage[output] * 32768).rounded())
        words[record + 1 + place / 2] |= covered << (place % 2 * 16)
        for tap in output * perOutput..<(output + 1) * perOutput where taps.weights[tap] != 0 {
          let sample = taps.table.indices[tap] - (firstWindow + first) * perWindow
          let word = record + 4 + sample / 2 * 4 + place
          words[word] |= UInt32(UInt16(bitPattern: Int16(taps.weights[tap]))) << (sample % 2 * 16)
        }
      }
    }
    self.words = words
    total = taps.total
  }
}

/// The weights of a map whose outputs are single samples, or lie between two: a word for each output, with
/// the first sample in its lower 17 bits and the weight of the next above them.
package struct NeighbourWeights: Sendable {
  package let words: [UInt32]
  /// The sum of an output's weights.
  package let total: Int

  /// Returns whether a map's sample indices fit into 17 bits.
  static func fit(_ map: SamplingMap) -> Bool { map.source.samples.upperBound < 1 << 17 }

  package init(_ map: SamplingMap) {
    precondition(NeighbourWeights.fit(map), "plans draw other maps in two passes")
    let taps = WholeTaps(map)
    let count = taps.table.tapCount
    total = taps.total
    words = (0..<taps.table.sampleCount).map { output in
      let next = count > 1 ? taps.weights[output * count + 1] : 0
      return UInt32(taps.table.indices[output * count]) | UInt32(next) << 17
    }
  }

  /// Returns whether any four outputs read at most sixteen bytes of a row, starting at the multiple of eight
  /// at or below the lower of their two ends. Samples are `step` bytes apart; those of components begin at
  /// `firsts`.
  package func fitWindows(step: Int, firsts: [Int]) -> Bool {
    guard let least = firsts.min(), let most = firsts.max() else { return false }
    return stride(from: 0, to: words.count, by: 4).allSatisfy { start in
      let group = words[start..<min(start + 4, words.count)]
      func first(_ word: UInt32) -> Int { Int(word & 0x1ffff) }
      let window = (min(first(group[start]), first(group[group.endIndex - 1])) * step + least) / 8 * 8
      return group.allSatisfy { word in
        let last = first(word) + (word >> 17 == 0 ? 0 : 1)
        return first(word) * step + least >= window && last * step + most < window + 16
      }
    }
  }
}
