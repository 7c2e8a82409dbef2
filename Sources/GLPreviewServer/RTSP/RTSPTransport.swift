// The transport that an RTSP client wants (the `Transport` field), and the description of the packets (SDP).
internal import FoundationEssentials

enum RTSPTransport: Sendable, Hashable {
  /// Interleaved with the answers on the connection; the channels of RTP and of RTCP.
  case interleaved(UInt8, UInt8)
  /// To two UDP ports of the client.
  case datagrams(rtp: Int, rtcp: Int)

  /// The first of a client's proposals that is supported; nil if none is.
  init?(_ field: String) {
    let known = field.split(separator: ",").lazy.compactMap { Self.proposal(String($0)) }
    guard let first = known.first else { return nil }
    self = first
  }

  private static func proposal(_ text: String) -> RTSPTransport? {
    let words = text.split(separator: ";").map { String($0).trimmed.lowercased() }
    guard let first = words.first, !words.contains("multicast"), !words.contains("mode=record"),
      !words.contains("mode=\"record\"")
    else { return nil }
    switch first {
    case "rtp/avp/tcp":
      guard let text = value("interleaved", words) else { return .interleaved(0, 1) }
      guard let (rtp, rtcp) = pair(text), let rtp = UInt8(exactly: rtp), let rtcp = UInt8(exactly: rtcp),
        rtp != rtcp
      else { return nil }
      return .interleaved(rtp, rtcp)
    case "rtp/avp", "rtp/avp/udp":
      guard let (rtp, rtcp) = value("client_port", words).flatMap(pair), (1024...65_535).contains(rtp),
        (1024...65_535).contains(rtcp), rtp != rtcp
      else { return nil }
      return .datagrams(rtp: rtp, rtcp: rtcp)
    default: return nil
    }
  }

  private static func value(_ name: String, _ words: [String]) -> String? {
    words.first { $0.hasPrefix(name + "=") }.map { String($0.dropFirst(name.count + 1)) }
  }

  private static func pair(_ text: String) -> (Int, Int)? {
    let numbers = text.split(separator: "-").map { Int($0) }
    guard let first = numbers.first.flatMap({ $0 }), (0..<65_535).contains(first) else { return nil }
    guard numbers.count > 1 else { return (first, first + 1) }
    return numbers.count == 2 ? numbers[1].map { (first, $0) } : nil
  }
}

/// The description of a view (RFC 8866, RFC 6184).
enum RTSPDescription {
  static let payloadType: UInt8 = 96

  static func text(_ format: H264Format, name: String) -> String {
    let sets = [format.sps, format.pps].map { Data($0).base64EncodedString() }.joined(separator: ",")
    let profile = format.sps.dropFirst().prefix(3).map { byte in
      (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }.joined()
    let lines = [
      "v=0", "o=- 0 0 IN IP4 127.0.0.1", "s=\(name)", "c=IN IP4 0.0.0.0", "t=0 0", "a=tool:glpreview",
      "a=control:*", "a=range:npt=now-", "m=video 0 RTP/AVP \(payloadType)",
      "a=rtpmap:\(payloadType) H264/90000",
      "a=fmtp:\(payloadType) packetization-mode=1;profile-level-id=\(profile);sprop-parameter-sets=\(sets)",
      "a=framesize:\(payloadType) \(format.size.width)-\(format.size.height)",
      "a=control:\(RTSPTarget.track)",
    ]
    return lines.map { $0 + "\r\n" }.joined()
  }
}
