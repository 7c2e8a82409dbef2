// The offer of a WHEP client: who it is, and in what form it takes H.264.

/// What an answer needs of an offer.
struct SDPOffer: Sendable, Hashable {
  /// A payload type that can carry our stream.
  struct Format: Sendable, Hashable {
    let payloadType: UInt8
    /// `profile-level-id` as the offer has it; nil where it has none.
    let profile: String?
  }

  /// An m-line as an answer repeats it.
  struct Line: Sendable, Hashable {
    let kind: String
    let transport: String
    let formats: [String]
    let mid: String?
  }

  /// All m-lines, in their order.
  let lines: [Line]
  /// Which of them gets the video.
  let accepted: Int
  let format: Format
  /// What the client's connection checks name it by.
  let fragment: String
  /// The SHA-256 of its certificate.
  let fingerprint: [UInt8]
  /// The number of the `playout-delay` extension; nil if the client has none.
  let playoutDelay: UInt8?
  /// The RTCP feedback that it may send.
  let feedback: Set<String>
  /// Whether the video's m-line is one of a group that shares a port.
  let isBundled: Bool

  static let playoutDelayURI = "http://www.webrtc.org/experiments/rtp-hdrext/playout-delay"
  static let knownFeedback = ["nack", "nack pli", "ccm fir"]

  /// - Throws: `SDPError`; it is a refusal where the offer is right, but wants no H.264 that we have.
  init(_ text: String) throws(SDPError) {
    let description = try SessionDescription(text)
    guard !description.media.isEmpty else { throw SDPError("the offer has no m-line") }
    lines = description.media.map { media in
      Line(
        kind: String(media.kind), transport: String(media.transport), formats: media.formats.map(String.init),
        mid: media.values(of: "mid").first.flatMap(Self.token))
    }
    var refusal = SDPError("the offer asks for no video", isRefusal: true)
    for (index, media) in description.media.enumerated() where media.kind == "video" {
      guard media.port != "0", media.transport.hasPrefix("UDP/TLS/RTP/SAVP") else { continue }
      let directions = ["sendonly", "inactive"]
      guard !media.attributes.contains(where: { directions.contains(String($0.name)) }) else { continue }
      guard let format = Self.format(of: media) else {
        refusal = SDPError(
          "the offer has no H.264 with packetization-mode=1, and there is nothing else here", isRefusal: true)
        continue
      }
      (accepted, self.format) = (index, format)
      fragment = try Self.fragment(description.value(of: "ice-ufrag", in: media))
      fingerprint = try Self.fingerprint(description.values(of: "fingerprint", in: media))
      guard description.value(of: "setup", in: media) != "passive" else {
        throw SDPError("the offer says a=setup:passive, as this side does; actpass or active will do")
      }
      playoutDelay = Self.playoutDelay(of: media)
      feedback = Self.feedback(of: media, for: format.payloadType)
      let mid = lines[index].mid
      isBundled =
        mid != nil
        && description.attributes.contains { attribute in
          attribute.name == "group" && attribute.value.hasPrefix("BUNDLE")
            && attribute.value.split(separator: " ").dropFirst().contains { $0 == mid.map { $0[...] } }
        }
      return
    }
    throw refusal
  }

  // MARK: H.264

  /// The best payload type for a stream of constrained baseline: those that promise least, first.
  private static func format(of media: SessionDescription.Media) -> Format? {
    let offered = Set(media.formats)
    var best: (rank: Int, format: Format)?
    for map in media.values(of: "rtpmap") {
      let words = map.split(separator: " ")
      guard words.count == 2, words[1].uppercased() == "H264/90000", offered.contains(words[0]),
        let payloadType = UInt8(words[0]), payloadType < 128
      else { continue }
      let parameters = Self.parameters(of: words[0], in: media)
      guard parameters["packetization-mode"] == "1" else { continue }
      let profile = parameters["profile-level-id"].flatMap(Self.profile)
      guard let rank = Self.rank(of: profile) else { continue }
      if best.map({ rank < $0.rank }) ?? true {
        best = (rank, Format(payloadType: payloadType, profile: profile))
      }
    }
    return best?.format
  }

  private static func parameters(
    of payloadType: Substring, in media: SessionDescription.Media
  ) -> [String: String] {
    let line = media.values(of: "fmtp").first { $0.prefix { $0 != " " } == payloadType } ?? ""
    let pairs = line.drop { $0 != " " }.split(separator: ";").map { pair in
      let halves = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let name = halves[0].filter { $0 != " " }.lowercased()
      return (name, halves.count == 2 ? String(halves[1].filter { $0 != " " }) : "")
    }
    return Dictionary(pairs) { first, _ in first }
  }

  private static func profile(_ text: String) -> String? {
    text.utf8.count == 6 && text.allSatisfy { $0.isASCII && $0.isHexDigit } ? text.lowercased() : nil
  }

  /// Nil for profiles whose decoders need not know constrained baseline.
  private static func rank(of profile: String?) -> Int? {
    guard let profile, let flags = UInt8(profile.dropFirst(2).prefix(2), radix: 16) else { return 3 }
    return switch profile.prefix(2) {
    case "42": flags & 0x40 != 0 ? 0 : 1
    case "4d": flags & 0x80 != 0 ? 0 : 2
    case "64": 2
    default: nil
    }
  }

  // MARK: The client

  private static func fragment(_ value: Substring?) throws(SDPError) -> String {
    guard let value else { throw SDPError("the offer has no a=ice-ufrag") }
    guard (4...256).contains(value.utf8.count), value.allSatisfy(\.isPrintableASCII), !value.contains(":")
    else { throw SDPError("a=ice-ufrag has 4 to 256 letters, digits, + and /") }
    return String(value)
  }

  private static func fingerprint(_ values: [Substring]) throws(SDPError) -> [UInt8] {
    for value in values {
      let words = value.split(separator: " ")
      guard words.count == 2, words[0].lowercased() == "sha-256" else { continue }
      let bytes = words[1].split(separator: ":", omittingEmptySubsequences: false).map { pair in
        pair.utf8.count == 2 && pair.allSatisfy(\.isHexDigit) ? UInt8(pair, radix: 16) : nil
      }
      guard bytes.count == 32, !bytes.contains(nil) else {
        throw SDPError("a=fingerprint:sha-256 has 32 bytes")
      }
      return bytes.compactMap { $0 }
    }
    throw SDPError("the offer has no a=fingerprint:sha-256")
  }

  /// Extensions of one byte have the numbers 1 to 14 (RFC 8285).
  private static func playoutDelay(of media: SessionDescription.Media) -> UInt8? {
    for value in media.values(of: "extmap") {
      let words = value.split(separator: " ")
      guard words.count >= 2, words[1] == playoutDelayURI,
        let id = UInt8(words[0].prefix { $0 != "/" }), (1...14).contains(id)
      else { continue }
      return id
    }
    return nil
  }

  private static func feedback(of media: SessionDescription.Media, for payloadType: UInt8) -> Set<String> {
    let values = media.values(of: "rtcp-fb").compactMap { value -> String? in
      let halves = value.split(separator: " ", maxSplits: 1)
      guard halves.count == 2, halves[0] == "*" || halves[0] == "\(payloadType)" else { return nil }
      return String(halves[1])
    }
    return Set(values).intersection(knownFeedback)
  }

  private static func token(_ value: Substring) -> String? {
    (1...32).contains(value.utf8.count) && value.allSatisfy(\.isPrintableASCII) ? String(value) : nil
  }
}
