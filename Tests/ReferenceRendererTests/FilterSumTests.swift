// Every filter on rows of a few samples, with the sums in the comments: ramps, impulses, constants, ties.
// Grey frames of full range, so that what is summed up is what is seen.
import PreviewCore
import ReferenceRenderer
import Testing

private func row(_ samples: [UInt8], _ width: Int, _ filter: String, _ more: String = "") throws -> [UInt8] {
  let words = "size=\(width)x1,mode=stretch,filter=\(filter)\(more)"
  let across = try render(grey([samples]), words).rows()[0]
  // The same along the other axis.
  let column = try render(
    grey(samples.map { [$0] }),
    "size=1x\(width),mode=stretch,filter=\(filter)\(more)"
      .replacing("horizontal", with: "vertical")
  ).rows()
  #expect(column.map { $0[0] } == across, "rows and columns differ")
  return across
}

@Test("bilinear, auto and area enlarge two samples to 0, 1/4, 3/4, 1")
func bilinearGrows() throws {
  #expect(try row([0, 200], 4, "bilinear") == [0, 50, 150, 200])
  for filter in ["auto", "area"] { #expect(try row([0, 200], 4, filter) == [0, 50, 150, 200]) }
  // 2 -> 3: centres 1/3, 1, 5/3.
  #expect(try row([0, 200], 3, "bilinear") == [0, 100, 200])
  // 3 -> 4: centres 0.375, 1.125, 1.875, 2.625: fractions -, 0.625, 0.375, -.
  #expect(try row([0, 80, 160], 4, "bilinear") == [0, 50, 110, 160])
  // 1 -> 3
  #expect(try row([9], 3, "bilinear") == [9, 9, 9])
}

@Test("bilinear reduction has no antialiasing: it reads only the samples next to the pixel's centre")
func bilinearShrinks() throws {
  // 6 -> 2: centres 1.5 and 4.5 are samples 1 and 4.
  #expect(try row([9, 100, 9, 9, 200, 9], 2, "bilinear") == [100, 200])
  // 8 -> 2: centres 2 and 6 are between 1 and 2, 5 and 6.
  #expect(try row([0, 10, 30, 0, 0, 50, 60, 0], 2, "bilinear") == [20, 55])
}

@Test("area averages the samples that a pixel covers, weighted by coverage")
func areaShrinks() throws {
  // 3 -> 2: (30 + 60 / 2) / 1.5, (60 / 2 + 90) / 1.5
  #expect(try row([30, 60, 90], 2, "area") == [40, 80])
  // 5 -> 2: (10 + 20 + 30 / 2) / 2.5, (30 / 2 + 40 + 50) / 2.5
  #expect(try row([10, 20, 30, 40, 50], 2, "auto") == [18, 42])
  // 6 -> 2: 118 / 3, 218 / 3
  #expect(try row([9, 100, 9, 9, 200, 9], 2, "area") == [39, 73])
  // 5 -> 4, an impulse of 250: sample 2 covers 2...3; pixels are 1.25 wide: 1.25...2.5 has half of it, 2.5...3.75 too.
  #expect(try row([0, 0, 250, 0, 0], 4, "area") == [0, 100, 100, 0])
  #expect(try row([1, 2, 3, 5], 1, "area") == [3])  // 11 / 4 = 2.75
}

@Test("area from 3x3 to 2x2 multiplies the weights of both axes")
func areaInTwoDimensions() throws {
  // The corner has 1, 1/2, 1/2, 1/4 of four samples, over 2.25.
  let rows: [[UInt8]] = [[90, 0, 0], [0, 0, 0], [0, 0, 180]]
  #expect(try render(grey(rows), "size=2x2").rows() == [[40, 0], [0, 80]])
  let middle: [[UInt8]] = [[0, 0, 0], [0, 90, 0], [0, 0, 0]]
  #expect(try render(grey(middle), "size=2x2").rows() == [[10, 10], [10, 10]])
}

@Test("each axis uses its own ratio: area across, bilinear down")
func mixedRatios() throws {
  // 4x2 to 2x4: means of two across, then 0, 1/4, 3/4, 1 down.
  let rows: [[UInt8]] = [[0, 20, 40, 60], [100, 120, 140, 160]]
  let expected: [[UInt8]] = [[10, 50], [35, 75], [85, 125], [110, 150]]
  #expect(try render(grey(rows), "size=2x4,mode=stretch").rows() == expected)
}

@Test("nearest picks the sample that contains the pixel's centre, and the later one on a boundary")
func nearest() throws {
  #expect(try row([10, 20, 30], 2, "nearest") == [10, 30])  // 0.75, 2.25
  #expect(try row([10, 20], 3, "nearest") == [10, 20, 20])  // 1/3, 1, 5/3
  #expect(try row([10, 20], 3, "nearest", ",mirror=horizontal") == [20, 10, 10])
  #expect(try row([10, 20, 30, 40], 2, "nearest") == [20, 40])  // 1, 3
  #expect(try row([10, 20, 30, 40], 2, "nearest", ",mirror=horizontal") == [30, 10])
  #expect(try row([10, 20, 30, 40], 1, "nearest") == [30])  // 2

  // Turned by half a turn both axes are mirrored.
  let square: [[UInt8]] = [[1, 2], [3, 4]]
  #expect(try render(grey(square), "size=1x1,filter=nearest").rows() == [[4]])
  #expect(try render(grey(square), "rotate=180,size=1x1,filter=nearest").rows() == [[1]])
  #expect(try render(grey(square), "rotate=90,size=1x1,filter=nearest").rows() == [[2]])
}

@Test("lanczos at 2:1 spreads an impulse by its lobes")
func lanczosImpulse() throws {
  // 16 -> 8; an impulse of 100 on 100 at sample 8. Output i's centre is 2i + 1, so x = (8.5 - 2i - 1) / 2.
  // L(0.25) = 0.89007, L(0.75) = 0.27019, L(1.25) = -0.13287, L(1.75) = -0.06779, L(2.25) = 0.03002,
  // L(2.75) = 0.00736; all twelve taps sum up to 1.99394.
  var samples = many(100, 16)
  samples[8] = 200
  // x: 3.75, 2.75, 1.75, 0.75, -0.25, -1.25, -2.25, -3.25
  //    0, +0.37, -3.40, +13.55, +44.64, -6.66, +1.51, 0
  #expect(try row(samples, 8, "lanczos") == [100, 100, 97, 114, 145, 93, 102, 100])
}

@Test("lanczos is symmetric around a step, and its overshoot stays near the step's codes")
func lanczosSymmetric() throws {
  // 8 -> 4 of a step in the middle: outputs 1 and 2 mirror each other around 100.
  let step = try row(many(50, 4) + many(150, 4), 4, "lanczos")
  #expect(Int(step[0]) + Int(step[3]) == 200 && Int(step[1]) + Int(step[2]) == 200)
  // It overshoots on the near side, and nothing wraps round.
  let hard = try row(many(0, 12) + many(255, 12), 48, "lanczos")
  #expect(hard.prefix(20).allSatisfy { $0 < 12 } && hard.suffix(20).allSatisfy { $0 > 243 })
}

@Test("bicubic and mitchell overshoot at a step by their negative weights, clamped to 0...255")
func cubicSteps() throws {
  // 6 -> 12: outputs 3, 4 and 5 are 1.75, 1.25 and 0.75 from the first 150, of which they get (in 128ths) -3, -9 and
  // 29 - 3, or (in 1152nds) -17, -27 and 295 - 17.
  let step = many(50, 3) + many(150, 3)
  #expect(try row(step, 12, "bicubic") == [50, 50, 50, 48, 43, 70, 130, 157, 152, 150, 150, 150])
  #expect(try row(step, 12, "mitchell") == [50, 50, 50, 49, 48, 74, 126, 152, 151, 150, 150, 150])
  let hard = try row(many(0, 3) + many(255, 3), 12, "bicubic")
  #expect(hard == many(0, 5) + [52, 203] + many(255, 5))
}

@Test("overshoot is clamped only after filtering both axes")
func clampedOnce() throws {
  let corner =
    [[UInt8]](repeating: many(0, 6), count: 3)
    + [[UInt8]](repeating: many(0, 3) + many(255, 3), count: 3)
  let rows = try render(grey(corner), "size=12x12,filter=bicubic").rows()
  // 255 * 81 / 16384 = 1.26
  #expect(rows[4][4] == 1 && rows[4][5] == 0 && rows[7][7] == 255)
}

@Test("a constant picture keeps its code with every filter and ratio", arguments: Filter.allCases)
func constants(filter: Filter) throws {
  for code: UInt8 in [0, 1, 127, 254, 255] {
    let source = try grey([[UInt8]](repeating: many(code, 7), count: 5))
    for (width, height) in [(1, 1), (3, 2), (7, 5), (8, 11), (20, 3), (2, 30)] {
      let view = ViewConfiguration(rotation: .clockwise90, width: width, height: height, filter: filter)
      #expect(try render(source, view).rows() == [[UInt8]](repeating: many(code, width), count: height))
    }
  }
}

@Test("a mean that ends in a half rounds up, for any number of samples")
func halvesRoundUp() throws {
  for count in [2, 4, 6, 10, 12, 14, 18, 22, 26, 30, 34, 62] {
    // Half of them 100, half of them 101, in two orders: 100.5.
    let halves = many(100, count / 2) + many(101, count / 2)
    #expect(try row(halves, 1, "area") == [101], "\(count) samples")
    #expect(try row(halves.reversed(), 1, "area") == [101], "\(count) samples in reverse")
  }
}

@Test(
  "a mean over both axes that ends in a half rounds up",
  arguments: [(2, 3), (3, 6), (6, 5), (7, 2), (10, 9), (6, 6)])
func halvesRoundUpInTwoDimensions(width: Int, height: Int) throws {
  let count = width * height
  let codes = many(7, count / 2) + many(8, count / 2)
  let rows = (0..<height).map { Array(codes[$0 * width..<($0 + 1) * width]) }
  #expect(try render(grey(rows), "size=1x1,mode=stretch").rows() == [[8]])
}

@Test("fill with a fractional window averages neighbours: 3 of 8 columns from 2.5 on")
func fractionalFill() throws {
  // Columns 0, 10, ... 70: (20 + 30) / 2 and so on; rows as they are.
  let ramp: [UInt8] = [0, 10, 20, 30, 40, 50, 60, 70]
  #expect(try render(grey([ramp, ramp]), "size=3x2,mode=fill").rows() == [[25, 35, 45], [25, 35, 45]])
  // Nearest: centres 3, 4, 5 are boundaries: the later one.
  #expect(
    try render(grey([ramp, ramp]), "size=3x2,filter=nearest").rows() == [[30, 40, 50], [30, 40, 50]])
}
