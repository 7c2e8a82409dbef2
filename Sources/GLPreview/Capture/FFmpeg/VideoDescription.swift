// Converts FFmpeg's pixel formats, colours and orientations.
#if FFmpeg
  internal import PreviewCore

  /// How the samples of a decoded picture are converted to those of a frame.
  struct VideoLayout: Sendable, Hashable {
    let pixelFormat: PixelFormat
    /// The bits of a decoded sample; more than 8 are reduced to 8.
    var bits = 8
    /// Whether samples of more than 8 bits use the upper bits of 16, as in P010.
    var isHighAligned = false
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

    static func named(_ name: String) throws(VideoFailure) -> VideoLayout {
      if let format = planar[name] ?? others[name] { return VideoLayout(pixelFormat: format) }
      if let (format, bits) = highAligned[name] {
        return VideoLayout(pixelFormat: format, bits: bits, isHighAligned: true)
      }
      if name.hasPrefix("yuvj"), let format = planar["yuv" + name.dropFirst(4)] {
        return VideoLayout(pixelFormat: format, isFullRange: true)
      }
      // yuv420p10le, gray12le: little-endian samples of 16 bits that use the lower bits.
      for bits in [9, 10, 12, 14, 16] where name.hasSuffix("\(bits)le") {
        let stem = String(name.dropLast("\(bits)le".count))
        if let format = planar[stem] { return VideoLayout(pixelFormat: format, bits: bits) }
      }
      throw VideoFailure(.failed, "pictures of \(name) are not supported")
    }
  }

  /// A video's colour description, in H.273's numbers, or FFmpeg's where H.273 has none.
  struct VideoSignal: Sendable, Hashable {
    /// MatrixCoefficients.
    let matrix: Int
    /// 1 limited, 2 full; otherwise unspecified.
    let range: Int
    /// 1 left, 2 centre, 3 top left, 4 top, 5 bottom left, 6 bottom; otherwise unspecified.
    let chromaLocation: Int

    /// The colour description of a picture. Unspecified values are guessed as for any source; unspecified grey is full
    /// range, as in FFmpeg.
    ///
    /// - Throws: `VideoFailure`, `.failed`, if the samples are neither Y'CbCr nor R'G'B'.
    func color(of layout: VideoLayout, _ size: Size) throws(VideoFailure) -> ColorDescription {
      let isGrey = layout.pixelFormat == .grey
      return ColorDescription(
        guessedFor: size, matrix: try colorMatrix(layout.pixelFormat),
        range: quantizationRange ?? (layout.isFullRange || isGrey ? .full : nil), siting: siting)
    }

    /// H.273, table 4. Nil if unspecified, or if the format has no matrix.
    private func colorMatrix(_ format: PixelFormat) throws(VideoFailure) -> ColorDescription.Matrix? {
      guard case .ycbcr = format.model else { return nil }
      return switch matrix {
      case 1: .bt709
      // BT.470 System B/G and SMPTE 170M have BT.601's coefficients; FCC's differ in the third decimal.
      case 4, 5, 6: .bt601
      case 7: .smpte240m
      // Constant luminance is drawn as non-constant, which is the nearest.
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

    /// The siting along rows; the vertical siting is ignored.
    private var siting: ColorDescription.ChromaSiting {
      switch chromaLocation {
      case 2, 4, 6: .centred
      default: .left
      }
    }
  }

  extension Orientation {
    /// From the upper left quarter of a display matrix (ISO/IEC 14496-12, 8.2.2.1): the stored point (x, y) is
    /// displayed at (ax + cy, bx + dy). Anything but quarter turns and reflections is replaced by the nearest of those.
    init(displayMatrix a: Int32, _ b: Int32, _ c: Int32, _ d: Int32) {
      let isTurned = Int(b).magnitude + Int(c).magnitude > Int(a).magnitude + Int(d).magnitude
      self.init(swapsAxes: isTurned, flipsX: (isTurned ? b : a) < 0, flipsY: (isTurned ? c : d) < 0)
    }
  }
#endif
