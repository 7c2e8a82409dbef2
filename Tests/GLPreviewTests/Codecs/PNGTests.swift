// PNG, both ways: every kind of file, values, orientation, profiles, damage.
import Glibc
import PreviewCore
import TestSupport
import Testing

@testable import GLPreview

@Suite("PNGDecoder")
struct PNGDecoderTests {
  private let sizes = [(1, 1), (3, 2), (9, 7), (17, 13)]

  @Test("grey samples of 1, 2, 4 and 8 bits are scaled to 8 bits", arguments: [1, 2, 4, 8], [false, true])
  func grey(depth: Int, isInterlaced: Bool) throws {
    let most = 1 << depth - 1
    for (width, height) in sizes {
      let png = TestPNG(width: width, height: height, type: .grey, depth: depth, isInterlaced: isInterlaced) {
        [($0 + 3 * $1) % (most + 1)]
      }
      let frame = try PNGDecoder.decode(png.bytes, maximumPixels: 1000)
      #expect(frame.format == Frame.Format(.grey, Size(width: width, height: height), color: .jfif))
      #expect(frame.bytes == pixels(width, height) { [UInt8(($0 + 3 * $1) % (most + 1) * 255 / most)] })
    }
  }

  @Test(
    "text chunks are skipped without being decompressed, before and after the image data",
    .oneProcessAtATime)
  func textBomb() async {
    // A process of its own, whose memory is nobody else's.
    await #expect(processExitsWith: .success) {
      var png = TestPNG(width: 8, height: 8, type: .rgb, depth: 8) { [$0, $1, 7] }
      let text = TestPNG.zlib(repeating: UInt8(ascii: "a"), runs: 16_000)
      let chunks = (0..<60).map { TestPNG.chunk("zTXt", Array("k\($0)\0\0".utf8) + text) }
      (png.chunksBefore, png.chunksAfter) = (chunks, chunks)
      let bytes = png.bytes
      func peak() -> Int {
        var usage = rusage()
        _ = unsafe getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        return usage.ru_maxrss
      }

      let before = peak()
      let frame = try PNGDecoder.decode(bytes, maximumPixels: 64)

      precondition(frame.bytes.prefix(3) == [0, 0, 7])
      // All of them are 495 MB.
      precondition(peak() - before < 100 << 10, "\(peak() - before) KiB more")
    }
  }

  @Test(
    "RGB and RGBA samples are decoded unchanged", arguments: [TestPNG.ColorType.rgb, .rgba], [false, true])
  func rgb(type: TestPNG.ColorType, isInterlaced: Bool) throws {
    func sample(_ x: Int, _ y: Int) -> [Int] {
      [x * 9, y * 9, 255 - x, 100 + y].prefix(type.channels).map(\.self)
    }

    for (width, height) in sizes {
      let png = TestPNG(
        width: width, height: height, type: type, depth: 8, isInterlaced: isInterlaced, sample: sample)
      let frame = try PNGDecoder.decode(png.bytes, maximumPixels: 1000)
      #expect(frame.format.pixelFormat == (type == .rgb ? .rgb24 : .rgba))
      #expect(frame.bytes == pixels(width, height) { sample($0, $1).map { UInt8($0) } })
    }
  }

  @Test("grey with alpha is decoded to RGBA")
  func greyAlpha() throws {
    let png = TestPNG(width: 3, height: 2, type: .greyAlpha, depth: 8) { [10 * $0, 20 * $1 + 1] }
    let frame = try PNGDecoder.decode(png.bytes, maximumPixels: 1000)
    #expect(frame.format.pixelFormat == .rgba)
    #expect(
      frame.bytes == pixels(3, 2) { [UInt8(10 * $0), UInt8(10 * $0), UInt8(10 * $0), UInt8(20 * $1 + 1)] })
  }

  @Test(
    "16-bit PNGs of any colour type are decoded to rgba64 in native byte order", arguments: [false, true])
  func sixteenBits(isInterlaced: Bool) throws {
    for type in [TestPNG.ColorType.grey, .greyAlpha, .rgb, .rgba] {
      func sample(_ x: Int, _ y: Int) -> [Int] {
        [0x0102 + x, 0x1122 + y, 0xA0B0 + x, 0x8001 + y].prefix(type.channels).map(\.self)
      }
      let png = TestPNG(
        width: 5, height: 3, type: type, depth: 16, isInterlaced: isInterlaced, sample: sample)

      let frame = try PNGDecoder.decode(png.bytes, maximumPixels: 1000)
      #expect(frame.format.pixelFormat == .rgba64)

      let expected = pixels(5, 3) { x, y in
        let s = sample(x, y)
        let channels: [Int] =
          switch type {
          case .grey, .palette: [s[0], s[0], s[0], 0xFFFF]
          case .greyAlpha: [s[0], s[0], s[0], s[1]]
          case .rgb: s + [0xFFFF]
          case .rgba: s
          }
        let isLittleEndian = 1.littleEndian == 1
        return channels.flatMap { code in
          let bytes = [UInt8(code >> 8), UInt8(code & 0xFF)]
          return isLittleEndian ? bytes.reversed() : bytes
        }
      }

      #expect(frame.bytes == expected, "\(type)")
    }
  }

  @Test(
    "palette indices are decoded to RGB, and to RGBA with alpha from tRNS", arguments: [1, 2, 4, 8],
    [false, true])
  func palette(depth: Int, hasAlpha: Bool) throws {
    let colors: [[UInt8]] = [[255, 0, 0], [0, 254, 1]]
    var png = TestPNG(width: 9, height: 3, type: .palette, depth: depth) { x, y in [(x + y) % 2] }
    png.chunksBefore = [TestPNG.chunk("PLTE", colors.flatMap(\.self))]
    // Shorter than the palette: the rest is opaque.
    if hasAlpha { png.chunksBefore.append(TestPNG.chunk("tRNS", [7])) }

    let frame = try PNGDecoder.decode(png.bytes, maximumPixels: 1000)

    #expect(frame.format.pixelFormat == (hasAlpha ? .rgba : .rgb24))
    #expect(
      frame.bytes
        == pixels(9, 3) { x, y in colors[(x + y) % 2] + (hasAlpha ? [(x + y) % 2 == 0 ? 7 : 255] : []) })
  }

  @Test("the transparent colour of a tRNS chunk is decoded to alpha 0")
  func transparentColor() throws {
    var grey = TestPNG(width: 2, height: 1, type: .grey, depth: 8) { x, _ in [x == 0 ? 9 : 10] }
    grey.chunksBefore = [TestPNG.chunk("tRNS", [0, 9])]
    #expect(try PNGDecoder.decode(grey.bytes, maximumPixels: 9).bytes == [9, 9, 9, 0, 10, 10, 10, 255])
    var rgb = TestPNG(width: 2, height: 1, type: .rgb, depth: 8) { x, _ in [1, 2, 3 + x] }
    rgb.chunksBefore = [TestPNG.chunk("tRNS", [0, 1, 0, 2, 0, 3])]
    #expect(try PNGDecoder.decode(rgb.bytes, maximumPixels: 9).bytes == [1, 2, 3, 0, 1, 2, 4, 255])
  }

  @Test(
    "the orientation of an eXIf chunk is read before and after the image data", arguments: 1...8,
    [false, true])
  func orientation(number: Int, isAfter: Bool) throws {
    var png = TestPNG(width: 2, height: 3, type: .grey, depth: 8) { x, y in [x + y] }
    let chunk = TestPNG.chunk("eXIf", exif(orientation: number, isBigEndian: true))
    if isAfter { png.chunksAfter = [chunk] } else { png.chunksBefore = [chunk] }
    #expect(try PNGDecoder.decode(png.bytes, maximumPixels: 9).format.orientation.exif == number)
  }

  @Test("a PNG whose header exceeds the pixel limit is rejected with its size and the limit")
  func bomb() {
    let header = TestPNG.chunk(
      "IHDR", TestPNG.word(0x7FFF_FFFF) + TestPNG.word(0x7FFF_FFFF) + [16, 6, 0, 0, 1])
    let data = TestPNG.signature + header + TestPNG.chunk("IDAT", TestPNG.zlib([0]))
    let error = #expect(throws: CodecError.self) { try PNGDecoder.decode(data, maximumPixels: 100_000_000) }
    #expect(error?.kind == .tooLarge)
    #expect(error?.description.hasPrefix("2147483647x2147483647 is over the limit of 100 megapixels") == true)
  }

  @Test("every truncation and every changed byte before the end of the image data throws")
  func damage() throws {
    let png = TestPNG(width: 5, height: 4, type: .rgb, depth: 8) { x, y in [x, y, 9] }.bytes
    let whole = try PNGDecoder.decode(png, maximumPixels: 100)
    // IEND has 12 bytes. The four before it are the checksum of IDAT; zlib's own, before that, vouches for the samples.
    let end = png.count - 12
    for count in 0..<png.count {
      let decode = { try PNGDecoder.decode(Array(png[..<count]), maximumPixels: 100) }
      if count >= end {
        #expect(try decode().bytes == whole.bytes)
      } else {
        let error = #expect(throws: CodecError.self) { try decode() }
        #expect(error?.kind == (count == 0 ? .unrecognized : .cutShort), "\(count)")
      }
    }

    for index in 8..<png.count {
      var wrong = png
      wrong[index] ^= 0x10
      let frame = try? PNGDecoder.decode(wrong, maximumPixels: 100)
      // The bits before the length of zlib's stored block mean nothing.
      let isUnused = index == 8 + 25 + 8 + 2
      #expect(frame?.bytes == (index >= end - 4 || isUnused ? whole.bytes : nil), "\(index)")
    }
  }

  @Test(
    "an ancillary chunk with a wrong checksum is ignored",
    arguments: [
      ("tEXt", Array("Software\0x".utf8)), ("zTXt", Array("a\0\0xx".utf8)), ("iCCP", Array("p\0\0xx".utf8)),
      ("gAMA", [0, 0, 0xB1, 0x8F]), ("eXIf", exif(orientation: 6)), ("tRNS", [0, 0, 0, 0, 0, 9]),
    ])
  func wrongChecksums(name: String, content: [UInt8]) throws {
    var png = TestPNG(width: 5, height: 4, type: .rgb, depth: 8) { x, y in [x, y, 9] }
    let plain = try PNGDecoder.decode(png.bytes, maximumPixels: 100)
    var chunk = TestPNG.chunk(name, content)
    chunk[chunk.count - 1] ^= 1
    for isAfter in [false, true] {
      (png.chunksBefore, png.chunksAfter) = isAfter ? ([], [chunk]) : ([chunk], [])
      let frame = try PNGDecoder.decode(png.bytes, maximumPixels: 100)
      #expect(frame.format == plain.format && frame.bytes == plain.bytes)
    }
  }

  private func pixels(_ width: Int, _ height: Int, _ sample: (Int, Int) -> [UInt8]) -> [UInt8] {
    (0..<height).flatMap { y in (0..<width).flatMap { x in sample(x, y) } }
  }
}

@Suite("PNGEncoder")
struct PNGEncoderTests {
  @Test("an RGBA picture survives encoding and decoding as RGB, without alpha", arguments: [0, 1, 3, 9])
  func roundTrip(level: Int) throws {
    for size in [Size(width: 1, height: 1), Size(width: 7, height: 5), Size(width: 64, height: 33)] {
      let row = size.width * 4 + 12
      let bytes = (0..<(row * size.height)).map { UInt8(truncatingIfNeeded: $0 * $0 / 7) }
      let plane = Picture.Plane(size: size, offset: 0, bytesPerRow: row)
      let picture = Picture(size: size, format: .rgba, planes: [plane], bytes: bytes)

      let png = try PNGEncoder(compressionLevel: level).encode(picture)
      let frame = try PNGDecoder.decode(png, maximumPixels: 10_000)

      #expect(frame.format.pixelFormat == .rgb24)
      var expected: [UInt8] = []
      for y in 0..<size.height {
        for x in 0..<size.width { expected += bytes[(y * row + 4 * x)...].prefix(3) }
      }
      #expect(frame.bytes == expected)
    }
  }

  @Test("a valid RGB profile is kept")
  func profiles() throws {
    // A display's with one tag, of noise: what libpng looks at (ICC.1:2022, 7.2 and 7.3).
    var noise = SeededGenerator(seed: 1)
    var icc =
      [UInt8](repeating: 0, count: 144) + (0..<200).map { _ in UInt8.random(in: 0...255, using: &noise) }
    icc.replaceSubrange(0..<4, with: TestPNG.word(344))
    icc[8] = 2
    icc.replaceSubrange(12..<24, with: "mntrRGB XYZ ".utf8)
    icc.replaceSubrange(36..<40, with: "acsp".utf8)
    icc.replaceSubrange(68..<80, with: [0, 0, 0xF6, 0xD6, 0, 1, 0, 0, 0, 0, 0xD3, 0x2D])
    icc.replaceSubrange(
      128..<144, with: [0, 0, 0, 1] + Array("cprt".utf8) + TestPNG.word(144) + TestPNG.word(200))
    let picture = Picture(tight: Size(width: 1, height: 1), format: .rgba, bytes: [1, 2, 3, 255])

    let png = try PNGEncoder().encode(picture, iccProfile: icc)

    #expect(try PNGDecoder.decode(png, maximumPixels: 1).iccProfile == icc)
    #expect(try PNGDecoder.header(of: png).iccProfile == icc)
  }

  @Test("an invalid ICC profile is left out, and the picture is still encoded")
  func badProfile() throws {
    let picture = Picture(tight: Size(width: 1, height: 1), format: .rgba, bytes: [1, 2, 3, 255])
    let png = try PNGEncoder().encode(picture, iccProfile: profile())
    #expect(try PNGDecoder.decode(png, maximumPixels: 1).iccProfile == nil)
  }

  @Test("PNGEncoder rejects Y'CbCr pictures")
  func refusals() {
    #expect(throws: CodecError.self) { try PNGEncoder().encode(ramps(Size(width: 2, height: 2), .yuv420)) }
  }
}
