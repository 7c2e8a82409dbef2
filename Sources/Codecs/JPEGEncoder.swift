// Encodes Y'CbCr planes as JFIF, without converting to R'G'B'.
internal import CTurboJPEG

/// Encodes pictures as baseline JPEG with the picture's chroma subsampling.
package struct JPEGEncoder: Sendable {
  /// The quality, 1...100 on libjpeg's scale.
  package let quality: Int
  /// The Huffman tables to use. Optimised tables make files a few percent smaller, but encoding takes half
  /// again as long.
  package let huffmanTables: HuffmanTables

  package enum HuffmanTables: Sendable {
    /// The tables of T.81's Annex K, in one pass.
    case standard
    /// Computed for each picture, in two passes.
    case optimized
  }

  /// Creates an encoder. `quality` is clamped to 1...100.
  package init(quality: Int = 80, huffmanTables: HuffmanTables = .standard) {
    self.quality = min(max(quality, 1), 100)
    self.huffmanTables = huffmanTables
  }

  /// Encodes `picture`, whose format must be `.ycbcr` of full range, with at most 65500 pixels a side. A
  /// capture time is written as EXIF.
  package func encode(
    _ picture: Picture, iccProfile: [UInt8]? = nil, capturedAt time: WallTime? = nil
  ) throws(CodecError) -> [UInt8] {
    guard picture.planes.count > 0 else {
      throw CodecError(.unsupported, "a JPEG of another size or quality needs the picture's samples")
    }
    return try unsafe file(of: picture, iccProfile: iccProfile, capturedAt: time) { source, encoded in
      unsafe glp_jpeg_encode(source, encoded)
    }
  }

  /// Writes a file by `write`, which gets the picture, whose planes are unset if it has none.
  func file(
    of picture: Picture, iccProfile: [UInt8]?, capturedAt time: WallTime?,
    _ write: (UnsafePointer<glp_jpeg_picture>, UnsafeMutablePointer<glp_jpeg_encoded>) -> glp_jpeg_status
  ) throws(CodecError) -> [UInt8] {
    guard case .ycbcr(let chroma, .full) = picture.format else {
      throw CodecError(.unsupported, "a JPEG is made of full-range Y'CbCr, not of \(picture.format)")
    }
    // ICC segments hold 65519 bytes of profile each, and their sequence numbers are bytes (ICC.1:2022, B.4).
    let profile = iccProfile ?? []
    guard profile.count <= 255 * 65519 else {
      throw CodecError(.unsupported, "an ICC profile of \(profile.count) bytes does not fit a JPEG")
    }
    guard (1...65500).contains(picture.size.width), (1...65500).contains(picture.size.height) else {
      throw CodecError(.unsupported, "\(picture.size) does not fit a JPEG: at most 65500 a side")
    }
    let exif = time.map(EXIF.content) ?? []
    return try unsafe picture.bytes.withUnsafeBufferPointer { (bytes) throws(CodecError) in
      try unsafe profile.withUnsafeBufferPointer { (profile) throws(CodecError) in
        try unsafe exif.withUnsafeBufferPointer { (exif) throws(CodecError) in
          var source = unsafe source(of: picture, chroma.subsampling, bytes, exif, profile)
          var encoded = unsafe glp_jpeg_encoded()
          defer { unsafe glp_jpeg_free(encoded.bytes) }
          guard unsafe write(&source, &encoded) == GLP_JPEG_OK else {
            throw unsafe CodecError(
              .unsupported, "JPEG can't be encoded: \(String(tuple: encoded.message))")
          }
          return unsafe Array(UnsafeBufferPointer(start: encoded.bytes, count: encoded.size))
        }
      }
    }
  }

  private func source(
    of picture: Picture, _ chroma: Subsampling, _ bytes: UnsafeBufferPointer<UInt8>,
    _ exif: UnsafeBufferPointer<UInt8>, _ profile: UnsafeBufferPointer<UInt8>
  ) -> glp_jpeg_picture {
    func plane(_ index: Int) -> glp_jpeg_source_plane {
      let plane = picture.planes[index]
      return unsafe glp_jpeg_source_plane(
        samples: bytes.baseAddress.map { unsafe $0 + plane.offset }, bytes_per_row: plane.bytesPerRow)
    }
    var source = unsafe glp_jpeg_picture()
    unsafe source.width = CInt(picture.size.width)
    unsafe source.height = CInt(picture.size.height)
    unsafe source.chroma_x = CInt(chroma.x)
    unsafe source.chroma_y = CInt(chroma.y)
    unsafe source.quality = CInt(quality)
    unsafe source.optimize = huffmanTables == .optimized
    if picture.planes.count == 3 { unsafe source.planes = (plane(0), plane(1), plane(2)) }
    unsafe source.exif = exif.baseAddress
    unsafe source.exif_size = exif.count
    unsafe source.icc = profile.baseAddress
    unsafe source.icc_size = profile.count
    return unsafe source
  }
}
