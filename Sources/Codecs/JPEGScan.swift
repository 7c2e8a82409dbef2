// The scan of a JPEG that was coded elsewhere, as on a GPU, and what it is coded with.
internal import CTurboJPEG

/// The tables of JPEGs of a quality; those of Huffman codes are the standard ones (T.81, Annex K).
package struct JPEGTables: Sendable, Hashable {
  /// The steps of Y', and those of Cb and Cr, in rows of eight.
  package let quantizers: [[UInt16]]
  /// For Y', and for Cb and Cr: the codes of 16 categories of DC, by symbol: the length in the upper half, the code in the
  /// lower one.
  package let dcCodes: [[UInt32]]
  /// The codes of 256 symbols of AC.
  package let acCodes: [[UInt32]]

  /// Reads the tables that `JPEGEncoder` uses at a quality, 1...100.
  package init(quality: Int) throws(CodecError) {
    var tables = glp_jpeg_tables()
    guard unsafe glp_jpeg_read_tables(CInt(quality), &tables) == GLP_JPEG_OK else {
      throw CodecError(.unsupported, "JPEG has no tables of quality \(quality)")
    }
    func copies<Row, Element>(_ rows: (Row, Row), of element: Element.Type) -> [[Element]] {
      [rows.0, rows.1].map { row in
        unsafe withUnsafeBytes(of: row) { unsafe Array($0.bindMemory(to: Element.self)) }
      }
    }
    quantizers = copies(tables.quantizers, of: UInt16.self)
    dcCodes = copies(tables.dc_codes, of: UInt32.self)
    acCodes = copies(tables.ac_codes, of: UInt32.self)
  }
}

extension JPEGEncoder {
  /// Writes the file that `encode` writes for a picture, of its scan; its planes are not read. The scan must be of this
  /// quality.
  package func wrap(
    _ scan: Picture.Scan, of picture: Picture, iccProfile: [UInt8]? = nil, capturedAt time: WallTime? = nil
  ) throws(CodecError) -> [UInt8] {
    try unsafe file(of: picture, iccProfile: iccProfile, capturedAt: time) { source, encoded in
      unsafe scan.bytes.withUnsafeBufferPointer { bytes in
        var scan = unsafe glp_jpeg_scan(bytes: bytes.baseAddress, size: bytes.count)
        return unsafe glp_jpeg_wrap(source, &scan, encoded)
      }
    }
  }
}
