// Whole weights add up to their total everywhere, stay near the taps that they come from, and lie in records as shaders
// read them.
import PreviewCore
import Testing

/// Maps of every kernel, growing and shrinking, whole and cropped, forward and reversed, with bars and without.
private let maps: [SamplingMap] = Filter.allCases.flatMap { filter in
  [
    (1920, 640), (1920, 500), (1080, 281), (1920, 80), (100, 100), (100, 257), (26, 25), (200, 300), (7, 3),
    (1, 5), (32767, 1), (32768, 1), (40000, 3),
  ].flatMap { count, outputs in
    [(0, 0, false, 1), (3, 12, true, 1), (0, 43, true, 2)].map { bar, start, isReversed, subsampling in
      SamplingMap(
        output: PlacedSpan(target: outputs + 2 * bar, start: bar, length: outputs),
        source: CropSpan(
          start: start, length: count, isReversed: isReversed, subsampling: subsampling, siting: .left),
        window: SourceWindow(start: 0, length: count, denominator: 1), filter: filter)
    }
  }
}

@Test(
  "integer weights have the same total for each output and stay close to the exact weights", arguments: maps)
func wholeTaps(map: SamplingMap) {
  let taps = WholeTaps(map)
  let count = taps.table.tapCount
  var noise: UInt64 = 1

  for output in 0..<taps.table.sampleCount where taps.table.coverage[output] > 0 {
    let range = output * count..<(output + 1) * count
    #expect(taps.weights[range].reduce(0, +) == taps.total)
    let errors = range.map { Double(taps.weights[$0]) / Double(taps.total) - taps.table.weights[$0] }
    // Any codes at all; where taps are many, only a picture made for it has all errors on one side.
    if count < 1000 { #expect(errors.reduce(0) { $0 + abs($1) * 255 } < 0.05) }
    let noisy = errors.reduce(0) { sum, error in
      noise = noise &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return sum + error * Double(noise >> 56)
    }
    #expect(abs(noisy) < 0.25)
  }
  #expect(taps.weights.allSatisfy { Int16(exactly: $0) != nil })
}

@Test("a run and single taps together equal the integer taps, each tap once", arguments: maps)
func tapRuns(map: SamplingMap) {
  let taps = WholeTaps(map)
  let runs = TapRuns(taps)
  let count = taps.table.tapCount

  for output in 0..<taps.table.sampleCount {
    var wanted: [Int: Int] = [:]
    for tap in output * count..<(output + 1) * count where taps.weights[tap] != 0 {
      wanted[taps.table.indices[tap]] = taps.weights[tap]
    }
    let (run, singles) = (
      runs.runs[output], runs.singles[output * runs.singleCount..<(output + 1) * runs.singleCount]
    )
    var found: [Int: Int] = [:]
    for index in 0..<run.y { found[run.x + index] = run.z }
    for single in singles where single.y != 0 { found[single.x] = single.y }
    #expect(found == wanted)
    #expect(run.y + singles.count { $0.y != 0 } == wanted.count)
    #expect(singles.allSatisfy { map.source.samples.contains($0.x) })
  }
  // Weights that fit are equal but for the first and the last.
  if map.kernel == .box, map.samplesPerOutput < 10_000 { #expect(runs.singleCount <= 2) }
}

@Test("row sums of any codes fit in 16 bits", arguments: maps)
func storedSums(map: SamplingMap) {
  let taps = WholeTaps(map)
  let (scale, offset) = map.stored(total: taps.total)
  let count = taps.table.tapCount

  for output in 0..<taps.table.sampleCount {
    let reach = taps.weights[output * count..<(output + 1) * count].map {
      255 * scale * Double($0) / Double(taps.total)
    }
    #expect(reach.filter { $0 < 0 }.reduce(offset, +) >= 0)
    #expect(reach.filter { $0 > 0 }.reduce(offset + 0.5, +) < 65536)
  }
}

@Test(
  "a column weight record holds each tap's weight at its sample, and no others", arguments: maps,
  [1, 2, 3, 4])
func records(map: SamplingMap, step: Int) throws {
  let layout = ColumnWeights.Layout(step: step)
  let columns = ColumnWeights(map, layout)
  let taps = WholeTaps(map)
  let texels = layout.texels(of: map.source.samples)
  let perWindow = layout.samplesPerWindow

  for output in 0..<taps.table.sampleCount {
    let record = output / 4 * columns.recordLength * 4
    let first = Int(columns.words[record])
    #expect((texels.lowerBound + first) % layout.texelsPerWindow == 0)
    // All windows lie in the texels that are summed.
    #expect(first + columns.windowCount * layout.texelsPerWindow <= texels.count)
    var found: [Int: Int] = [:]
    for sample in 0..<columns.windowCount * perWindow {
      let word = columns.words[record + 4 + sample / 2 * 4 + output % 4] >> (sample % 2 * 16)
      let weight = Int(Int16(bitPattern: UInt16(truncatingIfNeeded: word)))
      let place = (texels.lowerBound + first) / layout.texelsPerWindow * perWindow
      if weight != 0 { found[place + sample] = weight }
    }
    var wanted: [Int: Int] = [:]
    for tap in output * taps.table.tapCount..<(output + 1) * taps.table.tapCount where taps.weights[tap] != 0
    {
      wanted[taps.table.indices[tap]] = taps.weights[tap]
    }
    #expect(found == wanted)
  }
}

@Test(
  "fitWindows is true only if any four outputs read at most 16 bytes from an 8-byte boundary",
  arguments: [
    // Luma, chroma in turn, and that of YUYV.
    (1920, 2560, 1, [0], true), (1920, 1920, 1, [0], true), (1920, 960, 1, [0], true),
    (1920, 640, 1, [0], true), (1920, 500, 1, [0], false),
    (960, 2560, 2, [0, 1], true), (960, 1920, 2, [0, 1], true), (960, 960, 2, [0, 1], true),
    (960, 500, 2, [0, 1], false), (960, 2560, 4, [1, 3], true), (960, 1500, 4, [1, 3], false),
  ])
func windows(count: Int, outputs: Int, step: Int, firsts: [Int], fit: Bool) {
  for isReversed in [false, true] {
    let map = SamplingMap(
      output: PlacedSpan(target: outputs, start: 0, length: outputs),
      source: CropSpan(start: 0, length: count, isReversed: isReversed, subsampling: 1, siting: .left),
      window: SourceWindow(start: 0, length: count, denominator: 1), filter: .bilinear)
    #expect(NeighbourWeights(map).fitWindows(step: step, firsts: firsts) == fit)
  }
}
