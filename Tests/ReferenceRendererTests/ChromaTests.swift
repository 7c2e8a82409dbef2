// Where chroma sits, on frames of a few samples: positions X / s + (centred: 0; left: 1/2 - 1/(2s)) as in
// DECISIONS.md 6, output chroma centred as JFIF has it.
import PreviewCore
import ReferenceRenderer
import Testing

/// 4x1 pixels, two chroma samples: Cb 100 and 180, Cr as it is said.
private func pair(_ color: ColorDescription, cr: [UInt8] = [128, 128]) throws -> Frame {
  try frame(.yuv422p, 4, 1, many(128, 4) + [100, 180] + cr, color)
}

@Test("4x1 centred chroma is upsampled at positions 0.25, 0.75, 1.25, 1.75")
func centredPair() throws {
  #expect(
    try render(pair(.jfif), "", as: .ycbcr(.yuv444)).samples == [
      [many(128, 4)], [[100, 120, 160, 180]], [many(128, 4)],
    ])
  // Blue is 128 + 1.772 (Cb - 128): 78.4, 113.8, 184.7, 220.1.
  #expect(try render(pair(.jfif), "").rows(2) == [[78, 114, 185, 220]])
}

@Test("4x1 left-sited chroma is upsampled at positions 0.5, 1, 1.5, 2")
func leftPair() throws {
  #expect(try render(pair(.jfifLeft), "", as: .ycbcr(.yuv444)).rows(1) == [[100, 140, 180, 180]])
  // Cr goes the same way.
  let reds = try pair(.jfifLeft, cr: [20, 40])
  #expect(try render(reds, "", as: .ycbcr(.yuv444)).rows(2) == [[20, 30, 40, 40]])
}

@Test("in a mirrored or rotated view, left-sited chroma stays at the left of the stored frame")
func leftTurned() throws {
  #expect(
    try render(pair(.jfifLeft), "mirror=horizontal", as: .ycbcr(.yuv444)).rows(1) == [[180, 180, 140, 100]])
  #expect(try render(pair(.jfifLeft), "rotate=180", as: .ycbcr(.yuv444)).rows(1) == [[180, 180, 140, 100]])
  // Clockwise the left end comes to the top.
  let down: [[UInt8]] = [[100], [140], [180], [180]]
  #expect(try render(pair(.jfifLeft), "rotate=90", as: .ycbcr(.yuv444)).rows(1) == down)
  #expect(try render(pair(.jfifLeft), "rotate=270", as: .ycbcr(.yuv444)).rows(1) == down.reversed())
}

@Test("left-sited to centred chroma at 1:1 is weighted 3/4 and 1/4, not copied")
func leftToCentred() throws {
  // 100 * 3/4 + 180 / 4; then 180 and what it clamps to.
  #expect(try render(pair(.jfifLeft), "", as: .ycbcr(.yuv422)).rows(1) == [[120, 180]])
  #expect(try render(pair(.jfif), "", as: .ycbcr(.yuv422)).rows(1) == [[100, 180]])
  // Mirrored: sample 0 covers 4...2 of the stored pixels, chroma 2.25...1.25: all 180 but for clamping; then 1.25...0.25.
  #expect(try render(pair(.jfifLeft), "mirror=horizontal", as: .ycbcr(.yuv422)).rows(1) == [[180, 120]])
  #expect(try render(pair(.jfifLeft), "filter=nearest", as: .ycbcr(.yuv422)).rows(1) == [[100, 180]])
}

@Test("chroma is vertically centred with any siting", arguments: [ColorDescription.jfif, .jfifLeft])
func verticalChroma(color: ColorDescription) throws {
  let tall = try frame(.i420, 2, 4, many(128, 8) + [100, 180] + [128, 128], color)
  let shown = try render(tall, "", as: .ycbcr(.yuv444)).rows(1)
  #expect(shown == [[100, 100], [120, 120], [160, 160], [180, 180]])
  let between = try frame(.yuv440p, 1, 4, many(128, 4) + [100, 180] + [128, 128], color)
  #expect(try render(between, "", as: .ycbcr(.yuv444)).rows(1) == [[100], [120], [160], [180]])
}

@Test("a 4:1:1 chroma sample covers four pixels, sited at their centre or on the first of them")
func quarterChroma() throws {
  let samples = many(128, 8) + [40, 200] + [128, 128]
  // Left: (i + 0.5) / 4 + 3/8 = 0.5, 0.75, 1, 1.25, 1.5 ...
  let left = try frame(.yuv411p, 8, 1, samples, .jfifLeft)
  #expect(try render(left, "", as: .ycbcr(.yuv444)).rows(1) == [[40, 80, 120, 160, 200, 200, 200, 200]])
  // Centred: 0.125, 0.375, 0.625 (1/8 of the second) ...
  let centred = try frame(.yuv411p, 8, 1, samples)
  #expect(try render(centred, "", as: .ycbcr(.yuv444)).rows(1) == [[40, 40, 60, 100, 140, 180, 200, 200]])
}

@Test("4:2:2 chroma of 8 pixels is copied to 4 samples, and averaged in pairs to 2")
func ownRatio() throws {
  let wide = try frame(.yuv422p, 8, 1, many(128, 8) + [100, 120, 140, 200] + many(128, 4))
  #expect(try render(wide, "size=4x1,mode=stretch", as: .ycbcr(.yuv444)).rows(1) == [[100, 120, 140, 200]])
  #expect(try render(wide, "size=4x1,mode=stretch", as: .ycbcr(.yuv422)).rows(1) == [[110, 170]])
  #expect(try render(wide, "size=2x1,mode=stretch", as: .ycbcr(.yuv444)).rows(1) == [[110, 170]])
}

@Test("left-sited chroma at 3:1 is averaged over four fractional taps")
func leftAtAThird() throws {
  // 12 pixels, chroma 0, 40, 80, 120, 160, 200; 4 pixels out, 2 chroma samples. The first covers 0.25...3.25:
  // (0.75 * 0 + 40 + 80 + 0.25 * 120) / 3 = 50; the second 3.25...6.25, its end clamped:
  // (0.75 * 120 + 160 + 200 + 0.25 * 200) / 3 = 166.67.
  let wide = try frame(.yuv422p, 12, 1, many(128, 12) + [0, 40, 80, 120, 160, 200] + many(128, 6), .jfifLeft)
  #expect(try render(wide, "size=4x1,mode=stretch", as: .ycbcr(.yuv422)).rows(1) == [[50, 167]])
}

@Test("at odd sizes the last chroma sample covers one pixel")
func oddSizes() throws {
  // 3x3 to 4:2:0: 2x2 chroma samples. From 4:4:4 columns and rows of 2 and 1.
  let cb: [UInt8] = [10, 20, 90, 30, 40, 50, 60, 70, 200]
  let full = try frame(.yuv444p, 3, 3, many(128, 9) + cb + many(128, 9))
  #expect(try render(full, "", as: .ycbcr(.yuv420)).rows(1) == [[25, 70], [65, 200]])
  #expect(try render(full, "", as: .ycbcr(.yuv422)).rows(1) == [[15, 90], [35, 50], [65, 200]])

  // 3x1 of 4:2:2 grown to 6: pixel i is at (i + 0.5) / 4: 0.125, 0.375, 0.625, 0.875, 1.125, 1.375.
  let odd = try frame(.yuv422p, 3, 1, many(128, 3) + [40, 200] + [128, 128])
  #expect(
    try render(odd, "size=6x1,mode=stretch", as: .ycbcr(.yuv444)).rows(1) == [[40, 40, 60, 100, 140, 180]])
}

@Test("the same samples in planar, semi-planar and packed layouts give the same picture")
func layouts() throws {
  // 4x2: luma 1...8, Cb and Cr as letters; tight in every layout.
  let y: [UInt8] = [16, 60, 100, 140, 180, 200, 220, 235]
  let (u, v): ([UInt8], [UInt8]) = ([90, 160], [110, 200])
  func shown(_ format: PixelFormat, _ bytes: [UInt8]) throws -> Picture {
    try render(frame(format, 4, 2, bytes, .camera601), "size=3x2,mode=stretch,mirror=horizontal")
  }

  let planar = try shown(.i420, y + u + v)
  #expect(try shown(.yv12, y + v + u) == planar)
  #expect(try shown(.nv12, y + [90, 110, 160, 200]) == planar)
  #expect(try shown(.nv21, y + [110, 90, 200, 160]) == planar)

  // 4:2:2, a row of chroma each.
  let (u2, v2): ([UInt8], [UInt8]) = ([90, 160, 30, 40], [110, 200, 50, 60])
  let planar422 = try shown(.yuv422p, y + u2 + v2)
  #expect(try shown(.nv16, y + [90, 110, 160, 200, 30, 50, 40, 60]) == planar422)
  #expect(
    try shown(.yuyv, [16, 90, 60, 110, 100, 160, 140, 200, 180, 30, 200, 50, 220, 40, 235, 60]) == planar422)
  #expect(
    try shown(.uyvy, [90, 16, 110, 60, 160, 100, 200, 140, 30, 180, 50, 200, 40, 220, 60, 235]) == planar422)
  #expect(
    try shown(.yvyu, [16, 110, 60, 90, 100, 200, 140, 160, 180, 50, 200, 30, 220, 60, 235, 40]) == planar422)
}
