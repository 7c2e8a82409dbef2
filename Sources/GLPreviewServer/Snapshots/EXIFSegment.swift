// When a JPEG was taken, in the JPEG: an APP1 segment of EXIF (CIPA DC-008) with nothing else in it.
internal import GLPreview

/// EXIF that says when a picture was taken, UTC.
struct EXIFSegment {
  /// The segment, with its marker.
  let bytes: [UInt8]

  init(taken time: WallTime) {
    // 2024-02-29T23:59:58.123Z as 2024:02:29 23:59:58
    let text = time.description
    let date = text.prefix(10).replacing("-", with: ":")
    let clock = text.dropFirst(11).prefix(8)
    let fraction = time.unixText.suffix(6)
    let entries: [(tag: UInt16, type: UInt16, bytes: [UInt8])] = [
      (0x9000, 7, Array("0232".utf8)),
      (0x9003, 2, Array("\(date) \(clock)\0".utf8)),
      (0x9011, 2, Array("+00:00\0".utf8)),
      (0x9291, 2, Array("\(fraction)\0".utf8)),
    ]
    // A big-endian TIFF file: header, a directory that points at the next one, that one, what does not fit into it.
    var tiff: [UInt8] = Array("MM".utf8) + [0, 42, 0, 0, 0, 8]
    let cameraDirectory = 8 + 2 + 12 + 4
    tiff += Self.short(1) + Self.short(0x8769) + Self.short(4) + Self.long(1) + Self.long(cameraDirectory)
    tiff += Self.long(0)
    var values: [UInt8] = []
    let valuesStart = cameraDirectory + 2 + 12 * entries.count + 4
    tiff += Self.short(entries.count)
    for entry in entries {
      tiff += Self.short(Int(entry.tag)) + Self.short(Int(entry.type)) + Self.long(entry.bytes.count)
      if entry.bytes.count <= 4 {
        tiff += entry.bytes + Array(repeating: 0, count: 4 - entry.bytes.count)
      } else {
        tiff += Self.long(valuesStart + values.count)
        values += entry.bytes
        if values.count % 2 == 1 { values.append(0) }
      }
    }
    tiff += Self.long(0) + values
    let body = Array("Exif\0\0".utf8) + tiff
    bytes = [0xff, 0xe1] + Self.short(body.count + 2) + body
  }

  /// The JPEG with this in it, after the JFIF header, where it begins with one.
  func inserted(into jpeg: [UInt8]) -> [UInt8] {
    guard jpeg.starts(with: [0xff, 0xd8]) else { return jpeg }
    var position = 2
    if jpeg.count > 5, jpeg[2] == 0xff, jpeg[3] == 0xe0 {
      position = min(4 + (Int(jpeg[4]) << 8 | Int(jpeg[5])), jpeg.count)
    }
    var result: [UInt8] = []
    result.reserveCapacity(jpeg.count + bytes.count)
    result += jpeg[..<position]
    result += bytes
    result += jpeg[position...]
    return result
  }

  private static func short(_ number: Int) -> [UInt8] { [UInt8(number >> 8 & 0xff), UInt8(number & 0xff)] }

  private static func long(_ number: Int) -> [UInt8] { short(number >> 16) + short(number) }
}
