// Decodes PNG to a frame. Only this file and PNGEncoder call the C code (CPNG).
internal import CPNG

/// Decodes PNGs of every colour type and depth, including interlaced ones.
package struct PNGDecoder {
  /// The first eight bytes of every PNG (W3C PNG, 5.2).
  package static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

  /// The properties of a PNG, read without decoding its samples.
  package struct Header: Sendable, Hashable {
    package let size: Size
    package let pixelFormat: PixelFormat
    /// The ICC profile, if it describes R'G'B'.
    package let iccProfile: [UInt8]?
  }

  package static func header(of data: [UInt8]) throws(CodecError) -> Header {
    try reading(data) { (reader) throws(CodecError) in try reader.header() }
  }

  /// Decodes `data`, ignoring bytes after the picture's end.
  ///
  /// Grey without alpha of up to 8 bits becomes `grey`; other pictures of up to 8 bits become `rgb24`, or
  /// `rgba` if they have alpha; 16-bit pictures become `rgba64`. Rows have no padding. Incomplete samples are
  /// errors, and so are samples for which both the chunk's checksum and zlib's are wrong. Other chunks with a
  /// wrong checksum are ignored, and the end (IEND) may be missing. The other parameters and the metadata are
  /// handled as in `JPEGDecoder.decode`.
  package static func decode(
    _ data: [UInt8], maximumPixels: Int, until deadline: CaptureInstant? = nil, memory: FramePool? = nil
  ) throws(CodecError) -> Frame {
    try reading(data) { (reader) throws(CodecError) in
      let header = try reader.header()
      try CodecError.checkSize(header.size, maximumPixels: maximumPixels)
      return try reader.frame(header, DecodingStop(deadline: deadline), memory ?? FramePool())
    }
  }

  private static func reading<Result>(
    _ data: [UInt8], _ body: (borrowing PNGReader) throws(CodecError) -> Result
  ) throws(CodecError) -> Result {
    guard data.starts(with: signature) else {
      let isStart = !data.isEmpty && signature.starts(with: data)
      throw isStart ? CodecError(.cutShort, "PNG is cut short") : CodecError(.unrecognized, "not a PNG")
    }
    return try unsafe data.withUnsafeBufferPointer { (bytes) throws(CodecError) in
      try unsafe body(PNGReader(bytes))
    }
  }
}

/// A PNG being read. It uses only libpng's memory, and must not outlive `bytes`.
@safe private struct PNGReader: ~Copyable {
  private let decoder: OpaquePointer
  private let bytes: UnsafeBufferPointer<UInt8>

  init(_ bytes: UnsafeBufferPointer<UInt8>) throws(CodecError) {
    guard let decoder = unsafe glp_png_decoder_create() else { throw CodecError(.damaged, "out of memory") }
    unsafe self.decoder = decoder
    unsafe self.bytes = bytes
  }

  deinit { unsafe glp_png_decoder_destroy(decoder) }

  borrowing func header() throws(CodecError) -> PNGDecoder.Header {
    var header = unsafe glp_png_header()
    guard unsafe glp_png_read_header(decoder, bytes.baseAddress, bytes.count, &header) else { throw error() }
    let profile = unsafe Array(UnsafeBufferPointer(start: header.icc, count: header.icc_size))
    let format: PixelFormat =
      switch unsafe header.layout {
      case GLP_PNG_GREY: .grey
      case GLP_PNG_RGB: .rgb24
      case GLP_PNG_RGBA: .rgba
      default: .rgba64
      }
    return unsafe PNGDecoder.Header(
      size: Size(width: Int(header.width), height: Int(header.height)), pixelFormat: format,
      iccProfile: ICCProfile.carried(profile))
  }

  borrowing func frame(
    _ header: PNGDecoder.Header, _ stop: DecodingStop, _ memory: FramePool
  ) throws(CodecError) -> Frame {
    let bytesPerRow = header.pixelFormat.planes[0].tightBytesPerRow(of: header.size)
    let byteCount = bytesPerRow * header.size.height
    let buffer: FrameBuffer
    do throws(MemoryBudget.Exceeded) { buffer = try memory.take(byteCount) } catch { throw CodecError(error) }
    let isDone = unsafe buffer.write { bytes in
      let rows = unsafe bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
      return unsafe stop.asked { unsafe glp_png_decode(decoder, rows, bytesPerRow, $0, $1) }
    }
    guard isDone else { throw error() }
    var exifSize = 0
    let exif = unsafe glp_png_exif(decoder, &exifSize)
    let orientation = unsafe EXIF.orientation(in: Array(UnsafeBufferPointer(start: exif, count: exifSize)))
    let format = Frame.Format(
      header.pixelFormat, header.size, color: .jfif, orientation: orientation ?? .upright)
    do {
      return try Frame(tight: format, storage: FrameBytes(buffer), iccProfile: header.iccProfile)
    } catch {
      throw CodecError(.damaged, "\(error)")
    }
  }

  private borrowing func error() -> CodecError {
    guard unsafe !glp_png_is_stopped(decoder) else { return DecodingStop.error }
    guard unsafe !glp_png_is_cut_short(decoder) else { return CodecError(.cutShort, "PNG is cut short") }
    return unsafe CodecError(.damaged, "PNG can't be decoded: \(String(cString: glp_png_message(decoder)))")
  }
}
