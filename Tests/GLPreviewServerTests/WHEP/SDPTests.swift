// Offers of WebRTC clients, and what they are answered.
import NIOCore
import Testing

@testable import ServiceFoundation
@testable import WebRTC

@Suite("SDP")
struct SDPTests {
  static let fingerprint = (0..<32).map { byte in
    (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
  }.joined(separator: ":")

  static let session = """
    v=0
    o=- 4611731400430051336 2 IN IP4 127.0.0.1
    s=-
    t=0 0
    a=group:BUNDLE 0 1
    a=extmap-allow-mixed
    a=msid-semantic: WMS

    """

  static let transport = """
    c=IN IP4 0.0.0.0
    a=rtcp:9 IN IP4 0.0.0.0
    a=ice-ufrag:EsAw
    a=ice-pwd:P2uYro0UCOQ4zxjKXaWCBui1
    a=ice-options:trickle
    a=fingerprint:sha-256 \(fingerprint)
    a=setup:actpass

    """

  /// As Chromium has it, without the payload types that say nothing more.
  static let video = """
    m=video 9 UDP/TLS/RTP/SAVPF 96 97 103 104 107 109 114
    \(transport)a=mid:0
    a=extmap:1 urn:ietf:params:rtp-hdrext:toffset
    a=extmap:5 http://www.webrtc.org/experiments/rtp-hdrext/playout-delay
    a=recvonly
    a=rtcp-mux
    a=rtcp-rsize
    a=rtpmap:96 VP8/90000
    a=rtpmap:97 rtx/90000
    a=fmtp:97 apt=96
    a=rtpmap:103 H264/90000
    a=rtcp-fb:103 goog-remb
    a=rtcp-fb:103 transport-cc
    a=rtcp-fb:103 ccm fir
    a=rtcp-fb:103 nack
    a=rtcp-fb:103 nack pli
    a=fmtp:103 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42001f
    a=rtpmap:104 rtx/90000
    a=fmtp:104 apt=103
    a=rtpmap:107 H264/90000
    a=fmtp:107 level-asymmetry-allowed=1;packetization-mode=0;profile-level-id=42e01f
    a=rtpmap:109 H264/90000
    a=rtcp-fb:109 nack
    a=rtcp-fb:109 nack pli
    a=rtcp-fb:109 ccm fir
    a=fmtp:109 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f
    a=rtpmap:114 H264/90000
    a=fmtp:114 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=64001f

    """

  static let audio = """
    m=audio 9 UDP/TLS/RTP/SAVPF 111
    \(transport)a=mid:1
    a=recvonly
    a=rtpmap:111 opus/48000/2

    """

  /// An offer that a test says the name of.
  struct Sample: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let text: String

    init(_ name: String, _ text: String) { (testDescription, self.text) = (name, text) }
  }

  static func answer(_ candidates: [SDPAnswer.Candidate] = [.init(address: "192.0.2.1", port: 8189)])
    -> SDPAnswer
  {
    SDPAnswer(
      fragment: "ours", password: "secret", fingerprint: Array(0..<32), ssrc: 7, candidates: candidates,
      name: "glpreview")
  }

  @Test("a browser's offer is parsed, and its constrained baseline H.264 is selected")
  func browser() throws {
    let offer = try SDPOffer(Self.session + Self.video + Self.audio)

    #expect(offer.format == .init(payloadType: 109, profile: "42e01f"))
    #expect(offer.fragment == "EsAw")
    #expect(offer.fingerprint == Array(0..<32))
    #expect(offer.playoutDelay == 5)
    #expect(offer.feedback == ["nack", "nack pli", "ccm fir"])
    #expect(offer.password == "P2uYro0UCOQ4zxjKXaWCBui1")
    #expect(offer.accepted == 0 && offer.lines.count == 2 && offer.bundle == [0, 1])
  }

  @Test("an offer with CRLF line ends equals one with LF")
  func newlines() throws {
    let text = (Self.session + Self.video).replacing("\n", with: "\r\n")
    #expect(try SDPOffer(text) == SDPOffer(Self.session + Self.video))
  }

  /// The m-lines of an answer to the client of `text`, and its group.
  private static func lines(_ text: String) throws -> (media: [SessionDescription.Media], group: [Substring])
  {
    let description = try SessionDescription(answer().text(to: try SDPOffer(text)))
    return (description.media, description.bundles.first ?? [])
  }

  @Test("the answer accepts only the video; audio in the same BUNDLE group stays, inactive")
  func answered() throws {
    let text = Self.answer().text(to: try SDPOffer(Self.session + Self.audio + Self.video))

    let lines = text.split(separator: "\r\n").map(String.init)
    #expect(
      lines.filter { $0.hasPrefix("m=") } == [
        "m=audio 9 UDP/TLS/RTP/SAVPF 111", "m=video 8189 UDP/TLS/RTP/SAVPF 109",
      ])
    for line in [
      "a=ice-lite", "a=group:BUNDLE 0 1", "a=mid:0", "a=mid:1", "a=inactive", "a=sendonly",
      "a=rtpmap:111 opus/48000/2",
      "a=extmap:5 http://www.webrtc.org/experiments/rtp-hdrext/playout-delay", "a=rtpmap:109 H264/90000",
      "a=fmtp:109 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f",
      "a=rtcp-fb:109 nack pli", "a=ssrc:7 cname:glpreview",
      "a=candidate:1 1 udp 2130706431 192.0.2.1 8189 typ host", "a=end-of-candidates",
    ] {
      #expect(lines.contains(line), "\(line) is missing:\n\(text)")
    }
    for line in [
      "a=setup:passive", "a=rtcp-mux", "a=ice-ufrag:ours", "a=ice-pwd:secret",
      "a=fingerprint:sha-256 \(Self.fingerprint)",
    ] {
      #expect(lines.count { $0 == line } == 2, "\(line) is not in each m-line:\n\(text)")
    }
    #expect(text.hasSuffix("\r\n"))
    // What is answered is SDP itself.
    #expect(throws: Never.self) { try SessionDescription(text) }
  }

  private static let data = """
    m=application 9 UDP/DTLS/SCTP webrtc-datachannel
    \(transport)a=mid:2
    a=sctp-port:5000

    """

  /// Firefox's: only the first m-line of a group has a transport, and the others port 0 (RFC 8829, 5.2.1).
  private static func bundleOnly(_ media: String) -> String {
    media.replacing(transport, with: "c=IN IP4 0.0.0.0\na=bundle-only\n").replacing(" 9 ", with: " 0 ")
  }

  @Test("m-lines of a BUNDLE group use the first one's transport, in any order")
  func bundles() throws {
    let session = Self.session.replacing("BUNDLE 0 1", with: "BUNDLE 1 0 2")
    let second = Self.video.replacing("a=mid:0", with: "a=mid:2")
    for text in [
      session + Self.audio + Self.video + second,
      session + Self.audio + Self.bundleOnly(Self.video) + Self.bundleOnly(second),
    ] {
      let (media, group) = try Self.lines(text)
      #expect(group == ["1", "0", "2"])
      #expect(media.map(\.port) == ["9", "8189", "9"])
      #expect(media.allSatisfy { $0.values(of: "candidate").count == 1 })
      #expect(media.map { $0.values(of: "inactive").count } == [1, 0, 1])
      #expect(media[2].formats == ["96"] && media[2].values(of: "rtpmap") == ["96 VP8/90000"])
    }
    // The first of the group tells how the client is reached, whatever the others say.
    let other = Self.video.replacing("EsAw", with: "else").replacing(
      "P2uYro0UCOQ4zxjKXaWCBui1", with: "elsewhere")
    let offer = try SDPOffer(session + Self.audio + other)
    #expect(offer.fragment == "EsAw" && offer.password == "P2uYro0UCOQ4zxjKXaWCBui1")
    let alone = try SDPOffer("v=0\n" + Self.audio + other)
    #expect(alone.fragment == "else" && alone.bundle.isEmpty)
  }

  @Test("m-lines outside the BUNDLE group get port 0; bundle-only video without a group is rejected")
  func rejected() throws {
    let (media, group) = try Self.lines("v=0\n" + Self.audio + Self.video)
    #expect(media.map(\.port) == ["0", "8189"] && group.isEmpty)
    let off = Self.audio.replacing("m=audio 9", with: "m=audio 0")
    let (switched, one) = try Self.lines(Self.session + off + Self.video)
    #expect(switched.map(\.port) == ["0", "8189"] && one == ["0"])
    let ungrouped = Self.session.replacing("a=group:BUNDLE 0 1\n", with: "")
    #expect(throws: SDPError.self) { try SDPOffer(ungrouped + Self.bundleOnly(Self.video)) }
  }

  @Test("a data channel keeps its place in the BUNDLE group and gets no direction")
  func dataChannel() throws {
    for order in ["2 0 1", "0 1 2"] {
      let session = Self.session.replacing("BUNDLE 0 1", with: "BUNDLE \(order)")
      let (media, group) = try Self.lines(session + Self.data + Self.video + Self.audio)
      #expect(group.joined(separator: " ") == order && media.map(\.port) == ["9", "8189", "9"])
      #expect(media[0].formats == ["webrtc-datachannel"] && media[0].values(of: "sctp-port") == ["5000"])
      #expect(media[0].values(of: "inactive").isEmpty && media[0].values(of: "rtcp-mux").isEmpty)
      #expect(media[0].values(of: "mid") == ["2"] && media[0].values(of: "ice-ufrag") == ["ours"])
    }
  }

  @Test("an answer contains no RTCP feedback, header extension or BUNDLE group that its offer lacks")
  func plain() throws {
    let video = Self.video.split(separator: "\n").filter { !$0.contains("rtcp-fb") && !$0.contains("extmap") }
      .joined(separator: "\n")
    let offer = try SDPOffer("v=0\n" + video)

    let text = Self.answer([.init(address: "2001:db8::1", port: 9000)]).text(to: offer)

    for word in ["rtcp-fb", "extmap", "BUNDLE", "a=inactive"] { #expect(!text.contains(word)) }
    #expect(text.contains("c=IN IP6 2001:db8::1\r\n"))
  }

  @Test(
    "of several usable H.264 profiles, the least demanding one is selected",
    arguments: [
      ("42e01f", "42001f", 0), ("42001f", "4d001f", 0), ("64001f", "42c01e", 1), ("4d801f", "640c1f", 0),
      ("58a01f", "640c1f", 1),
    ])
  func profiles(first: String, second: String, best: Int) throws {
    let text = Self.offer(profiles: [first, second])
    #expect(try SDPOffer(text).format.payloadType == UInt8(100 + best))
  }

  private static func offer(profiles: [String]) -> String {
    let types = profiles.indices.map { "\(100 + $0)" }
    var text = "v=0\nm=video 9 UDP/TLS/RTP/SAVPF \(types.joined(separator: " "))\n\(transport)"
    for (type, profile) in zip(types, profiles) {
      text +=
        "a=rtpmap:\(type) H264/90000\na=fmtp:\(type) profile-level-id=\(profile); packetization-mode=1\n"
    }
    return text
  }

  @Test(
    "a valid offer without a video that can be sent throws an SDPError with isRefusal = true",
    arguments: [
      Sample("no video", session + audio), Sample("H.265", full.replacing("H264", with: "H265")),
      Sample(
        "packetization-mode=0",
        session + video.replacing("packetization-mode=1", with: "packetization-mode=0")),
      Sample("only sends", session + video.replacing("recvonly", with: "sendonly")),
      Sample("switched off", session + video.replacing("m=video 9", with: "m=video 0")),
      Sample("other profiles", offer(profiles: ["58a01f", "7a001f"])),
    ])
  func refusals(sample: Sample) {
    #expect { try SDPOffer(sample.text) } throws: { ($0 as? SDPError)?.isRefusal == true }
  }

  private static let mistaken: [Sample] = [
    Sample("empty", ""), Sample("no SDP", "hello"), Sample("no m-line", session),
    Sample("a page", "<html>\nv=0\n"),
    Sample("no fragment", full.replacing("ice-ufrag", with: "ice-other")),
    Sample("a fragment with a colon", full.replacing("EsAw", with: "Es:Aw")),
    Sample("a short fragment", full.replacing("EsAw", with: "E")),
    Sample("no password", full.replacing("ice-pwd", with: "ice-other")),
    Sample("no fingerprint", full.replacing("sha-256", with: "sha-1")),
    Sample("half a fingerprint", full.replacing(":1F", with: "")),
    Sample("a fingerprint of signs", full.replacing("0A:", with: "+A:")),
    Sample("both passive", full.replacing("actpass", with: "passive")),
    Sample("a short m-line", session + "m=video 9\n"), Sample("a line without =", session + "video\n"),
    Sample("huge", session + String(repeating: filler, count: 2000)),
    Sample("many lines", "v=0\n" + String(repeating: "a=x\n", count: 5000)),
    Sample("many m-lines", "v=0\n" + String(repeating: "m=audio 9 X 1\n", count: 65)),
  ]
  private static let full = session + video
  private static let filler = "a=x:" + String(repeating: "y", count: 60) + "\n"

  @Test(
    "a malformed or oversized offer throws an SDPError with isRefusal = false",
    arguments: mistaken)
  func mistakes(sample: Sample) {
    #expect { try SDPOffer(sample.text) } throws: { ($0 as? SDPError)?.isRefusal == false }
  }

  @Test("an offer with 1000 ICE candidates equals one without them")
  func candidates() throws {
    let lines = (0..<1000).map { "a=candidate:\($0) 1 udp 1 192.0.2.\($0 % 256) 9 typ host\n" }.joined()
    #expect(try SDPOffer(Self.session + Self.video + lines) == SDPOffer(Self.session + Self.video))
  }

  // MARK: Addresses

  @Test("a socket bound to one address has only that address as a candidate")
  func bound() throws {
    let found = WHEPAddresses.candidates(
      configured: [], bound: try .init(ipAddress: "192.0.2.1", port: 9), asked: "127.0.0.1",
      interfaces: ["192.0.2.1", "198.51.100.1"])
    #expect(found == [.init(address: "192.0.2.1", port: 9)])
  }

  @Test("candidates on 0.0.0.0 are configured addresses, then the one reached, then other IPv4 ones")
  func everywhere() throws {
    let found = WHEPAddresses.candidates(
      configured: [.init(address: "203.0.113.5", port: nil), .init(address: "203.0.113.6", port: 80)],
      bound: try .init(ipAddress: "0.0.0.0", port: 9), asked: "::ffff:198.51.100.1",
      interfaces: ["127.0.0.1", "::1", "192.0.2.1", "198.51.100.1", "2001:db8::1", "fe80::1"])
    #expect(
      found == [
        .init(address: "203.0.113.5", port: 9), .init(address: "203.0.113.6", port: 80),
        .init(address: "198.51.100.1", port: 9), .init(address: "192.0.2.1", port: 9),
      ])
  }

  @Test("a socket on :: offers the address that the client reached, then IPv4 and IPv6 addresses")
  func bothFamilies() throws {
    let found = WHEPAddresses.candidates(
      configured: [], bound: try .init(ipAddress: "::", port: 9), asked: "::1",
      interfaces: ["127.0.0.1", "192.0.2.1", "2001:db8::1"])
    #expect(found.map(\.address) == ["::1", "192.0.2.1", "2001:db8::1"])
  }
}
