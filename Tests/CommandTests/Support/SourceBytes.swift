// Sources made by hand, some of them lies, and as much of the picture formats as it takes to look at results.

/// Bytes of videos and pictures.
enum SourceBytes {
  /// 16x8 frames, each of one grey: 16, 36, 56...
  static let videoSize = (width: 16, height: 8)

  /// The luma of a frame of `y4m` or `nv12`; the twelfth is as the first.
  static func luma(_ frame: Int) -> UInt8 { UInt8(16 + 20 * (frame % 11)) }

  static func y4m(_ frames: Range<Int>, header: String = "YUV4MPEG2 W16 H8 F25:1 Ip C420jpeg") -> [UInt8] {
    Array("\(header)\n".utf8) + frames.flatMap { Array("FRAME\n".utf8) + i420(luma($0)) }
  }

  static func nv12(_ frames: Range<Int>) -> [UInt8] { frames.flatMap { i420(luma($0)) } }

  private static func i420(_ luma: UInt8) -> [UInt8] {
    let pixels = videoSize.width * videoSize.height
    return Array(repeating: luma, count: pixels) + Array(repeating: 128, count: pixels / 2)
  }

  /// The start of a JPEG that says how large it is, and no more.
  static func lyingJPEG(width: UInt16, height: UInt16) -> [UInt8] {
    [0xFF, 0xD8, 0xFF, 0xC0, 0, 17, 8] + bigEndian(height) + bigEndian(width)
      + [3, 1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1]
      + [0xFF, 0xDA, 0, 12, 3, 1, 0, 2, 0x11, 3, 0x11, 0, 63, 0] + Array(repeating: 0, count: 64)
      + [0xFF, 0xD9]
  }

  /// A PNG of which nothing but its size is there.
  static func lyingPNG(width: UInt32, height: UInt32) -> [UInt8] {
    let header = bigEndian(width) + bigEndian(height) + [8, 2, 0, 0, 0]
    return [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + chunk("IHDR", header) + chunk("IDAT", [])
      + chunk("IEND", [])
  }

  /// `jpeg` as a camera held in another way would have written it (EXIF's tag 0x0112).
  static func tagged(_ jpeg: [UInt8], orientation: UInt8) -> [UInt8] {
    let entry: [UInt8] = [0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, orientation, 0, 0]
    let tiff: [UInt8] = [0x4D, 0x4D, 0, 42, 0, 0, 0, 8, 0, 1] + entry + [0, 0, 0, 0]
    let body = Array("Exif".utf8) + [0, 0] + tiff
    return [0xFF, 0xD8, 0xFF, 0xE1] + bigEndian(UInt16(body.count + 2)) + body + jpeg.dropFirst(2)
  }

  private static func chunk(_ type: String, _ data: [UInt8]) -> [UInt8] {
    let body = Array(type.utf8) + data
    return bigEndian(UInt32(data.count)) + body + bigEndian(crc32(body))
  }

  /// W3C PNG, annex D.
  private static func crc32(_ bytes: [UInt8]) -> UInt32 {
    ~bytes.reduce(~0) { crc, byte in
      (0..<8).reduce(crc ^ UInt32(byte)) { crc, _ in crc & 1 == 1 ? crc >> 1 ^ 0xEDB8_8320 : crc >> 1 }
    }
  }

  private static func bigEndian(_ number: some FixedWidthInteger & UnsignedInteger) -> [UInt8] {
    stride(from: number.bitWidth - 8, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> $0) }
  }
}

/// What a picture's file says of itself.
struct PictureFacts: Equatable {
  enum Format { case jpeg, png }
  let format: Format
  let width: Int
  let height: Int
  /// How often JPEG's chroma fits into its luma: 2x2 for 4:2:0.
  var chroma: String?

  /// Nil for what is neither a JPEG nor a PNG, or has no end.
  init?(_ bytes: [UInt8]) {
    func number(_ at: Int) -> Int { Int(bytes[at]) << 8 | Int(bytes[at + 1]) }
    if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47]), bytes.count > 24,
      bytes.suffix(8).starts(with: "IEND".utf8)
    {
      self.init(format: .png, width: number(18), height: number(22))
      return
    }
    guard bytes.starts(with: [0xFF, 0xD8]), bytes.suffix(2) == [0xFF, 0xD9] else { return nil }
    var position = 2
    while position + 12 < bytes.count, bytes[position] == 0xFF {
      // A baseline or a progressive frame's header (T.81, B.2.2).
      if bytes[position + 1] == 0xC0 || bytes[position + 1] == 0xC2 {
        self.init(format: .jpeg, width: number(position + 7), height: number(position + 5))
        chroma = "\(bytes[position + 11] >> 4)x\(bytes[position + 11] & 15)"
        return
      }
      position += 2 + number(position + 2)
    }
    return nil
  }

  init(format: Format, width: Int, height: Int, chroma: String? = nil) {
    self.format = format
    self.width = width
    self.height = height
    self.chroma = chroma
  }
}
