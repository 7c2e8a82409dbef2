// The answer to a WHEP client's offer: ICE lite, one port, H.264 one way.

/// What an answer says of this side.
struct SDPAnswer: Sendable, Hashable {
  /// An address that clients can send to.
  struct Candidate: Sendable, Hashable {
    let address: String
    let port: Int
  }

  let fragment: String
  let password: String
  let fingerprint: [UInt8]
  let ssrc: UInt32
  /// The best one first.
  let candidates: [Candidate]
  /// The view's name in streams.
  let name: String

  /// The text of the answer. m-lines that are not the accepted one are rejected by port 0 (RFC 3264, 6).
  func text(to offer: SDPOffer) -> String {
    var lines = ["v=0", "o=- \(ssrc) 1 IN IP4 127.0.0.1", "s=-", "t=0 0", "a=ice-lite"]
    let accepted = offer.lines[offer.accepted]
    if offer.isBundled, let mid = accepted.mid { lines.append("a=group:BUNDLE \(mid)") }
    lines.append("a=msid-semantic: WMS *")
    for (index, line) in offer.lines.enumerated() {
      if index == offer.accepted {
        lines += video(line, offer)
      } else {
        lines.append("m=\(line.kind) 0 \(line.transport) \(line.formats.joined(separator: " "))")
        lines.append("c=IN IP4 0.0.0.0")
        if let mid = line.mid { lines.append("a=mid:\(mid)") }
        lines.append("a=inactive")
      }
    }
    return lines.map { $0 + "\r\n" }.joined()
  }

  private func video(_ line: SDPOffer.Line, _ offer: SDPOffer) -> [String] {
    let payloadType = offer.format.payloadType
    let first = candidates.first
    let family = first?.address.contains(":") == true ? "IP6" : "IP4"
    var lines = [
      "m=video \(first?.port ?? 9) \(line.transport) \(payloadType)",
      "c=IN \(family) \(first?.address ?? "0.0.0.0")",
    ]
    if let mid = line.mid { lines.append("a=mid:\(mid)") }
    lines += [
      "a=sendonly", "a=ice-ufrag:\(fragment)", "a=ice-pwd:\(password)",
      "a=fingerprint:sha-256 " + fingerprint.map(Self.hexadecimal).joined(separator: ":"),
      "a=setup:passive", "a=rtcp-mux", "a=rtcp-rsize",
    ]
    if let id = offer.playoutDelay { lines.append("a=extmap:\(id) \(SDPOffer.playoutDelayURI)") }
    let profile = offer.format.profile.map { ";profile-level-id=\($0)" } ?? ""
    lines += [
      "a=rtpmap:\(payloadType) H264/90000",
      "a=fmtp:\(payloadType) level-asymmetry-allowed=1;packetization-mode=1\(profile)",
    ]
    lines += SDPOffer.knownFeedback.filter(offer.feedback.contains).map { "a=rtcp-fb:\(payloadType) \($0)" }
    lines += ["a=msid:\(name) video", "a=ssrc:\(ssrc) cname:\(name)"]
    for (index, candidate) in candidates.enumerated() {
      // RFC 8445, 5.1.2: host candidates, the first preferred.
      let priority = 126 << 24 | (65535 - index) << 8 | 255
      lines.append(
        "a=candidate:\(index + 1) 1 udp \(priority) \(candidate.address) \(candidate.port) typ host")
    }
    return lines + ["a=end-of-candidates"]
  }

  private static func hexadecimal(_ byte: UInt8) -> String {
    let digits = Array("0123456789ABCDEF")
    return String([digits[Int(byte >> 4)], digits[Int(byte & 15)]])
  }
}
