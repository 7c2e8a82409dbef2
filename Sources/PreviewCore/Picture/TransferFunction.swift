// Conversion between encoded values and linear light: IEC 61966-2-1 (sRGB), both ways.
internal import Glibc

/// sRGB's transfer function on 0...1. Y'CbCr values outside R'G'B' continue along the curve above 1 and along the
/// straight part below 0.
package enum TransferFunction {
  /// The linear light of an encoded value.
  package static func linear(_ encoded: Double) -> Double {
    encoded <= 0.04045 ? encoded / 12.92 : pow((encoded + 0.055) / 1.055, 2.4)
  }

  /// The encoded value of linear light.
  package static func encoded(_ linear: Double) -> Double {
    linear <= 0.0031308 ? linear * 12.92 : 1.055 * pow(linear, 1 / 2.4) - 0.055
  }
}
