// Y'CbCr to R'G'B', to JFIF's planes, and from R'G'B' to them: bars that others publish (sources in
// ColorConversionTests of PreviewCore), to the last code, with sums to two decimals in the comments.
import PreviewCore
import ReferenceRenderer
import Testing

/// A row of pixels of 4:4:4 Y'CbCr.
private func row(_ pixels: [[UInt8]], _ color: ColorDescription) throws -> Frame {
  try frame(.yuv444p, pixels.count, 1, (0..<3).flatMap { plane in pixels.map { $0[plane] } }, color)
}

private func description(_ matrix: ColorDescription.Matrix, _ range: ColorDescription.QuantizationRange)
  -> ColorDescription
{
  ColorDescription(matrix: matrix, range: range, siting: .centred)
}

private func planes(_ picture: Picture) -> [[UInt8]] {
  let samples = picture.samples.map { $0[0] }
  return samples[0].indices.map { x in samples.map { $0[x] } }
}

/// White, yellow, cyan, green, magenta, red, blue, black.
private let bars601: [[UInt8]] = [
  [235, 128, 128], [210, 16, 146], [170, 166, 16], [145, 54, 34], [106, 202, 222], [81, 90, 240],
  [41, 240, 110],
  [16, 128, 128],
]
private let bars709: [[UInt8]] = [
  [235, 128, 128], [219, 16, 138], [188, 154, 16], [173, 42, 26], [78, 214, 230], [63, 102, 240],
  [32, 240, 118],
  [16, 128, 128],
]
private let jfif: [[UInt8]] = [
  [255, 128, 128], [226, 1, 149], [179, 171, 1], [150, 44, 21], [105, 212, 235], [76, 85, 255],
  [29, 255, 107],
  [0, 128, 128],
]

@Test("limited BT.601 bars convert to RGB")
func bt601() throws {
  // Yellow: Y 225.89; R + 28.73, G + 43.88 - 14.63, B - 225.93. Red: Y 75.68; R + 178.76, G + 14.89 - 91.05,
  // B - 76.65. Green: Y 150.21; R - 150.03, G + 28.99 + 76.42, B - 149.28. And so on.
  let expected: [[UInt8]] = [
    [255, 255, 255], [255, 255, 0], [1, 255, 255], [0, 255, 1], [255, 0, 254], [254, 0, 0], [0, 0, 255],
    [0, 0, 0],
  ]
  #expect(try render(row(bars601, description(.bt601, .limited)), "").colors == [expected])
}

@Test("limited BT.709 bars convert to RGB")
func bt709() throws {
  // Yellow: Y 236.37; R + 17.93, G + 23.88 - 5.33, B - 236.59. Red: Y 54.73; R + 200.79, G + 5.54 - 59.69, B - 54.92.
  let expected: [[UInt8]] = [
    [255, 255, 255], [254, 255, 0], [0, 254, 255], [0, 255, 1], [255, 0, 254], [255, 1, 0], [1, 0, 255],
    [0, 0, 0],
  ]
  #expect(try render(row(bars709, description(.bt709, .limited)), "").colors == [expected])
}

@Test("limited BT.2020 red, green and blue convert to RGB")
func bt2020() throws {
  // Red: Y 67.53; R + 188.01, G + 5.81 - 72.85 = 0.49, B - 66.40 = 1.14. Green: Y 172.33; R - 172.90,
  // G + 15.173 + 66.994 = 254.496, B - 173.48. Blue: Y 15.14; R - 15.11 = 0.03, G - 20.98 + 5.85 = 0.01,
  // B + 239.88 = 255.02.
  let pixels: [[UInt8]] = [[74, 97, 240], [164, 47, 25], [29, 240, 119]]
  #expect(
    try render(row(pixels, description(.bt2020, .limited)), "").colors == [
      [[255, 0, 1], [0, 254, 0], [0, 0, 255]]
    ])
}

@Test("full-range JFIF red, blue and greys convert to RGB")
func jfifBars() throws {
  // Red: 76 + 1.402 * 127 = 254.05, 76 + 14.80 - 90.69 = 0.10, 76 - 76.20. Blue: 29 - 29.44, 29 - 43.71 + 15.00 = 0.29,
  // 29 + 225.04 = 254.04.
  #expect(
    try render(row([[76, 85, 255], [29, 255, 107]], .jfif), "").colors == [[[254, 0, 0], [0, 0, 254]]])
  #expect(
    try render(row([[0, 128, 128], [128, 128, 128], [255, 128, 128]], .jfif), "").rows(1) == [[0, 128, 255]])
}

@Test("codes beyond black and white are clamped in RGB, only after filtering")
func beyondTheRange() throws {
  // 0 is -18.63, 255 is 278.29, 126 is 128.08.
  let pixels: [[UInt8]] = [[0, 128, 128], [126, 128, 128], [255, 128, 128]]
  #expect(try render(row(pixels, .camera601), "").rows(0) == [[0, 128, 255]])
  // The mean of 0 and 235 is 255 * (117.5 - 16) / 219 = 118.2, not the mean of 0 and 255.
  let edge: [[UInt8]] = [[0, 128, 128], [235, 128, 128]]
  #expect(try render(row(edge, .camera601), "size=1x1,mode=stretch").rows(0) == [[118]])
}

// MARK: To JFIF's planes

@Test("limited BT.601 converts to JFIF by range alone")
func limitedToJFIF() throws {
  // Y' (Y - 16) 255 / 219, C 128 + (C - 128) 255 / 224: 210 -> 225.89, 146 -> 148.49, 166 -> 171.26, 54 -> 43.76,
  // 34 -> 20.99, 202 -> 212.24, 222 -> 235.01, 90 -> 84.74, 110 -> 107.51; 16 is 0.5, which rounds up; 240 is 255.5.
  let expected: [[UInt8]] = [
    [255, 128, 128], [226, 1, 148], [179, 171, 1], [150, 44, 21], [105, 212, 235], [76, 85, 255],
    [29, 255, 108],
    [0, 128, 128],
  ]

  #expect(
    try planes(render(row(bars601, description(.bt601, .limited)), "", as: .ycbcr(.yuv444))) == expected)
}

@Test("conversion to JFIF does not clamp to RGB: blue on black stays")
func noClamping() throws {
  // As R'G'B' it would be (0, -44, 226), clamped (0, 0, 226), and come out as 26, 241, 110.
  #expect(try planes(render(row([[16, 240, 128]], .camera601), "", as: .ycbcr(.yuv444))) == [[0, 255, 128]])
  #expect(try planes(render(row([[0, 255, 128]], .jfif), "", as: .ycbcr(.yuv444))) == [[0, 255, 128]])
}

@Test("BT.709 bars convert to JFIF within one code, and full-range greys are unchanged")
func bt709ToJFIF() throws {
  let shown = try planes(render(row(bars709, description(.bt709, .limited)), "", as: .ycbcr(.yuv444)))
  for (bar, expected) in zip(shown, jfif) { #expect(isWithin(1, bar, expected), "\(bar) is not \(expected)") }

  // Red to the code: (63, 102, 240) is R 255.51, G 0.58, B -0.20, not clamped;
  // Y 76.40 + 0.34 - 0.02, Cb 128 - 43.11 - 0.19 - 0.10, Cr 128 + 127.76 - 0.24 + 0.02.
  #expect(shown[5] == [77, 85, 255])

  // Full range and 2020 have the same greys.
  let greys: [[UInt8]] = [[0, 128, 128], [99, 128, 128], [255, 128, 128]]
  for matrix in ColorDescription.Matrix.allCases {
    #expect(try planes(render(row(greys, description(matrix, .full)), "", as: .ycbcr(.yuv444))) == greys)
  }
}

@Test("RGB converts to JFIF: red is 76, 85, 255")
func rgbToJFIF() throws {
  let pixels: [[UInt8]] = [
    [255, 255, 255], [255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 0, 255], [255, 255, 0], [0, 0, 0],
    [100, 100, 100],
  ]
  // 76.25, 84.97, 255.5; 149.69, 43.53, 21.23; 29.07, 255.5, 107.27; 105.32, 212.47, 234.77; 225.93, 0.5, 148.73
  let expected: [[UInt8]] = [
    [255, 128, 128], [76, 85, 255], [150, 44, 21], [29, 255, 107], [105, 212, 235], [226, 1, 149],
    [0, 128, 128],
    [100, 128, 128],
  ]

  #expect(try planes(render(rgb([pixels]), "", as: .ycbcr(.yuv444))) == expected)
}

// MARK: To video's planes

@Test("RGB colour bars convert to limited BT.601 bars")
func rgbToVideo() throws {
  let pixels: [[UInt8]] = [
    [255, 255, 255], [255, 255, 0], [0, 255, 255], [0, 255, 0], [255, 0, 255], [255, 0, 0], [0, 0, 255],
    [0, 0, 0],
  ]
  #expect(try planes(render(rgb([pixels]), "", as: .ycbcr(.yuv444, .limited))) == bars601)
  // Y' 16 + 219/255 * 100 is 101.88.
  #expect(
    try planes(render(rgb([[[100, 100, 100]]]), "", as: .ycbcr(.yuv444, .limited))) == [[102, 128, 128]])
}

@Test("limited BT.601 is unchanged at limited range, and JFIF is converted by range alone")
func ycbcrToVideo() throws {
  let limited = Picture.Format.ycbcr(.yuv444, .limited)
  // Below black, above white, and a colour that no R'G'B' has.
  let odd: [[UInt8]] = [[0, 128, 128], [255, 255, 1], [16, 240, 128]]
  #expect(try planes(render(row(odd, .camera601), "", as: limited)) == odd)
  #expect(try planes(render(row(bars601, .camera601), "", as: limited)) == bars601)
  // 16 + 219/255 * 255; 128 + 224/255 * (255 - 128) is 239.56; 128 - 224/255 * 128 is 15.56; 16 + 219/255 * 99 is
  // 101.02.
  #expect(
    try planes(render(row([[255, 255, 0], [0, 128, 128], [99, 128, 128]], .jfif), "", as: limited)) == [
      [235, 240, 16], [16, 128, 128], [101, 128, 128],
    ])
}

@Test("BT.709 bars convert to limited BT.601 bars within one code")
func bt709ToVideo() throws {
  let shown = try planes(
    render(row(bars709, description(.bt709, .limited)), "", as: .ycbcr(.yuv444, .limited)))
  for (bar, expected) in zip(shown, bars601) {
    #expect(isWithin(1, bar, expected), "\(bar) is not \(expected)")
  }
}

@Test("bars beside a picture have the background's limited-range codes")
func videoBackground() throws {
  let wide = try render(rgb([[[255, 255, 255]]]), "size=6x1,mode=fit,background=ff0000", as: .video)
  #expect(wide.rows(0).first?.first == 81)
  #expect(wide.rows(1).first?.first == 90)
  #expect(wide.rows(2).first?.first == 240)
}

@Test("cyan's Cr of 0.5 rounds up to 1")
func cyanHalf() throws {
  // 128 - 127.5: -0.418688 * 255 - 0.081312 * 255 is -127.5 exactly.
  #expect(try planes(render(rgb([[[0, 255, 255]]]), "", as: .ycbcr(.yuv444))) == [[179, 171, 1]])
}

@Test("RGB to 4:2:0 averages the converted pixels, and odd edges average only existing ones")
func rgbTo420() throws {
  let (red, blue): ([UInt8], [UInt8]) = ([255, 0, 0], [0, 0, 255])
  // Cb (84.97 + 255.5) / 2 = 170.24, Cr (255.5 + 107.27) / 2 = 181.38; then blue alone.
  let row = try render(rgb([[red, blue, blue]]), "", as: .ycbcr(.yuv420))
  #expect(row.samples == [[[76, 29, 29]], [[170, 255]], [[181, 107]]])

  // 3x3: four, two, two and one.
  let square = try render(
    rgb([[red, red, blue], [red, red, blue], [blue, blue, red]]), "", as: .ycbcr(.yuv420))
  #expect(square.rows(1) == [[85, 255], [255, 85]] && square.rows(2) == [[255, 107], [107, 255]])

  // 4:2:2 has a row of chroma for each.
  let half = try render(rgb([[red, blue], [blue, blue]]), "", as: .ycbcr(.yuv422))
  #expect(half.rows(1) == [[170], [255]] && half.planes.map(\.size.description) == ["2x2", "1x2", "1x2"])
}

// MARK: Grey

@Test("grey has neutral chroma in every matrix, range and output format")
func greyFrames() throws {
  for matrix in ColorDescription.Matrix.allCases {
    let limited = try frame(.grey, 3, 1, [16, 126, 235], description(matrix, .limited))
    #expect(try render(limited, "").colors == [[[0, 0, 0], [128, 128, 128], [255, 255, 255]]])
    for chroma in Picture.ChromaSubsampling.allCases {
      let samples = try render(limited, "", as: .ycbcr(chroma)).samples
      #expect(
        samples[0] == [[0, 128, 255]] && Set(samples[1][0] + samples[2][0]) == [128], "\(matrix) \(chroma)")
    }

    let full = try frame(.grey, 3, 1, [0, 99, 255], description(matrix, .full))
    #expect(
      try render(full, "", as: .ycbcr(.yuv420)).samples == [[[0, 99, 255]], [[128, 128]], [[128, 128]]])
    #expect(
      try render(full, "linear=1", as: .ycbcr(.yuv444)).samples == [
        [[0, 99, 255]], [many(128, 3)], [many(128, 3)],
      ])
  }
}
