// The time of capture inside a JPEG: the content of an APP1 segment, EXIF 2.32 (CIPA DC-008).

/// Writes EXIF that holds a capture time, UTC, and nothing else.
enum EXIFWriter {
  /// `Exif`, two zeros, and a big-endian TIFF file: a header, a directory that points at the EXIF directory, that
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
