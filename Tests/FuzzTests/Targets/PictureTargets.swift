import PreviewCore

@testable import CaptureCore
// Pictures: what a camera or a file may hold.
@testable import Codecs
@testable import GLPreview

/// Larger pictures are refused: a fuzzer wants many small ones.
private let maximumPixels = 1 << 16

extension FuzzTarget {
  /// The first byte chooses the scale, the rest is a JPEG.
  static let jpeg = FuzzTarget(
    name: "jpeg", longest: 4096,
    words: [
      "\u{FF}\u{D8}\u{FF}", "\u{FF}\u{D9}", "\u{FF}\u{DA}", "\u{FF}\u{C0}", "\u{FF}\u{C2}", "\u{FF}\u{C4}",
      "\u{FF}\u{DB}", "\u{FF}\u{DD}", "\u{FF}\u{E1}", "\u{FF}\u{E2}", "\u{FF}\u{EE}", "Exif\0\0",
      "ICC_PROFILE\0", "MPF\0", "Adobe", "JFIF\0",
    ],
    seeds: { try PictureSeeds.jpegs.flatMap { jpeg in [0, 1, 2, 4].map { [$0] + jpeg } } },
    body: .atOnce { (input) throws(FuzzFault) in
      var input = FuzzInput(input)
      let choice = input.byte()
      let jpeg = input.bytes
      guard let header = try? JPEGDecoder.header(of: jpeg) else { return }
      try must(header.size.width > 0 && header.size.height > 0, "a header of \(header.size)")
      try must((header.iccProfile ?? profile()).count >= 128, "an ICC profile without a header")

      let eighths = choice == 0 ? 8 : Int(choice % 8) + 1
      func decode(_ damage: JPEGDecoder.DamagePolicy) -> Frame? {
        try? JPEGDecoder.decode(jpeg, maximumPixels: maximumPixels, damage: damage) { _ in eighths }
      }
      guard let frame = decode(.isTolerated) else {
        return try must(decode(.isAnError) == nil, "what can't be decoded with damage is decoded without")
      }
      try must(frame.format.referenceSize == header.size, "\(header.size) came as \(frame.format.size)")
      try must(header.size.pixelCount <= maximumPixels, "\(header.size) is over the limit")
      if let whole = decode(.isAnError) {
        try must(whole.bytes == frame.bytes, "a whole picture depends on whether damage is tolerated")
      }
    })

  /// A JPEG of a camera, which may be sent on undecoded.
  static let passable = FuzzTarget(
    name: "passable", longest: 4096, words: jpeg.words, seeds: { try PictureSeeds.jpegs },
    body: .atOnce { (input) throws(FuzzFault) in
      func passed(_ jpeg: [UInt8]) -> OriginalJPEG? {
        try? OriginalJPEG(checking: jpeg, maximumPixels: maximumPixels)
      }
      guard let first = passed(input) else { return }
      try must(first.size.pixelCount <= maximumPixels, "\(first.size) is over the limit")
      try must(
        passed(first.bytes)?.bytes == first.bytes, "what was passed on is not passed on again as it is")
      guard let header = try? JPEGDecoder.header(of: first.bytes) else { return }
      try must(header.size == first.size, "\(first.size) is decoded as \(header.size)")
      try must(header.orientation == .upright && header.iccProfile == nil, "it is turned, or has a profile")
    })

  /// The bytes of an EXIF segment, or of a PNG's chunk.
  static let exif = FuzzTarget(
    name: "exif", longest: 512, words: ["Exif\0\0", "II*\0", "MM\0*", "2024:02:29 23:59:58"],
    seeds: {
      let little = PictureSeeds.exif(isBigEndian: false)
      return [little, PictureSeeds.exif(isBigEndian: true), Array("Exif\0\0".utf8) + little]
    },
    body: .atOnce { (input) throws(FuzzFault) in _ = EXIF.orientation(in: input) })

  /// A PNG whose checksums are put right first, or nothing would ever be read of it.
  static let png = FuzzTarget(
    name: "png", longest: 4096,
    words: [
      "\u{89}PNG\r\n\u{1A}\n", "IHDR", "PLTE", "IDAT", "IEND", "tRNS", "gAMA", "cHRM", "sRGB", "iCCP", "eXIf",
      "tEXt", "zTXt", "iTXt", "sPLT", "bKGD", "pHYs", "sBIT", "hIST", "tIME",
    ],
    seeds: { try PictureSeeds.pngs },
    body: .atOnce { (input) throws(FuzzFault) in
      // As it is too: most chunks with a wrong checksum are left out.
      _ = try? PNGDecoder.decode(input, maximumPixels: maximumPixels)
      let png = PNGChunks.withRightChecksums(input)
      guard let header = try? PNGDecoder.header(of: png) else { return }
      try must(header.size.width > 0 && header.size.height > 0, "a header of \(header.size)")
      try must((header.iccProfile ?? profile()).count >= 128, "an ICC profile without a header")
      guard let frame = try? PNGDecoder.decode(png, maximumPixels: maximumPixels) else { return }
      try must(frame.format.size == header.size, "\(header.size) came as \(frame.format.size)")
      try must(frame.format.pixelFormat == header.pixelFormat, "it came as \(frame.format.pixelFormat)")
      try must(header.size.pixelCount <= maximumPixels, "\(header.size) is over the limit")
    })

  /// A Y4M file.
  static let y4m = FuzzTarget(
    name: "y4m", longest: 1024,
    words: [
      "YUV4MPEG2 ", "FRAME\n", "W8", "H8", "F30:1", "F30000:1001", "C420", "C420jpeg", "C422", "C444", "C411",
      "Cmono", "C420mpeg2", "C420paldv", "C420p10", "C444p16", "mono12", "XCOLORRANGE=FULL",
      "XCOLORRANGE=LIMITED", "999999999",
    ],
    seeds: {
      ["C420", "C422 XCOLORRANGE=FULL", "C411", "Cmono F30000:1001", "Cmono10"].map {
        "YUV4MPEG2 W8 H2 \($0)\nFRAME\n"
          + String(
            repeating: "x",
            count: $0.hasPrefix("C422") || $0 == "Cmono10" ? 32 : $0 == "Cmono F30000:1001" ? 16 : 24)
          + "FRAME Ip\n0123456789"
      }.inputs
    },
    body: .waiting { (input) async throws(FuzzFault) in
      let options = SourceOptions(maximumPixels: maximumPixels)
      guard let file = MemoryFile(input), let stream = try? ByteStream(opening: file.path),
        let source = try? Y4MSource(stream, options)
      else { return }
      var format: Frame.Format?
      for _ in 0..<4 {
        guard let next = try? await source.nextFrame() else { return }
        try must(next.format == format ?? next.format, "frames of one file differ in format")
        try must(next.bytes.count <= input.count, "a frame of more bytes than the file has")
        format = next.format
      }
    })

  /// The first byte says how the rest, a run of JPEGs, is cut into pieces.
  static let mjpeg = FuzzTarget(
    name: "mjpeg", longest: 4096, words: jpeg.words,
    seeds: {
      let jpegs = try PictureSeeds.jpegs.prefix(3)
      return [[7] + jpegs.flatMap { $0 }, [1] + jpegs.flatMap { Array("\r\n--x\r\n\r\n".utf8) + $0 }]
    },
    body: .atOnce { (input) throws(FuzzFault) in
      var input = FuzzInput(input)
      let count = Int(input.byte()) + 1
      let bytes = input.bytes
      let whole = try pictures(in: bytes, piece: max(bytes.count, 1), limit: 1 << 20)
      let cut = try pictures(in: bytes, piece: count, limit: 1 << 20)
      try must(whole == cut, "the pictures depend on how their bytes are cut")
      for picture in whole {
        try must(picture.starts(with: [0xFF, 0xD8, 0xFF]), "a picture that does not begin as a JPEG")
      }
      _ = try pictures(in: bytes, piece: count, limit: 64)
    })

  private static func pictures(in bytes: [UInt8], piece: Int, limit: Int) throws(FuzzFault) -> [[UInt8]] {
    var splitter = MJPEGSplitter(pictureLimit: limit)
    var found: [[UInt8]] = []
    for start in stride(from: 0, to: bytes.count, by: piece) {
      var rest = bytes[start..<min(start + piece, bytes.count)]
      while !rest.isEmpty {
        guard let (count, picture) = try? splitter.take(rest) else { break }
        try must((1...rest.count).contains(count), "\(count) of \(rest.count) bytes are taken")
        rest = rest.dropFirst(count)
        if let picture { found.append(picture) }
        try must(splitter.partialPicture.count <= limit, "more than \(limit) bytes are kept")
        try must((picture ?? []).count <= limit, "a picture of more than \(limit) bytes")
      }
    }
    return found
  }

  private static func profile() -> [UInt8] { [UInt8](repeating: 0, count: 128) }
}
