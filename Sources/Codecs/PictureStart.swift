// Finds where pictures begin and end in bytes that may contain other data: line ends, multipart headers, the
// rest of a picture. All inputs use it: HTTP, pipes, commands, files and cameras' buffers. It does no I/O.

/// The start of a picture that can be decoded.
package struct PictureStart: Hashable {
  package enum Format: Hashable {
    case jpeg
    case png
  }

  package let format: Format
  /// The number of bytes before the picture.
  package let offset: Int

  /// The most bytes of a source that are searched for a picture.
  package static let searchLimit = 1 << 20

  private static let signatures: [(Format, [UInt8])] = [
    (.jpeg, JPEGDecoder.signature), (.png, PNGDecoder.signature),
  ]

  /// The ends of complete pictures: EOI, or IEND and its checksum.
  package static let ends: [[UInt8]] = [[0xFF, 0xD9], endOfPNG]

  fileprivate static let endOfPNG = Array("IEND".utf8) + [0xAE, 0x42, 0x60, 0x82]

  /// Finds the first picture in `bytes`. Of several SOI markers in a row, which some cameras send, the last
  /// one counts.
  package init?(in bytes: ArraySlice<UInt8>) {
    let first = Self.signatures.first { bytes.starts(with: $0.1) }
    guard let found = first.map({ PictureStart($0.0, 0) }) ?? Self.search(in: bytes) else { return nil }
    var offset = found.offset
    while found.format == .jpeg, bytes.dropFirst(offset + 2).starts(with: JPEGDecoder.signature) {
      offset += 2
    }
    self.init(found.format, offset)
  }

  private init(_ format: Format, _ offset: Int) { (self.format, self.offset) = (format, offset) }

  /// Returns whether `bytes` begin with a picture; nil if more bytes are needed.
  package static func isAtStart(of bytes: ArraySlice<UInt8>) -> Bool? {
    if signatures.contains(where: { bytes.starts(with: $0.1) }) { return true }
    return signatures.contains { $0.1.starts(with: bytes) } ? nil : false
  }

  /// Returns the first picture in any bytes; none begins in the first `searched` bytes. A JPEG's first marker
  /// must be one that can stand there, because its first three bytes also occur by chance.
  package static func search(in bytes: ArraySlice<UInt8>, from searched: Int = 0) -> PictureStart? {
    var rest = bytes.dropFirst(searched)
    while let place = rest.firstIndex(where: { $0 == 0xFF || $0 == 0x89 }) {
      rest = rest[place...]
      let offset = place - bytes.startIndex
      if rest.starts(with: PNGDecoder.signature) { return PictureStart(.png, offset) }
      if rest.starts(with: JPEGDecoder.signature), let code = rest.dropFirst(3).first, code >= 0xC0,
        !(0xD0...0xD7).contains(code), code != 0xD9
      {
        return PictureStart(.jpeg, offset)
      }
      rest = rest.dropFirst()
    }
    return nil
  }

  /// The number of bytes at the end to search again with the bytes that follow, because a picture may have
  /// begun there.
  package static let overlap = 7

  /// Returns the picture without the bytes before it; `bytes` if no picture begins in them.
  package static func trimmed(_ bytes: [UInt8]) -> [UInt8] {
    guard let start = PictureStart(in: bytes[...]), start.offset > 0 else { return bytes }
    return Array(bytes[start.offset...])
  }
}

/// Finds the end of a picture that arrives in pieces.
package struct PictureWalk {
  private var splitter = MJPEGSplitter(pictureLimit: .max)
  private var walked = 0
  /// The position of the next chunk of a PNG (W3C PNG, 5.3).
  private var chunk = PNGDecoder.signature.count

  package init() {}

  /// Returns the length of the picture at the start of `bytes`; nil if it does not end within them.
  package mutating func end(in bytes: ArraySlice<UInt8>) -> Int? {
    if bytes.starts(with: PNGDecoder.signature) { return endOfPNG(in: bytes) }
    guard walked < bytes.count else { return nil }
    guard let (count, picture) = try? splitter.take(bytes.dropFirst(walked)) else { return nil }
    walked += count
    // A JPEG without an end marker ends at the next one's SOI.
    return picture == nil ? nil : walked - splitter.partialPicture.count
  }

  private mutating func endOfPNG(in bytes: ArraySlice<UInt8>) -> Int? {
    // The length of a chunk's data, its type, the data, and a checksum.
    while bytes.count >= chunk + 12 {
      let header = bytes.dropFirst(chunk)
      if header.dropFirst(4).starts(with: PictureStart.endOfPNG) { return chunk + 12 }
      chunk += 12 + header.prefix(4).reduce(0) { $0 << 8 | Int($1) }
    }
    return nil
  }
}
