// A view's pictures as packets of RTP (RFC 6184), and the reports that go with them (RFC 3550).
internal import GLPreview

/// Cuts the pictures of one stream into packets.
struct RTPPacketizer {
  struct Packet: Sendable, Hashable {
    let bytes: [UInt8]
    let sequenceNumber: UInt16
  }

  private let payloadType: UInt8
  private let ssrc: UInt32
  private let playoutDelay: UInt8?
  /// That of the next packet.
  private(set) var sequenceNumber = UInt16.random(in: 0..<1 << 15)
  private let firstTime = UInt32.random(in: .min ... .max)
  private var packets: UInt32 = 0
  private var octets: UInt32 = 0

  /// A packet with what protects it is smaller than 1200 bytes, which every path carries.
  private static let mostBytes = 1180
  private static let headerBytes = 12

  init(payloadType: UInt8, ssrc: UInt32, playoutDelay: UInt8?) {
    (self.payloadType, self.ssrc, self.playoutDelay) = (payloadType, ssrc, playoutDelay)
  }

  /// The packets of a picture, parameter sets before a key picture's slices. The last one has the marker.
  mutating func packets(of sample: VideoSample) -> [Packet] {
    let most = Self.mostBytes - Self.headerBytes - (playoutDelay == nil ? 0 : 8)
    var payloads: [[UInt8]] = []
    if sample.isKey { payloads += [sample.format.sps, sample.format.pps] }
    var offset = 0
    while offset + 4 <= sample.bytes.count {
      let length = sample.bytes[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) }
      let start = offset + 4
      offset = start + length
      guard length > 0, offset <= sample.bytes.count else { break }
      payloads += Self.payloads(of: sample.bytes[start..<offset], most: most)
    }
    let time = time(of: sample.timestamp)
    return payloads.enumerated().map { index, payload in
      packet(payload, time, isLast: index == payloads.count - 1)
    }
  }

  /// A NAL unit, whole or in fragments (FU-A).
  private static func payloads(of unit: ArraySlice<UInt8>, most: Int) -> [[UInt8]] {
    guard unit.count > most, let header = unit.first else { return [Array(unit)] }
    var payloads: [[UInt8]] = []
    var rest = unit.dropFirst()
    while !rest.isEmpty {
      let part = rest.prefix(most - 2)
      let isFirst = payloads.isEmpty
      rest = rest.dropFirst(part.count)
      payloads.append(
        [header & 0xE0 | 28, header & 0x1F | (isFirst ? 0x80 : 0) | (rest.isEmpty ? 0x40 : 0)] + part)
    }
    return payloads
  }

  private mutating func packet(_ payload: [UInt8], _ time: UInt32, isLast: Bool) -> Packet {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(Self.mostBytes)
    bytes += [playoutDelay == nil ? 0x80 : 0x90, payloadType | (isLast ? 0x80 : 0)]
    bytes.append(integer: sequenceNumber)
    bytes.append(integer: time)
    bytes.append(integer: ssrc)
    // At once: no less and no more than 0 ms.
    if let playoutDelay { bytes += [0xBE, 0xDE, 0, 1, playoutDelay << 4 | 2, 0, 0, 0] }
    bytes += payload
    defer { sequenceNumber &+= 1 }
    packets &+= 1
    octets &+= UInt32(payload.count)
    return Packet(bytes: bytes, sequenceNumber: sequenceNumber)
  }

  func time(of instant: CaptureInstant) -> UInt32 {
    let parts = (instant - .start).components
    let ticks = parts.seconds * 90_000 + parts.attoseconds / 1_000_000_000 * 9 / 100_000
    return UInt32(truncatingIfNeeded: ticks) &+ firstTime
  }

  // MARK: Reports

  /// What was sent, and the time of day of the stream's times; nil before the first packet.
  func senderReport(at now: CaptureInstant) -> [UInt8]? {
    guard packets > 0 else { return nil }
    var bytes: [UInt8] = [0x80, 200, 0, 6]
    bytes.append(integer: ssrc)
    // Seconds since 1900, in 32.32 bits.
    let seconds = WallTime(capturedAt: now).secondsSinceEpoch + 2_208_988_800
    bytes.append(integer: UInt32(truncatingIfNeeded: Int64(seconds)))
    bytes.append(integer: UInt32((seconds - seconds.rounded(.down)) * 4_294_967_295))
    bytes.append(integer: time(of: now))
    bytes.append(integer: packets)
    bytes.append(integer: octets)
    return bytes + description
  }

  /// The name of the source (SDES), which every report has.
  private var description: [UInt8] {
    let name = Array("glpreview".utf8)
    var bytes: [UInt8] = [0x81, 202, 0, 4]
    bytes.append(integer: ssrc)
    bytes += [1, UInt8(name.count)] + name
    while bytes.count < 20 { bytes.append(0) }
    return bytes
  }

  /// Says that no more comes.
  var goodbye: [UInt8] {
    var bytes: [UInt8] = [0x81, 203, 0, 1]
    bytes.append(integer: ssrc)
    return bytes
  }
}

/// What a receiver asks for (RFC 4585, RFC 5104).
enum RTCPFeedback: Sendable, Hashable {
  case lost([UInt16])
  case keyRequest
  case goodbye

  private static let mostLost = 512

  /// The feedback in a compound packet; what makes no sense ends it.
  static func all(in packet: [UInt8]) -> [RTCPFeedback] {
    var found: [RTCPFeedback] = []
    var offset = 0
    while offset + 8 <= packet.count {
      let length = 4 * (Int(packet[offset + 2]) << 8 | Int(packet[offset + 3])) + 4
      guard packet[offset] >> 6 == 2, offset + length <= packet.count else { break }
      let body = packet[offset..<offset + length]
      switch (packet[offset + 1], packet[offset] & 31) {
      case (205, 1): found.append(.lost(lost(body.dropFirst(12))))
      case (206, 1), (206, 4): found.append(.keyRequest)
      case (203, _): found.append(.goodbye)
      default: break
      }
      offset += length
    }
    return found
  }

  private static func lost(_ items: ArraySlice<UInt8>) -> [UInt16] {
    var numbers: [UInt16] = []
    var rest = items
    while rest.count >= 4, numbers.count < mostLost {
      let words = Array(rest.prefix(4))
      let first = UInt16(words[0]) << 8 | UInt16(words[1])
      let mask = UInt16(words[2]) << 8 | UInt16(words[3])
      numbers.append(first)
      for bit in 0..<16 as Range<UInt16> where mask >> bit & 1 == 1 { numbers.append(first &+ bit &+ 1) }
      rest = rest.dropFirst(4)
    }
    return numbers
  }
}

extension [UInt8] {
  fileprivate mutating func append<Value: FixedWidthInteger>(integer value: Value) {
    for shift in stride(from: Value.bitWidth - 8, through: 0, by: -8) {
      append(UInt8(truncatingIfNeeded: value >> Value(shift)))
    }
  }
}
