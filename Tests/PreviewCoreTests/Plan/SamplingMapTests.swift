// Where output samples fall: nearest against its formula in whole numbers, ties, mirrored grids, copies, coverage,
// and the bound on taps by which passes are chosen (DECISIONS.md 5 and 6).
import PreviewCore
import Testing

@Test("nearest picks sample floor((2i + 1) S / 2D), for every S and D up to 24")
func nearestFormula() {
  for source in 1...24 {
    for target in 1...24 {
      let expected = (0..<target).map { (2 * $0 + 1) * source / (2 * target) }
      #expect(AxisCase(source, to: target, .nearest).copies == expected)
      // The same from column 5 on.
      #expect(AxisCase(source, to: target, .nearest, from: 5).copies == expected.map { $0 + 5 })
    }
  }
}

@Test("nearest in a mirrored grid picks the same samples counted from the far end, ties included")
func nearestMirrored() {
  for source in 1...24 {
    for target in 1...24 {
      let expected = (0..<target).map { 5 + source - 1 - (2 * $0 + 1) * source / (2 * target) }
      #expect(
        AxisCase(source, to: target, .nearest, from: 5).with { $0.isReversed = true }.copies == expected)
    }
  }

  // 2 -> 3: the middle one's centre is the boundary; it is the sample that is seen later. [a b] -> a b b; [b a] -> b a a
  #expect(AxisCase(2, to: 3, .nearest).copies == [0, 1, 1])
  #expect(AxisCase(2, to: 3, .nearest).with { $0.isReversed = true }.copies == [1, 0, 0])
}

@Test("nearest is exact for rows of 65535 samples")
func nearestOfLongRows() {
  for (source, target) in [(65535, 65534), (65534, 65535), (65535, 1), (1, 65535), (65535, 32768)] {
    let expected = (0..<target).map { (2 * $0 + 1) * source / (2 * target) }
    #expect(AxisCase(source, to: target, .nearest).copies == expected)
  }
}

@Test("nearest samples a fractional window exactly: 20/3 rows from 1/6 on, to 2")
func nearestOfWindow() {
  // Centres 1/6 + 20/12 = 11/6 and 1/6 + 60/12 = 31/6.
  let window = Placement(of: Size(width: 10, height: 7), width: 3, height: 2, mode: .fill).windowY
  #expect(AxisCase(7, to: 2, .nearest).with { $0.window = window }.copies == [1, 5])
  // Mirrored, 7 - 31/6 = 11/6.
  #expect(
    AxisCase(7, to: 2, .nearest).with {
      $0.window = window; $0.isReversed = true
    }.copies == [5, 1])
}

@Test("1:1 sampling copies each sample with every filter but mitchell")
func copies() {
  for filter in [Filter.nearest, .auto, .area] {
    for length in [1, 2, 5, 65535] {
      let row = AxisCase(length, to: length, filter, from: 3)
      #expect(row.map.isCopy && TapTable(row.map).tapCount == 1)
      #expect(row.copies == Array(3..<3 + length))
      let mirrored = row.with { $0.isReversed = true }
      #expect(mirrored.map.isCopy && TapTable(mirrored.map).tapCount == 1)
      #expect(mirrored.copies == (3..<3 + length).reversed())
    }
  }

  // Bilinear, bicubic and lanczos at 1:1 change nothing either.
  #expect(AxisCase(5, to: 5, .bilinear).copies == [0, 1, 2, 3, 4])
  #expect(AxisCase(5, to: 5, .bicubic).copies == [0, 1, 2, 3, 4])
  #expect(AxisCase(5, to: 5, .lanczos).copies == [0, 1, 2, 3, 4])
}

@Test("1:1 sampling at fractional positions is not a copy")
func notCopies() {
  // 3 of 8 columns from 2.5 on.
  let window = Placement(of: Size(width: 8, height: 2), width: 3, height: 2, mode: .fill).windowX
  let row = AxisCase(8, to: 3).with { $0.window = window }

  #expect(!row.map.isCopy)
  let halves: [[Int: Double]] = [[2: 0.5, 3: 0.5], [3: 0.5, 4: 0.5], [4: 0.5, 5: 0.5]]
  #expect(agree(row.weights, halves))
  #expect(!AxisCase(4, to: 3).map.isCopy && !AxisCase(4, to: 5).map.isCopy && !AxisCase(4, to: 2).map.isCopy)

  // Chroma from left to centred.
  #expect(!AxisCase(8, to: 8).with { ($0.subsampling, $0.step, $0.siting) = (2, 2, .left) }.map.isCopy)
}

@Test("a 1:1 picture between bars is a copy, mirrored or not")
func copyBetweenBars() {
  // 2 columns in the middle of 6.
  let row = AxisCase(2, to: 6).with { $0.placed = (2, 2) }
  #expect(row.with { $0.isReversed = true }.map.isCopy)
  #expect(row.map.isCopy)
}

@Test("chroma that keeps its grid is copied, including at odd lengths", arguments: [1, 2, 3, 4, 5, 7, 8])
func chromaCopies(length: Int) {
  let row = AxisCase(length, to: length).with { ($0.subsampling, $0.step) = (2, 2) }
  #expect(row.map.isCopy)
  #expect(row.copies == Array(0..<(length + 1) / 2))
}

@Test("a crop has exactly the samples that it touches: floor(x0 / s)...ceil(x1 / s) - 1")
func samplesOfACrop() {
  for subsampling in [1, 2, 4] {
    for start in 0...9 {
      for length in 1...9 {
        let touching = (0...30).filter {
          $0 * subsampling < start + length && ($0 + 1) * subsampling > start
        }
        let samples = CropSpan(start: start, length: length, subsampling: subsampling).samples
        #expect(Array(samples) == touching)
      }
    }
  }
}

@Test(
  "coverage is the fraction of an output sample's pixels inside the target that the picture fills"
)
func coverage() {
  func coverage(_ target: Int, _ start: Int, _ length: Int, step: Int) -> [Double] {
    TapTable.coverage(
      of: AxisCase(length, to: target).with { ($0.placed, $0.step) = ((start, length), step) }.map)
  }

  #expect(coverage(4, 0, 4, step: 1) == [1, 1, 1, 1])
  #expect(coverage(4, 1, 2, step: 1) == [0, 1, 1, 0])
  #expect(coverage(4, 1, 2, step: 2) == [0.5, 0.5])
  #expect(coverage(6, 1, 4, step: 2) == [0.5, 1, 0.5])
  #expect(coverage(6, 2, 2, step: 2) == [0, 1, 0])
  #expect(coverage(6, 3, 1, step: 2) == [0, 0.5, 0])
  // The last sample has one pixel only: all of it, or nothing.
  #expect(coverage(5, 0, 5, step: 2) == [1, 1, 1])
  #expect(coverage(5, 1, 4, step: 2) == [0.5, 1, 1])
  #expect(coverage(5, 1, 3, step: 2) == [0.5, 1, 0])
  #expect(coverage(1, 0, 1, step: 2) == [1])
}

@Test("a sampling map prints its kernel, sample counts and reversal")
func mapDescription() {
  #expect(AxisCase(1920, to: 640).map.description == "box 1920->640")
  #expect(
    AxisCase(5, to: 640, .lanczos).with { $0.isReversed = true }.map.description == "lanczos 5->640 reversed")
  #expect(AxisCase(9, to: 5).with { ($0.subsampling, $0.step) = (2, 2) }.map.description == "box 5->3")
}
