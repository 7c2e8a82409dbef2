// Encodes R'G'B'A bytes as an RGB PNG.
internal import CPNG

/// Encodes pictures as PNG with 8 bits per channel, without alpha.
package struct PNGEncoder: Sendable {
  /// zlib's compression level, 0 (none) to 9 (smallest).
  package let compressionLevel: Int

  /// Creates an encoder. The default level is fast, because camera noise hardly compresses further.
  package init(compressionLevel: Int = 3) {
    self.compressionLevel = min(max(compressionLevel, 0), 9)
  }

  /// Encodes `picture`, whose format must be `.rgba`, without its alpha. The profile is included, unless
  /// libpng rejects it.
  package func encode(_ picture: Picture, iccProfile: [UInt8]? = nil) throws(CodecError) -> [UInt8] {
    guard picture.format == .rgba, let plane = picture.planes.first else {
      throw CodecError(.unsupported, "a PNG is made of rgba, not of \(picture.format)")
    }
    let sides = 1...Int(Int32.max)
    guard sides.contains(picture.size.width), sides.contains(picture.size.height),
      plane.bytesPerRow >= 4 * picture.size.width,
      plane.offset + plane.bytesPerRow * (picture.size.height - 1) + 4 * picture.size.width
        <= picture.bytes.count
    else { throw CodecError(.unsupported, "\(picture.size) does not fit the picture's memory") }

    var encoded = unsafe glp_png_encoded()
    defer { unsafe glp_png_free(encoded.bytes) }
    let isDone = unsafe picture.bytes.withUnsafeBufferPointer { bytes in
      unsafe (iccProfile ?? []).withUnsafeBufferPointer { profile in
        var source = unsafe glp_png_picture(
          width: UInt32(picture.size.width), height: UInt32(picture.size.height),
          rows: bytes.baseAddress.map { unsafe $0 + plane.offset }, bytes_per_row: plane.bytesPerRow,
          compression_level: CInt(compressionLevel), icc: profile.baseAddress, icc_size: profile.count)
        return unsafe glp_png_encode(&source, &encoded)
      }
    }
    guard isDone else {
      throw unsafe CodecError(.unsupported, "PNG can't be encoded: \(String(tuple: encoded.message))")
    }
    return unsafe Array(UnsafeBufferPointer(start: encoded.bytes, count: encoded.size))
  }
}
