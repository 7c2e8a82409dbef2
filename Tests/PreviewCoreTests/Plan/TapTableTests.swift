// The weights of every filter, against sums that can be done by hand or in whole numbers: what both renderers add
// up. Chroma positions as in DECISIONS.md 6.
import PreviewCore
import Testing

@Test("area weights are the covered part of each sample: 3 -> 2, 5 -> 2, 4 -> 1")
func areaByHand() {
  // Output 0 covers 0...1.5: all of sample 0, half of sample 1.
  let third = 1.0 / 3
  let threeToTwo: [[Int: Double]] = [[0: 2 * third, 1: third], [1: third, 2: 2 * third]]
  #expect(agree(AxisCase(3, to: 2, .area).weights, threeToTwo))
  let fiveToTwo: [[Int: Double]] = [[0: 0.4, 1: 0.4, 2: 0.2], [2: 0.2, 3: 0.4, 4: 0.4]]
  #expect(agree(AxisCase(5, to: 2).weights, fiveToTwo))
  let fourToOne: [[Int: Double]] = [[0: 0.25, 1: 0.25, 2: 0.25, 3: 0.25]]
  #expect(agree(AxisCase(4, to: 1).weights, fourToOne))
}

@Test("area weights equal integer overlaps, for every S >= D up to 20, mirrored or not")
func areaBruteForce() {
  for source in 1...20 {
    for target in 1...source {
      // In units of 1 / D of a sample: output i covers i S...(i + 1) S, sample k covers k D...(k + 1) D.
      let expected = (0..<target).map { output in
        (0..<source).reduce(into: [Int: Double]()) { taps, sample in
          let overlap =
            min((output + 1) * source, (sample + 1) * target) - max(output * source, sample * target)
          if overlap > 0 { taps[sample] = Double(overlap) / Double(source) }
        }
      }

      #expect(agree(AxisCase(source, to: target, .area).weights, expected))
      let mirrored = AxisCase(source, to: target, .area).with { $0.isReversed = true }
      #expect(agree(mirrored.weights, expected.reversed()))

      // Every sample counts alike.
      for sample in 0..<source {
        #expect(
          abs(expected.reduce(0) { $0 + $1[sample, default: 0] } - Double(target) / Double(source)) < 1e-12)
      }
    }
  }
}

@Test("bilinear weights equal hand-computed ones: 2 -> 4, 4 -> 2, 6 -> 2, 3 -> 2")
func bilinearByHand() {
  // Centres 0.25, 0.75, 1.25, 1.75; samples at 0.5 and 1.5.
  #expect(AxisCase(2, to: 4, .bilinear).applied(to: [0, 1]) == [0, 0.25, 0.75, 1])
  #expect(AxisCase(2, to: 4, .area).applied(to: [0, 1]) == [0, 0.25, 0.75, 1])
  let halves: [[Int: Double]] = [[0: 0.5, 1: 0.5], [2: 0.5, 3: 0.5]]
  #expect(AxisCase(4, to: 2, .bilinear).weights == halves)
  // No antialiasing: centres 1.5 and 4.5 fall on samples.
  #expect(AxisCase(6, to: 2, .bilinear).copies == [1, 4])
  // Centres 0.75 and 2.25.
  let quarters: [[Int: Double]] = [[0: 0.75, 1: 0.25], [1: 0.25, 2: 0.75]]
  #expect(AxisCase(3, to: 2, .bilinear).weights == quarters)
}

@Test("bilinear weights match position ((2i + 1) S - D) / 2D, for every S and D up to 16")
func bilinearBruteForce() {
  for source in 1...16 {
    for target in 1...16 {
      let expected = (0..<target).map { output -> [Int: Double] in
        let position = max(0, Double((2 * output + 1) * source - target) / Double(2 * target))
        let first = min(Int(position), source - 1)
        let fraction = position - Double(first)
        return [first: 1 - fraction].merging([min(first + 1, source - 1): fraction], uniquingKeysWith: +)
      }

      #expect(agree(AxisCase(source, to: target, .bilinear).weights, expected))
    }
  }
}

@Test("lanczos weights equal hand-computed ones at 2x and 1/2")
func lanczosByHand() {
  // sinc(x) sinc(x / 3) at 0.25, 0.75, ... 2.75; they sum up to 0.9969714.
  let lobes = [0.8900669, 0.2701898, -0.1328710, -0.0677913, 0.0300211, 0.0073559]
  let sum = lobes.reduce(0, +)

  // 24 -> 48: sample 20's centre is 10.25: 10 is 0.25 away on the right, 9 is 0.75 away on the left, and so on.
  let grown = AxisCase(24, to: 48, .lanczos).weights[20]
  let nearestFirst: [Int: Int] = [10: 0, 9: 1, 11: 2, 8: 3, 12: 4, 7: 5]
  let expected: [Int: Double] = nearestFirst.mapValues { lobes[$0] / sum }
  #expect(agree([grown], [expected], within: 1e-6))

  // 24 -> 12: sample 6's centre is 13, between 12 and 13: both are 0.25 output samples away.
  let shrunk = AxisCase(24, to: 12, .lanczos).weights[6]
  var halves: [Int: Double] = [:]
  for (distance, lobe) in lobes.enumerated() {
    halves[13 + distance] = lobe / sum / 2
    halves[12 - distance] = lobe / sum / 2
  }
  #expect(agree([shrunk], [halves], within: 1e-6))
}

@Test(
  "bicubic and mitchell weights equal hand-computed ones at 2x, 1/2 and halfway between samples",
  arguments: [
    // At 1/4, 3/4, 5/4 and 7/4 in 128ths and 1152nds; at 1/2 and 3/2 in 16ths and 144ths.
    (Filter.bicubic, [111.0, 29, -9, -3], [9.0, -1]), (.mitchell, [901, 295, -27, -17], [77, -5]),
  ])
func cubicsByHand(filter: Filter, quarters: [Double], halves: [Double]) {
  let sum = quarters.reduce(0, +)

  // 24 -> 48: sample 20's centre is 10.25: 10 is 0.25 away on the right, 9 is 0.75 away on the left, and so on.
  let grown = [10: quarters[0], 9: quarters[1], 11: quarters[2], 8: quarters[3]].mapValues { $0 / sum }
  #expect(agree([AxisCase(24, to: 48, filter).weights[20]], [grown]))

  // 24 -> 12: sample 6's centre is 13, between 12 and 13: both are 0.25 output samples away.
  var shrunk: [Int: Double] = [:]
  for (distance, weight) in quarters.enumerated() {
    shrunk[13 + distance] = weight / sum / 2
    shrunk[12 - distance] = weight / sum / 2
  }
  #expect(agree([AxisCase(24, to: 12, filter).weights[6]], [shrunk]))

  // 8 -> 12: sample 4's centre is 3, between 2 and 3.
  let between = [1: halves[1], 2: halves[0], 3: halves[0], 4: halves[1]].mapValues {
    $0 / (2 * halves.reduce(0, +))
  }
  #expect(agree([AxisCase(8, to: 12, filter).weights[4]], [between]))
}

@Test("mitchell weights at 1:1 are 1/18, 8/9, 1/18")
func mitchellSoftens() {
  let expected: [[Int: Double]] = [
    [0: 17.0 / 18, 1: 1.0 / 18], [0: 1.0 / 18, 1: 8.0 / 9, 2: 1.0 / 18], [1: 1.0 / 18, 2: 17.0 / 18],
  ]
  #expect(agree(AxisCase(3, to: 3, .mitchell).weights, expected))
}

@Test("bicubic reproduces parabolas, and mitchell straight lines")
func cubicsKeepCurves() {
  let centres = (0..<12).map { Double($0) + 0.5 }
  let parabola = AxisCase(12, to: 30, .bicubic).applied(to: centres.map { $0 * $0 })
  let line = AxisCase(12, to: 30, .mitchell).applied(to: centres)

  // Those whose four samples lie inside.
  for output in 5..<25 {
    let position = (Double(output) + 0.5) * 12 / 30
    #expect(agree([parabola[output], line[output]], [position * position, position]))
  }
}

@Test(
  "bicubic, mitchell and lanczos weights are symmetric from either end",
  arguments: [Filter.bicubic, .mitchell, .lanczos])
func kernelSymmetry(filter: Filter) {
  for source in 1...14 {
    for target in 1...14 {
      let weights = AxisCase(source, to: target, filter).weights
      let flipped = weights.reversed().map { taps in
        Dictionary(uniqueKeysWithValues: taps.map { (source - 1 - $0.key, $0.value) })
      }
      #expect(agree(weights, flipped, within: 1e-11))
    }
  }
}

@Test("weights add up to 1, and every tap lies within the crop's samples", arguments: Filter.allCases)
func weightsAreNormalised(filter: Filter) {
  for (subsampling, step) in [(1, 1), (2, 1), (2, 2), (4, 1), (4, 2), (1, 2)] {
    for (start, length) in [(0, 1), (1, 1), (3, 2), (2, 7), (5, 12), (1, 11)] {
      for target in [1, 2, 3, 5, 8, 25] {
        for (isReversed, siting) in [
          (false, ColorDescription.ChromaSiting.centred), (true, .left), (false, .left), (true, .centred),
        ] {
          let row = AxisCase(length, to: target, filter, from: start).with {
            ($0.subsampling, $0.step, $0.isReversed, $0.siting) = (subsampling, step, isReversed, siting)
          }
          let inside = start / subsampling...(start + length - 1) / subsampling
          let table = TapTable(row.map)

          #expect(table.indices.allSatisfy(inside.contains))
          #expect(table.sampleCount == (target + step - 1) / step)
          #expect(row.weights.allSatisfy { abs($0.values.reduce(0, +) - 1) < 1e-9 })
        }
      }
    }
  }
}

@Test("an output sample outside the picture has no weights")
func nothingOutsideThePicture() {
  let row = AxisCase(2, to: 6).with { ($0.placed, $0.step) = ((2, 2), 2) }
  #expect(row.weights[0].isEmpty && row.weights[2].isEmpty && row.weights[1] == [0: 0.5, 1: 0.5])
}

// MARK: Chroma

@Test("upsampled centred chroma lies at position X / s, for s = 2 and 4")
func centredChroma() {
  // 4 pixels, 2 samples; 0.25, 0.75, 1.25, 1.75.
  let row = AxisCase(4, to: 4).with { $0.subsampling = 2 }
  #expect(row.applied(to: [0, 1]) == [0, 0.25, 0.75, 1])
  // 4:1:1: (i + 0.5) / 4 = 0.125, 0.375, 0.625 ...
  let quarter = AxisCase(8, to: 8).with { $0.subsampling = 4 }
  #expect(quarter.applied(to: [0, 1]) == [0, 0, 0.125, 0.375, 0.625, 0.875, 1, 1])
}

@Test("upsampled left-sited chroma lies at position X / s + 1/2 - 1/(2s)")
func leftChroma() {
  // + 0.25: 0.5, 1, 1.5, 2: even pixels are samples.
  let row = AxisCase(4, to: 4).with { ($0.subsampling, $0.siting) = (2, .left) }
  #expect(row.applied(to: [0, 1]) == [0, 0.5, 1, 1])
  // Mirrored it is the same picture from the other end.
  #expect(row.with { $0.isReversed = true }.applied(to: [0, 1]) == [1, 1, 0.5, 0])

  // 4:1:1: + 0.375: 0.5, 0.75, 1, 1.25, 1.5: every fourth pixel is a sample.
  let quarter = AxisCase(8, to: 8).with { ($0.subsampling, $0.siting) = (4, .left) }
  #expect(quarter.applied(to: [0, 1]) == [0, 0.25, 0.5, 0.75, 1, 1, 1, 1])

  // No subsampling, no siting.
  #expect(AxisCase(4, to: 4).with { $0.siting = .left }.copies == [0, 1, 2, 3])
}

@Test("left-sited to centred chroma weighs samples 3/4 and 1/4 at 1:1, and has four taps at 3:1")
func leftToCentred() {
  // Sample i's centre is (2i + 1) / 2 + 1/4 = i + 0.75: it covers i + 0.25...i + 1.25.
  let row = AxisCase(8, to: 8).with { ($0.subsampling, $0.step, $0.siting) = (2, 2, .left) }
  let quarters: [[Int: Double]] = [[0: 0.75, 1: 0.25], [1: 0.75, 2: 0.25], [2: 0.75, 3: 0.25], [3: 1]]
  #expect(row.weights == quarters)

  // 12 -> 4: two samples of three each, from 0.25 on.
  let third = AxisCase(12, to: 4).with { ($0.subsampling, $0.step, $0.siting) = (2, 2, .left) }
  let (first, whole, last) = (0.75 / 3, 1.0 / 3, 0.25 / 3)
  // The second sample's last tap would be sample 6; it falls on sample 5.
  let expected: [[Int: Double]] = [
    [0: first, 1: whole, 2: whole, 3: last], [3: first, 4: whole, 5: whole + last],
  ]
  #expect(agree(third.weights, expected))
}

@Test("an odd crop uses only the chroma samples that it touches, clamped to them")
func oddCrops() {
  // Pixels 1 and 2: samples 0 and 1. Centred positions 0.75 and 1.25.
  let pair = AxisCase(2, to: 2, from: 1).with { $0.subsampling = 2 }
  let both: [[Int: Double]] = [[0: 0.75, 1: 0.25], [0: 0.25, 1: 0.75]]
  #expect(agree(pair.weights, both))

  // Pixel 3 alone: sample 1, position 1.75 clamps to it.
  #expect(AxisCase(1, to: 1, from: 3).with { $0.subsampling = 2 }.copies == [1])

  // 3 pixels of 4:4:4 to 4:2:0: the last chroma sample has one pixel, which stands for both.
  let averaged: [[Int: Double]] = [[0: 0.5, 1: 0.5], [2: 1]]
  #expect(AxisCase(3, to: 3).with { $0.step = 2 }.weights == averaged)
}
