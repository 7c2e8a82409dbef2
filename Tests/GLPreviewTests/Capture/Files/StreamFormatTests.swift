// Y4M and MJPEG: what their parsers take, what they refuse, and that no bytes whatever bring them down.
import PreviewCore
import TestSupport
import Testing

@testable import CaptureCore
@testable import Codecs
@testable import GLPreview

private func header(_ text: String, _ options: SourceOptions = SourceOptions()) throws -> Y4MHeader {
  try Y4MHeader(parsing: Array("YUV4MPEG2 \(text)".utf8), options)
}

/// What went wrong while all frames of `bytes` were read.
private func failure(_ bytes: [UInt8], named name: String, _ options: SourceOptions = SourceOptions())
  async throws
  -> SourceError?
{
  try await withFile(bytes, named: name) { path in
    do {
      _ = try await frames(path, options)
      return nil
    } catch { return error as? SourceError }
  }
}

@Suite("Y4MSource")
struct Y4MSourceTests {
  @Test(
    "Y4M colourspace tags map to pixel format and chroma siting",
    arguments: [
      ("", PixelFormat.i420, ColorDescription.ChromaSiting.centred), (" C420", .i420, .centred),
      (" C420jpeg", .i420, .centred),
      (" C420mpeg2", .i420, .left), (" C420paldv", .i420, .left), (" C422", .yuv422p, .left),
      (" C444", .yuv444p, .left), (" C411", .yuv411p, .left), (" Cmono", .grey, .left),
    ])
  func colorspaces(tag: String, format: PixelFormat, siting: ColorDescription.ChromaSiting) throws {
    let header = try header("W7 H5 F30000:1001 Ip A1:1\(tag) XYSCSS=WHATEVER XCOLORRANGE=FULL XMORE=1")
    let color = ColorDescription(matrix: .bt601, range: .full, siting: siting)
    #expect(header.format == Frame.Format(format, Size(width: 7, height: 5), color: color))
    #expect(header.rate == FrameRate(numerator: 30000, denominator: 1001))
    #expect(header.byteCount == format.tightByteCount(of: Size(width: 7, height: 5)))
  }

  @Test("Y4M defaults to limited range and a matrix by size; the user's range overrides the header")
  func guesses() throws {
    #expect(
      try header("W64 H48").format.color
        == ColorDescription(matrix: .bt601, range: .limited, siting: .centred))
    #expect(try header("H720 W1280 XCOLORRANGE=LIMITED").format.color.matrix == .bt709)
    let override = SourceOptions(color: ColorDescription.Override(range: .limited))
    #expect(try header("W64 H48 XCOLORRANGE=FULL", override).format.color.range == .limited)
  }

  @Test(
    "Y4M without a valid frame rate has 30 frames per second, or the user's rate",
    arguments: ["", " F0:0", " F0:1"])
  func unknownRate(tag: String) throws {
    #expect(try header("W2 H2\(tag)").rate == .usual)
    #expect(try header("W2 H2\(tag)", SourceOptions(framesPerSecond: 12.5)).rate == FrameRate(12.5))
  }

  @Test(
    "an invalid, overflowing or incomplete Y4M header is rejected",
    arguments: [
      "", "W64", "H48", "W0 H48", "W-1 H48", "W+5 H5", "Wx H48", "W H", "W99999999999999999999 H1",
      "W999999999 H999999999", "W65536 H65536", "W10001 H10000", "W2 H2 F", "W2 H2 F30", "W2 H2 F1:2:3",
      "W2 H2 F99999999999:1", "W2 H2 C420p11", "W2 H2 C444alpha", "W2 H2 Cmono17", "W2 H2 C", "W2 H2 C411p10",
      "W2 H2 C420p", "W2 H2 C422p-10", "W2 H2 Cmono 10 C",
    ])
  func refusals(text: String) {
    #expect(throws: ParameterError.self) { try header(text) }
  }

  @Test("the error for an unsupported Y4M colourspace lists the supported ones")
  func unsupported() {
    let error = #expect(throws: ParameterError.self) { try header("W2 H2 C444alpha") }
    #expect(
      error?.description
        == "Y4M of \"444alpha\" is not supported: use 420, 420jpeg, 420mpeg2, 420paldv, 422, 411, 444, mono, or these with up to 16 bits, such as 420p10"
    )
  }

  @Test(
    "Y4M tags of 9 to 16 bits have their bit depth and two bytes per sample",
    arguments: [
      ("420p9", PixelFormat.i420, 9), ("420p10 XYSCSS=420P10", .i420, 10), ("422p12", .yuv422p, 12),
      ("444p14", .yuv444p, 14), ("444p16", .yuv444p, 16), ("mono10", .grey, 10), ("mono16", .grey, 16),
    ])
  func depths(tag: String, format: PixelFormat, bits: Int) throws {
    let header = try header("W7 H5 C\(tag)")
    let color = ColorDescription(matrix: .bt601, range: .limited, siting: .left)
    #expect(header.format == Frame.Format(format, Size(width: 7, height: 5), color: color))
    #expect(header.bits == bits)
    #expect(header.byteCount == 2 * (format.tightByteCount(of: Size(width: 7, height: 5)) ?? 0))
  }

  @Test(
    "Y4M samples of more than 8 bits are reduced to 8 bits",
    arguments: [(10, ColorDescription.QuantizationRange.limited), (12, .full), (16, .limited), (16, .full)])
  func reduction(bits: Int, range: ColorDescription.QuantizationRange) async throws {
    // Two pixels of 4:4:4, twice: Y' of 16 and 235, Cb of 128 and 240, Cr of 16 and 64, at this depth.
    let codes = [16, 235, 128, 240, 16, 64]
    let largest = Double(1 << bits - 1)
    let samples = codes.enumerated().map { index, code in
      switch range {
      case .limited: code << (bits - 8)
      case .full where index < 2: Int((Double(code) * largest / 255).rounded())
      case .full: Int((Double(code - 128) * largest / 255).rounded()) + 1 << (bits - 1)
      }
    }
    let words = samples.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
    let frame = Array("FRAME\n".utf8) + words
    let tag = "YUV4MPEG2 W2 H1 C444p\(bits) XCOLORRANGE=\(range == .full ? "FULL" : "LIMITED")\n"

    let all = try await withFile(Array(tag.utf8) + frame + frame) { try await frames($0) }

    #expect(all.map { $0.bytes.map(Int.init) } == [codes, codes])
    #expect(all.first?.format.color.range == range)
    let cut = try await failure(Array(tag.utf8) + frame + frame.dropLast(), named: "a.y4m")
    #expect(cut?.reason == "frame 1 is cut short: 11 of 12 bytes")
  }

  @Test("Y4M frames, with or without parameters, have the right times, also after a rewind")
  func frameLines() async throws {
    let text = "YUV4MPEG2 W2 H1 F30000:1001 Cmono\nFRAME\nabFRAME Ip Xanything\ncdFRAME\nef"
    try await withFile(Array(text.utf8)) { path in
      let source = try await SourceLocator(path).open()
      for _ in 0..<2 {
        var all: [Frame] = []
        while let frame = try await source.nextFrame() { all.append(frame) }
        #expect(all.map { String(decoding: $0.bytes, as: UTF8.self) } == ["ab", "cd", "ef"])
        #expect(all.map(\.sequence) == [0, 1, 2])
        #expect(
          all.map(\.timestamp.sinceStart) == [.zero, .nanoseconds(33_366_666), .nanoseconds(66_733_333)])
        try await source.rewind()
      }
    }
  }

  @Test(
    "the error for a broken Y4M frame has its number",
    arguments: [
      ("FRAME\nabcdFRAME\nab", "frame 1 is cut short: 2 of 4 bytes"),
      ("FRAME\nabcdFRAM", "frame 1 does not begin with FRAME"),
      ("FRAME\nabcdFRAMES\nabcd", "frame 1 does not begin with FRAME"),
      ("junk", "frame 0 does not begin with FRAME"),
    ])
  func brokenFrames(text: String, reason: String) async throws {
    let error = try await failure(Array("YUV4MPEG2 W2 H2 Cmono\n\(text)".utf8), named: "a.y4m")
    #expect(error?.kind == .badData)
    #expect(error?.reason == reason)
  }

  @Test("a Y4M source ends after a broken frame")
  func lost() async throws {
    let junk = [UInt8](repeating: 0x41, count: 5000)
    try await withFile(Array("YUV4MPEG2 W2 H2 Cmono\n".utf8) + junk) { path in
      let source = try await SourceLocator(path).open()
      await #expect(throws: SourceError.self) { try await source.nextFrame() }
      #expect(try await source.nextFrame() == nil)
    }
  }

  @Test("an endless Y4M header, a size above the limit and a missing frame are rejected")
  func limits() async throws {
    let endless = Array("YUV4MPEG2 W2 H2 X".utf8) + [UInt8](repeating: 0x41, count: 1 << 20)
    #expect(try await failure(endless, named: "a.y4m")?.reason == "Y4M header has no end")
    let huge = Array("YUV4MPEG2 W99999 H99999\nFRAME\n".utf8)
    #expect(try await failure(huge, named: "a.y4m")?.reason.contains("limit of 100 megapixels") == true)
    // Within the limit, but not there: no memory is taken for what the file does not hold.
    let missing = Array("YUV4MPEG2 W9999 H9999\nFRAME\nabc".utf8)
    #expect(
      try await failure(missing, named: "a.y4m")?.reason == "frame 0 is cut short: 3 of 149980001 bytes")
  }
}

@Suite("MJPEGSource")
struct MJPEGSourceTests {
  /// Cuts `bytes`, fed in pieces of `step` bytes, into pictures.
  private func split(_ bytes: [UInt8], step: Int) throws -> (pictures: [[UInt8]], rest: [UInt8]) {
    var splitter = MJPEGSplitter(pictureLimit: 1 << 20)
    var pictures: [[UInt8]] = []
    var rest = bytes[...]
    while !rest.isEmpty {
      let (count, picture) = try splitter.take(rest.prefix(step))
      #expect(count > 0 && count <= step)
      rest = rest.dropFirst(count)
      if let picture { pictures.append(picture) }
    }
    return (pictures, splitter.partialPicture)
  }

  @Test(
    "MJPEGSplitter finds the same pictures however the bytes are split",
    arguments: [1, 2, 3, 7, 1000, 1 << 20])
  func pieces(step: Int) throws {
    let plain = try smallJPEG()
    // A thumbnail within APP1 has an end of its own; padding before a marker and restart markers belong.
    let thumbnail = inserting(0xE1, Array("Exif\0\0".utf8) + plain, into: plain)
    let padded = Array(thumbnail[..<2]) + [0xFF, 0xFF] + thumbnail[2...]
    let boundary = Array("--boundary\r\nContent-Length: 9\r\n\r\n".utf8)
    let stream =
      boundary + plain + boundary + [0xFF, 0xFF, 0xD8, 0x00, 0xFF] + thumbnail + padded + [0, 0, 0]

    let (pictures, rest) = try split(stream, step: step)

    #expect(pictures == [plain, thumbnail, padded])
    #expect(rest.isEmpty)
  }

  @Test("a JPEG without an end marker ends where the next one starts")
  func noEnd() throws {
    let plain = try smallJPEG()
    let (pictures, rest) = try split(plain.dropLast(2) + plain + plain.dropLast(2), step: 64)
    #expect(pictures == [plain.dropLast(2), plain])
    #expect(rest == plain.dropLast(2))
  }

  @Test(
    "a doubled JPEG start marker counts once, and one without a segment after it is ignored",
    arguments: [1, 3, 64])
  func starts(step: Int) throws {
    let plain = try smallJPEG()
    let (pictures, rest) = try split(
      [0xFF, 0xD8] + plain + plain.dropLast(2) + [0xFF, 0xD8, 0x00] + plain, step: step)
    #expect(pictures == [plain, plain.dropLast(2), plain])
    #expect(rest.isEmpty)
  }

  @Test("MJPEGSplitter throws for a picture above its limit and empties its buffer")
  func limit() throws {
    var splitter = MJPEGSplitter(pictureLimit: 100)
    let endless: [UInt8] = [0xFF, 0xD8, 0xFF, 0xDA, 0, 2] + [UInt8](repeating: 1, count: 1000)
    #expect(throws: MJPEGSplitter.TooLarge.self) { try splitter.take(endless[...]) }
    #expect(splitter.partialPicture.isEmpty)
  }

  @Test(
    "each JPEG of a .mjpeg file becomes a frame, also after a rewind", arguments: ["a.mjpeg", "A.MJPG"])
  func file(name: String) async throws {
    let jpegs = try [8, 16, 24].map { try smallJPEG(Size(width: $0, height: 8)) }
    try await withFile(jpegs.flatMap(\.self), named: name) { path in
      let source = try await SourceLocator(path).open(SourceOptions(framesPerSecond: 10))
      for _ in 0..<2 {
        var all: [Frame] = []
        while let frame = try await source.nextFrame() { all.append(frame) }
        #expect(all.map(\.format.size.width) == [8, 16, 24])
        #expect(all.map(\.sequence) == [0, 1, 2])
        #expect(all.last?.timestamp == .millisecond(200))
        try await source.rewind()
      }
    }
  }

  @Test("a multipart stream saved as .mjpeg gives its pictures")
  func multipart() async throws {
    let part = Array("--b\r\nContent-Type: image/jpeg\r\n\r\n".utf8) + (try smallJPEG()) + [13, 10]
    #expect(try await withFile(part + part, named: "a.mjpeg") { try await frames($0).count } == 2)
  }

  @Test("an MJPEG pipe or file may begin with other bytes or mid-picture, up to a search limit")
  func middle() async throws {
    let jpeg = try smallJPEG()
    let part = Array("--b\r\nContent-Type: image/jpeg\r\n\r\n".utf8) + jpeg + [13, 10]
    let starts: [(String, [UInt8])] = [
      ("multipart", part + part), ("a line end", [13, 10] + jpeg + jpeg),
      ("mid-picture", jpeg.dropFirst(jpeg.count / 2) + jpeg + jpeg),
      ("the start twice", [0xFF, 0xD8] + jpeg + jpeg),
      ("much", [UInt8](repeating: 7, count: 1_000_000) + jpeg + jpeg),
    ]
    for (name, bytes) in starts {
      let count = try await withFIFO(bytes) { fifo in
        let source = try await SourceLocator(fifo).open(.lossless())
        var count = 0
        while try await source.nextFrame() != nil { count += 1 }
        return count
      }
      #expect(count == 2, "\(name)")
      #expect(try await withFile(bytes, named: "a.mjpeg") { try await frames($0).count } == 2, "\(name)")
    }

    let tooMuch = [UInt8](repeating: 7, count: PictureStart.searchLimit) + jpeg
    let error = try await withFIFO(tooMuch) { fifo in
      await #expect(throws: SourceError.self) { try await SourceLocator(fifo).open(.lossless()) }
    }
    #expect(error?.reason.hasPrefix("is not a JPEG, PNG or Y4M") == true)
  }

  @Test("a JPEG file may begin with stray bytes or a doubled start marker", arguments: ["a.jpg", "a.JPEG"])
  func still(name: String) async throws {
    let jpeg = try smallJPEG()
    for start in [[13, 10], [0xFF, 0xD8], [0xFF, 0xD8, 0xFF, 0xD8]] as [[UInt8]] {
      #expect(try await withFile(start + jpeg, named: name) { try await frames($0).count } == 1)
    }
  }

  @Test(
    "JPEGs without end markers are decoded, including the last one of a stream",
    arguments: ["a.mjpeg", "a.bin"])
  func withoutEnds(name: String) async throws {
    let jpeg = try smallJPEG()
    let whole = try JPEGDecoder.decode(jpeg, maximumPixels: 1000).bytes
    let all = try await withFile(jpeg.dropLast(2) + jpeg + jpeg.dropLast(2), named: name) {
      try await frames($0)
    }
    #expect(all.map(\.bytes) == [whole, whole, whole])
  }

  @Test("the error for a damaged JPEG has its frame number, and later frames are still read")
  func broken() async throws {
    let jpeg = try smallJPEG()
    let cut = try await failure(jpeg + jpeg.dropLast(9), named: "a.mjpeg")
    #expect(cut?.reason == "frame 1: JPEG is cut short")

    var corrupt = jpeg
    let scan = try #require(jpeg.indices.dropLast().first { jpeg[$0] == 0xFF && jpeg[$0 + 1] == 0xDA })
    corrupt.removeSubrange((scan + 20)..<(jpeg.count - 2))

    try await withFile(jpeg + corrupt + jpeg, named: "a.mjpeg") { path in
      let source = try await SourceLocator(path).open()
      #expect(try await source.nextFrame()?.sequence == 0)
      let error = await #expect(throws: SourceError.self) { try await source.nextFrame() }
      #expect(error?.reason.hasPrefix("frame 1: JPEG can't be decoded") == true)
      #expect(try await source.nextFrame()?.sequence == 2)
      #expect(try await source.nextFrame() == nil)
    }
  }
}

@Suite("Hostile input")
struct HostileInputTests {
  @Test("the JPEG and PNG decoders do not crash on randomly changed files", arguments: 0..<4)
  func mutations(seed: UInt64) throws {
    var noise = SeededGenerator(seed: seed)
    var seeds = try ["ycc420.jpg", "progressive420.jpg", "adobe-ycck.jpg", "ycc410.jpg"].map(fixture)
    seeds.append(
      inserting(
        0xE1, Array("Exif\0\0".utf8) + exif(orientation: 6), into: try smallJPEG(iccProfile: profile())))
    seeds.append(
      TestPNG(width: 9, height: 7, type: .rgba, depth: 16, isInterlaced: true) { x, y in [x, y, x, y] }.bytes)

    for seed in seeds {
      for _ in 0..<60 {
        var bytes = seed
        for _ in 0..<Int.random(in: 1...6, using: &noise) {
          bytes[Int.random(in: 0..<bytes.count, using: &noise)] = UInt8.random(in: 0...255, using: &noise)
        }
        _ = try? JPEGDecoder.header(of: bytes)
        _ = try? JPEGDecoder.decode(bytes, maximumPixels: 1 << 16)
        _ = try? JPEGDecoder.decode(bytes, maximumPixels: 1 << 16, damage: .isTolerated)
        _ = try? PNGDecoder.decode(bytes, maximumPixels: 1 << 16)
      }
    }
  }

  @Test("the EXIF reader does not crash on truncated or changed data")
  func exifReader() {
    let good = exif(orientation: 6)
    for count in good.indices { _ = EXIF.orientation(in: Array(good[..<count])) }
    for index in good.indices {
      for value in [0x00, 0x08, 0x7F, 0xFF] as [UInt8] {
        var bytes = good
        bytes[index] = value
        _ = EXIF.orientation(in: bytes)
      }
    }

    #expect(EXIF.orientation(in: good) == Orientation(exif: 6))
    #expect(EXIF.orientation(in: Array("Exif\0\0".utf8) + good) == Orientation(exif: 6))
  }

  @Test("random bytes throw an error, with or without a format's signature before them", arguments: 0..<20)
  func noise(seed: UInt64) async throws {
    var noise = SeededGenerator(seed: seed)
    let starts: [[UInt8]] = [
      Array("YUV4MPEG2 W4 H4\n".utf8), Array("YUV4MPEG2 ".utf8), [0xFF, 0xD8, 0xFF], PNGDecoder.signature, [],
    ]
    for start in starts {
      let bytes = start + (0..<500).map { _ in UInt8.random(in: 0...255, using: &noise) }
      #expect(try await failure(bytes, named: "a.mjpeg") != nil)
    }
  }
}
