// The answer to a WHEP client's offer: ICE lite, one port, H.264 one way.

/// The properties of this side that an answer contains.
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
  /// The name of the stream (`cname` and `msid`).
  let name: String

  /// The text of the answer. Of the m-lines that are not served, those in the video's group are inactive, and
  /// share its transport; others are rejected by port 0 (RFC 3264, 6).
  func text(to offer: SDPOffer) -> String {
    var lines = ["v=0", "o=- \(ssrc) 1 IN IP4 127.0.0.1", "s=-", "t=0 0", "a=ice-lite"]
    let mids = offer.bundle.compactMap { offer.lines[$0].mid }
    if !mids.isEmpty { lines.append("a=group:BUNDLE \(mids.joined(separator: " "))") }
    lines.append("a=msid-semantic: WMS *")
    for (index, line) in offer.lines.enumerated() {
      lines +=
        index == offer.accepted
        ? video(line, offer) : unserved(line, isBundled: offer.bundle.contains(index))
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
    lines += ["a=sendonly"] + transport(of: line) + ["a=rtcp-rsize"]
    if let id = offer.playoutDelay { lines.append("a=extmap:\(id) \(SDPOffer.playoutDelayURI)") }
    let profile = offer.format.profile.map { ";profile-level-id=\($0)" } ?? ""
    lines += [
      "a=rtpmap:\(payloadType) H264/90000",
      "a=fmtp:\(payloadType) level-asymmetry-allowed=1;packetization-mode=1\(profile)",
    ]
    lines += SDPOffer.knownFeedback.filter(offer.feedback.contains).map { "a=rtcp-fb:\(payloadType) \($0)" }
    return lines + ["a=msid:\(name) video", "a=ssrc:\(ssrc) cname:\(name)"]
  }

  /// An m-line that is not served: inactive in the video's group, rejected outside it.
  private func unserved(_ line: SDPOffer.Line, isBundled: Bool) -> [String] {
    let port = isBundled ? 9 : 0
    return ["m=\(line.kind) \(port) \(line.transport) \(line.format)", "c=IN IP4 0.0.0.0"]
      + (line.isRTP ? ["a=inactive"] : []) + transport(of: line) + line.attributes.map { "a=\($0)" }
  }

  /// The transport of this side. All m-lines have it, rejected ones too: clients may read it from any (aiortc
  /// from the last).
  private func transport(of line: SDPOffer.Line) -> [String] {
    let fingerprint = fingerprint.map(Self.hexadecimal).joined(separator: ":")
    return (line.mid.map { ["a=mid:\($0)"] } ?? []) + [
      "a=ice-ufrag:\(fragment)", "a=ice-pwd:\(password)", "a=fingerprint:sha-256 \(fingerprint)",
      "a=setup:passive",
    ] + (line.isRTP ? ["a=rtcp-mux"] : []) + candidateLines
  }

  /// RFC 8445, 5.1.2: host candidates, the first preferred.
  private var candidateLines: [String] {
    candidates.enumerated().map { index, candidate in
      let priority = 126 << 24 | (65535 - index) << 8 | 255
      return "a=candidate:\(index + 1) 1 udp \(priority) \(candidate.address) \(candidate.port) typ host"
    } + ["a=end-of-candidates"]
  }

  private static func hexadecimal(_ byte: UInt8) -> String {
    let digits = Array("0123456789ABCDEF")
    return String([digits[Int(byte >> 4)], digits[Int(byte & 15)]])
  }
}
