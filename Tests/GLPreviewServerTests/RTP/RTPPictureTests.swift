// How pictures are cut into packets, and what receivers say of them.
import PreviewCore
import Testing

@testable import GLPreview
@testable import VideoFormats

/// A picture of some NAL units.
func sample(_ units: [[UInt8]], isKey: Bool = false, at time: CaptureInstant = .start) -> VideoSample {
  let bytes = units.flatMap { unit in
    (0..<4).reversed().map { UInt8(truncatingIfNeeded: unit.count >> ($0 * 8)) } + unit
  }
  let format = H264Format(
    sps: [0x67, 0x42, 0xC0, 0x1E, 1, 2, 3], pps: [0x68, 4, 5], size: Size(width: 64, height: 48),
    encoder: .x264)
  return VideoSample(bytes: bytes, isKey: isKey, timestamp: time, format: format)
}

/// A NAL unit of so many bytes, no two of which are alike for long.
func unit(_ count: Int, header: UInt8 = 0x61) -> [UInt8] {
  [header] + (1..<count).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) }
}

@Suite("RTP packetization of pictures")
struct RTPPictureTests {
  /// The payloads, each by a run of its own.
  private static func payloads(_ picture: RTPPicture) -> [[UInt8]] {
    (0..<picture.count).compactMap { picture.run(from: $0, atMost: 1) }
      .map { Array(picture.bytes[$0.offset..<$0.offset + $0.count]) }
  }

  /// What a receiver makes of payloads (RFC 6184, 5.8).
  private static func units(_ payloads: [[UInt8]]) -> [[UInt8]] {
    var units: [[UInt8]] = []
    for payload in payloads {
      guard payload[0] & 31 == 28 else {
        units.append(payload)
        continue
      }
      if payload[1] & 0x80 != 0 { units.append([payload[0] & 0xE0 | payload[1] & 31]) }
      units[units.count - 1] += payload.dropFirst(2)
    }
    return units
  }

  @Test(
    "RTP payloads reassemble to the NAL unit, and all but the last have equal length",
    arguments: [1, 2, 1159, 1160, 1161, 2316, 2317, 2318, 68_000, 300_000])
  func lengths(count: Int) {
    let whole = unit(count)
    let picture = RTPPicture(sample([whole]))
    let payloads = Self.payloads(picture)

    #expect(Self.units(payloads) == [whole])
    #expect(payloads.count == (count <= 1160 ? 1 : (count - 1 + 1157) / 1158))
    #expect(payloads.allSatisfy { $0.count <= 1160 })
    #expect(picture.runs.count == 1)
    #expect(payloads.dropLast().allSatisfy { $0.count == payloads[0].count })
    #expect(payloads.last.map { $0.count <= payloads[0].count } == true)
    let marks = payloads.filter { $0[0] & 31 == 28 }.map { $0[1] & 0xC0 }
    #expect(marks.dropFirst().dropLast().allSatisfy { $0 == 0 })
    if marks.count > 1 { #expect(marks.first == 0x80 && marks.last == 0x40) }
  }

  @Test("parameter sets precede a keyframe, and its slices stay separate NAL units")
  func keys() {
    let slices = [unit(3000, header: 0x65), unit(40, header: 0x65), unit(900, header: 0x65)]
    let picture = RTPPicture(sample(slices, isKey: true))

    let units = Self.units(Self.payloads(picture))
    #expect(Array(units[2...]) == slices)
    #expect(units[0][0] == 0x67 && units[1][0] == 0x68)
    // Sets, three fragments with the small slice behind them, the last slice.
    #expect(picture.runs.map(\.packets).reduce(0, +) == picture.count)
    for run in picture.runs {
      #expect(run.count > (run.packets - 1) * run.length && run.count <= run.packets * run.length)
    }
  }

  @Test(
    "packet runs respect the requested maximum and together cover the whole picture",
    arguments: [1, 3, 50, 1000])
  func runs(most: Int) {
    let picture = RTPPicture(sample([unit(100_000, header: 0x65)], isKey: true))
    var bytes: [UInt8] = []
    var next = 0
    while let run = picture.run(from: next, atMost: most) {
      #expect(run.first == next && run.packets <= most)
      bytes += picture.bytes[run.offset..<run.offset + run.count]
      next += run.packets
    }
    #expect(next == picture.count)
    #expect(bytes == picture.bytes)
    #expect(picture.run(from: 0, atMost: 0) == nil)
    #expect(picture.run(from: picture.count, atMost: 1) == nil)
  }

  @Test("a NAL unit length beyond the data gives only the complete units before it")
  func lies() {
    var broken = sample([unit(30), unit(40)])
    broken = VideoSample(
      bytes: broken.bytes.dropLast(5) + [], isKey: false, timestamp: .start, format: broken.format)
    #expect(Self.payloads(RTPPicture(broken)) == [unit(30)])
    let empty = VideoSample(bytes: [0, 0, 0, 0, 1], isKey: false, timestamp: .start, format: broken.format)
    #expect(RTPPicture(empty).count == 0 && RTPPicture(empty).run(from: 0, atMost: 9) == nil)
  }

  @Test("RTP packets have consecutive sequence numbers, and the last has the marker bit")
  func plain() {
    var packetizer = RTPPacketizer(payloadType: 96, ssrc: 7, playoutDelay: nil)
    let first = packetizer.sequenceNumber
    let packets = packetizer.packets(of: sample([unit(5000, header: 0x65)], isKey: true))

    #expect(packets.map(\.sequenceNumber) == (0..<7).map { first + $0 })
    #expect(packets.map { $0.bytes[1] } == [96, 96, 96, 96, 96, 96, 96 | 0x80])
    #expect(packets.allSatisfy { UInt16($0.bytes[2]) << 8 | UInt16($0.bytes[3]) == $0.sequenceNumber })
    #expect(packets[0].bytes.dropFirst(8).prefix(4) == [0, 0, 0, 7])
    #expect(packets[0].bytes.dropFirst(12).first == 0x67)
  }

  @Test("RTCP packets are parsed into lost packet counts and keyframe requests")
  func reports() {
    let block: [UInt8] = [0, 0, 0, 7, 12, 0, 1, 2] + [UInt8](repeating: 0, count: 16)
    let repeated: [UInt8] = [0, 0, 0, 8, 0, 0xFF, 0xFF, 0xFE] + [UInt8](repeating: 0, count: 16)
    let report: [UInt8] = [0x82, 201, 0, 13, 0, 0, 0, 1] + block + repeated

    #expect(
      RTCPFeedback.all(in: report + [0x81, 206, 0, 2, 0, 0, 0, 1, 0, 0, 0, 7])
        == [.missing(258, ssrc: 7), .missing(-2, ssrc: 8), .keyRequest])
    // More blocks than there are.
    #expect(RTCPFeedback.all(in: [0x9F, 201, 0, 7, 0, 0, 0, 1] + block) == [.missing(258, ssrc: 7)])
    #expect(RTCPFeedback.all(in: [0x81, 201, 0, 1, 0, 0, 0, 1]) == [])
  }
}
