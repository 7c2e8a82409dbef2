// Matrices and ranges against what the standards and others print: ITU-R BT.601-7, BT.709-6, BT.2020-2, T.871;
// 8-bit colour bars as in GStreamer's videotestsrc (100%) and AviSynth's "ColorBars theory" (75%, after BT.801).
import PreviewCore
import Testing

private func conversion(_ matrix: ColorDescription.Matrix, _ range: ColorDescription.QuantizationRange)
  -> ColorConversion
{
  ColorConversion(rgbFrom: ColorDescription(matrix: matrix, range: range, siting: .left))
}

private func isClose(_ first: SIMD3<Double>, _ second: SIMD3<Double>, within bound: Double) -> Bool {
  (0..<3).allSatisfy { abs(first[$0] - second[$0]) <= bound }
}

/// White, yellow, cyan, green, magenta, red, blue, black: R', G', B' of 0 or 1.
private let bars: [SIMD3<Double>] = [
  [1, 1, 1], [1, 1, 0], [0, 1, 1], [0, 1, 0], [1, 0, 1], [1, 0, 0], [0, 0, 1], [0, 0, 0],
]

private let bars601: [SIMD3<Double>] = [
  [235, 128, 128], [210, 16, 146], [170, 166, 16], [145, 54, 34], [106, 202, 222], [81, 90, 240],
  [41, 240, 110],
  [16, 128, 128],
]
private let bars601At75: [SIMD3<Double>] = [
  [180, 128, 128], [162, 44, 142], [131, 156, 44], [112, 72, 58], [84, 184, 198], [65, 100, 212],
  [35, 212, 114],
  [16, 128, 128],
]
private let bars709: [SIMD3<Double>] = [
  [235, 128, 128], [219, 16, 138], [188, 154, 16], [173, 42, 26], [78, 214, 230], [63, 102, 240],
  [32, 240, 118],
  [16, 128, 128],
]
private let bars709At75: [SIMD3<Double>] = [
  [180, 128, 128], [168, 44, 136], [145, 147, 44], [133, 63, 52], [63, 193, 204], [51, 109, 212],
  [28, 212, 120],
  [16, 128, 128],
]
/// By hand from BT.2020-2: Y' = 0.2627 R' + 0.6780 G' + 0.0593 B', Cb = (B' - Y') / 1.8814, Cr = (R' - Y') / 1.4746;
/// red is 16 + 219 * 0.2627 = 73.5, 128 - 224 * 0.2627 / 1.8814 = 96.7, 240.
private let bars2020: [SIMD3<Double>] = [
  [235, 128, 128], [222, 16, 137], [177, 159, 16], [164, 47, 25], [87, 209, 231], [74, 97, 240],
  [29, 240, 119],
  [16, 128, 128],
]

@Test(
  "published colour bars convert to red, green and blue within the rounding of their codes",
  arguments: [
    (ColorDescription.Matrix.bt601, bars601, 255.0), (.bt601, bars601At75, 191.25), (.bt709, bars709, 255),
    (.bt709, bars709At75, 191.25), (.bt2020, bars2020, 255),
  ])
func publishedBars(matrix: ColorDescription.Matrix, codes: [SIMD3<Double>], level: Double) {
  // Half a code of luma is 0.58, half a code of chroma at most 2 (1 - 0.0593) 255 / 224 / 2 = 1.08.
  for (bar, code) in zip(bars, codes) {
    #expect(isClose(conversion(matrix, .limited)(code), bar * level, within: 1.7), "\(matrix) \(code)")
  }
}

/// The standards' forward equations, with their printed numbers: Y' and the two colour differences.
private func differences(_ matrix: ColorDescription.Matrix, _ rgb: SIMD3<Double>) -> SIMD3<Double> {
  let (weights, blue, red): (SIMD3<Double>, Double, Double) =
    switch matrix {
    case .bt601: ([0.299, 0.587, 0.114], 1.772, 1.402)
    case .bt709: ([0.2126, 0.7152, 0.0722], 1.8556, 1.5748)
    case .bt2020: ([0.2627, 0.6780, 0.0593], 1.8814, 1.4746)
    case .smpte240m: ([0.212, 0.701, 0.087], 1.826, 1.576)
    }
  let luma = (weights * rgb).sum()
  return [luma, (rgb.z - luma) / blue, (rgb.x - luma) / red]
}

private func limited(_ matrix: ColorDescription.Matrix, _ rgb: SIMD3<Double>) -> SIMD3<Double> {
  differences(matrix, rgb) * [219, 224, 224] + [16, 128, 128]
}

@Test("the published colour bars equal the standards' equations, rounded")
func barsAreTheStandards() {
  func rounded(_ matrix: ColorDescription.Matrix, _ level: Double) -> [SIMD3<Double>] {
    bars.map { (limited(matrix, $0 * level) + 0.5).rounded(.down) }
  }
  #expect(rounded(.bt601, 1) == bars601)
  #expect(rounded(.bt601, 0.75) == bars601At75)
  #expect(rounded(.bt709, 1) == bars709)
  #expect(rounded(.bt709, 0.75) == bars709At75)
  #expect(rounded(.bt2020, 1) == bars2020)
}

@Test("conversion to R'G'B' inverts the standards' equations", arguments: ColorDescription.Matrix.allCases)
func inverse(matrix: ColorDescription.Matrix) {
  let colors = bars + [[0.2, 0.5, 0.9], [1.1, -0.2, 0.4], [0.01, 0.02, 0.03]]
  for color in colors {
    #expect(isClose(conversion(matrix, .limited)(limited(matrix, color)), color * 255, within: 1e-9))
    let full = differences(matrix, color) * 255 + [0, 128, 128]
    #expect(isClose(conversion(matrix, .full)(full), color * 255, within: 1e-9))
  }
}

@Test(
  "conversion coefficients equal the published ones",
  arguments: [
    // R from Cr, G from Cb, G from Cr, B from Cb.
    (
      ColorDescription.Matrix.bt601, ColorDescription.QuantizationRange.full,
      [1.402, -0.344136, -0.714136, 1.772]
    ),  // T.871, 7
    (.bt601, .limited, [1.596027, -0.391762, -0.812968, 2.017232]),
    (.bt709, .full, [1.5748, -0.187324, -0.468124, 1.8556]),
    (.bt709, .limited, [1.792741, -0.213249, -0.532909, 2.112402]),
    (.bt2020, .full, [1.4746, -0.164553, -0.571353, 1.8814]),
    (.bt2020, .limited, [1.678674, -0.187326, -0.650424, 2.141772]),
    (.smpte240m, .full, [1.576, -0.226622, -0.476622, 1.826]),
    (.smpte240m, .limited, [1.794107, -0.257985, -0.542583, 2.078705]),
  ])
func coefficients(
  matrix: ColorDescription.Matrix, range: ColorDescription.QuantizationRange, expected: [Double]
) {
  let columns = conversion(matrix, range).columns
  let found = [columns[2].x, columns[1].y, columns[2].y, columns[1].z]
  #expect(zip(found, expected).allSatisfy { abs($0 - $1) < 1e-6 }, "\(found)")
  #expect(columns[1].x == 0 && columns[2].z == 0)
  // Luma: 255 / 219 = 1.164384.
  let luma = range == .limited ? 1.164384 : 1
  #expect(isClose(columns[0], SIMD3(repeating: luma), within: 1e-6))
}

@Test("black, white and grey convert to neutral R'G'B' in every matrix and range")
func neutrals() {
  for matrix in ColorDescription.Matrix.allCases {
    #expect(isClose(conversion(matrix, .limited)([16, 128, 128]), .zero, within: 1e-9))
    #expect(isClose(conversion(matrix, .limited)([235, 128, 128]), [255, 255, 255], within: 1e-9))
    for code in [0.0, 1, 127, 128, 255] {
      #expect(isClose(conversion(matrix, .full)([code, 128, 128]), [code, code, code], within: 1e-9))
    }
  }
}

// MARK: JFIF

@Test("the eight R'G'B' corner colours convert to JFIF as in T.871, clause 7")
func jfifCorners() {
  let expected: [SIMD3<Double>] = [
    // 0.5 * 255 * 0.299 / 0.886 = 43.02765 and 0.5 * 255 * 0.114 / 0.701 = 20.73466.
    [255, 128, 128], [225.93, 0.5, 148.73466], [178.755, 171.02765, 0.5], [149.685, 43.52765, 21.23466],
    [105.315, 212.47235, 234.76534], [76.245, 84.97235, 255.5], [29.07, 255.5, 107.26534], [0, 128, 128],
  ]
  for (bar, codes) in zip(bars, expected) {
    #expect(isClose(ColorConversion.jfifFromRGB(bar * 255), codes, within: 1e-4), "\(bar)")
  }
}

@Test("conversion from JFIF to JFIF is exactly the identity")
func jfifToJFIF() {
  #expect(ColorConversion(from: .jfif) == .identity)
}

@Test("limited BT.601 converts to JFIF by range alone, without clamping to R'G'B'")
func limitedToJFIF() {
  let conversion = ColorConversion(
    from: ColorDescription(matrix: .bt601, range: .limited, siting: .left))

  #expect(isClose(conversion([16, 128, 128]), [0, 128, 128], within: 1e-9))
  #expect(isClose(conversion([235, 240, 16]), [255, 255.5, 0.5], within: 1e-9))
  // Blue on black: no R'G'B' has it.
  #expect(isClose(conversion([16, 240, 128]), [0, 255.5, 128], within: 1e-9))
  // Luma owes nothing to chroma, and the other way round.
  #expect(conversion.columns[0].y == 0 && conversion.columns[0].z == 0)
  #expect(conversion.columns[1].x == 0 && conversion.columns[2].x == 0)
}

@Test("limited BT.601 to limited range is the identity, and JFIF is scaled to limited range")
func toLimited() {
  #expect(
    ColorConversion(
      ycbcr: .limited, from: ColorDescription(matrix: .bt601, range: .limited, siting: .left)) == .identity)
  let squeezed = ColorConversion(ycbcr: .limited, from: .jfif)
  #expect(isClose(squeezed([0, 128, 128]), [16, 128, 128], within: 1e-9))
  #expect(isClose(squeezed([255, 255.5, 0.5]), [235, 240, 16], within: 1e-9))
  for bar in bars {
    let codes = ColorConversion.ycbcrFromRGB(.limited)(bar * 255)
    #expect(isClose(squeezed(ColorConversion.jfifFromRGB(bar * 255)), codes, within: 1e-9))
  }
}

@Test("BT.709 and BT.2020 convert to JFIF as via R'G'B', and chroma does not depend on luma")
func othersToJFIF() {
  for (matrix, range) in [
    (ColorDescription.Matrix.bt709, ColorDescription.QuantizationRange.limited), (.bt709, .full),
    (.bt2020, .limited), (.bt2020, .full),
  ] {
    let color = ColorDescription(matrix: matrix, range: range, siting: .centred)
    let direct = ColorConversion(from: color)

    for codes: SIMD3<Double> in [
      [16, 128, 128], [235, 128, 128], [63, 102, 240], [32, 240, 118], [200, 16, 16],
    ] {
      let through = ColorConversion.jfifFromRGB(conversion(matrix, range)(codes))
      #expect(isClose(direct(codes), through, within: 1e-9))
    }

    #expect(direct.columns[0].y == 0 && direct.columns[0].z == 0)
    // The 709 -> 601 step mixes Cb and Cr into Y'.
    #expect(abs(direct.columns[1].x) > 0.05 && abs(direct.columns[2].x) > 0.05)
  }
}

// MARK: What a source leaves open

@Test(
  "an unspecified matrix is BT.709 from 1280 columns or above 576 rows, else BT.601",
  arguments: [
    (1280, 1, ColorDescription.Matrix.bt709), (1279, 576, .bt601), (1279, 577, .bt709), (720, 576, .bt601),
    (1920, 1080, .bt709),
    (640, 480, .bt601), (720, 577, .bt709), (1, 1, .bt601),
  ])
func guessedMatrix(width: Int, height: Int, matrix: ColorDescription.Matrix) {
  let size = Size(width: width, height: height)
  let guessed = ColorDescription(guessedFor: size, matrix: nil, range: nil, siting: .left)
  #expect(guessed == ColorDescription(matrix: matrix, range: .limited, siting: .left))
  let told = ColorDescription(guessedFor: size, matrix: .bt2020, range: .full, siting: .centred)
  #expect(told == ColorDescription(matrix: .bt2020, range: .full, siting: .centred))
}

@Test("a colour override replaces matrix and range, and keeps the chroma siting")
func overrides() {
  #expect(ColorDescription.Override().applied(to: .jfif) == .jfif)
  let both = ColorDescription.Override(matrix: .bt709, range: .limited).applied(to: .jfif)
  #expect(both == ColorDescription(matrix: .bt709, range: .limited, siting: .centred))
}

// MARK: Light

@Test("the sRGB transfer function has the values of IEC 61966-2-1 and round-trips all 8-bit codes")
func transferFunction() {
  func isNear(_ first: Double, _ second: Double, _ bound: Double = 1e-5) -> Bool {
    abs(first - second) < bound
  }

  #expect(TransferFunction.linear(0) == 0 && isNear(TransferFunction.linear(1), 1, 1e-12))
  #expect(isNear(TransferFunction.linear(0.5), 0.214041))
  #expect(isNear(TransferFunction.linear(0.04045), 0.0031308, 1e-7))
  #expect(isNear(TransferFunction.encoded(0.5), 0.735357))
  #expect(isNear(TransferFunction.encoded(0.18), 0.461356))
  for code in 0...255 {
    let encoded = Double(code) / 255
    #expect(isNear(TransferFunction.encoded(TransferFunction.linear(encoded)), encoded, 1e-7))
  }
  // Below black the straight part goes on.
  #expect(
    isNear(TransferFunction.linear(-0.1292), -0.01, 1e-12)
      && isNear(TransferFunction.encoded(-0.01), -0.1292, 1e-12))
}
