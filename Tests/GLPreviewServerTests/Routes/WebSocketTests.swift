// go2rtc's WebSocket, and WebSockets as such: what is asked for, what is wrong, and the end.
import Foundation
import NIOHTTP1
import TestSupport
import Testing

@testable import GLPreview
@testable import GLPreviewServer
@testable import ServiceCore
@testable import ServiceFoundation

@Suite("WebSockets", .timeLimit(.minutes(15)))
struct WebSocketTests {
  private static let path = "/api/ws?src=camera"

  private static func configuration(_ views: [ServedView] = [ServedView()]) -> ServerConfiguration {
    ServerConfiguration(
      cameras: [CameraConfiguration(source: "pattern:counter,size=320x180,fps=20", views: views)])
  }

  @Test("Sec-WebSocket-Accept is computed as in the example of RFC 6455")
  func accept() throws {
    #expect(try WebSocket.accept("dGhlIHNhbXBsZSBub25jZQ==") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
  }

  // MARK: Pictures

  @Test("MSE sends the codec type, an initialization segment, then fragments", .enabled(if: hasEncoder))
  func mse() async throws {
    try await withService(Self.configuration()) { service in
      let peer = try await WebSocketPeer(to: service.port, Self.path + "/main&width=160")
      #expect(peer.head.hasPrefix("HTTP/1.1 101 "))
      try await peer.send(#"{"type": "mse", "value": "avc1.640029,hvc1.1.6.L153.B0"}"#)
      await peer.waits { peer.frames.count { $0.opcode == 2 } > 3 }
      #expect(peer.texts.first?.contains("avc1.42") == true)
      let parts = peer.frames.filter { $0.opcode == 2 }.map {
        String(decoding: $0.payload[4..<8], as: UTF8.self)
      }
      #expect(parts.first == "ftyp")
      #expect(parts.dropFirst().allSatisfy { $0 == "moof" })
      #expect(service.inside.videos.clientCount(of: "camera", "main") == 1)
      try await peer.close()
      await until { service.inside.videos.clientCount(of: "camera", "main") == 0 }
    }
  }

  @Test(
    "MSE sends keyframes more often than a view's keyframe interval of 60 s",
    .enabled(if: hasEncoder))
  func keys() async throws {
    var view = ServedView()
    view.video.keyframeInterval = .seconds(60)
    try await withService(Self.configuration([view])) { service in
      let peer = try await WebSocketPeer(to: service.port, Self.path)
      try await peer.send(#"{"type": "mse"}"#)
      // The flags of a sample with which decoding can begin are the last field of `trun`, before `mdat` and its length.
      func keys() -> [Int] {
        let fragments = peer.frames.filter { $0.opcode == 2 }.map(\.payload)
        return fragments.indices.filter { index in
          let data = fragments[index].firstRange(of: Array("mdat".utf8))?.lowerBound ?? 8
          return fragments[index][data - 8..<data - 4] == [2, 0, 0, 0]
        }
      }
      await peer.waits { keys().count > 2 }
      #expect(keys().first == 0)
      // The time of a fragment's picture, in ticks of 1/90000 s.
      func time(_ index: Int) throws -> Int {
        let fragment = peer.frames.filter { $0.opcode == 2 }[index].payload
        // Version 1 has 64 bits, after the version and the flags.
        let start = try #require(fragment.firstRange(of: Array("tfdt".utf8))).upperBound + 4
        return fragment[start..<start + 8].reduce(0) { $0 << 8 | Int($1) }
      }
      // By the pictures' own clock, so that it does not matter how long they took.
      let found = keys()
      let distance = try time(found[2]) - time(found[0])
      #expect(distance < 60 * 90_000, "the view's own keyframes are this far apart")
    }
  }

  @Test("MJPEG over WebSocket sends one JPEG per message, in the width that the URL requests")
  func mjpeg() async throws {
    try await withService(Self.configuration()) { service in
      let peer = try await WebSocketPeer(to: service.port, Self.path + "&width=64")
      try await peer.send(#"{"type":"mjpeg"}"#)
      await peer.waits { peer.frames.count { $0.opcode == 2 } > 2 }
      #expect(peer.texts == [#"{"type":"mjpeg"}"#])
      for frame in peer.frames where frame.opcode == 2 {
        let width = try JPEGProbe(frame.payload).width
        #expect(width == 64)
      }
      #expect(service.inside.streams.all.flatMap(\.subscriptions).count == 1)
      try await peer.close()
      await until { service.inside.streams.all.flatMap(\.subscriptions).isEmpty }
    }
  }

  @Test(
    "WebRTC offers over WebSocket are answered in both message formats", .enabled(if: hasWebRTC && hasEncoder)
  )
  func webRTC() async throws {
    try await withService(Self.configuration()) { service in
      let peer = try await WebSocketPeer(to: service.port, Self.path)
      // The peer's lines end in either way; JSON has neither.
      let offer = try await WHEPPeer().offer.split(whereSeparator: \.isNewline).joined(separator: "\\r\\n")
      try await peer.send(#"{"type":"webrtc/offer","value":"\#(offer)"}"#)
      try await peer.send(#"{"type":"webrtc/candidate","value":"candidate:1 1 udp 1 10.0.0.1 9 typ host"}"#)
      try await peer.send(#"{"type":"webrtc","value":{"type":"offer","sdp":"\#(offer)"}}"#)
      await peer.waits { peer.texts.count == 2 || peer.frames.contains { $0.opcode == 8 } }
      let texts = peer.texts.sorted { $0.count < $1.count }
      #expect(
        texts.count { $0.contains(#""type":"webrtc\/answer""#) || $0.contains(#""webrtc/answer""#) } == 1)
      #expect(texts.allSatisfy { $0.contains("a=ice-lite") })
    }
  }

  // MARK: Errors

  @Test(
    "an unsupported WebSocket request returns an error message, and the connection stays open",
    arguments: [
      (#"{"type":"mse","value":"hvc1.1.6.L153.B0"}"#, "mse: the client does not accept H.264"),
      (#"{"type":"hls"}"#, "hls: not supported"),
      (#"{"type":"webrtc/offer","value":"v=0"}"#, "webrtc/offer: "),
      (#"{"type":"webrtc"}"#, "webrtc: the value is not an offer"),
    ])
  func refusals(message: String, reason: String) async throws {
    try await withService(Self.configuration()) { service in
      let peer = try await WebSocketPeer(to: service.port, Self.path)
      try await peer.send(message)
      await peer.waits { !peer.texts.isEmpty }
      #expect(peer.texts.first?.replacing("\\/", with: "/").contains(reason) == true)
      #expect(peer.texts.first?.contains(#""error""#) == true)
      try await peer.send(9, [7])
      await peer.waits { peer.frames.contains { $0.opcode == 10 && $0.payload == [7] } }
    }
  }

  @Test("invalid WebSocket upgrades return 400, 404 or 426, and disallowed origins return 403")
  func requests() async throws {
    var configuration = Self.configuration()
    configuration.access.allowedOrigins = ["https://home.example", "*"]
    try await withService(configuration) { service in
      func status(_ path: String, _ fields: [String], _ more: [String] = []) async throws -> String {
        let peer = try await WebSocketPeer(to: service.port, path, fields: fields, more: more)
        defer { Task { try? await peer.close() } }
        return String(peer.head.dropFirst(9).prefix(3))
      }
      let usual = WebSocketPeer.usual
      let requests: [(path: String, fields: [String], origin: String?, status: String)] = [
        (Self.path, [], nil, "426"), (Self.path, usual.filter { !$0.contains("Key") }, nil, "400"),
        (Self.path, usual.map { $0.replacing(": 13", with: ": 8") }, nil, "426"),
        (Self.path, usual.map { $0.replacing(": 13", with: ": 013") }, nil, "426"),
        (Self.path, usual.filter { !$0.contains("Version") }, nil, "426"),
        ("/api/ws?src=gone", usual, nil, "404"), (Self.path + "&size=0x0", usual, nil, "400"),
        (Self.path, usual, "https://evil.example", "403"), (Self.path, usual, "http://localhost", "101"),
        (Self.path, usual, "https://home.example", "101"),
      ]
      for (path, fields, origin, expected) in requests {
        let answered = try await status(path, fields, origin.map { ["Origin: \($0)"] } ?? [])
        #expect(answered == expected, "\(path) \(origin ?? "")")
      }
    }
  }

  @Test("an HTTP/1.0 upgrade returns 426, and an unsupported version returns the supported one, 13")
  func versions() async throws {
    try await withService(Self.configuration()) { service in
      let old = try await WebSocketPeer(to: service.port, Self.path, version: "HTTP/1.0")
      #expect(old.head.contains(" 426 "))
      let fields = WebSocketPeer.usual.map { $0.replacing(": 13", with: ": 8, 7") }
      let other = try await WebSocketPeer(to: service.port, Self.path, fields: fields)
      #expect(other.head.contains("\r\nSec-WebSocket-Version: 13\r\n"))
      #expect(other.head.contains("\r\nUpgrade: websocket\r\n"))
    }
  }

  @Test("WebSocket frames sent with the upgrade request are processed after the 101 response")
  func early() async throws {
    try await withService(Self.configuration()) { service in
      let early = WebSocketPeer.frame(9, [7]) + WebSocketPeer.frame(1, Array(#"{"type":"hls"}"#.utf8))
      let peer = try await WebSocketPeer(to: service.port, Self.path, early: early)
      #expect(peer.head.hasPrefix("HTTP/1.1 101 "))
      await peer.waits {
        peer.frames.contains { $0.opcode == 10 && $0.payload == [7] } && !peer.texts.isEmpty
      }
      // What breaks the protocol is answered after the head, too.
      let wrong = try await WebSocketPeer(
        to: service.port, Self.path, early: WebSocketPeer.frame(2, [1]))
      try await wrong.waitsForEnd()
      #expect(wrong.head.hasPrefix("HTTP/1.1 101 ") && wrong.closingCode == 1003)
    }
  }

  @Test(
    "an upgrade on /healthz returns 200 with `Connection: close` and ends the connection",
    arguments: [
      "Upgrade: h2c\r\nConnection: keep-alive, Upgrade", "Upgrade: websocket\r\nConnection: Upgrade",
    ])
  func refused(fields: String) async throws {
    try await withService(Self.configuration()) { service in
      let connection = try await RawConnection(
        to: service.port,
        sending: "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
          + "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\(fields)\r\n\r\n")
      try await connection.waitsForEnd()
      let answers = connection.received.components(separatedBy: "HTTP/1.1 200 ")
      #expect(answers.count == 3)
      #expect(!answers[1].contains("Connection: close") && answers[2].contains("Connection: close"))
    }
  }

  @Test("a WebSocket with the token in its URL is accepted, and without a token returns 401")
  func access() async throws {
    var configuration = Self.configuration()
    configuration.access.tokens = [.init(secret: "look", role: .read)]
    try await withService(configuration) { service in
      let stranger = try await WebSocketPeer(to: service.port, Self.path)
      #expect(stranger.head.hasPrefix("HTTP/1.1 401 "))
      let friend = try await WebSocketPeer(to: service.port, Self.path + "&token=look")
      #expect(friend.head.hasPrefix("HTTP/1.1 101 "))
    }
  }

  @Test(
    "an invalid or closing WebSocket frame ends the connection with the matching close code",
    arguments: [
      (WebSocketPeer.frame(1, [1], isMasked: false), 1002), (WebSocketPeer.frame(1, [0xff]), 1007),
      (WebSocketPeer.frame(2, [1]), 1003), ([0x81, 0xff, 0, 0, 0, 1, 0, 0, 0, 0, 1, 2, 3, 4], 1009),
      (WebSocketPeer.frame(8, [3, 232]), 1000), (WebSocketPeer.frame(1, Array("no JSON".utf8)), 1000),
      ([0xf1, 0x80, 1, 2, 3, 4], 1002), ([0x80, 0x80, 1, 2, 3, 4], 1002), ([0x83, 0x80, 1, 2, 3, 4], 1002),
      ([0x09, 0x80, 1, 2, 3, 4], 1002), ([0x01, 0x80, 1, 2, 3, 4, 0x01, 0x80, 1, 2, 3, 4], 1002),
      ([0x01, 0x80, 1, 2, 3, 4] + (0..<70).flatMap { _ in [0x00, 0x80, 1, 2, 3, 4] }, 1009),
    ] as [([UInt8], Int)])
  func violations(bytes: [UInt8], code: Int) async throws {
    try await withService(Self.configuration()) { service in
      let peer = try await WebSocketPeer(to: service.port, Self.path)
      try await peer.send(bytes: bytes)
      try await peer.waitsForEnd()
      #expect(peer.closingCode == code)
    }
  }

  @Test("a WebSocket client gets an error message when its view is switched off")
  func switchedOff() async throws {
    try await withService(Self.configuration()) { service in
      let peer = try await WebSocketPeer(to: service.port, Self.path)
      try await peer.send(#"{"type":"mjpeg"}"#)
      await peer.waits { peer.frames.contains { $0.opcode == 2 } }
      _ = try await service.send("PATCH", "/api/cameras/camera/views/main", body: #"{"enabled": false}"#)
      await peer.waits { peer.texts.count == 2 }
      #expect(peer.texts.last?.contains("mjpeg: ") == true)
    }
  }
}
