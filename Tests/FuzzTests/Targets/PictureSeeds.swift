import PreviewCore

// Small valid pictures to begin with, made by our own encoders or by hand.
@testable import CaptureCore
@testable import GLPreview

enum PictureSeeds {
  /// The decoder's own test pictures, of the kinds that our encoder does not make.
  private static let fixtures = [
    "adobe-cmyk", "adobe-rgb", "adobe-ycck", "arithmetic422", "grey", "progressive420", "restart420",
    "restart-progressive420", "scans420",
    "ycc-mixed",
    "ycc410", "ycc411", "ycc440", "ycc441",
  ]
  private static let folder = "\(#filePath)".replacing(
    "FuzzTests/Targets/PictureSeeds.swift", with: "GLPreviewTests/Fixtures/")

  /// Grey, planes of several ratios, with EXIF, with an ICC profile, one cut short and one without its end.
  static var jpegs: [[UInt8]] {
    get throws {
      var jpegs: [[UInt8]] = []
      for chroma in Picture.ChromaSubsampling.allCases {
        jpegs.append(try JPEGEncoder(quality: 60).encode(ramps(Size(width: 20, height: 12), chroma)))
      }
      let small = try JPEGEncoder(quality: 30, huffmanTables: .optimized)
        .encode(ramps(Size(width: 8, height: 8), .yuv420), iccProfile: profile)
      jpegs.append(small)
      let plain = try JPEGEncoder(quality: 30, huffmanTables: .optimized)
        .encode(ramps(Size(width: 8, height: 8), .yuv420))
      let segment = Array("Exif\0\0".utf8) + exif(isBigEndian: true)
      let head: [UInt8] = [0xFF, 0xD8, 0xFF, 0xE1, 0, UInt8(segment.count + 2)]
      jpegs.append(head + segment + plain[2...])
      jpegs.append(Array(plain.dropLast(plain.count / 3)))
      jpegs.append(plain.dropLast(2) + [0, 0, 0])
      for name in fixtures {
        var file = try ByteStream(opening: folder + name + ".jpg")
        jpegs.append(try file.readAll(limit: 1 << 20) ?? [])
      }
      return jpegs
    }
  }

  /// From our encoder, with a profile, and by hand with a chunk of each kind that we know.
  static var pngs: [[UInt8]] {
    get throws {
      let size = Size(width: 5, height: 3)
      let bytes = (0..<size.pixelCount * 4).map { UInt8(truncatingIfNeeded: $0 * 37) }
      let picture = Picture(tight: size, format: .rgba, bytes: bytes)
      let plain = try PNGEncoder().encode(picture)
      var pngs = [plain, try PNGEncoder(compressionLevel: 0).encode(picture, iccProfile: profile)]
      for (type, depth, row) in [(0, 1, 1), (0, 16, 10), (2, 16, 30), (3, 2, 2), (4, 8, 10), (6, 8, 20)] {
        for isInterlaced in [false, true] {
          pngs.append(
            PNGChunks.picture(size, type: UInt8(type), depth: UInt8(depth), row: row, isInterlaced))
        }
      }
      let chunks = [
        ("eXIf", exif(isBigEndian: false)), ("tEXt", Array("a\0b".utf8)), ("gAMA", [0, 0, 0xB1, 0x8F]),
        ("sRGB", [0]), ("pHYs", [0, 0, 1, 0, 0, 0, 1, 0, 1]), ("iTXt", Array("a\0\0\0\0\0b".utf8)),
        ("tIME", [7, 0xE8, 2, 29, 23, 59, 58]), ("bKGD", [0, 0, 0, 0, 0, 0]),
      ]
      // Behind the header, which ends at byte 33.
      for (name, data) in chunks {
        pngs.append(Array(plain[..<33]) + PNGChunks.chunk(name, data) + plain[33...])
      }
      return pngs
    }
  }

  /// An orientation, and when the picture was taken.
  static func exif(isBigEndian: Bool) -> [UInt8] {
    func number(_ value: Int, _ count: Int) -> [UInt8] {
      let bytes = (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
      return isBigEndian ? bytes.reversed() : bytes
    }
    func entry(_ tag: Int, _ type: Int, _ count: Int, _ value: [UInt8]) -> [UInt8] {
      number(tag, 2) + number(type, 2) + number(count, 4) + value
        + [UInt8](repeating: 0, count: 4 - value.count)
    }
    var bytes = Array((isBigEndian ? "MM" : "II").utf8) + number(42, 2) + number(8, 4) + number(2, 2)
    bytes += entry(0x0112, 3, 1, number(6, 2)) + entry(0x8769, 4, 1, number(38, 4)) + number(0, 4)
    bytes += number(2, 2) + entry(0x9003, 2, 20, number(68, 4)) + entry(0x9291, 2, 4, Array("042".utf8))
    return bytes + number(0, 4) + Array("2024:02:29 23:59:58\0".utf8)
  }

  private static var profile: [UInt8] {
    var bytes = (0..<140).map { UInt8(truncatingIfNeeded: $0 * 7) }
    bytes.replaceSubrange(16..<20, with: "RGB ".utf8)
    return bytes
  }

  private static func ramps(_ size: Size, _ chroma: Picture.ChromaSubsampling) -> Picture {
    let format = Picture.Format.ycbcr(chroma)
    let bytes = format.planeSizes(of: size).flatMap { plane in
      (0..<plane.pixelCount).map { UInt8(truncatingIfNeeded: $0 * 11) }
    }
    return Picture(tight: size, format: format, bytes: bytes)
  }
}

/// PNGs chunk by chunk.
enum PNGChunks {
  /// Length, name, data and checksum.
  static func chunk(_ name: String, _ data: [UInt8]) -> [UInt8] {
    word(data.count) + Array(name.utf8) + data + word(Int(checksum(Array(name.utf8) + data)))
  }

  /// A picture of `size` and of arbitrary samples; `row` is how many bytes its rows have.
  static func picture(_ size: Size, type: UInt8, depth: UInt8, row: Int, _ isInterlaced: Bool) -> [UInt8] {
    let header = word(size.width) + word(size.height) + [depth, type, 0, 0, isInterlaced ? 1 : 0]
    // Interlaced it has more and shorter rows; what is too much is let go.
    let samples = (0..<(row + 1) * size.height * (isInterlaced ? 3 : 1)).map { index in
      isInterlaced ? 0 : index % (row + 1) == 0 ? 0 : UInt8(truncatingIfNeeded: index * 29)
    }
    let (count, inverse) = (UInt16(samples.count), ~UInt16(samples.count))
    let block: [UInt8] =
      [0x78, 0x01, 0x01] + [count, inverse].flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] } + samples
    var (one, two) = (1, 0)
    for sample in samples { (one, two) = ((one + Int(sample)) % 65521, (one + Int(sample) + two) % 65521) }
    let palette = type == 3 ? chunk("PLTE", (0..<12).map { $0 * 20 }) : []
    return PNGDecoder.signature + chunk("IHDR", header) + palette
      + chunk("IDAT", block + word(two << 16 | one)) + chunk("IEND", [])
  }

  /// `png` with the checksum that each of its chunks should have, as far as they can be followed.
  static func withRightChecksums(_ png: [UInt8]) -> [UInt8] {
    var png = png
    var start = PNGDecoder.signature.count
    while png.count - start >= 12 {
      let length = png[start..<start + 4].reduce(0) { $0 << 8 | Int($1) }
      guard length <= png.count - start - 12 else { break }
      let end = start + 8 + length
      png.replaceSubrange(end..<end + 4, with: word(Int(checksum(png[start + 4..<end]))))
      start = end + 4
    }
    return png
  }

  private static func word(_ number: Int) -> [UInt8] {
    (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) }
  }

  /// CRC-32 (W3C PNG, annex D).
  private static func checksum(_ bytes: some Sequence<UInt8>) -> UInt32 {
    ~bytes.reduce(~0) { table[Int(UInt8(truncatingIfNeeded: $0) ^ $1)] ^ $0 >> 8 }
  }

  private static let table: [UInt32] = (0..<256).map { index in
    (0..<8).reduce(UInt32(index)) { crc, _ in crc & 1 == 1 ? 0xEDB8_8320 ^ crc >> 1 : crc >> 1 }
  }
}
