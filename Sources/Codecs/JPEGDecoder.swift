// Decodes JPEG to a frame, as the file's own planes where possible, so that nothing is converted twice. Only
// this file and JPEGEncoder call the C code (CTurboJPEG).
internal import CTurboJPEG

/// Decodes JPEGs (ITU-T T.81: baseline, extended, progressive, arithmetic; 8 bits).
package struct JPEGDecoder {
  /// The SOI marker and the first byte of the next marker (T.81, B.1.1.3).
  package static let signature: [UInt8] = [0xFF, 0xD8, 0xFF]

  /// How to handle pictures that are incomplete or corrupt.
  package enum DamagePolicy: Sendable {
    /// They are errors: for files.
    case isAnError
    /// They become frames with grey or smeared parts: for live streams.
    case isTolerated
  }

  /// The properties of a JPEG, read without decoding its samples.
  package struct Header: Sendable, Hashable {
    package let size: Size
    /// The pixel format that `decode` produces at full size.
    package let pixelFormat: PixelFormat
    package let orientation: Orientation
    /// The ICC profile, if it describes R'G'B'.
    package let iccProfile: [UInt8]?
    /// Whether it is the first of several related pictures (CIPA DC-007, "MPF"), as in phones' stills.
    package let hasMultiPicture: Bool

    var format: Frame.Format {
      Frame.Format(pixelFormat, size, color: .jfif, orientation: orientation)
    }
  }

  package static func header(of data: [UInt8]) throws(CodecError) -> Header {
    try reading(data, maximumPixels: .max, damage: .isTolerated) { (reader) throws(CodecError) in
      try reader.header()
    }
  }

  /// Decodes the first picture in `data`, ignoring what follows it. If all of its blocks are there, its end
  /// marker may be missing. With arithmetic coding it is required, because missing blocks can't be detected.
  ///
  /// Y'CbCr of 4:4:4, 4:2:2, 4:2:0, 4:4:0 and 4:1:1, and grey, keep their planes. Other Y'CbCr ratios become
  /// `yuv444p`; R'G'B', CMYK and YCCK become `rgb24`. Rows are padded to whole blocks. At a reduced size,
  /// 4:2:0 also becomes `yuv444p`: its chroma loses nothing at 1/2, and less than luma below. The frame has
  /// the orientation of the file, and its ICC profile if that describes R'G'B'.
  ///
  /// Pictures of more than `maximumPixels` are refused before memory is allocated. Decoding stops at
  /// `deadline`, and when the task is cancelled. Without a pool, new memory is allocated.
  package static func decode(
    _ data: [UInt8], maximumPixels: Int, damage: DamagePolicy = .isAnError, decoding: Decoding = .exact,
    until deadline: CaptureInstant? = nil, memory: FramePool? = nil
  ) throws(CodecError) -> Frame {
    try decode(data, maximumPixels: maximumPixels, damage: damage, until: deadline, memory: memory) {
      decoding.eighths(of: $0.format)
    }
  }

  /// Decodes like `decode`, at a scale of 1...8 eighths that `eighths` chooses from the header.
  static func decode(
    _ data: [UInt8], maximumPixels: Int, damage: DamagePolicy = .isAnError,
    until deadline: CaptureInstant? = nil, memory: FramePool? = nil, eighths: (Header) -> Int
  ) throws(CodecError) -> Frame {
    try reading(data, maximumPixels: maximumPixels, damage: damage) { (reader) throws(CodecError) in
      let header = try reader.header()
      try CodecError.checkSize(header.size, maximumPixels: maximumPixels)
      return try reader.frame(
        header, eighths: eighths(header), DecodingStop(deadline: deadline), memory ?? FramePool())
    }
  }

  private static func reading<Result>(
    _ data: [UInt8], maximumPixels: Int, damage: DamagePolicy,
    _ body: (borrowing JPEGReader) throws(CodecError) -> Result
  ) throws(CodecError) -> Result {
    guard data.starts(with: signature) else {
      // A prefix of the first marker counts as a JPEG that is cut short.
      let isStart = !data.isEmpty && signature.starts(with: data)
      throw isStart ? CodecError(.cutShort, "JPEG is cut short") : CodecError(.unrecognized, "not a JPEG")
    }
    return try unsafe data.withUnsafeBufferPointer { (bytes) throws(CodecError) in
      try unsafe body(JPEGReader(bytes, maximumPixels: maximumPixels, damage: damage))
    }
  }
}

/// A JPEG being read. It uses only libjpeg's memory, and must not outlive `bytes`.
@safe private struct JPEGReader: ~Copyable {
  /// The most scans for a file of this size. Encoders make about ten; a hostile file can hold hundreds in a
  /// few kilobytes, each a pass over the whole picture.
  private static func scanLimit(_ size: Size) -> CInt {
    CInt(min(max(2_000_000_000 / size.pixelCount, 50), 500))
  }

  private let decoder: OpaquePointer
  private let bytes: UnsafeBufferPointer<UInt8>

  init(
    _ bytes: UnsafeBufferPointer<UInt8>, maximumPixels: Int, damage: JPEGDecoder.DamagePolicy
  ) throws(CodecError) {
    // Progressive pictures are held as coefficients: two bytes for each of up to four components.
    let pixels = min(maximumPixels, 1 << 40)
    guard
      let decoder = unsafe glp_jpeg_decoder_create(damage == .isTolerated, 8 * pixels + 64 << 20)
    else { throw CodecError(.damaged, "out of memory") }
    unsafe self.decoder = decoder
    unsafe self.bytes = bytes
  }

  deinit { unsafe glp_jpeg_decoder_destroy(decoder) }

  borrowing func header() throws(CodecError) -> (JPEGDecoder.Header) {
    var header = unsafe glp_jpeg_header()
    guard unsafe glp_jpeg_read_header(decoder, bytes.baseAddress, bytes.count, &header) == GLP_JPEG_OK else {
      throw error()
    }
    let format = unsafe try pixelFormat(header.layout, header.chroma_x, header.chroma_y)
    let profile = unsafe copy(header.icc, header.icc_size)
    return unsafe JPEGDecoder.Header(
      size: Size(width: Int(header.width), height: Int(header.height)), pixelFormat: format,
      orientation: EXIF.orientation(in: copy(header.exif, header.exif_size)) ?? .upright,
      // A CMYK or grey profile does not describe the R'G'B' made from them.
      iccProfile: ICCProfile.carried(profile), hasMultiPicture: header.has_multi_picture)
  }

  borrowing func frame(
    _ header: JPEGDecoder.Header, eighths: Int, _ stop: DecodingStop, _ memory: FramePool
  ) throws(CodecError) -> Frame {
    var layout = glp_jpeg_scaled_layout()
    guard unsafe glp_jpeg_scale(decoder, CInt(eighths), &layout) == GLP_JPEG_OK else { throw error() }
    let full = header.format
    let format = Frame.Format(
      header.pixelFormat.hasChroma
        ? try pixelFormat(GLP_JPEG_YCBCR, layout.chroma_x, layout.chroma_y) : header.pixelFormat,
      full.referenceSize, color: full.color, orientation: full.orientation, eighths: eighths)
    guard format.size == Size(width: Int(layout.width), height: Int(layout.height)) else {
      throw CodecError(.unsupported, "JPEG of an unknown layout at \(eighths)/8 of its size")
    }
    let rows = [layout.bytes_per_row.0, layout.bytes_per_row.1, layout.bytes_per_row.2]
    var planes: [Frame.Plane] = []
    var byteCount = 0
    for (plane, row) in zip(format.pixelFormat.planes, rows) {
      // Shaders can read rows of whole words directly.
      let bytesPerRow = (row + 15) & ~15
      planes.append(Frame.Plane(offset: byteCount, bytesPerRow: bytesPerRow))
      byteCount += bytesPerRow * plane.texels(of: format.size).height
    }
    let scanLimit = Self.scanLimit(header.size)
    var status = GLP_JPEG_FAILED
    let (buffer, working): (FrameBuffer, MemoryLease?)
    do throws(MemoryBudget.Exceeded) {
      working = try memory.budget?.reserve(layout.working_bytes)
      buffer = try memory.take(byteCount)
    } catch {
      throw CodecError(error)
    }
    defer { withExtendedLifetime(working) {} }
    unsafe buffer.write { bytes in
      guard let base = bytes.baseAddress else { return }
      let targets = unsafe planes.map {
        unsafe glp_jpeg_plane(
          samples: (base + $0.offset).assumingMemoryBound(to: UInt8.self), bytes_per_row: $0.bytesPerRow)
      }
      status = unsafe stop.asked { unsafe glp_jpeg_decode(decoder, targets, scanLimit, $0, $1) }
      // Clear what libjpeg does not write, because reused memory holds another frame's samples.
      for (plane, (description, written)) in zip(planes, zip(format.pixelFormat.planes, rows)) {
        for row in 0..<(written < plane.bytesPerRow ? description.texels(of: format.size).height : 0) {
          let start = plane.offset + row * plane.bytesPerRow
          let rest = unsafe bytes[start + written..<start + plane.bytesPerRow]
          let last = unsafe bytes[start + written - 1]
          unsafe UnsafeMutableRawBufferPointer(rebasing: rest).initializeMemory(
            as: UInt8.self, repeating: last)
        }
      }
    }
    guard status != GLP_JPEG_FAILED else { throw error() }
    do {
      return try Frame(format, storage: FrameBytes(buffer), planes: planes, iccProfile: header.iccProfile)
    } catch {
      throw CodecError(.damaged, "\(error)")
    }
  }

  private borrowing func error() -> CodecError {
    guard unsafe !glp_jpeg_is_stopped(decoder) else { return DecodingStop.error }
    guard unsafe !glp_jpeg_is_cut_short(decoder) else { return CodecError(.cutShort, "JPEG is cut short") }
    return unsafe CodecError(.damaged, "JPEG can't be decoded: \(String(cString: glp_jpeg_message(decoder)))")
  }

  private borrowing func pixelFormat(_ layout: glp_jpeg_layout, _ chromaX: CInt, _ chromaY: CInt)
    throws(CodecError) -> PixelFormat
  {
    switch (layout, chromaX, chromaY) {
    case (GLP_JPEG_GREY, _, _): .grey
    case (GLP_JPEG_RGB, _, _): .rgb24
    case (GLP_JPEG_YCBCR, 1, 1): .yuv444p
    case (GLP_JPEG_YCBCR, 2, 1): .yuv422p
    case (GLP_JPEG_YCBCR, 2, 2): .i420
    case (GLP_JPEG_YCBCR, 1, 2): .yuv440p
    case (GLP_JPEG_YCBCR, 4, 1): .yuv411p
    default: throw CodecError(.unsupported, "JPEG of an unknown layout")
    }
  }

  private borrowing func copy(_ start: UnsafePointer<UInt8>?, _ count: Int) -> [UInt8] {
    unsafe Array(UnsafeBufferPointer(start: start, count: start == nil ? 0 : count))
  }
}

extension PixelFormat {
  fileprivate var hasChroma: Bool {
    if case .ycbcr = model { true } else { false }
  }
}
