// The supported V4L2 formats and colours, and their conversion (Linux media documentation, "Image Formats").

/// The conversion of a driver's buffer to a frame.
enum V4L2PixelFormat: Sendable, Hashable {
  /// Samples that the GPU reads directly.
  case samples(V4L2Samples)
  /// One JPEG per buffer.
  case jpeg

  /// Nil for unsupported formats: Bayer, more than 8 bits, tiles, H.264.
  init?(_ fourCC: FourCC) {
    guard let reading = Self.known[fourCC] else { return nil }
    self = reading
  }

  private static let known: [FourCC: V4L2PixelFormat] = [
    FourCC("YUYV"): samples(.yuyv), FourCC("UYVY"): samples(.uyvy), FourCC("YVYU"): samples(.yvyu),
    FourCC("NV12"): samples(.nv12), FourCC("NV21"): samples(.nv21), FourCC("NV16"): samples(.nv16),
    FourCC("YU12"): samples(.i420), FourCC("YV12"): samples(.yv12), FourCC("422P"): samples(.yuv422p),
    FourCC("411P"): samples(.yuv411p), FourCC("GREY"): samples(.grey),
    // One memory plane for each plane. YM61 and YM42 have Cr before Cb.
    FourCC("NM12"): samples(.nv12, memoryPlanes: 2), FourCC("NM21"): samples(.nv21, memoryPlanes: 2),
    FourCC("NM16"): samples(.nv16, memoryPlanes: 2), FourCC("YM12"): samples(.i420, memoryPlanes: 3),
    FourCC("YM21"): samples(.yv12, memoryPlanes: 3), FourCC("YM16"): samples(.yuv422p, memoryPlanes: 3),
    FourCC("YM61"): samples(.yuv422p, memoryPlanes: 3, order: [0, 2, 1]),
    FourCC("YM24"): samples(.yuv444p, memoryPlanes: 3),
    FourCC("YM42"): samples(.yuv444p, memoryPlanes: 3, order: [0, 2, 1]),
    FourCC("RGB3"): samples(.rgb24), FourCC("BGR3"): samples(.bgr24),
    // Alpha has a meaning only in AR24 and AB24. For BGR4, the documentation does not specify it.
    FourCC("AR24"): samples(.bgra), FourCC("XR24"): samples(.bgra, isOpaque: true),
    FourCC("BGR4"): samples(.bgra, isOpaque: true), FourCC("AB24"): samples(.rgba),
    FourCC("XB24"): samples(.rgba, isOpaque: true),
    FourCC("MJPG"): .jpeg, FourCC("JPEG"): .jpeg,
  ]

  private static func samples(
    _ format: PixelFormat, memoryPlanes: Int = 1, order: [Int] = [], isOpaque: Bool = false
  ) -> V4L2PixelFormat {
    .samples(
      V4L2Samples(
        format: format, memoryPlanes: memoryPlanes,
        order: order.isEmpty ? Array(format.planes.indices) : order, isOpaque: isOpaque))
  }

  /// Bytes per thousand pixels without padding; nil if that depends on the picture.
  var bytesPerThousandPixels: Int? {
    guard case .samples(let samples) = self else { return nil }
    return samples.format.planes.reduce(0) { sum, plane in
      sum + 1000 * plane.texelsPerColumn * plane.texel.byteCount
        / (plane.subsampling.x * plane.subsampling.y)
    }
  }

  func isCalled(_ name: String) -> Bool {
    switch self {
    case .samples(let samples): samples.format.rawValue == name
    case .jpeg: name == "mjpeg" || name == "jpeg" || name == "mjpg"
    }
  }
}

struct V4L2Samples: Sendable, Hashable {
  let format: PixelFormat
  /// 1, or the number of the format's planes.
  let memoryPlanes: Int
  /// The planes of `format` in the order of memory.
  let order: [Int]
  /// Whether the fourth channel is unused.
  let isOpaque: Bool
}

/// A FourCC format code: `YUYV`, `NV12`, `MJPG`.
struct FourCC: Sendable, Hashable, CustomStringConvertible {
  /// The first character is in the lowest byte; the highest bit marks big-endian samples.
  let code: UInt32

  private static let bigEndian: UInt32 = 1 << 31

  init(code: UInt32) { self.code = code }

  /// Creates a code from one to four ASCII characters. Missing ones are spaces.
  init(_ text: StaticString) {
    var code: UInt32 = 0x2020_2020
    text.withUTF8Buffer { characters in
      for unsafe(index, character) in unsafe characters.prefix(4).enumerated() {
        code &= ~(0xff << (8 * UInt32(index)))
        code |= UInt32(character) << (8 * UInt32(index))
      }
    }
    self.code = code
  }

  /// The code in v4l2-ctl's notation, without trailing spaces: `YUYV`, `Y16`, `Y16 -BE`.
  var description: String {
    let characters = (0..<4).map { index in
      let character = UInt8(truncatingIfNeeded: (code & ~Self.bigEndian) >> (8 * UInt32(index)))
      return (0x20..<0x7f).contains(character) ? character : UInt8(ascii: "?")
    }
    let text = String(decoding: characters, as: UTF8.self)
    guard code & Self.bigEndian == 0 else { return text + "-BE" }
    return String(text.reversed().drop { $0 == " " }.reversed())
  }
}

/// A driver's colour description in V4L2's numbers. 0 is the default, mapped as in V4L2's headers
/// (videodev2.h, V4L2_MAP_*).
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

  /// Returns the colour description of pictures of `size`.
  ///
  /// Primaries and transfer function are ignored: pictures are not converted between them. Chroma is sited
  /// left.
  func description(_ size: Size, _ format: PixelFormat) -> ColorDescription {
    ColorDescription(guessedFor: size, matrix: matrix, range: range(of: format), siting: .left)
  }

  /// Returns the range of `format`: the codes of black and white.
  func range(of format: PixelFormat) -> ColorDescription.QuantizationRange {
    let isYCbCr = if case .ycbcr = format.model { true } else { false }
    // xvYCC is always limited range (V4L2 documentation, "V4L2_YCBCR_ENC_XV601").
    if isYCbCr, encoding == 3 || encoding == 4 { return .limited }
    return switch quantization {
    case 1: .full
    case 2: .limited
    // Unspecified grey is full range, as everywhere in GLPreview and in V4L2's drivers.
    default: !isYCbCr || colorspace == Self.jpeg ? .full : .limited
    }
  }

  /// The matrix; nil if the driver reports nothing.
  private var matrix: ColorDescription.Matrix? {
    switch encoding {
    case 1, 3, 5: .bt601
    case 2, 4: .bt709
    // 7 is constant luminance, which no matrix describes: uses the closest match, as for videos. No camera is
    // known to use it.
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
