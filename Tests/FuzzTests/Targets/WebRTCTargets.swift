// What anybody may send to the UDP port or the RTSP server, and what a WebRTC client offers.
import NIOCore

@testable import RTSP
@testable import VideoFormats
@testable import WebRTC

extension FuzzTarget {
  /// A STUN message.
  static let stun = FuzzTarget(
    name: "stun", longest: 1600,
    words: [
      "\u{21}\u{12}\u{A4}\u{42}", "\0\u{1}\0", "\u{1}\u{1}", "\0\u{6}\0", "\0\u{8}\0\u{14}",
      "\u{80}\u{28}\0\u{4}",
      "\0\u{20}\0\u{8}", "\0\u{25}\0\0",
    ],
    seeds: {
      var request = STUNMessage(.bindingRequest, transaction: Array(0..<12))
      request.username = Array("ours:peer".utf8)
      request.nominates = true
      var answer = STUNMessage(.bindingSuccess, transaction: Array(0..<12))
      answer.mappedAddress = .init(bytes: [192, 0, 2, 1], port: 5000)
      return [request, answer].map { $0.bytes(sealedWith: Array("password".utf8)) }
    },
    body: .atOnce { (input) throws(FuzzFault) in
      guard let message = STUNMessage(input) else { return }
      try must(message.transaction.count == 12, "a transaction of another length")
      try must(!message.isSealed(with: []), "sealed with nothing")
      let written = message.bytes(sealedWith: Array("password".utf8))
      guard written.count <= 1500 else { return }
      guard let again = STUNMessage(written) else { throw FuzzFault("what is written can't be read") }
      try must(again.isSealed(with: Array("password".utf8)), "a seal gets lost")
      try must(
        again.username == message.username && again.mappedAddress == message.mappedAddress
          && again.nominates == message.nominates, "what is written reads otherwise")
    })

  /// An offer.
  static let sdp = FuzzTarget(
    name: "sdp", longest: 4096,
    words: [
      "v=0\r\n", "m=video 9 UDP/TLS/RTP/SAVPF ", "a=rtpmap:", " H264/90000", "a=fmtp:",
      "packetization-mode=1",
      "profile-level-id=42e01f", "a=ice-ufrag:", "a=fingerprint:sha-256 ", "a=setup:", "actpass", "passive",
      "a=mid:", "a=group:BUNDLE ", "a=bundle-only\r\n", "m=video 0 ", "m=audio 9 UDP/TLS/RTP/SAVPF 111\r\n",
      "m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\n", "a=sctp-port:5000\r\n", "a=ice-pwd:",
      "a=extmap:", "a=rtcp-fb:", "nack pli", "a=sendonly", "\r\n",
    ],
    seeds: {
      let fingerprint = [String](repeating: "AB", count: 32).joined(separator: ":")
      return [
        """
        v=0
        o=- 1 2 IN IP4 127.0.0.1
        s=-
        t=0 0
        a=group:BUNDLE 0
        m=video 9 UDP/TLS/RTP/SAVPF 96 102
        c=IN IP4 0.0.0.0
        a=ice-ufrag:abcd
        a=ice-pwd:abcdefghijklmnopqrstuvwx
        a=fingerprint:sha-256 \(fingerprint)
        a=setup:actpass
        a=mid:0
        a=extmap:5 \(SDPOffer.playoutDelayURI)
        a=recvonly
        a=rtpmap:96 VP8/90000
        a=rtpmap:102 H264/90000
        a=rtcp-fb:102 nack pli
        a=fmtp:102 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f

        """,
        """
        v=0
        a=group:BUNDLE d a v w
        a=fingerprint:sha-256 \(fingerprint)
        m=application 9 UDP/DTLS/SCTP webrtc-datachannel
        a=ice-ufrag:abcd
        a=ice-pwd:abcdefghijklmnopqrstuvwx
        a=mid:d
        a=sctp-port:5000
        m=audio 0 UDP/TLS/RTP/SAVPF 111 0
        a=mid:a
        a=bundle-only
        a=rtpmap:111 opus/48000/2
        m=video 0 UDP/TLS/RTP/SAVPF 102
        a=mid:v
        a=bundle-only
        a=rtpmap:102 H264/90000
        a=fmtp:102 packetization-mode=1
        m=video 0 UDP/TLS/RTP/SAVPF 102
        a=mid:x

        """,
      ].map { Array($0.utf8) }
    },
    body: .atOnce { (input) throws(FuzzFault) in
      let offer: SDPOffer
      do throws(SDPError) { offer = try SDPOffer(String(decoding: input, as: UTF8.self)) } catch {
        return try must(!error.reason.isEmpty, "it is refused for no reason")
      }
      try must(offer.fingerprint.count == 32, "a fingerprint of another length")
      try must(offer.format.payloadType < 128, "a payload type that no packet has")
      try must(offer.playoutDelay.map { (1...14).contains($0) } ?? true, "an extension without a number")
      let answer = SDPAnswer(
        fragment: "ours", password: "secret", fingerprint: offer.fingerprint, ssrc: 1,
        candidates: [.init(address: "192.0.2.1", port: 1)], name: "glpreview")
      let text = answer.text(to: offer)
      guard let read = try? SessionDescription(text) else {
        // An offer near the limits may have an answer beyond them.
        return try must(input.count > 2000, "the answer is no SDP")
      }
      try must(read.media.count == offer.lines.count, "m-lines get lost")
      for (index, media) in read.media.enumerated() {
        let isServed = index == offer.accepted
        try must(
          (media.port != "0") == (isServed || offer.bundle.contains(index)), "another m-line is accepted")
        try must(media.values(of: "sendonly").isEmpty != isServed, "another m-line is served")
        try must(
          media.formats.count == 1 && !media.values(of: "ice-pwd").isEmpty, "an m-line lacks something")
      }
      let mids = offer.bundle.compactMap { offer.lines[$0].mid.map { $0[...] } }
      try must(Set(mids).count == mids.count && mids == read.bundles.first ?? [], "another group")
      try must(mids.isEmpty || offer.bundle.contains(offer.accepted), "a group without the video")
      try must(!text.contains("\r\n\r\n"), "an offer makes an answer of two parts")
    })

  /// What a receiver says of what it got, once it is decrypted; by RTSP as it comes.
  static let rtcp = FuzzTarget(
    name: "rtcp", longest: 1500,
    words: [
      "\u{81}\u{C9}\0\u{7}", "\u{80}\u{C9}\0\u{1}", "\u{81}\u{CD}\0\u{3}", "\u{81}\u{CE}\0\u{2}",
      "\u{84}\u{CE}\0\u{4}", "\u{81}\u{CB}\0\u{1}", "\u{FF}\u{FF}",
    ],
    seeds: {
      let report: [UInt8] =
        [0x81, 201, 0, 7, 0, 0, 0, 1, 0, 0, 0, 7, 25, 0xFF, 0xFF, 0xFE] + .init(repeating: 0, count: 16)
      let lost: [UInt8] = [0x81, 205, 0, 3, 0, 0, 0, 1, 0, 0, 0, 7, 0xFF, 0xFF, 0x80, 1]
      return [
        report + lost, [0x81, 206, 0, 2, 0, 0, 0, 1, 0, 0, 0, 7] + report,
        [0x84, 206, 0, 4, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 7, 1, 0, 0, 0] + [0x81, 203, 0, 1, 0, 0, 0, 1],
      ]
    },
    body: .atOnce { (input) throws(FuzzFault) in
      for feedback in RTCPFeedback.all(in: input) {
        switch feedback {
        case .lost(let numbers):
          // Seventeen in four bytes, and no more than are ever repeated at once.
          try must(numbers.count <= min(528, 17 * input.count / 4), "\(numbers.count) lost packets")
        case .missing(let count, _): try must(abs(count) <= 1 << 23, "\(count) missing packets")
        case .keyRequest, .goodbye: break
        }
      }
      try must(RTCPFeedback.all(in: input).count <= input.count / 4, "more feedback than bytes")
      // What is cut says less, and nothing else.
      let cut = RTCPFeedback.all(in: Array(input.dropLast()))
      try must(cut.count <= RTCPFeedback.all(in: input).count, "a cut packet says more")
    })

  /// What an RTSP client sends, whole and byte by byte.
  static let rtsp = FuzzTarget(
    name: "rtsp", longest: 4096,
    words: [
      "DESCRIBE ", "SETUP ", "PLAY ", "rtsp://h/a/b", " RTSP/1.0\r\n", "CSeq: 1\r\n", "Transport: ",
      "RTP/AVP/TCP;",
      "interleaved=0-1", "client_port=5000-5001", "Content-Length: ", "Authorization: Digest ", "username=\"",
      "\r\n\r\n", "$\0\0\u{4}", "trackID=0", "Require: ", "?video&audio",
    ],
    seeds: {
      [
        "OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n",
        "SETUP rtsp://h/a/b/trackID=0 RTSP/1.0\r\nCSeq: 2\r\nTransport: RTP/AVP;client_port=5000-5001\r\n\r\n$\0\0\u{4}abcd",
        "DESCRIBE rtsp://h/a RTSP/1.0\r\nAuthorization: Digest username=\"a\", uri=\"b\"\r\nContent-Length: 2\r\n\r\nab",
      ].map { Array($0.utf8) }
    },
    body: .atOnce { (input) throws(FuzzFault) in
      let whole = messages([input[...]])
      try must(messages(input.indices.map { input[$0...$0] }) == whole, "cut bytes read otherwise")
      for case .request(let request) in whole {
        if let transport = request.fields["transport"].flatMap(RTSPTransport.init),
          case .datagrams(let rtp, let rtcp) = transport
        {
          try must(min(rtp, rtcp) >= 1024 && max(rtp, rtcp) < 65536, "a port that no client has")
        }
        let target = try? RTSPTarget(request.url)
        let isSame = target == (try? RTSPTarget(RTSPTarget.withoutQuery(request.url)))
        try must(isSame, "a query changes what a URL names")
        _ = RTSPAccess.parameters((request.fields["authorization"] ?? "")[...])
      }
    })

  /// All messages up to the first error.
  private static func messages(_ parts: [ArraySlice<UInt8>]) -> [RTSPParser.Message] {
    var parser = RTSPParser()
    var messages: [RTSPParser.Message] = []
    for part in parts {
      parser.append(ByteBuffer(bytes: part))
      do { while let message = try parser.next() { messages.append(message) } } catch { break }
    }
    return messages
  }
}
