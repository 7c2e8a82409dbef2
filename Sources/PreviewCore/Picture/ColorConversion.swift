// Colour conversions: the matrices and ranges of the standards combined into one affine map of codes,
// computed once in double precision for both renderers; and sRGB's transfer function.
internal import Glibc

/// `output = red * x + green * y + blue * z + offset` on codes from 0 to 255; the matrix is stored by
/// columns.
package struct ColorConversion: Sendable, Hashable {
  /// The contributions of the first, second and third input to the three outputs.
  package let columns: [SIMD3<Double>]
  /// Added to each output.
  package let offset: SIMD3<Double>

  /// Creates a conversion from the matrix's rows, the order in which standards print them.
  package init(
    rows first: SIMD3<Double>, _ second: SIMD3<Double>, _ third: SIMD3<Double>, offset: SIMD3<Double> = .zero
  ) {
    self.columns = (0..<3).map { SIMD3(first[$0], second[$0], third[$0]) }
    self.offset = offset
  }

  private init(columns: [SIMD3<Double>], offset: SIMD3<Double>) {
    self.columns = columns
    self.offset = offset
  }

  package static let identity = ColorConversion(rows: [1, 0, 0], [0, 1, 0], [0, 0, 1])

  /// Creates a conversion from Y'CbCr codes to R'G'B' codes (H.273 8.3, equations 41 to 46 inverted).
  package init(rgbFrom color: ColorDescription) {
    let (red, blue) = (color.matrix.redWeight, color.matrix.blueWeight)
    let green = 1 - red - blue
    self = ColorConversion(
      rows: [1, 0, 2 * (1 - red)],
      [1, -2 * blue * (1 - blue) / green, -2 * red * (1 - red) / green],
      [1, 2 * (1 - blue), 0]
    ).after(.normalizing(color.range))
  }

  /// From R'G'B' codes to JFIF's Y'CbCr codes (T.871, 7).
  package static let jfifFromRGB: ColorConversion = {
    let (red, blue) = (ColorDescription.Matrix.bt601.redWeight, ColorDescription.Matrix.bt601.blueWeight)
    let green = 1 - red - blue
    return ColorConversion(
      rows: [red, green, blue],
      [-red / (2 * (1 - blue)), -green / (2 * (1 - blue)), 0.5],
      [0.5, -green / (2 * (1 - red)), -blue / (2 * (1 - red))],
      offset: [0, 128, 128])
  }()

  /// Returns a conversion from R'G'B' codes to BT.601's Y'CbCr codes of a range.
  package static func ycbcrFromRGB(_ range: ColorDescription.QuantizationRange) -> ColorConversion {
    range == .full ? jfifFromRGB : limitedFromRGB
  }

  private static let limitedFromRGB =
    quantizing(.limited).after(.normalizing(.full)).after(jfifFromRGB)

  /// Creates a conversion from any Y'CbCr to BT.601's of `range`. If the matrix is already BT.601's, R'G'B'
  /// is not involved.
  package init(ycbcr range: ColorDescription.QuantizationRange = .full, from color: ColorDescription) {
    guard color.matrix != .bt601 else {
      self =
        color.range == range
        ? .identity : ColorConversion.quantizing(range).after(.normalizing(color.range))
      return
    }
    let exact = ColorConversion.ycbcrFromRGB(range).after(ColorConversion(rgbFrom: color))
    // Chroma does not depend on luma: what remains there is rounding of doubles.
    let columns = exact.columns.map { $0.replacing(with: 0, where: ($0 * $0) .< 1e-24) }
    self.init(columns: columns, offset: exact.offset)
  }

  /// Returns a conversion from codes to luma 0...255 and chroma -127.5...127.5.
  private static func normalizing(_ range: ColorDescription.QuantizationRange) -> ColorConversion {
    let luma = 255 / range.lumaSteps
    let chroma = 255 / range.chromaSteps
    return ColorConversion(
      rows: [luma, 0, 0], [0, chroma, 0], [0, 0, chroma],
      offset: [-range.black * luma, -128 * chroma, -128 * chroma])
  }

  /// Returns the inverse of `normalizing`.
  private static func quantizing(_ range: ColorDescription.QuantizationRange) -> ColorConversion {
    ColorConversion(
      rows: [range.lumaSteps / 255, 0, 0], [0, range.chromaSteps / 255, 0], [0, 0, range.chromaSteps / 255],
      offset: [range.black, 128, 128])
  }

  /// Returns the conversion that applies `first`, then `self`.
  func after(_ first: ColorConversion) -> ColorConversion {
    ColorConversion(columns: first.columns.map { self($0) - offset }, offset: self(first.offset))
  }

  /// Converts three codes, without clamping or rounding.
  package func callAsFunction(_ input: SIMD3<Double>) -> SIMD3<Double> {
    let linear: SIMD3<Double> = columns[0] * input.x + columns[1] * input.y + columns[2] * input.z
    return linear + offset
  }

  /// Returns whether any output in `rows` depends on the second or third input.
  func needsChroma(rows: Range<Int>) -> Bool { rows.contains { columns[1][$0] != 0 || columns[2][$0] != 0 } }

  /// Returns whether any output in `rows` depends on the first input.
  func needsLuma(rows: Range<Int>) -> Bool { rows.contains { columns[0][$0] != 0 } }
}

extension ColorDescription.QuantizationRange {
  /// The code of black, and the codes from black to white and from the least chroma to the most (H.273, 8.3).
  fileprivate var black: Double { self == .full ? 0 : 16 }
  fileprivate var lumaSteps: Double { self == .full ? 255 : 219 }
  fileprivate var chromaSteps: Double { self == .full ? 255 : 224 }
}

/// sRGB's transfer function on 0...1. Y'CbCr values outside R'G'B' continue along the curve above 1 and along
/// the straight part below 0.
package enum TransferFunction {
  package static func linear(_ encoded: Double) -> Double {
    encoded <= 0.04045 ? encoded / 12.92 : pow((encoded + 0.055) / 1.055, 2.4)
  }

  package static func encoded(_ linear: Double) -> Double {
    linear <= 0.0031308 ? linear * 12.92 : 1.055 * pow(linear, 1 / 2.4) - 0.055
  }
}
