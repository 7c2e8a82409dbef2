// V4L2's words for colours in ours.
import PreviewCore
import Testing

@testable import CaptureV4L2
@testable import GLPreview

private let size = Size(width: 640, height: 480)

private func color(_ colorspace: UInt32, _ encoding: UInt32 = 0, _ quantization: UInt32 = 0)
  -> ColorDescription
{
  V4L2Color(colorspace: colorspace, encoding: encoding, quantization: quantization)
    .description(size, .yuyv)
}

@Test(
  "a V4L2 colorspace has the default matrix and range of videodev2.h",
  arguments: [
    // videodev2.h: V4L2_MAP_YCBCR_ENC_DEFAULT and V4L2_MAP_QUANTIZATION_DEFAULT of each colorspace.
    (1, ColorDescription.Matrix.bt601, ColorDescription.QuantizationRange.limited), (2, .smpte240m, .limited),
    (3, .bt709, .limited),
    (5, .bt601, .limited), (6, .bt601, .limited), (7, .bt601, .full), (8, .bt601, .limited),
    (9, .bt601, .limited), (10, .bt2020, .limited), (11, .bt601, .limited), (12, .bt709, .limited),
  ] as [(UInt32, ColorDescription.Matrix, ColorDescription.QuantizationRange)])
func defaults(colorspace: UInt32, matrix: ColorDescription.Matrix, range: ColorDescription.QuantizationRange)
{
  #expect(color(colorspace) == ColorDescription(matrix: matrix, range: range, siting: .left))
}

@Test("a driver's encoding and quantization override its colorspace's defaults")
func told() {
  let matrices: [(UInt32, ColorDescription.Matrix)] = [
    (1, .bt601), (2, .bt709), (5, .bt601), (6, .bt2020), (7, .bt2020), (8, .smpte240m),
  ]

  for (encoding, matrix) in matrices {
    for (quantization, range) in [(1, ColorDescription.QuantizationRange.full), (2, .limited)]
      as [(UInt32, ColorDescription.QuantizationRange)]
    {
      #expect(
        color(8, encoding, quantization) == ColorDescription(matrix: matrix, range: range, siting: .left))
    }
  }

  // A webcam of full range.
  #expect(color(8, 0, 1).range == .full)
}

@Test("xvYCC always has limited range")
func extendedGamut() {
  #expect(color(8, 3, 1) == ColorDescription(matrix: .bt601, range: .limited, siting: .left))
  #expect(color(3, 4, 1) == ColorDescription(matrix: .bt709, range: .limited, siting: .left))
}

@Test("without colour information from the driver, the matrix depends on the size")
func nothing() {
  let silent = V4L2Color()
  #expect(silent.description(size, .yuyv).matrix == .bt601)
  #expect(silent.description(Size(width: 1280, height: 720), .nv12).matrix == .bt709)
}

@Test(
  "R'G'B' and grey have full range unless the driver reports limited range",
  arguments: [PixelFormat.rgb24, .bgra, .grey])
func rgb(format: PixelFormat) {
  #expect(V4L2Color(colorspace: 8).range(of: format) == .full)
  #expect(V4L2Color(colorspace: 8, quantization: 1).range(of: format) == .full)
  #expect(V4L2Color(colorspace: 8, quantization: 2).range(of: format) == .limited)
  // The encoding has no meaning there.
  #expect(V4L2Color(colorspace: 8, encoding: 3).range(of: format) == .full)
}
