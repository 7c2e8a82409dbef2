// Reads the orientation and capture time from a camera's EXIF. The bytes are a small TIFF file (CIPA DC-008, 4.5): a
// byte order, then directories of 12-byte entries that point at each other. Nothing in it is trusted: every read is
// bounds-checked, and no pointer is followed twice.
package import PreviewCore

/// The EXIF of a JPEG's APP1 or a PNG's eXIf chunk. Missing or broken values are nil, because a picture with broken
/// EXIF is still usable.
package struct EXIFReader: Sendable, Hashable {
  /// Tag 0x0112.
  package private(set) var orientation: Orientation?
  /// Tag 0x9003, the capture time: `YYYY:MM:DD HH:MM:SS` in the camera's local time.
  package private(set) var dateTimeOriginal: String?
  /// Tag 0x9291, the fractional digits of that second.
  package private(set) var subSecondOriginal: String?

  /// Reads `bytes`, which start with the byte order mark, or with `Exif\0\0` before it.
  package init(_ bytes: [UInt8]) {
    guard let tiff = TIFFBytes(bytes), let first = tiff.directory(at: tiff.firstDirectory) else { return }
    for entry in first {
      switch entry.tag {
      case 0x0112: orientation = orientation ?? tiff.number(entry).flatMap { Orientation(exif: $0) }
      case 0x8769: readCameraDirectory(of: tiff, at: tiff.number(entry))
      default: break
      }
    }
  }

  private mutating func readCameraDirectory(of tiff: TIFFBytes, at offset: Int?) {
    guard dateTimeOriginal == nil, let offset, let entries = tiff.directory(at: offset) else { return }
    for entry in entries {
      switch entry.tag {
      case 0x9003: dateTimeOriginal = tiff.text(entry).flatMap(Self.dateTime)
      case 0x9291: subSecondOriginal = tiff.text(entry).flatMap(Self.digits)
      default: break
      }
    }
  }

  private static func dateTime(_ text: String) -> String? {
    let shape = "0000:00:00 00:00:00"
    guard text.utf8.count == shape.utf8.count else { return nil }
    let fits = zip(text.utf8, shape.utf8).allSatisfy { character, wanted in
      wanted == UInt8(ascii: "0") ? isDigit(character) : character == wanted
    }
    return fits ? text : nil
  }

  private static func digits(_ text: String) -> String? {
    let digits = text.utf8.prefix(while: isDigit)
    return digits.isEmpty || digits.count > 9 ? nil : String(digits)
  }

  private static func isDigit(_ character: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(character)
  }
}

/// Bounds-checked reads of a TIFF structure; nil outside it.
private struct TIFFBytes {
  struct Entry {
    let tag: Int
    let type: Int
    let count: Int
    /// The offset of the value, or of the four bytes that point to it.
    let field: Int
  }

  private let bytes: [UInt8]
  private let start: Int
  private let isBigEndian: Bool
  let firstDirectory: Int

  init?(_ bytes: [UInt8]) {
    let tag: [UInt8] = [0x45, 0x78, 0x69, 0x66, 0, 0]
    let start = bytes.starts(with: tag) ? tag.count : 0
    guard bytes.count >= start + 8 else { return nil }
    let isBigEndian: Bool
    switch (bytes[start], bytes[start + 1]) {
    case (0x49, 0x49): isBigEndian = false
    case (0x4D, 0x4D): isBigEndian = true
    default: return nil
    }
    self.bytes = bytes
    self.start = start
    self.isBigEndian = isBigEndian
    firstDirectory = Self.integer(bytes, at: start + 4, count: 4, isBigEndian)
    guard Self.integer(bytes, at: start + 2, count: 2, isBigEndian) == 42 else { return nil }
  }

  /// The entries of one directory. The pointer to the next directory is not followed.
  func directory(at offset: Int) -> [Entry]? {
    guard let count = integer(at: offset, count: 2) else { return nil }
    // At most as many entries as there are bytes, whatever the count says.
    return (0..<count).lazy.map { offset + 2 + 12 * $0 }.prefix { $0 + 12 <= bytes.count - start }.compactMap
    {
      guard let tag = integer(at: $0, count: 2), let type = integer(at: $0 + 2, count: 2),
        let count = integer(at: $0 + 4, count: 4)
      else { return nil }
      return Entry(tag: tag, type: type, count: count, field: $0 + 8)
    }
  }

  /// An entry's first SHORT or LONG.
  func number(_ entry: Entry) -> Int? {
    guard entry.count >= 1 else { return nil }
    return switch entry.type {
    case 3: integer(at: entry.field, count: 2)
    case 4: integer(at: entry.field, count: 4)
    default: nil
    }
  }

  /// An ASCII entry, up to its NUL.
  func text(_ entry: Entry) -> String? {
    guard entry.type == 2, (1...64).contains(entry.count),
      let offset = entry.count <= 4 ? entry.field : integer(at: entry.field, count: 4),
      offset <= bytes.count - start - entry.count
    else { return nil }
    let characters = bytes[(start + offset)..<(start + offset + entry.count)].prefix { $0 != 0 }
    guard characters.allSatisfy({ (0x20...0x7E).contains($0) }) else { return nil }
    return String(decoding: characters, as: UTF8.self)
  }

  private func integer(at offset: Int, count: Int) -> Int? {
    guard offset >= 0, offset <= bytes.count - start - count else { return nil }
    return Self.integer(bytes, at: start + offset, count: count, isBigEndian)
  }

  private static func integer(_ bytes: [UInt8], at offset: Int, count: Int, _ isBigEndian: Bool) -> Int {
    let field = bytes[offset..<(offset + count)]
    return isBigEndian
      ? field.reduce(0) { $0 << 8 | Int($1) } : field.reversed().reduce(0) { $0 << 8 | Int($1) }
  }
}
