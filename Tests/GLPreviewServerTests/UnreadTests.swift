// Peers that send and never read, on every connection on which the service answers what it is sent.
import NIOCore
import NIOPosix
import TestSupport
import Testing

@testable import GLPreview
@testable import GLPreviewServer

@Suite("Peers that do not read", .timeLimit(.minutes(15)))
struct UnreadTests {
  /// What is sent again and again, and how its connection begins.
  enum Flood: String, CaseIterable {
    case requests, pings, unknownTexts, sameTexts, offers, rtspOptions, rtspDescriptions

    var isRTSP: Bool { self == .rtspOptions || self == .rtspDescriptions }

    var beginning: String {
      switch self {
      case .requests, .rtspOptions, .rtspDescriptions: ""
      case .pings, .unknownTexts, .sameTexts, .offers:
        (["GET /api/ws?src=camera HTTP/1.1", "Host: localhost"] + WebSocketPeer.usual).map { $0 + "\r\n" }
          .joined() + "\r\n"
      }
    }

    var message: [UInt8] {
      switch self {
      case .requests: Array("GET /api/cameras HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)
      case .pings: WebSocketPeer.frame(9, [UInt8](repeating: 120, count: 125))
      case .unknownTexts:
        WebSocketPeer.frame(1, Array((#"{"type":""# + String(repeating: "x", count: 60_000) + #""}"#).utf8))
      case .sameTexts: WebSocketPeer.frame(1, Array(#"{"type":"mjpeg"}"#.utf8))
      case .offers: WebSocketPeer.frame(1, Array(#"{"type":"webrtc/offer","value":"v=0"}"#.utf8))
      case .rtspOptions: Array("OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n".utf8)
      case .rtspDescriptions: Array("DESCRIBE rtsp://localhost/none RTSP/1.0\r\nCSeq: 1\r\n\r\n".utf8)
      }
    }
  }

  private static let configuration = {
    var configuration = ServerConfiguration(cameras: [
      CameraConfiguration(source: "pattern:counter,size=320x180,fps=20")
    ])
    configuration.rtsp.listen = .at(host: "127.0.0.1", port: 0)
    return configuration
  }()

  /// More than the sockets of both sides hold (by default up to 4 and 6 MiB), and less than memory would.
  private static let mostTaken = 48 << 20

  @Test("what the service does not send, it does not take either", arguments: Flood.allCases)
  func floods(_ flood: Flood) async throws {
    try await withService(Self.configuration) { service in
      await until { service.inside.rtsp.port != nil }
      let port = flood.isRTSP ? try #require(service.inside.rtsp.port) : service.port
      let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .connectTimeout(.hours(1))
        .channelOption(.autoRead, value: false)
        .channelOption(.socketOption(.so_rcvbuf), value: 4096)
        .connect(host: "127.0.0.1", port: port).get()
      let sent = Watched(Taken())
      let sender = Task {
        var block = ByteBuffer(string: flood.beginning)
        if block.readableBytes > 0 { try await channel.writeAndFlush(block) }
        block = ByteBuffer(
          bytes: Array(repeatElement(flood.message, count: 65_536 / flood.message.count + 1).joined()))
        while sent.value.bytes < Self.mostTaken {
          do { try await channel.writeAndFlush(block) } catch { break }
          sent.update { $0.bytes += block.readableBytes }
        }
        sent.update { $0.isOver = true }
      }

      // Until the service has taken nothing for as long as it takes to answer others often.
      var (last, answers) = (-1, 0)
      while !sent.value.isOver, answers < 100 {
        let now = sent.value.bytes
        (last, answers) = (now, now == last ? answers + 1 : 0)
        #expect(try await service.get("/healthz").status == 200)
      }
      #expect(sent.value.bytes < Self.mostTaken)
      try? await channel.close()
      try? await sender.value
      await until { service.inside.rtsp.clientCount == 0 }
    }
  }

  private struct Taken: Sendable {
    var bytes = 0
    var isOver = false
  }

  @Test("the newest ping is answered once the client reads again")
  func newestPing() async throws {
    try await withService(Self.configuration) { service in
      let peer = try await WebSocketPeer(to: service.port, "/api/ws?src=camera", isSmall: true)
      for number in 0..<200 { try await peer.send(9, [UInt8(number)]) }
      await peer.waits { peer.frames.contains { $0.opcode == 10 && $0.payload == [199] } }
      try await peer.close()
    }
  }

  @Test("a client whose messages are never understood is sent away")
  func neverUnderstood() async throws {
    try await withService(Self.configuration) { service in
      let peer = try await WebSocketPeer(to: service.port, "/api/ws?src=camera")
      for _ in 0..<5 { try await peer.send(#"{"type":"\#(String(repeating: "x", count: 100))"}"#) }
      try await peer.waitsForEnd()
      #expect(peer.closingCode == 1008)
      #expect(peer.texts.allSatisfy { $0.utf8.count < 120 })
    }
  }
}
