// Which JPEGs of cameras are sent on undecoded, and what is left out of them.
import PreviewCore
import Testing

@testable import GLPreview

@Suite("Passthrough of JPEGs")
struct PassableJPEGTests {
  private static let size = Size(width: 24, height: 16)
  private static let comment: [UInt8] = [0xFF, 0xFE, 0, 4, 1, 2]

  /// The markers of a JPEG up to its first scan, and where their segments lie.
  private static func segments(_ jpeg: [UInt8]) -> [(code: UInt8, range: Range<Int>)] {
    var (position, segments) = (2, [(code: UInt8, range: Range<Int>)]())
    while position + 4 <= jpeg.count, jpeg[position] == 0xFF {
      let end = position + 2 + Int(jpeg[position + 2]) << 8 + Int(jpeg[position + 3])
      segments.append((jpeg[position + 1], position..<end))
      guard jpeg[position + 1] != 0xDA else { break }
      position = end
    }
    return segments
  }

  /// The JPEG without its segments of a kind.
  private static func without(_ code: UInt8, _ jpeg: [UInt8]) -> [UInt8] {
    var bytes = jpeg
    for segment in segments(jpeg).reversed() where segment.code == code {
      bytes.removeSubrange(segment.range)
    }
    return bytes
  }

  /// The JPEG with other bytes at a place of its first segment of a kind, counted from the marker.
  private static func changing(_ code: UInt8, at offset: Int, to bytes: [UInt8], in jpeg: [UInt8]) throws
    -> [UInt8]
  {
    let segment = try #require(segments(jpeg).first { $0.code == code })
    var changed = jpeg
    let start = segment.range.lowerBound + offset
    changed.replaceSubrange(start..<start + bytes.count, with: bytes)
    return changed
  }

  private static func passed(_ jpeg: [UInt8], maximumPixels: Int = 1 << 20) throws -> OriginalJPEG {
    try OriginalJPEG(checking: jpeg, maximumPixels: maximumPixels)
  }

  private static func samples(_ jpeg: [UInt8]) throws -> [UInt8] {
    try JPEGDecoder.decode(jpeg, maximumPixels: 1 << 20).bytes
  }

  @Test("a JPEG with nothing to strip is passed through byte for byte")
  func unchanged() throws {
    let jpeg = try smallJPEG(Self.size)
    let passed = try Self.passed(jpeg)
    #expect(passed.bytes == jpeg)
    #expect(passed.size == Self.size)
  }

  @Test("a JPEG without Huffman tables gets the standard tables and decodes to the same samples")
  func tables() throws {
    let jpeg = try smallJPEG(Self.size)
    let bare = Self.without(0xC4, jpeg)
    try #require(bare.count < jpeg.count)

    let passed = try Self.passed(bare).bytes

    #expect(Self.segments(passed).filter { $0.code == 0xC4 }.count == 1)
    #expect(try Self.samples(passed) == Self.samples(jpeg))
    #expect(try Self.passed(passed).bytes == passed)
  }

  @Test("EXIF, other application data, comments, thumbnails and trailing bytes are stripped")
  func leftOut() throws {
    let jpeg = try smallJPEG(Self.size)
    var rich = inserting(0xE1, Array("Exif\0\0".utf8) + exif(orientation: 1), into: jpeg)
    rich = inserting(0xE0, Array("AVI1".utf8) + [0, 0], into: rich)
    rich = inserting(0xED, [1, 2, 3], into: rich)
    rich = inserting(0xFE, Array("a place".utf8), into: rich)
    #expect(try Self.passed(rich + [0, 0, 0] + jpeg).bytes == jpeg)

    // JFIF's marker ends in the size of a thumbnail, which follows.
    let marker = try #require(Self.segments(jpeg).first { $0.code == 0xE0 }).range
    var thumbnail = jpeg
    thumbnail.replaceSubrange(marker.upperBound - 2..<marker.upperBound, with: [1, 1, 9, 9, 9])
    thumbnail[marker.lowerBound + 3] += 3
    #expect(try Self.passed(thumbnail).bytes == jpeg)
  }

  @Test("non-JPEGs and JPEGs with a rotation, profile, arithmetic coding or too many pixels are rejected")
  func refused() throws {
    let jpeg = try smallJPEG(Self.size)
    let turned = inserting(0xE1, Array("Exif\0\0".utf8) + exif(orientation: 6), into: jpeg)
    let profile = inserting(0xE2, Array("ICC_PROFILE\0".utf8) + [1, 1, 0], into: jpeg)
    for (bytes, kind) in [
      (turned, CodecError.Kind.unsupported), (profile, .unsupported),
      (try Self.changing(0xC0, at: 1, to: [0xC9], in: jpeg), .unsupported),
      (Array("a page".utf8), .unrecognized), ([], .unrecognized),
    ] {
      #expect { try Self.passed(bytes) } throws: { ($0 as? CodecError)?.kind == kind }
    }
    let limit = Self.size.pixelCount - 1
    #expect { try Self.passed(jpeg, maximumPixels: limit) } throws: {
      ($0 as? CodecError)?.kind == .tooLarge
    }
  }

  @Test("a JPEG truncated at any byte is rejected")
  func cut() throws {
    let jpeg = try smallJPEG(Self.size)
    for count in 0..<jpeg.count {
      #expect(throws: CodecError.self) { try Self.passed(Array(jpeg[..<count])) }
    }
  }

  @Test("a JPEG with invalid segment lengths or values is rejected")
  func nonsense() throws {
    let jpeg = try smallJPEG(Self.size)
    let scan = try #require(Self.segments(jpeg).last).range
    let changed: [(String, [UInt8])] = [
      ("a table of 64 bytes", try Self.changing(0xDB, at: 3, to: [66], in: jpeg)),
      ("a fifth table", try Self.changing(0xDB, at: 4, to: [4], in: jpeg)),
      ("a zero in a table", try Self.changing(0xDB, at: 5, to: [0], in: jpeg)),
      ("no quantization tables", Self.without(0xDB, jpeg)),
      ("no frame header", Self.without(0xC0, jpeg)),
      ("12 bits", try Self.changing(0xC0, at: 4, to: [12], in: jpeg)),
      ("no height", try Self.changing(0xC0, at: 5, to: [0, 0], in: jpeg)),
      ("no width", try Self.changing(0xC0, at: 7, to: [0, 0], in: jpeg)),
      ("two components", try Self.changing(0xC0, at: 9, to: [2], in: jpeg)),
      ("a sampling factor of 0", try Self.changing(0xC0, at: 11, to: [0x20], in: jpeg)),
      ("a component twice", try Self.changing(0xC0, at: 13, to: [1], in: jpeg)),
      ("a Huffman table of class 2", try Self.changing(0xC4, at: 4, to: [0x20], in: jpeg)),
      ("three codes of one bit", try Self.changing(0xC4, at: 5, to: [3], in: jpeg)),
      ("a scan of no component", try Self.changing(0xDA, at: 4, to: [0], in: jpeg)),
      ("a scan of an unknown component", try Self.changing(0xDA, at: 5, to: [9], in: jpeg)),
      ("a scan with a table that is not there", try Self.changing(0xDA, at: 6, to: [0x33], in: jpeg)),
      ("a scan of some coefficients", try Self.changing(0xDA, at: 12, to: [62], in: jpeg)),
      ("a restart interval of a byte", inserting(0xDD, [1], into: jpeg)),
      ("a segment of length 1", Array(jpeg[..<2]) + [0xFF, 0xFE, 0, 1] + jpeg[2...]),
      ("bytes between segments", Array(jpeg[..<2]) + [7] + jpeg[2...]),
      ("a second start", Array(jpeg[..<2]) + jpeg),
      ("application data after the scan", Array(jpeg.dropLast(2)) + [0xFF, 0xEE, 0, 3, 1] + jpeg.suffix(2)),
      ("a scan that comes twice", Array(jpeg.dropLast(2)) + jpeg[scan.lowerBound...]),
    ]
    for (name, bytes) in changed {
      #expect(throws: CodecError.self, "\(name)") { try Self.passed(bytes) }
    }
    let commented = Array(jpeg.dropLast(2)) + Self.comment + jpeg.suffix(2)
    #expect(try Self.passed(commented).bytes == jpeg)
  }
}
