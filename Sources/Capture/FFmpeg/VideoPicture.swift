// One decoded picture. It stays in FFmpeg's memory until its frame is requested, and is then copied for the
// renderer.
internal import CAV

/// A decoded picture. Immutable.
@safe final class VideoPicture: Sendable {
  private nonisolated(unsafe) let handle: OpaquePointer

  let size: Size
  /// FFmpeg's name for the pixel format: `yuv420p`.
  private let formatName: String
  /// The components; nil if they can't be read one by one.
  private let components: VideoComponents?
  /// Whether decoding can start with this picture.
  let isKey: Bool
  /// Whether the decoder had to conceal errors in it.
  let isDamaged: Bool
  /// The time measured by the video's own clock; nil if it has none.
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
    components = VideoComponents(picture.components)
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

  /// Returns the layout of the samples.
  ///
  /// - Throws: `VideoFailure`, `.failed`, if they are not supported.
  func layout() throws(VideoFailure) -> VideoLayout { try .named(formatName, components) }

  /// Copies the picture to a frame in memory of the pool. Samples of more than 8 bits are rounded to 8.
  ///
  /// - Throws: `VideoFailure`, `.failed`, if it is too large or its samples are not supported.
  func frame(maximumPixels: Int, memory: FramePool) throws -> Frame {
    let layout = try layout()
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
        switch layout.samples {
        case .bytes:
          unsafe glp_av_copy(handle, CInt(index), start + offset, row, row, CInt(rows))
        case .words(let bits, let isHighAligned):
          unsafe glp_av_narrow(
            handle, CInt(index), start + offset, row, row, CInt(rows),
            SampleNarrowing(
              bits: bits, isHighAligned: isHighAligned, isChroma: index > 0, format.color.range
            ).inC)
        case .components(let depths):
          unsafe copyComponents(depths, of: index, plane, format, to: start + offset)
        }
      guard isCopied else { return false }
      offset += row * rows
    }
    return true
  }

  /// Copies one plane component by component.
  @unsafe private func copyComponents(
    _ depths: [Int], of index: Int, _ plane: PlaneDescription, _ format: Frame.Format,
    to target: UnsafeMutablePointer<UInt8>
  ) -> Bool {
    let texels = plane.texels(of: size)
    let (texel, row) = (plane.texel.byteCount, plane.tightBytesPerRow(of: size))
    // Planes have one component each, except in R'G'B', which has a single plane.
    let isRGB = format.pixelFormat.isRGB
    for (component, depth) in isRGB ? Array(depths.enumerated()) : [(index, depths[index])] {
      let narrowing = SampleNarrowing(
        bits: depth, isChroma: !isRGB && component > 0, isRGB ? .full : format.color.range)
      let isRead = unsafe glp_av_read_component(
        handle, CInt(component), target + (isRGB ? component : 0), row, texel, texels.width,
        CInt(texels.height), narrowing.inC)
      guard isRead else { return false }
    }
    return true
  }
}

extension VideoComponents {
  fileprivate init?(_ components: glp_av_components) {
    guard components.count > 0 else { return nil }
    let depths = components.depths
    self.init(
      depths: [depths.0, depths.1, depths.2, depths.3].prefix(Int(components.count)).map(Int.init),
      chromaShift: [Int(components.chroma_shift_x), Int(components.chroma_shift_y)],
      isRGB: components.is_rgb)
  }
}

extension SampleNarrowing {
  fileprivate var inC: glp_av_narrowing {
    glp_av_narrowing(shift: shift, mask: mask, scale: scale, offset: offset)
  }
}
