// Filtering in linear light (IEC 61966-2-1): chroma up to luma, matrix, linearise, filter, clamp, encode
// (DECISIONS.md 7). Encoded means are beside them, so that the difference shows.
import PreviewCore
import ReferenceRenderer
import Testing

@Test("a checkerboard of 0 and 255 averages to 188 in linear light, and to 128 without")
func checkerboard() throws {
  // encoded(1/2) = 1.055 * 0.5 ^ (1 / 2.4) - 0.055 = 0.73536, times 255 is 187.5.
  let rows: [[UInt8]] = [[0, 255, 0, 255], [255, 0, 255, 0], [0, 255, 0, 255], [255, 0, 255, 0]]
  #expect(try render(grey(rows), "size=2x2,linear=1").rows() == [[188, 188], [188, 188]])
  #expect(try render(grey(rows), "size=2x2").rows() == [[128, 128], [128, 128]])
  let colors = rows.map { $0.map { [$0, 0, $0] as [UInt8] } }
  #expect(try render(rgb(colors), "size=1x1,linear=1").colors == [[[188, 0, 188]]])
}

@Test("in linear light a quarter of white averages to 137, and three quarters to 225")
func quartersOfLight() throws {
  // 1.055 * 0.25 ^ (1 / 2.4) - 0.055 = 0.53710, 136.96; 0.75: 0.88082, 224.61.
  let rows: [[UInt8]] = [[0, 0, 255, 255], [0, 255, 255, 0]]
  #expect(try render(grey(rows), "size=2x1,mode=stretch,linear=1").rows() == [[137, 225]])
  // Bilinear growth of 0 and 255: light 0, 1/4, 3/4, 1.
  #expect(try render(grey([[0, 255]]), "size=4x1,mode=stretch,linear=1").rows() == [[0, 137, 225, 255]])
}

@Test("linear light changes no code at 1:1", arguments: ["", ",rotate=90", ",filter=nearest,mirror=both"])
func roundTrip(more: String) throws {
  let ramp = (0...255).map { UInt8($0) }
  let encoded = try render(grey([ramp]), "crop=256x1+0+0\(more)")
  #expect(try render(grey([ramp]), "crop=256x1+0+0,linear=1\(more)") == encoded)
}

@Test("in linear light, chroma is first upsampled to luma, bilinearly and by its siting")
func chromaFirst() throws {
  // Cb 100, 120, 160, 180, or on the left 100, 140, 180, 180; blue is 128 + 1.772 (Cb - 128).
  let samples = many(128, 4) + [100, 180] + [128, 128]
  #expect(try render(frame(.yuv422p, 4, 1, samples), "linear=1").rows(2) == [[78, 114, 185, 220]])
  #expect(try render(frame(.yuv422p, 4, 1, samples, .jfifLeft), "linear=1").rows(2) == [[78, 149, 220, 220]])

  // Down a column it is centred.
  let column = many(128, 4) + [100, 180] + [128, 128]
  #expect(
    try render(frame(.yuv440p, 1, 4, column, .jfifLeft), "linear=1").rows(2) == [[78], [114], [185], [220]])

  // Nearest picks pixels, whose chroma is bilinear all the same.
  #expect(
    try render(frame(.yuv422p, 4, 1, samples), "linear=1,filter=nearest,size=2x1,mode=stretch").rows(2) == [
      [114, 220]
    ])
}

@Test("in linear light, left-sited 4:1:1 chroma is offset by 3/8 and 4:4:4 chroma by nothing")
func chromaFirstOfOthers() throws {
  // Cb 40, 80, 120, 160, 200 ... (ChromaTests): -27.9, 42.9, 113.8, 184.7, 255.6.
  let quarter = try frame(.yuv411p, 8, 1, many(128, 8) + [40, 200] + [128, 128], .jfifLeft)
  #expect(try render(quarter, "linear=1").rows(2) == [[0, 43, 114, 185, 255, 255, 255, 255]])
  let full = try frame(.yuv444p, 2, 1, many(128, 2) + [100, 180] + [128, 128], .jfifLeft)
  #expect(try render(full, "linear=1").rows(2) == [[78, 220]])
}

@Test("in linear light, codes are clamped only after filtering")
func clampedAfterFiltering() throws {
  // Blue of (255, 255, 128) is 255 + 1.772 * 127 = 480.04: light ((1.88255 + 0.055) / 1.055) ^ 2.4 = 4.30.
  // Half of it is still more than white; clamped before, it would be 188.
  let bright = try frame(.yuv444p, 2, 1, [255, 0] + [255, 128] + [128, 128])
  #expect(try render(bright, "size=1x1,mode=stretch,linear=1").rows(2) == [[255]])
  // Below black the straight part goes on: blue of (0, 0, 128) is -226.8, light -0.06885; with 188, whose light is
  // 0.50289: half the sum is 0.21702, encoded 0.50319, which is 128.3. Clamped before: half of 0.50289 is 137.3.
  let dark = try frame(.yuv444p, 2, 1, [0, 188] + [0, 128] + [128, 128])
  #expect(try render(dark, "size=1x1,mode=stretch,linear=1").rows(2) == [[128]])
}

@Test("linear light converts to JFIF through clamped RGB")
func linearToJFIF() throws {
  // Red and blue: light 1/2 each, 187.52: Y 0.299 * 187.52 + 0.114 * 187.52 = 77.44, Cb 128 + 0.331264 * 187.52 = 190.12,
  // Cr 128 + 0.418688 * 187.52 = 206.51.
  let picture = try render(
    rgb([[[255, 0, 0], [0, 0, 255]]]), "size=1x1,mode=stretch,linear=1", as: .ycbcr(.yuv420))
  #expect(picture.samples == [[[77]], [[190]], [[207]]])
  // And clamps there: blue on black is (0, -44, 226) and comes out as (0, 0, 225.93): 25.76, 240.96, 109.63.
  let blue = try frame(.yuv444p, 1, 1, [16, 240, 128], .camera601)
  #expect(try render(blue, "linear=1", as: .ycbcr(.yuv444)).samples == [[[26]], [[241]], [[110]]])
}

@Test("bars beside a picture in linear light keep the background's code")
func linearBackground() throws {
  let picture = try render(grey([[255, 0]]), "size=2x3,mode=fit,linear=1,background=808080")
  #expect(picture.rows() == [[128, 128], [255, 0], [128, 128]])
}

@Test("in linear light, the mean of 16-bit codes 0 and 514 is 1 in 8 bits")
func sixteenBitLight() throws {
  // In the straight part of the curve. The mean is 120 / 257 = 0.47; of codes that were rounded to 8 bits first, 0 and 1, it is 0.5.
  let words: [UInt16] = [100, 100, 100, 65535, 140, 140, 140, 65535]
  let bytes = words.flatMap { [UInt8($0.littleEndian & 0xff), UInt8($0.littleEndian >> 8)] }
  #expect(try render(frame(.rgba64, 2, 1, bytes), "size=1x1,mode=stretch,linear=1").rows(0) == [[0]])
}
