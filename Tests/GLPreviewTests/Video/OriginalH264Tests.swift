// Which pictures of a camera's H.264 are sent on, by their bytes.
import PreviewCore
import TestSupport
import Testing

@testable import GLPreview
@testable import VideoFormats

@Suite("H.264 packets for passthrough")
struct PassableH264Tests {
  private static func stream(_ header: [UInt8] = []) -> OriginalH264 {
    OriginalH264(header: header, maximumPixels: 1 << 20)
  }

  /// The code of what is sent on; nil if it is not.
  private static func code(
    _ stream: inout OriginalH264, _ packet: [UInt8], mediaTime: Duration? = nil, isDamaged: Bool = false
  ) -> UInt8? {
    let verdict = stream.take(packet, mediaTime: mediaTime, timestamp: .second(1), isDamaged: isDamaged)
    if case .sample(let sample) = verdict { return sample.packetCode }
    return nil
  }

  @Test("passthrough starts at a keyframe, and samples exclude parameter sets and SEI messages")
  func begins() throws {
    var stream = Self.stream()
    #expect(stream.take(packet(1), mediaTime: nil, timestamp: .second(1)) == .decode)
    let supplement: [UInt8] = [0, 0, 1, 6, 5, 1, 9, 0x80]
    let verdict = stream.take(packet(2, .key, more: supplement), mediaTime: nil, timestamp: .second(2))
    guard case .sample(let key) = verdict else { return #expect(Bool(false), "\(verdict)") }
    #expect(key.bytes == [0, 0, 0, 4] + SliceKind.key.header + [2, 0x80])
    #expect(key.isKey && key.timestamp == .second(2))
    #expect(
      key.format == H264Format(sps: smallSPS, pps: smallPPS, size: Size(width: 16, height: 16), encoder: nil))
    #expect(Self.code(&stream, packet(3)) == 3)
    #expect(stream.take(supplement, mediaTime: nil, timestamp: .second(3)) == .nothing)
  }

  @Test("sample timestamps increase by at least 1 ms")
  func times() {
    var stream = Self.stream()
    var times: [CaptureInstant] = []
    for (index, kind) in [SliceKind.key, .p, .p].enumerated() {
      let verdict = stream.take(packet(1, kind), mediaTime: nil, timestamp: .second(index == 2 ? 9 : 5))
      if case .sample(let sample) = verdict { times.append(sample.timestamp) }
    }
    #expect(times == [.second(5), .second(5) + .milliseconds(1), .second(9)])
  }

  @Test("passthrough stops at a damaged or lost packet and resumes at the next intact keyframe")
  func loss() {
    var stream = Self.stream()
    #expect(Self.code(&stream, packet(1, .key)) == 1)
    #expect(Self.code(&stream, packet(2), isDamaged: true) == nil)
    #expect(Self.code(&stream, packet(3)) == nil)
    #expect(Self.code(&stream, packet(4, .key), isDamaged: true) == nil)
    #expect(Self.code(&stream, packet(5)) == nil)
    #expect(Self.code(&stream, packet(6, .key)) == 6)
    stream.lose()
    #expect(Self.code(&stream, packet(7)) == nil)
    #expect(Self.code(&stream, packet(8, .key)) == 8)
    #expect(stream.refusal == nil)
  }

  @Test("a gap in the frame numbers stops passthrough until the next keyframe")
  func numbers() {
    var stream = Self.stream()
    // Numbers of four bits, without gaps.
    let sps: [UInt8] = [0x67, 66, 0xc0, 30, 0xda, 0x79]
    func isPassed(_ number: UInt8, _ kind: SliceKind = .p, isReference: Bool = true) -> Bool {
      // Of the first set: the first macroblock, the type, the set, the number.
      let type = kind == .key ? "0001000" : "00110"
      let bits = "1\(type)1" + String(16 + number, radix: 2).dropFirst() + "1"
      let slice = parameterSet(bits).dropFirst(4)
      let header: UInt8 = kind == .key ? 0x65 : isReference ? 0x41 : 0x01
      let sets = kind == .key ? [0, 0, 1] + sps + [0, 0, 1] + smallPPS : []
      let verdict = stream.take(
        sets + [0, 0, 1, header] + slice, mediaTime: nil, timestamp: .second(1))
      if case .sample = verdict { return true }
      return false
    }

    #expect(isPassed(0, .key))
    for number: UInt8 in 1...15 { #expect(isPassed(number)) }
    #expect(isPassed(0))
    // One on which none rests has the next number, and leaves it to the next.
    #expect(isPassed(1, isReference: false) && isPassed(1, isReference: false) && isPassed(1))
    #expect(!isPassed(3) && !isPassed(4))
    #expect(isPassed(0, .key) && isPassed(1))
    #expect(stream.refusal == nil)
  }

  @Test("B pictures or timestamps out of order end passthrough, but a restarted clock does not")
  func order() {
    var stream = Self.stream()
    #expect(Self.code(&stream, packet(1, .key)) == 1)
    #expect(Self.code(&stream, packet(2, .b)) == nil)
    #expect(stream.refusal != nil)
    #expect(Self.code(&stream, packet(3, .key)) == nil)

    stream = Self.stream()
    #expect(Self.code(&stream, packet(1, .key), mediaTime: .milliseconds(200)) == 1)
    #expect(Self.code(&stream, packet(2), mediaTime: .milliseconds(160)) == nil)
    #expect(Self.code(&stream, packet(3, .key), mediaTime: .milliseconds(240)) == nil)

    // The sender's clock may begin again.
    stream = Self.stream()
    #expect(Self.code(&stream, packet(1, .key), mediaTime: .seconds(20)) == 1)
    #expect(Self.code(&stream, packet(2), mediaTime: .zero) == 2)
  }

  @Test("a display orientation SEI message ends passthrough")
  func turned() {
    var stream = Self.stream()
    // Another message before it; of three bytes, with a byte that keeps a start code out.
    let message: [UInt8] = [0, 0, 1, 6, 5, 3, 0, 0, 3, 1, 47, 1, 0x20, 0x80]
    #expect(Self.code(&stream, packet(1, .key, more: message)) == nil)
    #expect(stream.refusal != nil)

    stream = Self.stream()
    #expect(Self.code(&stream, packet(1, .key, more: [0, 0, 1, 6, 5, 47, 0x80])) == 1)
  }

  @Test("new parameter sets apply from the next keyframe, and two different PPS at once are refused")
  func parameters() {
    var stream = Self.stream()
    func format(_ packet: [UInt8]) -> H264Format? {
      guard case .sample(let sample) = stream.take(packet, mediaTime: nil, timestamp: .second(1)) else {
        return nil
      }
      return sample.format
    }
    let other: [UInt8] = [0x68, 2]
    #expect(format(packet(1, .key))?.pps == smallPPS)
    #expect(format([0, 0, 1] + other + packet(2))?.pps == smallPPS)
    #expect(format(packet(3, .key, pps: other))?.pps == other)
    #expect(format(packet(4, .key, more: [0, 0, 1] + smallPPS)) != nil)
    #expect(format(packet(5, .key, pps: other, more: [0, 0, 1] + smallPPS)) == nil)
    #expect(stream.refusal != nil)
  }

  @Test(
    "parameter sets are read from a container as Annex B or as avcC with 1, 2 or 4 byte lengths"
  )
  func headers() {
    let slice = { (code: UInt8, kind: SliceKind) in kind.header + [code, 0x80] }
    var stream = Self.stream([0, 0, 0, 1] + smallSPS + [0, 0, 0, 1] + smallPPS)
    #expect(Self.code(&stream, [0, 0, 1] + slice(1, .key)) == 1)

    for length in [1, 2, 4] {
      let sets = [0xe1, 0, UInt8(smallSPS.count)] + smallSPS + [1, 0, UInt8(smallPPS.count)] + smallPPS
      let prefix = [UInt8](repeating: 0, count: length - 1) + [4]
      stream = Self.stream([1, 66, 0xc0, 30, 0xfc | UInt8(length - 1)] + sets)
      #expect(Self.code(&stream, prefix + slice(2, .key)) == 2)
      #expect(Self.code(&stream, prefix + slice(3, .p)) == 3)
      // What is cut short is understood by nobody.
      #expect(Self.code(&stream, prefix + slice(4, .p).dropLast()) == nil)
    }
    stream = Self.stream([1, 66, 0xc0])
    #expect(stream.refusal != nil)
  }

  @Test("an SPS of unsupported profile, size, scan, chroma, pixel shape or reordering is refused")
  func refusals() throws {
    func refusal(_ bits: String, profile: UInt8 = 77, maximumPixels: Int = 1 << 20) -> String? {
      guard let set = SequenceParameters(parameterSet(bits, profile: profile)) else { return "no set" }
      return OriginalH264.refusal(of: set, maximumPixels)
    }
    // 16x16 in frames; no crop, no usability information.
    let frames = "1 1 011 010 0 1 1 1 1 0"
    #expect(refusal(frames + "0 1") == nil)
    #expect(refusal(frames + "0 1", profile: 88) != nil)
    #expect(refusal(frames + "0 1", maximumPixels: 255) != nil)
    // Fields are allowed.
    #expect(refusal("1 1 011 010 0 1 1 0 0 1 0 0 1") != nil)
    // 4:2:0 of 8 bits, of 10 bits, and 4:4:4.
    #expect(refusal("1 010 1 1 0 0" + frames.dropFirst() + "0 1", profile: 100) == nil)
    #expect(refusal("1 010 011 011 0 0" + frames.dropFirst() + "0 1", profile: 100) != nil)
    #expect(refusal("1 00100 0 1 1 0 0" + frames.dropFirst() + "0 1", profile: 100) != nil)
    // Pixels of 1:1, and of 12:11.
    #expect(refusal(frames + "1 1 00000001 0 0 0 0 0 0 0 0 1") == nil)
    #expect(refusal(frames + "1 1 00000010 0 0 0 0 0 0 0 0 1") != nil)
    // No picture, and one, that is seen before ones that come earlier.
    let restriction = frames + "1 0 0 0 0 0 0 0 0 1 1 1 1 1 1"
    #expect(refusal(restriction + "1 1 1") == nil)
    #expect(refusal(restriction + "010 010 1") != nil)
  }
}
