// Metadata in picture files: EXIF (CIPA DC-008) and ICC profiles.

/// Reads the orientation from a camera's EXIF, and writes EXIF with a capture time.
enum EXIF {
  /// Returns tag 0x0112 in the content of a JPEG's APP1 or a PNG's eXIf chunk, with or without a preceding
  /// `Exif\0\0`.
  ///
  /// Nil if it is missing or broken, because such a picture is still usable. Nothing in `bytes` is trusted:
  /// every read is bounds-checked.
  static func orientation(in bytes: [UInt8]) -> Orientation? {
    guard let tiff = TIFFBytes(bytes), let directory = tiff.number(at: 4, byteCount: 4),
      let count = tiff.number(at: directory, byteCount: 2)
    else { return nil }
    // At most as many entries as there are bytes, whatever the count says.
    let entries = (0..<count).lazy.map { directory + 2 + 12 * $0 }.prefix { $0 + 12 <= tiff.byteCount }
    for entry in entries where tiff.number(at: entry, byteCount: 2) == 0x0112 {
      if let orientation = tiff.value(of: entry).flatMap({ Orientation(exif: $0) }) { return orientation }
    }
    return nil
  }

  /// Returns the content of an APP1 segment with a capture time, UTC, and nothing else (EXIF 2.32): `Exif`,
  /// two zeros, and a big-endian TIFF file: a header, a directory that points at the EXIF directory, that
  /// directory, and the values that don't fit into its entries.
  static func content(capturedAt time: WallTime) -> [UInt8] {
    // 2024-02-29T23:59:58.123Z as 2024:02:29 23:59:58
    let text = time.description
    let (date, clock) = (text.prefix(10).map { $0 == "-" ? ":" : $0 }, text.dropFirst(11).prefix(8))
    let entries: [(tag: Int, type: Int, bytes: [UInt8])] = [
      (0x9000, 7, Array("0232".utf8)),
      (0x9003, 2, Array("\(String(date)) \(clock)\0".utf8)),
      (0x9011, 2, Array("+00:00\0".utf8)),
      (0x9291, 2, Array("\(time.secondsText.suffix(6))\0".utf8)),
    ]
    let directory = 8 + 2 + 12 + 4
    var tiff: [UInt8] = Array("MM".utf8) + [0, 42] + long(8)
    tiff += short(1) + short(0x8769) + short(4) + long(1) + long(directory) + long(0)
    var values: [UInt8] = []
    let valuesStart = directory + 2 + 12 * entries.count + 4
    tiff += short(entries.count)
    for entry in entries {
      tiff += short(entry.tag) + short(entry.type) + long(entry.bytes.count)
      if entry.bytes.count <= 4 {
        tiff += entry.bytes + Array(repeating: 0, count: 4 - entry.bytes.count)
      } else {
        tiff += long(valuesStart + values.count)
        values += entry.bytes
        if values.count % 2 == 1 { values.append(0) }
      }
    }
    return Array("Exif\0\0".utf8) + tiff + long(0) + values
  }

  private static func short(_ number: Int) -> [UInt8] { [UInt8(number >> 8 & 0xff), UInt8(number & 0xff)] }

  private static func long(_ number: Int) -> [UInt8] { short(number >> 16) + short(number) }
}

/// Bounds-checked reads of a small TIFF file: a byte order, then directories of 12-byte entries; nil outside
/// it.
private struct TIFFBytes {
  private let bytes: ArraySlice<UInt8>
  private let isBigEndian: Bool

  init?(_ bytes: [UInt8]) {
    let tag = Array("Exif\0\0".utf8)
    self.bytes = bytes.dropFirst(bytes.starts(with: tag) ? tag.count : 0)
    switch Array(self.bytes.prefix(4)) {
    case [0x49, 0x49, 42, 0]: isBigEndian = false
    case [0x4D, 0x4D, 0, 42]: isBigEndian = true
    default: return nil
    }
  }

  var byteCount: Int { bytes.count }

  func number(at offset: Int, byteCount count: Int) -> Int? {
    guard offset >= 0, offset <= bytes.count - count else { return nil }
    let field = Array(bytes.dropFirst(offset).prefix(count))
    return (isBigEndian ? field : field.reversed()).reduce(0) { $0 << 8 | Int($1) }
  }

  /// Returns the first SHORT or LONG of the entry at `offset`.
  func value(of offset: Int) -> Int? {
    guard let count = number(at: offset + 4, byteCount: 4), count >= 1 else { return nil }
    return switch number(at: offset + 2, byteCount: 2) {
    case 3: number(at: offset + 8, byteCount: 2)
    case 4: number(at: offset + 8, byteCount: 4)
    default: nil
    }
  }
}

/// An ICC profile as bytes (ICC.1:2022, 7.2). Encoded pictures are R'G'B' or derived from it.
enum ICCProfile {
  /// The largest profile that is kept, in bytes; those of cameras and screens have a few kilobytes.
  static let limit = 4 << 20

  /// Returns `profile` if it describes R'G'B', otherwise nil: a CMYK or grey profile does not fit the
  /// converted picture.
  static func carried(_ profile: [UInt8]) -> [UInt8]? {
    // The header has 128 bytes; the data colour space signature is at offset 16.
    guard (128...limit).contains(profile.count), profile[16..<20].elementsEqual("RGB ".utf8) else {
      return nil
    }
    return profile
  }
}
