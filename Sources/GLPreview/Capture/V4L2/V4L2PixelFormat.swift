// The V4L2 formats that are read, and the pixel formats that they become (Linux media documentation, "Image Formats").
internal import PreviewCore

/// How a driver's buffer becomes a frame.
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
    // Alpha has a meaning only in AR24 and AB24; for BGR4, the documentation leaves it open.
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

  /// Bytes per thousand pixels without padding; nil if the picture decides.
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
  /// Whether the fourth channel has no meaning.
  let isOpaque: Bool
}

/// A format's code: `YUYV`, `NV12`, `MJPG`.
struct FourCC: Sendable, Hashable, CustomStringConvertible {
  /// The first character is in the lowest byte; the highest bit marks big-endian samples.
  let code: UInt32

  private static let bigEndian: UInt32 = 1 << 31

  init(code: UInt32) { self.code = code }

  /// From one to four ASCII characters; missing ones are spaces.
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

  /// As v4l2-ctl writes it, without trailing spaces: `YUYV`, `Y16`, `Y16 -BE`.
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
