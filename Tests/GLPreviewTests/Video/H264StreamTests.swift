// H.264's byte stream: units between start codes, and what a sequence parameter set says, by hand.
import PreviewCore
import Testing

@testable import GLPreview
@testable import VideoFormats

/// A unit whose bits after the level are those of the text, as the standard has them; blanks count for nothing.
func parameterSet(_ text: String, profile: UInt8 = 66) -> [UInt8] {
  let bits = text.filter { $0 != " " }
  var bytes: [UInt8] = []
  for start in stride(from: 0, to: bits.count, by: 8) {
    let group = bits.dropFirst(start).prefix(8)
    bytes.append((UInt8(group, radix: 2) ?? 0) << UInt8(8 - group.count))
  }
  return [0x67, profile, 0xc0, 30] + bytes
}

/// 16x16: identity 0, 4 bits of frame numbers, order 2, one reference, no gaps, one by one macroblock, frames, 8x8.
private let oneBlock = "1 1 011 010 0 1 1 1 1"

@Suite("H.264 streams")
struct H264StreamTests {
  @Test("NAL units are split at start codes of 3 or 4 bytes, without trailing zeros")
  func units() {
    let stream: [UInt8] = [9, 9, 0, 0, 1, 0x67, 1, 0, 0, 0, 1, 0x68, 2, 0, 0, 3, 0, 0, 0, 0, 0, 1, 0x65, 7]
    #expect(
      H264Stream.units(stream).map { Array(stream[$0]) } == [[0x67, 1], [0x68, 2, 0, 0, 3], [0x65, 7]])
    #expect(H264Stream.units([]).isEmpty)
    #expect(H264Stream.units([0, 0, 1]).isEmpty)
    #expect(H264Stream.units([0, 0, 1, 0, 0, 1]).isEmpty)
    #expect(H264Stream.units([0x65, 7, 8, 9]).isEmpty)
  }

  @Test("H264Stream extracts parameter sets and length-prefixed slices, and drops other NAL units")
  func picture() {
    let supplement: [UInt8] = [0, 0, 1, 6, 5, 4]
    let key = H264Stream(
      [0, 0, 0, 1, 0x67, 1, 0, 0, 1, 0x68, 2] + supplement + [0, 0, 1, 0x65, 7, 0, 0, 1, 0x65, 8, 9])
    #expect(key.sps == [0x67, 1])
    #expect(key.pps == [0x68, 2])
    #expect(key.slices == [0, 0, 0, 2, 0x65, 7, 0, 0, 0, 3, 0x65, 8, 9])
    #expect(key.isKey)

    let other = H264Stream(supplement + [0, 0, 0, 1, 0x41, 3])
    #expect(other.sps == nil && other.pps == nil)
    #expect(other.slices == [0, 0, 0, 2, 0x41, 3])
    #expect(!other.isKey)
  }

  @Test("a sample converts to Annex B, with the parameter sets before a keyframe")
  func annexB() {
    let format = H264Format(
      sps: [0x67, 66, 0xc0, 30], pps: [0x68, 2], size: Size(width: 3, height: 2), encoder: .x264)
    func stream(isKey: Bool) -> [UInt8] {
      VideoSample(
        bytes: [0, 0, 0, 2, 0x65, 7, 0, 0, 0, 1, 0x65], isKey: isKey, timestamp: .start, format: format
      ).annexB
    }
    let slices: [UInt8] = [0, 0, 0, 1, 0x65, 7, 0, 0, 0, 1, 0x65]
    #expect(stream(isKey: false) == slices)
    #expect(stream(isKey: true) == [0, 0, 0, 1, 0x67, 66, 0xc0, 30, 0, 0, 0, 1, 0x68, 2] + slices)
    #expect(format.codec == "avc1.42c01e")
    #expect(format.mediaType == "video/mp4; codecs=\"avc1.42c01e\"")
    #expect(format.codedSize == Size(width: 4, height: 2))
  }

  @Test("size, profile, constraints and level are read from a sequence parameter set (SPS)")
  func plain() throws {
    let set = try #require(SequenceParameters(parameterSet(oneBlock + "0 0 1")))
    #expect(set.size == Size(width: 16, height: 16))
    #expect(set.profile == 66)
    #expect(set.constraints == 0xc0)
    #expect(set.level == 30)
  }

  @Test("SPS crop offsets are counted in chroma samples")
  func cropped() throws {
    // None at the left, 1 at the right, none at the top, 2 at the bottom.
    let set = try #require(SequenceParameters(parameterSet(oneBlock + "1 1 010 1 011 0 1")))
    #expect(set.size == Size(width: 14, height: 12))
  }

  @Test("the size is read from a high-profile SPS with its additional fields")
  func high() throws {
    // Identity 0; 4:2:0, 8 bits, 8 bits, no bypass, no lists of scales.
    let set = SequenceParameters(parameterSet("1 010 1 1 0 0" + oneBlock.dropFirst() + "0 0 1", profile: 100))
    #expect(set?.size == Size(width: 16, height: 16))
  }

  @Test("emulation prevention bytes in an SPS are skipped")
  func prevention() throws {
    // Order 1 with an offset of 2^23: there are two bytes of zero before the one in its code, and more behind it.
    let zeros = String(repeating: "0", count: 24)
    let offset = "\(zeros)1\(zeros)"
    let plain = parameterSet("1 1 010 0 1 \(offset) 1 010 0 1 1 1 1 0 0 1")
    var unit: [UInt8] = []
    for byte in plain {
      if unit.suffix(2) == [0, 0], byte <= 3 { unit.append(3) }
      unit.append(byte)
    }
    #expect(unit.count > plain.count)
    #expect(SequenceParameters(unit)?.size == Size(width: 16, height: 16))
  }

  @Test("a truncated SPS and a NAL unit of another type are rejected", arguments: 0..<6)
  func cut(count: Int) {
    #expect(SequenceParameters(Array(parameterSet(oneBlock + "0 0 1").prefix(count))) == nil)
    #expect(SequenceParameters([0x68, 66, 0xc0, 30, 0xda, 0x79]) == nil)
  }
}
