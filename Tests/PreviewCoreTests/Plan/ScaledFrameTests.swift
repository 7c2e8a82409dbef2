// Frames that were decoded at n/8 of their size: how large their planes are, and where positions of the whole picture
// fall in them (DECISIONS.md 1 and 4). Position x is x * n / 8, with nothing of the encoder's padding.
import PreviewCore
import Testing

@Test("a frame decoded at n/8 rounds its size up, and its upright size remains the full size")
func scaledSizes() throws {
  let sizes = (1...8).map { Frame.Format(.grey, Size(width: 35, height: 29), color: .jfif, eighths: $0).size }
  #expect(sizes.map(\.width) == [5, 9, 14, 18, 22, 27, 31, 35])
  #expect(sizes.map(\.height) == [4, 8, 11, 15, 19, 22, 26, 29])
  #expect(Size(width: .max, height: 1).scaled(toEighths: 7) == Size(width: .max / 8 * 7 + 7, height: 1))
  #expect(Size(width: .max, height: .max).scaled(toEighths: 8).width == .max)

  let turned = Frame.Format(
    .grey, Size(width: 35, height: 29), color: .jfif, orientation: try #require(Orientation(exif: 6)),
    eighths: 4)
  #expect(turned.uprightSize == Size(width: 29, height: 35))
  #expect(turned.overriding(ColorDescription.Override(range: .limited)).size == Size(width: 18, height: 15))
}

@Test("4:2:0 decoded below full size becomes 4:4:4, and other layouts stay the same")
func scaledLayouts() {
  for (before, after) in [
    (PixelFormat.i420, PixelFormat.yuv444p), (.yuv422p, .yuv422p), (.yuv440p, .yuv440p), (.grey, .grey),
    (.rgb24, .rgb24),
  ] {
    let full = Frame.Format(before, Size(width: 9, height: 9), color: .jfif)
    #expect(full.decoded(toEighths: 4) == Frame.Format(after, full.size, color: .jfif, eighths: 4))
    #expect(full.decoded(toEighths: 8) == full)
  }
}

@Test("8 pixels decoded at 4/8 are 4 samples, and each of 2 output pixels averages two of them")
func halves() {
  let row = AxisCase(8, to: 2).with { $0.eighths = 4 }
  #expect(row.weights == [[0: 0.5, 1: 0.5], [2: 0.5, 3: 0.5]])
  #expect(row.with { $0.isReversed = true }.weights == [[2: 0.5, 3: 0.5], [0: 0.5, 1: 0.5]])
  #expect(row.map.description == "box 4->2")
}

@Test("a crop is in full-size pixels: 3..<7 is 1.5..<3.5 at 4/8")
func scaledCrop() {
  let row = AxisCase(4, to: 1, from: 3).with { $0.eighths = 4 }
  #expect(row.weights == [[1: 0.25, 2: 0.5, 3: 0.25]])
  let pair = AxisCase(4, to: 2, from: 3).with { $0.eighths = 4 }
  #expect(pair.weights == [[1: 0.5, 2: 0.5], [2: 0.5, 3: 0.5]])
  #expect(pair.with { $0.isReversed = true }.weights == [[2: 0.5, 3: 0.5], [1: 0.5, 2: 0.5]])
}

@Test("35 pixels decoded at 4/8 are 17.5 samples: the 18th has half weight")
func scaledOddRow() {
  let row = AxisCase(35, to: 5).with { $0.eighths = 4 }
  #expect(row.map.source.samples == 0...17)
  let last: [Int: Double] = [14: 2.0 / 7, 15: 2.0 / 7, 16: 2.0 / 7, 17: 1.0 / 7]
  #expect(agree([row.weights[4]], [last]))
}

@Test("nearest picks the decoded sample that contains the output pixel's centre")
func scaledNearest() {
  #expect(AxisCase(8, to: 8, .nearest).with { $0.eighths = 4 }.copies == [0, 0, 1, 1, 2, 2, 3, 3])
  // Centres 0.1875, 0.5625, 0.9375, 1.3125...
  #expect(AxisCase(8, to: 8, .nearest).with { $0.eighths = 3 }.copies == [0, 0, 0, 1, 1, 2, 2, 2])
}

@Test("the kernel depends on the decoded size: 8 to 5 pixels is bilinear at 4/8, and a box at 8/8")
func scaledKernels() {
  #expect(AxisCase(8, to: 4).with { $0.eighths = 4 }.map.isCopy)
  #expect(AxisCase(8, to: 5).with { $0.eighths = 4 }.map.kernel == .bilinear)
  #expect(AxisCase(8, to: 5).map.kernel == .box)
}

@Test("chroma siting applies to decoded pixels as it does to full-size pixels")
func scaledChroma() {
  // 16 pixels are 8 decoded ones, 4 samples of chroma; a pixel is made of 2, a sample of 4:2:0 of 4 decoded ones.
  let row = AxisCase(16, to: 4).with { ($0.eighths, $0.subsampling, $0.step) = (4, 2, 2) }
  #expect(row.weights == [[0: 0.5, 1: 0.5], [2: 0.5, 3: 0.5]])
  // Left: a quarter of a sample further on; what is beyond the last one is the last one.
  let left = row.with { $0.siting = .left }
  #expect(agree(left.weights, [[0: 0.375, 1: 0.5, 2: 0.125], [2: 0.375, 3: 0.625]]))
}

@Test(
  "a row of whole 8-pixel blocks at n/8 has the weights of an unscaled row of that many samples",
  arguments: Filter.allCases)
func scaledRows(filter: Filter) {
  for eighths in 1...8 {
    for blocks in 1...3 {
      for target in 1...9 {
        for isReversed in [false, true] {
          let scaled = AxisCase(8 * blocks, to: target, filter).with {
            ($0.eighths, $0.isReversed) = (eighths, isReversed)
          }
          let plain = AxisCase(eighths * blocks, to: target, filter).with { $0.isReversed = isReversed }
          #expect(agree(scaled.weights, plain.weights), "\(scaled.map) at \(eighths)/8")
        }
      }
    }
  }
}

@Test("a crop at any n/8 has exactly the samples that it touches")
func scaledSamplesOfACrop() {
  for eighths in 1...8 {
    for subsampling in [1, 2, 4] {
      for start in 0...17 {
        for length in 1...17 {
          // Sample k covers k * 8s / n ..< (k + 1) * 8s / n.
          let touching = (0...40).filter {
            8 * subsampling * $0 < (start + length) * eighths
              && 8 * subsampling * ($0 + 1) > start * eighths
          }
          let span = CropSpan(start: start, length: length, subsampling: subsampling, eighths: eighths)
          #expect(Array(span.samples) == touching)
        }
      }
    }
  }
}

@Test("a plan prints the scale at which its frames are decoded")
func scaledTrace() throws {
  let format = Frame.Format(.i420, Size(width: 1920, height: 1080), color: .jfif).decoded(toEighths: 4)
  let view = try ViewConfiguration(parsing: "small:crop=1200x1080+0+0,size=x360")

  let plan = try RenderPlanner().plan(format, [ViewRequest(view, as: .ycbcr(.yuv420))])

  #expect(
    plan.description == """
      frame 960x540 yuv444p bt601 full centred, 4/8 of 1920x1080
      small ycbcr420[0] 400x360 <- luma (box 600->400, box 540->360)
      small ycbcr420[1] 200x180 <- chroma (box 600->200, box 540->180)
      small ycbcr420[2] 200x180 <- chroma (box 600->200, box 540->180)
      """)
}
