// One axis as the tests of sampling maps and tap tables see it: a row of samples in, for each output sample the
// sum of the weights that each source sample gets.
import PreviewCore

/// A map from a crop to pixels, with the defaults of a plain row.
struct AxisCase {
  /// First pixel and pixels of the crop.
  var crop: (start: Int, length: Int)
  /// Pixels of the target, and of the picture in it.
  var target: Int
  var placed: (start: Int, length: Int)?
  var filter = Filter.auto
  var isReversed = false
  /// Pixels to a sample of the source's plane, and of the output's.
  var subsampling = 1
  var step = 1
  var siting = ColorDescription.ChromaSiting.centred
  /// Decoded pixels to eight of the crop's.
  var eighths = 8
  /// The columns of a `fill`, as a shape: nil sees all of the crop.
  var window: SourceWindow?

  init(_ length: Int, to target: Int, _ filter: Filter = .auto, from start: Int = 0) {
    self.crop = (start, length)
    self.target = target
    self.filter = filter
  }

  func with(_ change: (inout AxisCase) -> Void) -> AxisCase {
    var copy = self
    change(&copy)
    return copy
  }

  var map: SamplingMap {
    let placed = placed ?? (0, target)
    let whole = Placement(of: Size(width: crop.length, height: 1), width: nil, height: nil, mode: .stretch)
      .windowX
    return SamplingMap(
      output: PlacedSpan(target: target, start: placed.start, length: placed.length, step: step),
      source: CropSpan(
        start: crop.start, length: crop.length, isReversed: isReversed, subsampling: subsampling,
        siting: siting, eighths: eighths),
      window: window ?? whole, filter: filter)
  }

  /// For each output sample, the weight of each source sample that has one.
  var weights: [[Int: Double]] {
    let table = TapTable(map)
    return (0..<table.sampleCount).map { sample in
      (0..<table.tapCount).reduce(into: [:]) { sums, tap in
        let weight = table.weights[sample * table.tapCount + tap]
        if weight != 0 { sums[table.indices[sample * table.tapCount + tap], default: 0] += weight }
      }
    }
  }

  /// For each output sample, its one source sample; -1 where it has more.
  var copies: [Int] {
    weights.map { taps in
      guard taps.count == 1, let tap = taps.first, tap.value == 1 else { return -1 }
      return tap.key
    }
  }

  /// What comes of a row of samples, the first of which is sample 0 of the plane.
  func applied(to samples: [Double]) -> [Double] {
    weights.map { taps in taps.reduce(0) { $0 + samples[$1.key] * $1.value } }
  }
}

/// Whether two lists of weights agree but for the rounding of doubles.
func agree(_ first: [[Int: Double]], _ second: [[Int: Double]], within bound: Double = 1e-12) -> Bool {
  first.count == second.count
    && zip(first, second).allSatisfy { one, other in
      Set(one.keys).union(other.keys).allSatisfy { abs(one[$0, default: 0] - other[$0, default: 0]) <= bound }
    }
}

/// Whether two rows agree but for the rounding of doubles.
func agree(_ first: [Double], _ second: [Double], within bound: Double = 1e-9) -> Bool {
  first.count == second.count && zip(first, second).allSatisfy { abs($0 - $1) <= bound }
}
