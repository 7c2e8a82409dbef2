// What vivid's colour controls do, what its driver reports of them, and what colours its bars have.
import PreviewCore
import Testing

/// A setting of the four controls by which vivid makes its colours, in the order of the controls' own menus.
struct VividColour: Sendable, CustomTestStringConvertible {
  /// The control `colorspace`, whose menu has an order of its own; `v4l2` is the kernel's number (enum v4l2_colorspace).
  enum Space: Int32, CaseIterable {
    case smpte170m, rec709, srgb, oprgb, bt2020, dciP3, smpte240m, system470M, system470BG
    var v4l2: UInt32 { [1, 3, 8, 9, 10, 12, 2, 5, 6][Int(rawValue)] }
  }

  /// The control `y_cbcr_encoding`; the numbers are those of enum v4l2_ycbcr_encoding.
  enum Encoding: Int32, CaseIterable {
    case standard = 0
    case bt601 = 1
    case rec709 = 2
    case xv601 = 3
    case xv709 = 4
    case bt2020 = 6
    case bt2020ConstantLuminance = 7
    case smpte240m = 8
  }

  /// The control `quantization`; the numbers are those of enum v4l2_quantization.
  enum Quantization: Int32, CaseIterable {
    case standard, full, limited
  }

  var space = Space.srgb
  var encoding = Encoding.standard
  var quantization = Quantization.standard
  /// The control `transfer_function`, 0...7, which are the numbers of enum v4l2_xfer_func; 0 follows from the colour space.
  /// The bars' codes do not depend on it, but for constant luminance.
  var transfer: Int32 = 0

  /// Every encoding with every range, then every colour space and every transfer function with what follows from them.
  static let all: [VividColour] =
    Encoding.allCases.flatMap { encoding in
      Quantization.allCases.map { VividColour(encoding: encoding, quantization: $0) }
    } + Space.allCases.map { VividColour(space: $0) } + (1...7).map { VividColour(transfer: $0) }

  /// Turns the camera's four controls.
  func set(on camera: Vivid) throws {
    try camera.set("colorspace", space.rawValue)
    try camera.set("transfer_function", transfer)
    try camera.set("y_cbcr_encoding", encoding.rawValue)
    try camera.set("quantization", quantization.rawValue)
  }

  /// The encoding that is meant where `encoding` leaves it open (V4L2_MAP_YCBCR_ENC_DEFAULT of linux/videodev2.h).
  var effectiveEncoding: Encoding {
    guard encoding == .standard else { return encoding }
    return switch space {
    case .rec709, .dciP3: .rec709
    case .bt2020: .bt2020
    case .smpte240m: .smpte240m
    case .smpte170m, .srgb, .oprgb, .system470M, .system470BG: .bt601
    }
  }

  /// The range of Y'CbCr that is meant (V4L2_MAP_QUANTIZATION_DEFAULT: limited for all but JPEG's colour space). xvYCC has
  /// only one, whatever the control says (userspace-api/media/v4l/colorspaces-details.rst).
  var effectiveRange: ColorDescription.QuantizationRange {
    switch effectiveEncoding {
    case .xv601, .xv709: .limited
    default: quantization == .full ? .full : .limited
    }
  }

  /// The matrix, where it is one of the library's.
  var matrix: ColorDescription.Matrix? {
    switch effectiveEncoding {
    case .standard, .bt601, .xv601: .bt601
    case .rec709, .xv709: .bt709
    case .bt2020: .bt2020
    case .bt2020ConstantLuminance, .smpte240m: nil
    }
  }

  var testDescription: String { "\(space) \(encoding) \(quantization) \(transfer)" }
}

/// The bars of `test_pattern` 0, "75% Colorbar", from left to right: eight of the same width.
///
/// They are 75 % of R'G'B' *in whatever colour space the driver reports*: vivid does not convert them to it (that is
/// pattern 2, "CSC Colorbar"). So the right decoding, which applies the reported matrix and range and nothing else, gives
/// the same codes for every setting. vivid rounds its Y'CbCr down (`color_to_ycbcr` of v4l2-tpg-core.c): of the 3 codes by
/// which a picture may differ it takes up to 3 by itself where the range is limited.
enum VividBars {
  /// 191 for a component that is on: vivid's own 75 % (v4l2-tpg-colors.c).
  static let colours: [RGBColor] = [
    0xBFBFBF, 0xBFBF00, 0x00BFBF, 0x00BF00, 0xBF00BF, 0xBF0000, 0x0000BF, 0x000000,
  ].map { (code: UInt32) in
    RGBColor(red: UInt8(code >> 16), green: UInt8(code >> 8 & 0xFF), blue: UInt8(code & 0xFF))
  }

  /// The most by which a component may differ, in codes of 255.
  static let tolerance = 3.0

  /// The column in the middle of a bar, in a picture of `width` columns.
  static func column(_ bar: Int, width: Int) -> Int { (2 * bar + 1) * width / 16 }

  /// The greatest distance of eight colours from the bars, in whole codes.
  static func distance(of picture: [SIMD3<Double>]) -> Double {
    zip(picture, colours).map { colour, bar in
      let difference = colour.rounded(.toNearestOrAwayFromZero) - bar.codes
      return max(difference.max(), -difference.min())
    }.max() ?? .infinity
  }
}
