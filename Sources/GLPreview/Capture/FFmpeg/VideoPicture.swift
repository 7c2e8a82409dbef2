// One decoded picture. It stays in FFmpeg's memory until its frame is requested, and is then copied for the renderer.
#if FFmpeg
  internal import CAV
  internal import PreviewCore

  /// A picture from a decoder. It does not change any more.
  @safe final class VideoPicture: Sendable {
    private nonisolated(unsafe) let handle: OpaquePointer

    let size: Size
    /// FFmpeg's name of the pixel format: `yuv420p`.
    let formatName: String
    /// Whether decoding can start with it.
    let isKey: Bool
    /// Whether the decoder had to make up parts of it.
    let isDamaged: Bool
    /// The time by the video's own clock; nil if it has none.
    let time: Duration?
    let byteCount: Int
    let signal: VideoSignal
    let orientation: Orientation

    /// Takes ownership of `frame`.
    @unsafe init(_ frame: OpaquePointer) {
      unsafe handle = unsafe frame
      let picture = unsafe glp_av_describe(frame)
      size = Size(width: Int(picture.width), height: Int(picture.height))
      formatName = String(tuple: picture.format)
      isKey = picture.is_key
      isDamaged = picture.is_damaged
      time = picture.has_time ? .nanoseconds(picture.time) : nil
      byteCount = picture.byte_count
      signal = VideoSignal(
        matrix: Int(picture.matrix), range: Int(picture.range), chromaLocation: Int(picture.chroma_location))
      let matrix = picture.display_matrix
      orientation =
        picture.has_display_matrix
        ? Orientation(displayMatrix: matrix.0, matrix.1, matrix.3, matrix.4) : .upright
    }

    deinit { unsafe glp_av_frame_destroy(handle) }

    /// Copies the picture to a frame in memory of the pool; samples of more than 8 bits are rounded to 8.
    ///
    /// - Throws: `VideoFailure`, `.failed`, if it is too large or its samples are not supported.
    func frame(maximumPixels: Int, memory: FramePool) throws -> Frame {
      let layout = try VideoLayout.named(formatName)
      if let refusal = size.refusal(maximumPixels: maximumPixels) { throw VideoFailure(.failed, refusal) }
      guard size.width > 0, size.height > 0, let byteCount = layout.pixelFormat.tightByteCount(of: size)
      else { throw VideoFailure(.failed, "a picture of \(size) can't be held") }
      let color = try signal.color(of: layout, size)
      let format = Frame.Format(layout.pixelFormat, size, color: color, orientation: orientation)
      let buffer = try memory.take(byteCount)
      let isWhole = unsafe buffer.write { target in unsafe copy(layout, format, to: target) }
      guard isWhole else { throw VideoFailure(.failed, "planes of \(formatName) have an unexpected layout") }
      return try Frame(tight: format, storage: FrameBytes(buffer))
    }

    /// Copies the planes one after another without padding; false if a plane is missing.
    @unsafe private func copy(
      _ layout: VideoLayout, _ format: Frame.Format, to target: UnsafeMutableRawBufferPointer
    ) -> Bool {
      var offset = 0
      for (index, plane) in format.pixelFormat.planes.enumerated() {
        let (row, rows) = (plane.tightBytesPerRow(of: size), plane.texels(of: size).height)
        guard let start = unsafe target.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return false }
        let isCopied =
          if layout.bits == 8 {
            unsafe glp_av_copy(handle, CInt(index), start + offset, row, row, CInt(rows))
          } else {
            unsafe glp_av_narrow(
              handle, CInt(index), start + offset, row, row, CInt(rows),
              layout.narrowing(isChroma: index > 0, format.color.range).inC)
          }
        guard isCopied else { return false }
        offset += row * rows
      }
      return true
    }
  }

  /// Converts 16-bit samples to 8-bit codes: ((sample >> shift & mask) * scale + offset) / 65536, within 0...255.
  struct SampleNarrowing: Sendable, Hashable {
    let shift: UInt16
    let mask: UInt16
    let scale: Int32
    let offset: Int32

    fileprivate var inC: glp_av_narrowing {
      glp_av_narrowing(shift: shift, mask: mask, scale: scale, offset: offset)
    }
  }

  extension VideoLayout {
    /// From codes of `bits` bits to codes of 8 bits (H.273, 8.3: formulas 20 to 31 for both depths).
    ///
    /// In limited range, an 8-bit code is an n-bit code divided by 2^(n - 8). In full range, 2^n - 1 becomes 255, and
    /// chroma is scaled around its neutral code.
    func narrowing(isChroma: Bool, _ range: ColorDescription.QuantizationRange) -> SampleNarrowing {
      let largest = Double(1 << bits) - 1
      let isFull = range == .full
      let scale = ((isFull ? 255 / largest : 256 / (largest + 1)) * 65536).rounded()
      let neutral = isFull && isChroma ? 128 * 65536 - scale * (largest + 1) / 2 : 0
      return SampleNarrowing(
        shift: isHighAligned ? UInt16(16 - bits) : 0, mask: UInt16(largest), scale: Int32(scale),
        offset: Int32(neutral) + 32768)
    }
  }
#endif
