// Bars and what is behind a picture: a fitted picture's background, chroma samples that straddle its edge, alpha,
// and 16-bit samples (DESIGN.md "Rendering semantics", 3; DECISIONS.md 6).
import PreviewCore
import ReferenceRenderer
import Testing

@Test("a fitted picture is centred between bars of its background, the smaller bar first")
func fittedBars() throws {
  // 2x1 into 4x4: 4x2 from row 1 on; bilinear across.
  let picture = try render(grey([[0, 200]]), "size=4x4,mode=fit,background=#0A141E")
  let (bar, line): ([[UInt8]], [[UInt8]]) = (
    [[UInt8]](repeating: [10, 20, 30], count: 4), [0, 50, 150, 200].map { many($0, 3) }
  )
  #expect(picture.colors == [bar, line, line, bar])
  #expect(picture.rows(3) == [[UInt8]](repeating: many(255, 4), count: 4))

  // 1x1 into 4x1: floor(3 / 2) on the left.
  #expect(try render(grey([[9]]), "size=4x1,mode=fit").rows() == [[0, 9, 0, 0]])
}

@Test(
  "a fitted picture and its bars do not bleed into each other",
  arguments: Filter.allCases)
func barsDoNotBleed(filter: Filter) throws {
  for linear in [false, true] {
    let source = try rgb([[[UInt8]]](repeating: [[UInt8]](repeating: [90, 60, 30], count: 5), count: 5))
    let picture = try render(
      source, "size=9x4,mode=fit,background=ff00ff,linear=\(linear),filter=\(filter.rawValue)")

    // 4x4 from column floor(5 / 2) = 2 on.
    let pixels = many(0, 2) + many(1, 4) + many(0, 3)
    let line: [[UInt8]] = pixels.map { $0 == 1 ? [90, 60, 30] : [255, 0, 255] }
    #expect(picture.colors == [[[UInt8]]](repeating: line, count: 4))
  }
}

@Test("a chroma sample across the edge of a fitted picture is weighted by coverage")
func straddlingChroma() throws {
  // 4x2 of one colour into 4x4: rows 1 and 2. Chroma rows have rows 0, 1 and 2, 3: half and half.
  // Black has 128, 128: (40 + 128) / 2 = 84, (200 + 128) / 2 = 164.
  let source = try frame(.yuv444p, 4, 2, many(100, 8) + many(40, 8) + many(200, 8))
  let picture = try render(source, "size=4x4,mode=fit", as: .ycbcr(.yuv420))
  #expect(picture.rows(0) == [many(0, 4), many(100, 4), many(100, 4), many(0, 4)])
  #expect(picture.rows(1) == [[84, 84], [84, 84]] && picture.rows(2) == [[164, 164], [164, 164]])

  // On red (76, 84.97, 255.5): 62.49 and 227.75.
  let onRed = try render(source, "size=4x4,mode=fit,background=ff0000", as: .ycbcr(.yuv420))
  #expect(onRed.rows(0)[0] == many(76, 4))
  #expect(onRed.rows(1) == [[62, 62], [62, 62]] && onRed.rows(2) == [[228, 228], [228, 228]])
}

@Test("in a target of odd width the last chroma sample covers one pixel of the bar")
func straddlingOddChroma() throws {
  // 2x4 into 5x4: columns 1 and 2. Chroma columns: 0, 1 half; 2, 3 half; 4 none.
  let source = try frame(.yuv444p, 2, 4, many(100, 8) + many(40, 8) + many(200, 8))
  let picture = try render(source, "size=5x4,mode=fit", as: .ycbcr(.yuv420))
  #expect(picture.rows(1) == [[84, 84, 128], [84, 84, 128]])
  // 3x4 into 5x4: columns 1, 2 and 3: half, all, none.
  let wide = try frame(.yuv444p, 3, 4, many(100, 12) + many(40, 12) + many(200, 12))
  #expect(
    try render(wide, "size=5x4,mode=fit", as: .ycbcr(.yuv420)).rows(1) == [[84, 40, 128], [84, 40, 128]])
}

@Test("a chroma sample across the edge of a fitted RGB picture is weighted by coverage")
func straddlingRGB() throws {
  // Red on black: (84.97 + 128) / 2 = 106.49, (255.5 + 128) / 2 = 191.75.
  let red = try rgb([[[UInt8]]](repeating: [[UInt8]](repeating: [255, 0, 0], count: 4), count: 2))
  let picture = try render(red, "size=4x4,mode=fit", as: .ycbcr(.yuv420))
  #expect(picture.rows(1) == [[106, 106], [106, 106]] && picture.rows(2) == [[192, 192], [192, 192]])
}

@Test("a grey picture with coloured bars has chroma only in the bars")
func greyOnColor() throws {
  let picture = try render(
    grey([many(50, 4), many(50, 4)]), "size=4x6,mode=fit,background=0000ff", as: .ycbcr(.yuv420))
  // Rows 2 and 3 are the picture's.
  #expect(picture.rows(0).map { $0[0] } == [29, 29, 50, 50, 29, 29])
  #expect(
    picture.rows(1).map { $0[0] } == [255, 128, 255] && picture.rows(2).map { $0[0] } == [107, 128, 107])
}

// MARK: Transparency

@Test("RGBA and BGRA pixels are blended over the background by their alpha")
func alphaOverBackground() throws {
  // 128 / 255 = 0.50196: 100.39, 50.20, 255 * 0.49804 = 127.
  let pixels: [UInt8] = [200, 100, 0, 128, 200, 100, 0, 255, 200, 100, 0, 0]
  let picture = try render(frame(.rgba, 3, 1, pixels), "background=0000ff")
  #expect(picture.colors == [[[100, 50, 127], [200, 100, 0], [0, 0, 255]]])
  #expect(picture.rows(3) == [[255, 255, 255]])
  let swapped: [UInt8] = [0, 100, 200, 128]
  #expect(try render(frame(.bgra, 1, 1, swapped), "background=0000ff").colors == [[[100, 50, 127]]])
}

@Test("transparent pixels add no colour to a mean")
func transparentPoison() throws {
  // Transparent red beside opaque blue, on black: (0 + 255) / 2 of blue and no red.
  let pixels: [UInt8] = [255, 0, 0, 0, 0, 0, 255, 255]
  #expect(try render(frame(.rgba, 2, 1, pixels), "size=1x1,mode=stretch").colors == [[[0, 0, 128]]])
  // On white: (255 + 0) / 2, (255 + 0) / 2, 255.
  let onWhite = try render(frame(.rgba, 2, 1, pixels), "size=1x1,mode=stretch,background=ffffff")
  #expect(onWhite.colors == [[[128, 128, 255]]])
}

@Test("transparent pixels show the background in 4:2:0 output")
func alphaToJFIF() throws {
  let pixels: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0]
  let picture = try render(frame(.rgba, 2, 1, pixels), "background=ff0000", as: .ycbcr(.yuv420))
  #expect(picture.samples == [[[76, 76]], [[85]], [[255]]])
}

// MARK: 16 bits

private func rgba64(_ words: [UInt16]) -> [UInt8] {
  words.flatMap { word in [UInt8(word.littleEndian & 0xff), UInt8(word.littleEndian >> 8)] }
}

@Test("16-bit samples are divided by 257 and rounded to nearest")
func sixteenBits() throws {
  // 128 / 257 = 0.498, 129 / 257 = 0.502; 32767 / 257 = 127.498, 32768 / 257 = 127.502; 65406 / 257 = 254.498.
  let words: [UInt16] = [0, 65535, 257 * 99, 65535, 128, 129, 32767, 65535, 32768, 65406, 65407, 65535]
  let picture = try render(frame(.rgba64, 3, 1, rgba64(words)), "")
  #expect(picture.colors == [[[0, 255, 99], [0, 1, 127], [128, 254, 255]]])
  // The mean of 2660 and 2730 is 10.49 * 257; of codes that were rounded to 8 bits first, 10 and 11, it is 10.5.
  let pair: [UInt16] = [2660, 0, 0, 65535, 2730, 0, 65535, 65535]
  #expect(try render(frame(.rgba64, 2, 1, rgba64(pair)), "size=1x1,mode=stretch").rows(0) == [[10]])
}

@Test("white with a 16-bit alpha of 32768 or 32767 is 128 or 127 over black")
func sixteenBitAlpha() throws {
  // 32768 / 65535 = 0.500008: 255 * that = 127.502. 200 * 32538 / 65535 = 99.3; with alpha rounded to 8 bits first, 99.6.
  let words: [UInt16] = [
    65535, 65535, 65535, 32768, 65535, 65535, 65535, 32767, 51400, 51400, 51400, 32538,
  ]
  #expect(try render(frame(.rgba64, 3, 1, rgba64(words)), "").rows(0) == [[128, 127, 99]])
}
