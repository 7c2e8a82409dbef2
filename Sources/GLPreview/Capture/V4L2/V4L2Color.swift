// Converts a driver's colour description. V4L2's defaults are as its headers map them (videodev2.h, V4L2_MAP_*).
internal import PreviewCore

/// A driver's colour description in V4L2's numbers; 0 is the default everywhere.
struct V4L2Color: Sendable, Hashable {
  /// `enum v4l2_colorspace`
  var colorspace: UInt32 = 0
  /// `enum v4l2_ycbcr_encoding`
  var encoding: UInt32 = 0
  /// `enum v4l2_quantization`
  var quantization: UInt32 = 0

  // enum v4l2_colorspace
  private static let smpte240M: UInt32 = 2
  private static let rec709: UInt32 = 3
  private static let jpeg: UInt32 = 7
  private static let bt2020: UInt32 = 10
  private static let dciP3: UInt32 = 12

  /// The colour description of pictures of `size`.
  ///
  /// Primaries and transfer function are kept: pictures are not converted between them. Chroma is sited left.
  func description(_ size: Size, _ format: PixelFormat) -> ColorDescription {
    ColorDescription(guessedFor: size, matrix: matrix, range: range(of: format), siting: .left)
  }

  /// Which codes of `format` stand for black and white.
  func range(of format: PixelFormat) -> ColorDescription.QuantizationRange {
    let isYCbCr = if case .ycbcr = format.model { true } else { false }
    // xvYCC is always limited range (V4L2 documentation, "V4L2_YCBCR_ENC_XV601").
    if isYCbCr, encoding == 3 || encoding == 4 { return .limited }
    return switch quantization {
    case 1: .full
    case 2: .limited
    // Unspecified grey is full range, as everywhere in this project; V4L2's drivers mean it so too.
    default: !isYCbCr || colorspace == Self.jpeg ? .full : .limited
    }
  }

  /// Nil if the driver reports nothing.
  private var matrix: ColorDescription.Matrix? {
    switch encoding {
    case 1, 3, 5: .bt601
    case 2, 4: .bt709
    // 7 is constant luminance, which no matrix describes: the nearest, as for videos. No camera is known to use it.
    case 6, 7: .bt2020
    case 8: .smpte240m
    default:
      switch colorspace {
      case 0: nil
      case Self.rec709, Self.dciP3: .bt709
      case Self.bt2020: .bt2020
      case Self.smpte240M: .smpte240m
      default: .bt601
      }
    }
  }
}
