// A crop never bleeds in pixels from outside it: outside is painted with poison, inside with one colour, and every
// filter and turn must show that colour alone (DESIGN.md "Rendering semantics", 4; DECISIONS.md 6).
import PreviewCore
import ReferenceRenderer
import Testing

private let turns = [
  "", ",rotate=90", ",rotate=180", ",rotate=270", ",mirror=horizontal", ",mirror=vertical",
]
private let sizes = ["", ",size=1x1", ",size=2x3", ",size=9x", ",size=13x5,mode=stretch"]

@Test(
  "an RGB crop shows no pixels from outside, with every filter, rotation and size",
  arguments: Filter.allCases, [false, true])
func rgbCrops(filter: Filter, linear: Bool) throws {
  let crop = Rectangle(x: 2, y: 1, width: 3, height: 4)
  var rows = [[[UInt8]]](repeating: [[UInt8]](repeating: [255, 0, 255], count: 8), count: 7)
  for y in crop.y..<crop.y + crop.height {
    for x in crop.x..<crop.x + crop.width { rows[y][x] = [60, 120, 180] }
  }
  let source = try rgb(rows)

  for turn in turns {
    for size in sizes {
      let words = "crop=\(crop),filter=\(filter.rawValue),linear=\(linear)\(turn)\(size)"
      let picture = try render(source, words)
      #expect(picture.colors.allSatisfy { $0.allSatisfy { $0 == [60, 120, 180] } }, "\(words)")
    }
  }
}

@Test(
  "a 4:2:2 crop reads only the chroma samples that it touches",
  arguments: [(0, 1), (1, 1), (1, 2), (2, 2), (3, 2), (3, 4), (5, 3), (7, 1)],
  [ColorDescription.ChromaSiting.centred, .left])
func chromaCrops(crop: (start: Int, length: Int), siting: ColorDescription.ChromaSiting) throws {
  // 8 columns of 4:2:2: pixels 2k and 2k + 1 share sample k.
  let touched = crop.start / 2...(crop.start + crop.length - 1) / 2
  let luma = (0..<8).map { UInt8(crop.start <= $0 && $0 < crop.start + crop.length ? 90 : 255) }
  let (cb, cr) = (
    (0..<4).map { UInt8(touched.contains($0) ? 100 : 0) },
    (0..<4).map { UInt8(touched.contains($0) ? 140 : 255) }
  )
  let color = ColorDescription(matrix: .bt601, range: .full, siting: siting)
  let source = try frame(.yuv422p, 8, 1, luma + cb + cr, color)

  // R = 90 + 1.402 * 12 = 106.8, G = 90 + 0.344136 * 28 - 0.714136 * 12 = 91.07, B = 90 - 1.772 * 28 = 40.4
  for filter in Filter.allCases {
    for more in [
      "", ",size=16x2,mode=stretch", ",size=1x1", ",mirror=horizontal", ",rotate=90,size=x3",
      ",linear=1,size=3x1",
    ] {
      let words = "crop=\(crop.length)x1+\(crop.start)+0,filter=\(filter.rawValue)\(more)"
      #expect(
        try render(source, words).colors.allSatisfy { $0.allSatisfy { $0 == [107, 91, 40] } }, "\(words)")
      let jpeg = try render(source, words, as: .ycbcr(.yuv420))
      guard !more.contains("linear") else { continue }
      #expect(jpeg.samples.map { Set($0.joined()) } == [[90], [100], [140]], "\(words)")
    }
  }
}

@Test(
  "a 4:2:0 or 4:4:0 crop reads only the chroma rows that it touches", arguments: [PixelFormat.i420, .yuv440p])
func verticalCrops(pixelFormat: PixelFormat) throws {
  // Rows 3 and 4 of 8 touch chroma rows 1 and 2.
  let width = pixelFormat == .i420 ? 1 : 2
  let luma: [UInt8] = [255, 255, 255, 90, 90, 255, 255, 255].flatMap { many($0, 2) }
  let cb: [UInt8] = [0, 100, 100, 0].flatMap { many($0, width) }
  let cr: [UInt8] = [255, 140, 140, 255].flatMap { many($0, width) }
  let source = try frame(pixelFormat, 2, 8, luma + cb + cr)

  for filter in Filter.allCases {
    for more in ["", ",size=2x9,mode=stretch", ",size=1x1", ",mirror=vertical", ",rotate=270"] {
      let words = "crop=2x2+0+3,filter=\(filter.rawValue)\(more)"
      #expect(
        try render(source, words).colors.allSatisfy { $0.allSatisfy { $0 == [107, 91, 40] } }, "\(words)")
    }
  }
}

@Test("an enlarged crop repeats its edge samples instead of reading beyond them")
func clampedEdges() throws {
  // Columns 2 and 3 of 6, to 4: as if there were nothing else.
  #expect(
    try render(grey([[255, 255, 0, 200, 7, 7]]), "crop=2x1+2+0,size=4x1,mode=stretch").rows() == [
      [0, 50, 150, 200]
    ])
  // Without the crop: 6 -> 12, centres 2.25, 2.75, 3.25, 3.75 around samples 2.5 and 3.5: 0.25 of the neighbour.
  let whole = try render(grey([[255, 255, 0, 200, 7, 7]]), "size=12x1,mode=stretch").rows()[0]
  #expect(Array(whole[4..<8]) == [64, 50, 150, 152])  // 63.75, 50, 150, 151.75
}

@Test("an odd 4:2:2 crop keeps the frame's chroma positions, centred and left-sited")
func oddCrop() throws {
  // Centred: pixel 1 is at 0.75 (3/4 of sample 0), pixel 2 at 1.25. Left: pixel 1 at 1 (half and half), pixel 2 at 1.5.
  let centred = try render(
    frame(.yuv422p, 4, 1, many(128, 4) + [100, 180] + [128, 128]), "crop=2x1+1+0", as: .ycbcr(.yuv444))
  #expect(centred.rows(1) == [[120, 160]])
  let left = try render(
    frame(.yuv422p, 4, 1, many(128, 4) + [100, 180] + [128, 128], .jfifLeft), "crop=2x1+1+0",
    as: .ycbcr(.yuv444))
  #expect(left.rows(1) == [[140, 180]])
}
