// WebRTC sessions, from the offer to the end: HTTP, connection checks, DTLS and pictures, on loopback.
import FoundationEssentials
import NIOCore
import NIOHTTP1
import PreviewCore
import Synchronization
import TestSupport
import Testing

@testable import GLPreview
@testable import GLPreviewServer
@testable import ServiceCore
@testable import ServiceFoundation
@testable import WebRTC

@Suite(
  "WHEP", .enabled(if: hasWebRTC, "libssl3 or libsrtp2-1 is missing here: scripts/setup"),
  .enabled(if: hasEncoder, "neither x264 nor OpenH264 is installed"),
  .timeLimit(.minutes(15)))
struct WHEPTests {
  private static let path = "/cameras/camera/main/whep"
  private static let sdp = [("Content-Type", "application/sdp")]

  private static func configuration(_ views: [ServedView] = [ServedView()]) -> ServerConfiguration {
    ServerConfiguration(
      cameras: [CameraConfiguration(source: "pattern:counter,size=320x180,fps=20", views: views)])
  }

  // MARK: A session

  @Test(
    "a connected client receives consecutive RTP packets that begin with parameter sets")
  func pictures() async throws {
    try await withService(Self.configuration()) { service in
      let peer = try await WHEPPeer()
      let (_, answer) = try await service.offer(peer)

      try await peer.connect(answer)

      #expect(await peer.profile == .aes128GCM)
      var numbers: [UInt16] = []
      var ends = 0
      while ends < 10 {
        let packet = try await peer.packet()
        #expect(packet[1] & 0x7F == 109)
        // playout-delay 0/0 in an extension of one byte (RFC 8285).
        #expect(packet[0] == 0x90 && Array(packet[12..<20]) == [0xBE, 0xDE, 0, 1, 0x52, 0, 0, 0])
        if numbers.isEmpty { #expect([7, 24].contains(packet[20] & 31), "parameter sets come first") }
        numbers.append(UInt16(packet[2]) << 8 | UInt16(packet[3]))
        if packet[1] & 0x80 != 0 { ends += 1 }
      }
      #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $1 == $0 &+ 1 }, "packets are numbered")
      let report = try await peer.report()
      #expect(report[1] == 200 && Array(report[4..<8]) != [0, 0, 0, 0])
      try await peer.close()
      await until { service.sessionCount == 0 }
    }
  }

  @Test(
    "a NACK causes a retransmission, and a keyframe follows picture loss indications (PLI)")
  func feedback() async throws {
    try await withService(Self.configuration()) { service in
      let peer = try await WHEPPeer()
      try await peer.connect(try await service.offer(peer).answer)
      let ssrc = Array(try await peer.packet()[8..<12])

      // Generic NACK (RFC 4585, 6.2.1): a packet that was taken already is refused by its receiver, so that the count tells. One
      // that is asked for late is kept no more.
      while service.inside.webRTC.counters.repeated.load(ordering: .relaxed) == 0 {
        let number = Array(try await peer.packet()[2..<4])
        try await peer.send(rtcp: [0x81, 205, 0, 3, 0, 0, 0, 1] + ssrc + number + [0, 0])
      }

      // Picture loss indication, again and again.
      for _ in 0..<50 { try await peer.send(rtcp: [0x81, 206, 0, 2, 0, 0, 0, 1] + ssrc) }
      var packet = try await peer.packet()
      while ![7, 24].contains(packet[20] & 31) { packet = try await peer.packet() }
      await until { service.inside.webRTC.counters.keyRequests.load(ordering: .relaxed) >= 50 }
      try await peer.close()
    }
  }

  @Test("12 sessions of a view each begin with a parameter set, and go on when the first one ends")
  func shared() async throws {
    try await withService(Self.configuration()) { service in
      var peers: [WHEPPeer] = []
      for _ in 0..<12 {
        let peer = try await WHEPPeer()
        peers.append(peer)
        try await peer.connect(try await service.offer(peer).answer)
      }
      #expect(service.inside.videos.clientCount(of: "camera", "main") == 12)

      for peer in peers {
        var packet = try await peer.packet()
        #expect(packet[20] & 31 == 7)
        for _ in 0..<5 {
          while packet[1] & 0x80 == 0 { packet = try await peer.packet() }
          packet = try await peer.packet()
        }
      }

      // The one that began to read leaves; the others go on.
      try await peers.removeFirst().close()
      await until { service.inside.videos.clientCount(of: "camera", "main") == 11 }
      for peer in peers { for _ in 0..<5 { _ = try await peer.packet() } }
      for peer in peers { try await peer.close() }
      await until {
        service.sessionCount == 0 && service.inside.videos.clientCount(of: "camera", "main") == 0
      }
    }
  }

  @Test("DELETE ends a session and notifies its client; a second DELETE returns 404")
  func deletion() async throws {
    try await withService(Self.configuration()) { service in
      let peer = try await WHEPPeer()
      let (location, answer) = try await service.offer(peer)
      try await peer.connect(answer)

      #expect(try await service.send("PATCH", location).status == 204)
      #expect(
        try await service.send(
          "PATCH", location, [("Content-Type", "application/trickle-ice-sdpfrag"), ("If-Match", "*")],
          body: "a=ice-ufrag:Peer\r\n"
        ).status == 204)
      #expect(try await service.send("DELETE", "/cameras/camera/main/whep/other").status == 404)
      #expect(try await service.send("DELETE", location).status == 200)

      try await peer.untilEnded()
      await until { service.sessionCount == 0 }
      #expect(try await service.send("DELETE", location).status == 404)
      try await peer.vanish()
    }
  }

  // MARK: Strangers

  @Test("a sender without the session's password gets no answer")
  func strangers() async throws {
    try await withService(Self.configuration()) { service in
      let (peer, stranger) = (try await WHEPPeer(), try await WHEPPeer(.init(password: "guessed")))
      let answer = try await service.offer(peer).answer

      // A handshake without a check, checks by a wrong password and none, noise, and packets that are protected by nothing.
      try await stranger.sayHello(answer)
      try await stranger.check()
      for bytes in [
        STUNMessageTests.request, [0, 1, 0, 0, 0x21, 0x12, 0xA4, 0x42] + [UInt8](repeating: 0, count: 12),
        [0x80, 200, 0, 1, 0, 0, 0, 1], [255], [22, 254, 253],
      ] {
        for _ in 0..<20 { try await stranger.send(bytes) }
      }
      try await peer.connect(answer)

      // The port has read all of that before: it answered the peer, which came last.
      #expect(service.sessionCount == 1)
      try await stranger.vanish()
      await #expect(throws: CancellationError.self) { try await stranger.datagram { _ in true } }
      try await peer.close()
    }
  }

  @Test("no picture is sent to an address that does not answer a check, even if it is nominated")
  func otherAddress() async throws {
    try await withService(Self.configuration()) { service in
      let (peer, other) = (try await WHEPPeer(), try await WHEPPeer(.init(isMute: true)))
      let answer = try await service.offer(peer).answer
      try await peer.connect(answer)
      _ = try await peer.packet()

      // Nominated again and again, and answered with nothing but connection checks.
      try await other.prove(answer)
      for _ in 0..<20 { _ = try await peer.packet() }

      try await other.vanish()
      await #expect(throws: CancellationError.self) { try await other.datagram { $0 >= 4 } }
      try await peer.close()
    }
  }

  @Test("a client whose certificate does not match its offer's fingerprint gets no packets")
  func fingerprint() async throws {
    try await withService(Self.configuration()) { service in
      let peer = try await WHEPPeer(.init(fingerprint: [UInt8](repeating: 7, count: 32)))
      let answer = try await service.offer(peer).answer

      await #expect(throws: WebRTCError.self) { try await peer.connect(answer) }

      await until { service.sessionCount == 0 }
      #expect(service.inside.webRTC.counters.packets.load(ordering: .relaxed) == 0)
      try await peer.vanish()
    }
  }

  // MARK: Rights

  @Test(
    "a session ends if its view is disabled, its source changes, or WebRTC is turned off",
    arguments: ["switched off", "removed", "WebRTC off"])
  func views(what: String) async throws {
    try await withService(Self.configuration()) { service in
      let peer = try await WHEPPeer()
      try await peer.connect(try await service.offer(peer).answer)

      switch what {
      case "switched off":
        let patch = try await service.send(
          "PATCH", "/api/cameras/camera/views/main", body: #"{"enabled": false}"#)
        #expect(patch.status == 200)
      case "removed":
        var other = Self.configuration()
        other.cameras[0].source = "pattern:smpte,size=64x48"
        try await service.inside.apply(other)
      default:
        var other = Self.configuration()
        other.webRTC.listen = .off
        try await service.inside.apply(other)
      }

      try await peer.untilEnded()
      await until { service.sessionCount == 0 }
      let again = try await service.send("POST", Self.path, Self.sdp, body: await peer.offer)
      #expect(again.status == ["switched off": 409, "removed": 201, "WebRTC off": 501][what])
      try await peer.vanish()
    }
  }

  @Test("a session accepts only its own token or a control token, and ends if its token is removed")
  func tokens() async throws {
    var configuration = Self.configuration()
    configuration.access.tokens = [
      .init(secret: "looker", role: .read), .init(secret: "other", role: .read),
      .init(secret: "boss", role: .control),
    ]
    let restricted = configuration
    try await withService(restricted) { service in
      func bearer(_ token: String) -> [(String, String)] { [("Authorization", "Bearer \(token)")] }
      let peer = try await WHEPPeer()
      let unknown = try await service.send("POST", Self.path, Self.sdp, body: await peer.offer)
      #expect(unknown.status == 401)
      let (location, answer) = try await service.offer(peer, Self.path, bearer("looker"))
      try await peer.connect(answer)

      #expect(try await service.send("DELETE", location).status == 401)
      #expect(try await service.send("DELETE", location, bearer("other")).status == 404)
      #expect(try await service.send("PATCH", location, bearer("looker")).status == 204)
      #expect(service.sessionCount == 1)

      var other = restricted
      other.access.tokens.removeFirst()
      try await service.inside.apply(other)
      try await peer.untilEnded()
      await until { service.sessionCount == 0 }
      let (second, _) = try await service.offer(peer, Self.path, bearer("other"))
      #expect(try await service.send("DELETE", second, bearer("boss")).status == 200)
      try await peer.vanish()
    }
  }

  // MARK: HTTP

  @Test("OPTIONS returns Accept-Post, and OPTIONS and POST return the ICE servers as Link headers")
  func options() async throws {
    var configuration = Self.configuration()
    configuration.webRTC.iceServers = [
      .init(url: "stun:stun.example:3478"),
      .init(url: "turn:turn.example:3478", user: "ann", password: "secret"),
    ]
    try await withService(configuration) { service in
      let links = [
        #"<stun:stun.example:3478>; rel="ice-server""#,
        #"<turn:turn.example:3478>; rel="ice-server"; username="ann"; credential="secret"; credential-type="password""#,
      ]

      let options = try await service.send("OPTIONS", Self.path)

      #expect(options.status == 204)
      #expect(options.headers["Accept-Post"] == ["application/sdp"])
      #expect(options.headers["Link"] == links)
      let peer = try await WHEPPeer()
      let answer = try await service.send("POST", Self.path, Self.sdp, body: await peer.offer)
      #expect(answer.status == 201)
      #expect(answer.headers["Content-Type"] == ["application/sdp"])
      #expect(answer.headers["Link"] == links)
      #expect(answer.headers["ETag"].first?.hasPrefix("\"") == true)
      #expect(answer.headers["Location"].first?.hasPrefix(Self.path + "/") == true)
      #expect(try await service.send("OPTIONS", "/cameras/other/main/whep").status == 404)
      try await peer.vanish()
    }
  }

  @Test(
    "an invalid offer returns an error with a detail and starts no session",
    arguments: [
      ("/cameras/other/main/whep", "application/sdp", "v=0", 404),
      (path, "application/sdp", "", 400), (path, "application/sdp", "v=0\r\n", 400),
      (path, "application/json", "{}", 415), (path, "text/plain", "v=0", 415),
      (path, "application/sdp", SDPTests.session + SDPTests.audio, 406),
      (path, "application/sdp", "v=0\r\n" + String(repeating: "a=x\r\n", count: 20_000), 413),
      ("/api/webrtc?src=other", "application/sdp", "v=0", 404),
      ("/api/webrtc?src=camera", "application/json", #"{"type": "answer", "sdp": "v=0"}"#, 400),
      ("/api/webrtc?src=camera", "application/json", #"{"type": "offer", "sdp": "v=1"}"#, 400),
    ])
  func mistakes(path: String, type: String, body: String, status: Int) async throws {
    try await withService(Self.configuration()) { service in
      let answer = try await service.send("POST", path, [("Content-Type", type)], body: body)

      #expect(answer.status == status, "\(answer.text)")
      #expect(answer.text.contains("detail"))
      #expect(service.sessionCount == 0)
    }
  }

  @Test("`/api/webrtc` (go2rtc) answers an SDP offer with SDP and a JSON offer with JSON")
  func go2rtc() async throws {
    struct Description: Codable {
      var type: String
      var sdp: String
    }
    try await withService(Self.configuration()) { service in
      let peer = try await WHEPPeer()
      let raw = try await service.send("POST", "/api/webrtc?src=camera", Self.sdp, body: await peer.offer)
      #expect(raw.status == 201 && WHEPPeer.Answer(raw.text) != nil)

      let offer = try JSONEncoder().encode(Description(type: "offer", sdp: await peer.offer))
      let json = try await service.send(
        "POST", "/api/webrtc?src=camera/main", body: String(decoding: offer, as: UTF8.self))

      #expect(json.status == 200)
      let description = try json.json(Description.self)
      #expect(description.type == "answer")
      try await peer.connect(try #require(WHEPPeer.Answer(description.sdp)))
      try await peer.close()
    }
  }

  @Test("a client with half of all allowed sessions gets 429 until one of them ends")
  func limit() async throws {
    var configuration = Self.configuration()
    configuration.limits.webRTCSessions = 2
    try await withService(configuration) { service in
      let peer = try await WHEPPeer()
      let (first, _) = try await service.offer(peer)

      // One client has half of the places.
      let second = try await service.send("POST", Self.path, Self.sdp, body: await peer.offer)
      #expect(second.status == 429 && second.headers["Retry-After"] == ["5"])
      #expect(try await service.send("DELETE", first).status == 200)
      await until { service.sessionCount == 0 }
      #expect(try await service.send("POST", Self.path, Self.sdp, body: await peer.offer).status == 201)
      try await peer.vanish()
    }
  }

  @Test("concurrent offers share one UDP port")
  func together() async throws {
    try await withService(Self.configuration()) { service in
      let peer = try await WHEPPeer()
      let ports = try await withThrowingTaskGroup(of: Int.self) { group in
        for _ in 0..<8 { group.addTask { try await service.offer(peer).answer.port } }
        return try await group.reduce(into: Set<Int>()) { $0.insert($1) }
      }

      #expect(ports.count == 1)
      try await peer.vanish()
    }
  }

  @Test("after 40 sessions that end in different ways, no session is left")
  func many() async throws {
    var configuration = Self.configuration()
    configuration.limits.requestsPerSecond = 1_000_000
    try await withService(configuration) { service in
      for number in 0..<40 {
        let peer = try await WHEPPeer()
        let (location, answer) = try await service.offer(peer)
        if number % 4 > 0 { try await peer.connect(answer) }
        if number % 2 == 0 {
          _ = try await service.send("DELETE", location)
          try await peer.vanish()
        } else {
          try await peer.close()
        }
      }

      await until { service.sessionCount == 0 }
    }
  }
}
