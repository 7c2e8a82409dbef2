// JPEG, both ways: layouts, values, orientation, profiles, damage.
import PreviewCore
import Testing

@testable import GLPreview

/// The middles of the four quarters that all fixtures show, 35x29 pixels.
private let quarters: [(x: Int, y: Int, rgb: [Int])] = [
  (8, 7, [200, 30, 40]), (26, 7, [20, 160, 60]), (8, 21, [40, 50, 190]), (26, 21, [128, 128, 128]),
]

@Suite("JPEGDecoder")
struct JPEGDecoderTests {
  @Test(
    "JPEGs of any sampling factors and coding decode to the expected pixel format and colours",
    arguments: [
      ("ycc444.jpg", PixelFormat.yuv444p), ("ycc444-1x2.jpg", .yuv444p), ("ycc422.jpg", .yuv422p),
      ("ycc422-2x2.jpg", .yuv422p), ("ycc420.jpg", .i420), ("ycc440.jpg", .yuv440p), ("ycc411.jpg", .yuv411p),
      ("ycc410.jpg", .yuv444p), ("ycc441.jpg", .yuv444p), ("ycc-mixed.jpg", .yuv444p),
      ("progressive420.jpg", .i420), ("restart420.jpg", .i420), ("restart-progressive420.jpg", .i420),
      ("arithmetic422.jpg", .yuv422p), ("scans420.jpg", .i420),
      ("adobe-rgb.jpg", .rgb24), ("adobe-cmyk.jpg", .rgb24), ("adobe-ycck.jpg", .rgb24),
    ])
  func layouts(name: String, format: PixelFormat) throws {
    let data = try fixture(name)
    let frame = try JPEGDecoder.decode(data, maximumPixels: 35 * 29)
    #expect(frame.format == Frame.Format(format, Size(width: 35, height: 29), color: .jfif))
    #expect(try JPEGDecoder.header(of: data).pixelFormat == format)
    for (x, y, color) in quarters {
      #expect(isNear(rgb(frame, x, y), color, within: 12), "\(rgb(frame, x, y)) at \(x),\(y)")
    }
  }

  @Test("a greyscale JPEG decodes to one grey plane", arguments: ["grey.jpg", "grey-2x2.jpg"])
  func grey(name: String) throws {
    let frame = try JPEGDecoder.decode(fixture(name), maximumPixels: 35 * 29)
    #expect(frame.format.pixelFormat == .grey)
    for (x, y, color) in quarters {
      let luma = (299 * color[0] + 587 * color[1] + 114 * color[2] + 500) / 1000
      #expect(isNear([rgb(frame, x, y)[0]], [luma], within: 4))
    }
  }

  @Test(
    "row padding repeats the last sample of the row",
    arguments: ["ycc410.jpg", "ycc441.jpg"])
  func padding(name: String) throws {
    let frame = try JPEGDecoder.decode(fixture(name), maximumPixels: 2000)
    for plane in frame.planes {
      for y in 0..<29 {
        let row = frame.bytes[(plane.offset + y * plane.bytesPerRow)...].prefix(plane.bytesPerRow)
        #expect(row.suffix(plane.bytesPerRow - 34).allSatisfy { $0 == row[row.startIndex + 34] })
      }
    }
  }

  @Test("a CMYK JPEG without an Adobe marker is decoded as inverted, like one with the marker")
  func plainCMYK() throws {
    var data = try fixture("adobe-cmyk.jpg")
    let frame = try JPEGDecoder.decode(data, maximumPixels: 35 * 29)
    let marker = try #require(data.indices.first { data[$0...].starts(with: [0xFF, 0xEE, 0, 14]) })
    data.removeSubrange(marker..<(marker + 16))
    #expect(try JPEGDecoder.decode(data, maximumPixels: 35 * 29).bytes == frame.bytes)
  }

  @Test("all eight EXIF orientations are read in either byte order", arguments: 1...8, [false, true])
  func orientations(number: Int, isBigEndian: Bool) throws {
    let tiff = exif(orientation: number, isBigEndian: isBigEndian)
    let data = inserting(0xE1, Array("Exif\0\0".utf8) + tiff, into: try smallJPEG())
    let frame = try JPEGDecoder.decode(data, maximumPixels: 1000)
    #expect(frame.format.orientation.exif == number)
    #expect(frame.format.size == Size(width: 24, height: 16))
  }

  @Test("an invalid EXIF orientation is treated as upright", arguments: [0, 9, 65535])
  func badOrientation(number: Int) throws {
    let data = inserting(0xE1, Array("Exif\0\0".utf8) + exif(orientation: number), into: try smallJPEG())
    #expect(try JPEGDecoder.decode(data, maximumPixels: 1000).format.orientation == .upright)
  }

  @Test(
    "an RGB ICC profile of any length is kept, and a CMYK profile is not",
    arguments: [128, 200, 65519, 65520, 200_000])
  func profiles(count: Int) throws {
    let rgb = profile(count: count)
    #expect(try JPEGDecoder.decode(smallJPEG(iccProfile: rgb), maximumPixels: 1000).iccProfile == rgb)
    let cmyk = profile("CMYK", count: count)
    #expect(try JPEGDecoder.decode(smallJPEG(iccProfile: cmyk), maximumPixels: 1000).iccProfile == nil)
  }

  @Test("a JPEG with an MPF segment is reported as multi-picture")
  func multiPicture() throws {
    let jpeg = try smallJPEG()
    #expect(try !JPEGDecoder.header(of: jpeg).hasMultiPicture)
    let still = inserting(0xE2, Array("MPF\0".utf8) + [1, 2, 3], into: jpeg)
    #expect(try JPEGDecoder.header(of: still).hasMultiPicture)
  }

  @Test("a JPEG without Huffman tables decodes with the standard tables")
  func missingTables() throws {
    let jpeg = try smallJPEG()
    var short = jpeg
    while let table = short.indices.dropLast(3).first(where: { short[$0] == 0xFF && short[$0 + 1] == 0xC4 }) {
      short.removeSubrange(table..<(table + 2 + Int(short[table + 2]) << 8 + Int(short[table + 3])))
    }
    #expect(short.count < jpeg.count - 400)
    let whole = try JPEGDecoder.decode(jpeg, maximumPixels: 1000)
    #expect(try JPEGDecoder.decode(short, maximumPixels: 1000).bytes == whole.bytes)
  }

  @Test("bytes between segments and after the end of the JPEG are ignored")
  func strayBytes() throws {
    let jpeg = try smallJPEG()
    let frame = try JPEGDecoder.decode(jpeg, maximumPixels: 1000)
    #expect(try JPEGDecoder.decode(jpeg + [1, 2, 3] + jpeg, maximumPixels: 1000).bytes == frame.bytes)
    let table = try #require(jpeg.indices.dropLast().first { jpeg[$0] == 0xFF && jpeg[$0 + 1] == 0xDB })
    let stuffed = Array(jpeg[..<table]) + [0, 0, 0] + jpeg[table...]
    #expect(try JPEGDecoder.decode(stuffed, maximumPixels: 1000).bytes == frame.bytes)
  }

  @Test("a JPEG above the pixel limit is rejected with its size and the limit")
  func tooLarge() throws {
    var jpeg = try smallJPEG()
    let frameHeader = try #require(jpeg.indices.dropLast().first { jpeg[$0] == 0xFF && jpeg[$0 + 1] == 0xC0 })
    jpeg.replaceSubrange((frameHeader + 5)..<(frameHeader + 9), with: [0xFF, 0xDC, 0xFF, 0xDC])
    let error = #expect(throws: CodecError.self) {
      try JPEGDecoder.decode(jpeg, maximumPixels: 100_000_000)
    }
    #expect(
      error?.description == "65500x65500 is over the limit of 100 megapixels (--max-megapixels raises it)")
  }

  @Test("JPEGDecoder throws distinct errors for non-JPEG data and for a truncated JPEG")
  func unreadable() throws {
    let notJPEG = #expect(throws: CodecError.self) {
      try JPEGDecoder.decode([1, 2, 3, 4], maximumPixels: 10)
    }
    #expect(notJPEG?.description == "not a JPEG")

    let jpeg = try smallJPEG()
    let short = #expect(throws: CodecError.self) {
      try JPEGDecoder.decode(Array(jpeg[..<(jpeg.count / 2)]), maximumPixels: 1000)
    }
    #expect(short == CodecError(.cutShort, "JPEG is cut short"))

    #expect(throws: CodecError.self) { try JPEGDecoder.decode([], maximumPixels: 10) }
  }

  @Test("a progressive JPEG with more than 500 scans is rejected")
  func scanBomb() throws {
    var jpeg = try fixture("progressive420.jpg")
    let scan = try #require(jpeg.indices.dropLast().first { jpeg[$0] == 0xFF && jpeg[$0 + 1] == 0xDA })
    // A scan of no data: refines the DC of one component, again and again.
    let empty: [UInt8] = [0xFF, 0xDA, 0, 8, 1, 1, 0x00, 0, 0, 0]
    jpeg.insert(contentsOf: (0..<2000).flatMap { _ in empty }, at: scan)

    let error = #expect(throws: CodecError.self) {
      try JPEGDecoder.decode(jpeg, maximumPixels: 2000, damage: .isTolerated)
    }

    #expect(error?.description.contains("more than 500 scans") == true)
  }

  @Test(
    "a truncated JPEG throws unless damage is tolerated; a missing end marker alone is accepted",
    arguments: [
      "ycc420.jpg", "ycc411.jpg", "ycc410.jpg", "progressive420.jpg", "scans420.jpg", "grey.jpg",
      "adobe-ycck.jpg", "restart420.jpg", "restart-progressive420.jpg",
    ])
  func prefixes(name: String) throws {
    let data = try fixture(name)
    let whole = try JPEGDecoder.decode(data, maximumPixels: 2000)
    // Buffers of a fixed size end in zeros, as do files that were never written whole. One zero may be data, so that it can
    // stand for the last few bytes.
    for padding in [0, 100] {
      for count in 0..<data.count where padding == 0 || !(data.count - 16..<data.count - 2).contains(count) {
        let prefix = Array(data[..<count]) + [UInt8](repeating: 0, count: padding)
        let tolerated = try? JPEGDecoder.decode(prefix, maximumPixels: 2000, damage: .isTolerated)
        if count >= data.count - 2 {
          #expect(try JPEGDecoder.decode(prefix, maximumPixels: 2000).bytes == whole.bytes)
          #expect(tolerated?.bytes == whole.bytes)
          continue
        }
        let error = #expect(throws: CodecError.self) { try JPEGDecoder.decode(prefix, maximumPixels: 2000) }
        if padding == 0 { #expect(error?.kind == (count == 0 ? .unrecognized : .cutShort), "\(count)") }
        if let tolerated { #expect(tolerated.format.size == Size(width: 35, height: 29)) }
      }
    }

    let almost = Array(data.dropLast(20))
    #expect(try JPEGDecoder.decode(almost, maximumPixels: 2000, damage: .isTolerated).format.size.width == 35)
  }

  @Test("an arithmetic-coded JPEG without an end marker is reported as cut short")
  func arithmeticWithoutEnd() throws {
    let data = Array(try fixture("arithmetic422.jpg").dropLast(2))
    let error = #expect(throws: CodecError.self) { try JPEGDecoder.decode(data, maximumPixels: 2000) }
    #expect(error?.kind == .cutShort)
    _ = try JPEGDecoder.decode(data, maximumPixels: 2000, damage: .isTolerated)
  }
}

@Suite("JPEGEncoder")
struct JPEGEncoderTests {
  @Test(
    "a picture of any size, chroma format and row padding survives encoding within 2 codes",
    arguments: Picture.ChromaSubsampling.allCases,
    [
      Size(width: 1, height: 1), Size(width: 2, height: 3), Size(width: 15, height: 17),
      Size(width: 16, height: 16),
      Size(width: 33, height: 8), Size(width: 7, height: 65), Size(width: 128, height: 96),
    ])
  func roundTrip(chroma: Picture.ChromaSubsampling, size: Size) throws {
    let picture = ramps(size, chroma, padding: 5)
    let frame = try JPEGDecoder.decode(JPEGEncoder(quality: 100).encode(picture), maximumPixels: 1 << 20)

    #expect(frame.format.size == size)
    #expect(frame.format.pixelFormat == [.yuv420: .i420, .yuv422: .yuv422p, .yuv444: .yuv444p][chroma])
    for (made, plane) in zip(frame.planes, picture.planes) {
      for y in 0..<plane.size.height {
        for x in 0..<plane.size.width {
          let before = Int(picture.bytes[plane.offset + y * plane.bytesPerRow + x])
          let after = Int(frame.bytes[made.offset + y * made.bytesPerRow + x])
          #expect(abs(before - after) <= 2, "\(x),\(y)")
        }
      }
    }
  }

  @Test("lower quality and optimized Huffman tables give smaller files, and quality is clamped")
  func quality() throws {
    let picture = ramps(Size(width: 128, height: 128), .yuv420)
    let sizes = try [100, 80, 10].map { try JPEGEncoder(quality: $0).encode(picture).count }
    #expect(sizes == sizes.sorted(by: >))
    #expect(try JPEGEncoder(quality: 80, huffmanTables: .optimized).encode(picture).count < sizes[1])
    #expect(JPEGEncoder(quality: 0).quality == 1 && JPEGEncoder(quality: 1000).quality == 100)
  }

  @Test("an encoded JPEG starts with a JFIF header and ends with an end marker")
  func markers() throws {
    let jpeg = try smallJPEG()
    #expect(jpeg.starts(with: [0xFF, 0xD8, 0xFF, 0xE0, 0, 16] + Array("JFIF\0".utf8)))
    #expect(jpeg.suffix(2) == [0xFF, 0xD9])
  }

  @Test("JPEGEncoder rejects RGBA pictures and pictures and profiles too large for JPEG")
  func refusals() throws {
    let rgba = Picture(tight: Size(width: 1, height: 1), format: .rgba, bytes: [1, 2, 3, 255])
    #expect(throws: CodecError.self) { try JPEGEncoder().encode(rgba) }
    #expect(throws: CodecError.self) {
      try JPEGEncoder().encode(ramps(Size(width: 65501, height: 1), .yuv420))
    }
    #expect(throws: CodecError.self) {
      try smallJPEG(iccProfile: [UInt8](repeating: 0, count: 255 * 65519 + 1))
    }
  }
}
