// Boxes in groups and in whole weights say the same as tap tables, which know nothing of groups.
import PreviewCore
import Testing

/// Rows that boxes of even sixteenths can be laid over, and some over which they can't.
private let cases: [AxisCase] = [
  AxisCase(1920, to: 640), AxisCase(1080, to: 320, from: 420), AxisCase(1080, to: 480),
  AxisCase(99, to: 33, from: 7), AxisCase(35, to: 35, from: 3),
  AxisCase(960, to: 160, .area).with {
    $0.subsampling = 2
    $0.step = 2
    $0.siting = .left
  },
  AxisCase(1080, to: 320, from: 421).with {
    $0.isReversed = true
    $0.subsampling = 2
    $0.step = 2
    $0.siting = .left
  },
]

@Test("WordColumns gives each output the same weights as its tap table", arguments: cases.indices)
func columnsAgree(index: Int) throws {
  let row = cases[index]
  for outputsPerGroup in [4, 16] {
    guard let columns = WordColumns(row.map, outputsPerGroup: outputsPerGroup) else {
      #expect(row.crop.length * outputsPerGroup % row.target != 0)
      continue
    }

    let bounds = row.map.source.samples
    let weights = row.weights.indices.map { output -> [Int: Double] in
      let (group, inGroup) = (output / outputsPerGroup, output % outputsPerGroup)
      let place = row.isReversed ? outputsPerGroup - 1 - inGroup : inGroup
      let first = columns.firstSample + group * columns.samplesPerGroup
      let (start, end) = (columns.start + place * columns.width, columns.start + (place + 1) * columns.width)
      var taps: [Int: Double] = [:]
      for k in 0..<columns.sampleCount {
        let covered = min(end, 16 * k + 16) - max(start, 16 * k)
        guard covered > 0 else { continue }
        let sample = first + k
        if columns.interior.contains(group) { #expect(bounds.contains(sample)) }
        taps[min(max(sample, bounds.lowerBound), bounds.upperBound), default: 0] +=
          Double(covered) / Double(columns.width)
      }
      return taps
    }

    #expect(agree(weights, row.weights), "\(row)")
    #expect(columns.groupCount == (row.weights.count + outputsPerGroup - 1) / outputsPerGroup)
  }
}

@Test(
  "WordRows weights add up to the box height and equal the tap table's", arguments: cases.indices)
func rowsAgree(index: Int) throws {
  let row = cases[index]
  let rows = try #require(WordRows(row.map))
  let bounds = row.map.source.samples

  let weights = row.weights.indices.map { output -> [Int: Double] in
    let top = rows.start + output * rows.step
    let first = Int((Double(top) / Double(rows.unit)).rounded(.down))
    var taps: [Int: Double] = [:]
    var sum = 0
    for k in first..<first + rows.rowCount {
      let covered = min(top + rows.height, (k + 1) * rows.unit) - max(top, k * rows.unit)
      guard covered > 0 else { continue }
      sum += covered
      taps[min(max(k, bounds.lowerBound), bounds.upperBound), default: 0] +=
        Double(covered) / Double(rows.height)
    }
    #expect(sum == rows.height)
    return taps
  }

  #expect(agree(weights, row.weights))
}

@Test("WordRows has unit 1 and 3 rows at 3:1, and unit 8 and at most 5 rows at 27:8")
func rowsByHand() throws {
  let thirds = try #require(WordRows(AxisCase(1080, to: 360).map))
  #expect((thirds.unit, thirds.height, thirds.start, thirds.step, thirds.rowCount) == (1, 3, 0, 3, 3))
  let uneven = try #require(WordRows(AxisCase(1080, to: 320).map))
  #expect((uneven.unit, uneven.height, uneven.start, uneven.step, uneven.rowCount) == (8, 27, 0, 27, 5))
}

@Test("WordRows and WordColumns reject weights beyond 16 bits, uneven positions and other filters")
func refusals() {
  // 1080 : 361 is in lowest terms: 1080 parts.
  #expect(WordRows(AxisCase(1080, to: 361).map) == nil)
  #expect(WordRows(AxisCase(257, to: 1).map) != nil)
  #expect(WordRows(AxisCase(258, to: 1).map) == nil)
  #expect(WordColumns(AxisCase(1920, to: 1152).map, outputsPerGroup: 16) == nil)
  #expect(WordColumns(AxisCase(1080, to: 320).map, outputsPerGroup: 4) == nil)

  for filter in [Filter.nearest, .bilinear, .bicubic, .mitchell, .lanczos] {
    #expect(WordRows(AxisCase(300, to: 100, filter).map) == nil)
    #expect(WordColumns(AxisCase(300, to: 100, filter).map, outputsPerGroup: 16) == nil)
  }
}
