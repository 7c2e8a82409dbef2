// The weights of a map as the vector code reads them.
internal import CPixels
internal import PreviewCore

/// The weights of each output along one axis, in memory that does not move.
final class WeightTable: Sendable {
  private let first: FixedArray<Int32>
  private let weights: FixedArray<Int16>
  private let count: Int
  private let shift: Int
  private let total: Int
  /// The samples that have a weight other than zero, in order.
  let samplesRead: [Range<Int>]

  /// The samples that are summed.
  enum Samples {
    /// Codes 0...255.
    case bytes
    /// Codes times 257.
    case words
    /// Codes times 64: what the first step leaves.
    case sums
  }

  /// The fraction bits of a code between the steps.
  static let fractionBits = 6

  init(_ map: SamplingMap, of samples: Samples) {
    let table = TapTable(map)
    let outputs = table.sampleCount
    let runs = (0..<outputs).map { table.run(of: $0) }
    let longest = runs.reduce(1) { max($0, $1.count) }
    count = (longest + 1) & ~1
    let largest = table.weights.reduce(0) { max($0, abs($1)) }
    switch samples {
    case .words:
      // Words at their most, 65535, become 255 times 64.
      total = 16320
      shift = 16
    case .bytes, .sums:
      // As many bits as weights of sixteen bits, and sums of 32 bits, have room for.
      var bits = samples == .bytes ? 22 : 16
      while largest * Double(1 << bits) + 1 > Double(Int16.max) { bits -= 1 }
      total = 1 << bits
      shift = samples == .bytes ? bits - WeightTable.fractionBits : bits
    }
    var first: [Int32] = []
    var weights = [Int16](repeating: 0, count: outputs * count)
    let bounds = map.source.samples
    for (output, run) in runs.enumerated() {
      // Unused weights lie within the crop where it is wide enough.
      let start = max(bounds.lowerBound, min(run.lowerBound, bounds.upperBound + 1 - count))
      first.append(Int32(start))
      // Rounds the running sum instead of each weight, so that weights always add up to the total.
      var (sum, before) = (0.0, 0)
      for tap in 0..<table.tapCount {
        let place = output * table.tapCount + tap
        guard table.weights[place] != 0 else { continue }
        sum += table.weights[place] * Double(total)
        let rounded = Int(sum.rounded())
        weights[output * count + table.indices[place] - start] = Int16(rounded - before)
        before = rounded
      }
    }
    samplesRead = runs.map { $0.lowerBound..<$0.upperBound + 1 }.joinedWhereTheyMeet
    self.first = FixedArray(first)
    self.weights = FixedArray(weights)
  }

  var byteCount: Int {
    first.byteCount + weights.byteCount + samplesRead.count * MemoryLayout<Range<Int>>.stride
  }

  /// The table for C, which is valid as long as this object.
  var taps: pixels_taps {
    unsafe pixels_taps(
      first: first.pointer, weights: weights.pointer, count: Int32(count), shift: Int32(shift),
      total: Int32(total))
  }
}

extension [Range<Int>] {
  /// Returns as few ranges as possible of these numbers, in order.
  fileprivate var joinedWhereTheyMeet: [Range<Int>] {
    var joined: [Range<Int>] = []
    for range in sorted(by: { $0.lowerBound < $1.lowerBound }) {
      if let last = joined.last, range.lowerBound <= last.upperBound {
        joined[joined.count - 1] = last.lowerBound..<Swift.max(last.upperBound, range.upperBound)
      } else {
        joined.append(range)
      }
    }
    return joined
  }
}

extension TapTable {
  /// The samples that an output reads.
  func run(of output: Int) -> ClosedRange<Int> {
    let places = output * tapCount..<(output + 1) * tapCount
    let used = places.filter { weights[$0] != 0 }.map { indices[$0] }
    guard let first = used.first, let last = used.last else {
      return indices[places.lowerBound]...indices[places.lowerBound]
    }
    return first...last
  }
}
