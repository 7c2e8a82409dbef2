// Converts FFmpeg's pixel formats, colours and orientations.

/// The conversion of a decoded picture's samples to those of a frame.
struct VideoLayout: Sendable, Hashable {
  enum Samples: Sendable, Hashable {
    /// The samples are already those of the frame.
    case bytes
    /// The samples have the frame's planes, in little-endian 16-bit words of which `bits` bits are used: the
    /// lower ones, or the upper ones as in P010.
    case words(bits: Int, isHighAligned: Bool)
    /// Any other layout. Each component, with the given number of bits, is read separately.
    case components([Int])
  }

  let pixelFormat: PixelFormat
  var samples = Samples.bytes
  /// Whether the format's name implies full range, as FFmpeg's older `yuvj420p` does.
  var isFullRange = false

  private static let planar: [String: PixelFormat] = [
    "yuv420p": .i420, "yuv422p": .yuv422p, "yuv444p": .yuv444p, "yuv440p": .yuv440p, "yuv411p": .yuv411p,
    "gray": .grey,
  ]
  private static let others: [String: PixelFormat] = [
    "nv12": .nv12, "nv21": .nv21, "nv16": .nv16, "yuyv422": .yuyv, "uyvy422": .uyvy, "yvyu422": .yvyu,
    "rgb24": .rgb24, "bgr24": .bgr24, "rgba": .rgba, "bgra": .bgra, "rgb0": .rgbx, "bgr0": .bgrx,
  ]
  private static let highAligned: [String: (format: PixelFormat, bits: Int)] = [
    "p010le": (.nv12, 10), "p012le": (.nv12, 12), "p016le": (.nv12, 16), "p210le": (.nv16, 10),
    "p216le": (.nv16, 16),
  ]

  /// Bits per sample. More than 8 are reduced to 8.
  var bits: Int {
    switch samples {
    case .bytes: 8
    case .words(let bits, _): bits
    case .components(let depths): depths.max() ?? 8
    }
  }

  /// Returns the layout of a format by FFmpeg's name for it, or else by its components.
  ///
  /// - Throws: `VideoFailure`, `.failed`, if no frame format matches.
  static func named(
    _ name: String, _ components: VideoComponents? = nil
  ) throws(VideoFailure) -> VideoLayout {
    if let layout = usual(name) ?? components.flatMap({ VideoLayout(of: $0) }) { return layout }
    throw VideoFailure(.failed, "pictures of \(name) are not supported")
  }

  /// Returns the layout of a common format, whose rows are copied or narrowed as a whole.
  private static func usual(_ name: String) -> VideoLayout? {
    if let format = planar[name] ?? others[name] { return VideoLayout(pixelFormat: format) }
    if let (format, bits) = highAligned[name] {
      return VideoLayout(pixelFormat: format, samples: .words(bits: bits, isHighAligned: true))
    }
    if name.hasPrefix("yuvj"), let format = planar["yuv" + name.dropFirst(4)] {
      return VideoLayout(pixelFormat: format, isFullRange: true)
    }
    // yuv420p10le, gray12le
    for bits in [9, 10, 12, 14, 16] where name.hasSuffix("\(bits)le") {
      let stem = String(name.dropLast("\(bits)le".count))
      if let format = planar[stem] {
        return VideoLayout(pixelFormat: format, samples: .words(bits: bits, isHighAligned: false))
      }
    }
    return nil
  }
}

/// The components of a pixel format that can be read one by one: R, G, B and alpha, or Y', Cb, Cr and alpha,
/// or Y' and alpha.
struct VideoComponents: Sendable, Hashable {
  /// The bits of each component.
  let depths: [Int]
  /// The base-2 logarithms of the number of pixels that share a chroma sample, along rows and columns.
  let chromaShift: [Int]
  let isRGB: Bool
}

extension VideoLayout {
  private static let subsampled: [[Int]: PixelFormat] = [
    [0, 0]: .yuv444p, [1, 0]: .yuv422p, [1, 1]: .i420, [0, 1]: .yuv440p, [2, 0]: .yuv411p,
  ]

  /// Handles planar R'G'B', R'G'B' in less than 24 bits or with a palette, big-endian samples, and packed
  /// 4:4:4. The alpha of Y'CbCr is dropped. Nil if no frame format has such samples.
  fileprivate init?(of components: VideoComponents) {
    let depths = components.depths
    guard !depths.isEmpty, depths.allSatisfy({ (1...16).contains($0) }) else { return nil }
    let format: PixelFormat?
    switch (components.isRGB, depths.count) {
    case (true, 3): format = .rgb24
    case (true, 4): format = .rgba
    case (false, 1), (false, 2): format = .grey
    case (false, 3), (false, 4): format = Self.subsampled[components.chromaShift]
    default: return nil
    }
    guard let format else { return nil }
    self.init(pixelFormat: format, samples: .components(depths))
  }
}

/// A video's colour description, with the numbers of H.273, or FFmpeg's where H.273 has none.
struct VideoSignal: Sendable, Hashable {
  /// MatrixCoefficients.
  let matrix: Int
  /// 1 is limited, 2 is full; otherwise unspecified.
  let range: Int
  /// 1 is left, 2 centre, 3 top left, 4 top, 5 bottom left, 6 bottom; otherwise unspecified.
  let chromaLocation: Int

  /// Returns the colour description of a picture. Unspecified values are guessed as for any source.
  /// Unspecified grey is full range, as in FFmpeg.
  ///
  /// - Throws: `VideoFailure`, `.failed`, if the samples are neither Y'CbCr nor R'G'B'.
  func color(of layout: VideoLayout, _ size: Size) throws(VideoFailure) -> ColorDescription {
    let isGrey = layout.pixelFormat == .grey
    return ColorDescription(
      guessedFor: size, matrix: try colorMatrix(layout.pixelFormat),
      range: quantizationRange ?? (layout.isFullRange || isGrey ? .full : nil), siting: siting)
  }

  /// Returns the matrix (H.273, table 4). Nil if unspecified, or if the format has no matrix.
  private func colorMatrix(_ format: PixelFormat) throws(VideoFailure) -> ColorDescription.Matrix? {
    guard case .ycbcr = format.model else { return nil }
    return switch matrix {
    case 1: .bt709
    // BT.470 System B/G and SMPTE 170M have BT.601's coefficients; FCC's differ in the third decimal.
    case 4, 5, 6: .bt601
    case 7: .smpte240m
    // Constant luminance is drawn as non-constant luminance, the closest match.
    case 9, 10: .bt2020
    case 0: throw VideoFailure(.failed, "R'G'B' in planes of Y'CbCr is not supported")
    case 8: throw VideoFailure(.failed, "YCgCo is not supported")
    case 14: throw VideoFailure(.failed, "ICtCp is not supported")
    default: nil
    }
  }

  private var quantizationRange: ColorDescription.QuantizationRange? {
    switch range {
    case 1: .limited
    case 2: .full
    default: nil
    }
  }

  /// The horizontal siting. The vertical siting is ignored.
  private var siting: ColorDescription.ChromaSiting {
    switch chromaLocation {
    case 2, 4, 6: .centred
    default: .left
    }
  }
}

extension Orientation {
  /// Converts the upper left quarter of a display matrix (ISO/IEC 14496-12, 8.2.2.1): the stored point (x, y)
  /// is displayed at (ax + cy, bx + dy). Transformations other than quarter turns and reflections are
  /// replaced by the nearest of these.
  init(displayMatrix a: Int32, _ b: Int32, _ c: Int32, _ d: Int32) {
    let isTurned = Int(b).magnitude + Int(c).magnitude > Int(a).magnitude + Int(d).magnitude
    self.init(swapsAxes: isTurned, flipsX: (isTurned ? b : a) < 0, flipsY: (isTurned ? c : d) < 0)
  }
}
