// The offer of a WHEP client: its identity, and the form of H.264 that it takes.

/// The parts of an offer that an answer needs.
struct SDPOffer: Sendable, Hashable {
  /// A payload type that can carry the stream.
  struct Format: Sendable, Hashable {
    let payloadType: UInt8
    /// `profile-level-id` as the offer has it; nil if it has none.
    let profile: String?
  }

  /// An m-line as an answer repeats it.
  struct Line: Sendable, Hashable {
    let kind: String
    let transport: String
    /// The only format that an answer names if the line is not served, and the attributes that describe it.
    let format: String
    let attributes: [String]
    let mid: String?
    /// False for a line that the client has rejected itself, by port 0.
    let isOffered: Bool

    /// Whether it can be inactive: a data channel can't.
    var isRTP: Bool { transport.contains("RTP/") }
  }

  /// All m-lines, in their order.
  let lines: [Line]
  /// The index of the line that gets the video.
  let accepted: Int
  /// The m-lines that share a transport with the video, and the video's own, in the order of their group;
  /// empty if it is in no group. The first carries the transport (RFC 9143, 7.3.1).
  let bundle: [Int]
  let format: Format
  /// The client's name in connection checks.
  let fragment: String
  /// Proves that an answer to a connection check is from the client.
  let password: String
  /// The SHA-256 of its certificate.
  let fingerprint: [UInt8]
  /// The number of the `playout-delay` extension; nil if the client has none.
  let playoutDelay: UInt8?
  /// The RTCP feedback that it may send.
  let feedback: Set<String>

  static let playoutDelayURI = "http://www.webrtc.org/experiments/rtp-hdrext/playout-delay"
  static let knownFeedback = ["nack", "nack pli", "ccm fir"]

  /// - Throws: `SDPError`, which is a refusal if the offer is valid, but has no H.264 that is supported.
  init(_ text: String) throws(SDPError) {
    let description = try SessionDescription(text)
    guard !description.media.isEmpty else { throw SDPError("the offer has no m-line") }
    let groups = description.bundles
    let grouped = Set(groups.joined())
    lines = description.media.map { Self.line($0, grouped) }
    (accepted, format) = try Self.video(in: description, lines)
    let media = description.media[accepted]
    bundle = Self.bundle(of: accepted, lines, groups)
    // In a group only the first m-line must describe the transport.
    let carrier = bundle.first.map { description.media[$0] } ?? media
    func value(_ name: String) -> Substring? {
      description.value(of: name, in: carrier) ?? description.value(of: name, in: media)
    }
    fragment = try Self.word(value("ice-ufrag"), "ice-ufrag")
    password = try Self.word(value("ice-pwd"), "ice-pwd")
    let fingerprints = description.values(of: "fingerprint", in: carrier)
    fingerprint = try Self.fingerprint(
      fingerprints.isEmpty ? description.values(of: "fingerprint", in: media) : fingerprints)
    guard value("setup") != "passive" else {
      throw SDPError("the offer says a=setup:passive; use actpass or active")
    }
    playoutDelay = Self.playoutDelay(of: media)
    feedback = Self.feedback(of: media, for: format.payloadType)
  }

  // MARK: m-lines

  /// A line of port 0 in a group is offered if it says `bundle-only` (RFC 9143, 6).
  private static func line(_ media: SessionDescription.Media, _ grouped: Set<Substring>) -> Line {
    let mid = media.values(of: "mid").first.flatMap(Self.token)
    let mapped = Set(media.values(of: "rtpmap").map { $0.prefix { $0 != " " } })
    let format = media.formats.first(where: mapped.contains) ?? media.formats.first ?? "0"
    let attributes = ["rtpmap", "fmtp", "sctp-port", "sctpmap"].compactMap { name -> String? in
      let values = media.values(of: name)
      let isOfFormat = name == "rtpmap" || name == "fmtp"
      let value = isOfFormat ? values.first { $0.prefix { $0 != " " } == format } : values.first
      guard let value, value.allSatisfy({ $0.isPrintableASCII || $0 == " " }) else { return nil }
      return "\(name):\(value)"
    }
    let isBundleOnly =
      !media.values(of: "bundle-only").isEmpty && mid.map { grouped.contains($0[...]) } == true
    return Line(
      kind: String(media.kind), transport: String(media.transport), format: String(format),
      attributes: attributes, mid: mid, isOffered: media.port != "0" || isBundleOnly)
  }

  private static func video(
    in description: SessionDescription, _ lines: [Line]
  ) throws(SDPError) -> (Int, Format) {
    var refusal = SDPError("the offer requests no video", isRefusal: true)
    for (index, media) in description.media.enumerated() where media.kind == "video" {
      guard lines[index].isOffered, media.transport.hasPrefix("UDP/TLS/RTP/SAVP") else { continue }
      let directions = ["sendonly", "inactive"]
      guard !media.attributes.contains(where: { directions.contains(String($0.name)) }) else { continue }
      if let format = Self.format(of: media) { return (index, format) }
      refusal = SDPError(
        "the offer has no H.264 with packetization-mode=1, the only supported format", isRefusal: true)
    }
    throw refusal
  }

  /// All offered lines stay in the group, including data channels: some clients (aiortc) connect a rejected
  /// one as another transport.
  private static func bundle(of index: Int, _ lines: [Line], _ groups: [[Substring]]) -> [Int] {
    let named = lines.enumerated().compactMap { index, line in line.mid.map { ($0[...], index) } }
    let indices = Dictionary(named) { first, _ in first }
    for group in groups {
      var known: Set<Int> = []
      let members = group.compactMap { indices[$0] }.filter {
        lines[$0].isOffered && known.insert($0).inserted
      }
      if members.contains(index) { return members }
    }
    return []
  }

  // MARK: H.264

  /// The best payload type for a stream of constrained baseline. The one that promises the least comes first.
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

  /// Nil for profiles whose decoders need not support constrained baseline.
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

  private static func word(_ value: Substring?, _ name: String) throws(SDPError) -> String {
    guard let value else { throw SDPError("the offer has no a=\(name)") }
    guard (4...256).contains(value.utf8.count), value.allSatisfy(\.isPrintableASCII), !value.contains(":")
    else { throw SDPError("a=\(name) must have 4 to 256 letters, digits, + and /") }
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
        throw SDPError("a=fingerprint:sha-256 must have 32 bytes")
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
    (1...256).contains(value.utf8.count) && value.allSatisfy(\.isPrintableASCII) ? String(value) : nil
  }
}
