// Feedback of RTP receivers (RFC 3550, RFC 4585, RFC 5104).

package enum RTCPFeedback: Sendable, Hashable {
  /// The sequence numbers of packets to retransmit.
  case lost([UInt16])
  /// The total number of missing packets of a source, from a receiver report; retransmissions lower it.
  case missing(Int, ssrc: UInt32)
  case keyRequest
  case goodbye

  private static let mostLost = 512

  /// Returns the feedback in a compound packet. Parsing stops at invalid data.
  package static func all(in packet: [UInt8]) -> [RTCPFeedback] {
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
      case (201, let count): found += missing(body.dropFirst(8), Int(count))
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

  /// Parses report blocks of 24 bytes: the source, the fraction lost, and the number lost as a signed 24-bit
  /// integer.
  private static func missing(_ blocks: ArraySlice<UInt8>, _ count: Int) -> [RTCPFeedback] {
    var found: [RTCPFeedback] = []
    var rest = blocks
    while rest.count >= 24, found.count < count {
      let ssrc = rest.prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
      let number = rest.dropFirst(5).prefix(3).reduce(0) { $0 << 8 | Int($1) }
      found.append(.missing(number < 1 << 23 ? number : number - 1 << 24, ssrc: ssrc))
      rest = rest.dropFirst(24)
    }
    return found
  }
}
