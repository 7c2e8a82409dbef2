// Which of V4L2's formats are read, and as what of ours (Linux media documentation, "Image Formats").
internal import PreviewCore

/// How what a driver captures becomes a frame.
enum V4L2PixelFormat: Sendable, Hashable {
  /// Samples that the GPU reads as they are.
  case samples(V4L2Samples)
  /// A JPEG a buffer.
  case jpeg

  /// Nil for formats that are not read: Bayer, more than 8 bits, tiles, H.264.
  init?(_ fourCC: FourCC) {
    guard let reading = Self.known[fourCC] else { return nil }
    self = reading
  }

  private static let known: [FourCC: V4L2PixelFormat] = [
    FourCC("YUYV"): samples(.yuyv), FourCC("UYVY"): samples(.uyvy), FourCC("YVYU"): samples(.yvyu),
    FourCC("NV12"): samples(.nv12), FourCC("NV21"): samples(.nv21), FourCC("NV16"): samples(.nv16),
    FourCC("YU12"): samples(.i420), FourCC("YV12"): samples(.yv12), FourCC("422P"): samples(.yuv422p),
    FourCC("411P"): samples(.yuv411p), FourCC("GREY"): samples(.grey),
    // A memory plane for each plane. YM61 and YM42 have Cr before Cb.
    FourCC("NM12"): samples(.nv12, memoryPlanes: 2), FourCC("NM21"): samples(.nv21, memoryPlanes: 2),
    FourCC("NM16"): samples(.nv16, memoryPlanes: 2), FourCC("YM12"): samples(.i420, memoryPlanes: 3),
    FourCC("YM21"): samples(.yv12, memoryPlanes: 3), FourCC("YM16"): samples(.yuv422p, memoryPlanes: 3),
    FourCC("YM61"): samples(.yuv422p, memoryPlanes: 3, order: [0, 2, 1]),
    FourCC("YM24"): samples(.yuv444p, memoryPlanes: 3),
    FourCC("YM42"): samples(.yuv444p, memoryPlanes: 3, order: [0, 2, 1]),
    FourCC("RGB3"): samples(.rgb24), FourCC("BGR3"): samples(.bgr24),
    // Alpha means something in AR24 and AB24 alone; of BGR4 the documentation leaves it open.
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
        order: order.isEmpty ? Array(format.planes.indices) : order,
        isOpaque: isOpaque))
  }

  /// Bytes to a thousand pixels where nothing is padded; nil where the picture decides.
  var bytesPerThousandPixels: Int? {
    guard case .samples(let samples) = self else { return nil }
    return samples.format.planes.reduce(0) { sum, plane in
      sum + 1000 * plane.texelsPerColumn * plane.texel.byteCount
        / (plane.subsampling.x * plane.subsampling.y)
    }
  }

  /// Other names that users may know the format by.
  func isCalled(_ name: String) -> Bool {
    switch self {
    case .samples(let samples): samples.format.rawValue == name
    case .jpeg: name == "mjpeg" || name == "jpeg" || name == "mjpg"
    }
  }
}

/// Samples as V4L2 puts them into memory.
struct V4L2Samples: Sendable, Hashable {
  /// As what they are read.
  let format: PixelFormat
  /// 1, or as many as the format has planes.
  let memoryPlanes: Int
  /// Which plane of `format` stands in memory first, second, third.
  let order: [Int]
  /// Whether the fourth channel means nothing.
  let isOpaque: Bool
}
