// Peers that never read: clients that only send, on every connection on which the service answers what it is sent, and servers
// that take nothing of what the service tells them.
import NIOCore
import NIOPosix
import TestSupport
import Testing

@testable import Cluster
@testable import GLPreview
@testable import GLPreviewServer
@testable import MQTT
@testable import RTSP
@testable import ServiceCore
@testable import ServiceFoundation

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

  @Test("the service stops reading from a client that does not read its responses", arguments: Flood.allCases)
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

  @Test("the newest of 200 WebSocket pings is answered")
  func newestPing() async throws {
    try await withService(Self.configuration) { service in
      let peer = try await WebSocketPeer(to: service.port, "/api/ws?src=camera", isSmall: true)
      for number in 0..<200 { try await peer.send(9, [UInt8(number)]) }
      await peer.waits { peer.frames.contains { $0.opcode == 10 && $0.payload == [199] } }
      try await peer.close()
    }
  }

  @Test("a WebSocket client that sends only unknown messages is closed with code 1008")
  func neverUnderstood() async throws {
    try await withService(Self.configuration) { service in
      let peer = try await WebSocketPeer(to: service.port, "/api/ws?src=camera")
      for _ in 0..<5 { try await peer.send(#"{"type":"\#(String(repeating: "x", count: 100))"}"#) }
      try await peer.waitsForEnd()
      #expect(peer.closingCode == 1008)
      #expect(peer.texts.allSatisfy { $0.utf8.count < 120 })
    }
  }

  // MARK: Servers

  /// A server that the service tells of events.
  enum Listener: String, CaseIterable {
    case mqtt, nats, webhook

    func server() async throws -> SilentServer {
      switch self {
      case .mqtt: try await SilentServer(answer: [0x20, 2, 0, 0])
      case .nats: try await SilentServer(greeting: Array("INFO {}\r\n".utf8), answer: Array("PONG\r\n".utf8))
      case .webhook: try await SilentServer(answer: nil)
      }
    }

    func configuration(_ port: Int) -> ServerConfiguration {
      var configuration = ServerConfiguration(cameras: [
        CameraConfiguration(source: "pattern:counter,size=64x36,fps=20")
      ])
      switch self {
      case .mqtt:
        var mqtt = MQTTConfiguration()
        mqtt.server = .init(host: "127.0.0.1", port: port)
        configuration.mqtt = mqtt
      case .nats:
        configuration.cluster.name = "node"
        configuration.cluster.broker = NATSClusterConfiguration(servers: ["nats://127.0.0.1:\(port)"])
      case .webhook: configuration.snapshots.webhook = WebhookConfiguration(url: "http://127.0.0.1:\(port)/")
      }
      return configuration
    }

    func isConnected(_ service: RunningService) -> Bool {
      switch self {
      case .mqtt: service.inside.mqtt?.client.isConnected == true
      case .nats: service.inside.broker?.isConnected == true
      case .webhook: true
      }
    }

    /// Has the service tell of an event, a large one where that is possible.
    func tell(_ service: RunningService) {
      guard self != .webhook else {
        return service.inside.events.motionChanged("camera", .sceneChanged, showsAll: true)
      }
      service.inside.events.log.publish(type: "snapshot", data: [UInt8](repeating: 120, count: 30_000))
    }

    /// How many events were not told.
    func missed(_ metrics: ServiceMetrics) -> Int {
      let line =
        switch self {
        case .mqtt: #"glpreview_mqtt_messages_total{result="dropped"} "#
        case .nats: #"glpreview_broker_events_total{result="failed"} "#
        case .webhook: #"glpreview_webhook_events_total{result="dropped"} "#
        }
      return metrics.text.split(separator: "\n").first { $0.hasPrefix(line) }.flatMap {
        Int($0.dropFirst(line.count))
      } ?? 0
    }

    /// The most events that wait, with those that are on their way.
    var capacity: Int {
      switch self {
      case .mqtt: 256 + MQTTOutbox.window
      case .nats: .max
      case .webhook: WebhookConfiguration(url: "").capacity + 1
      }
    }
  }

  @Test(
    "events for a server that stops reading wait in a bounded queue and do not block shutdown",
    arguments: Listener.allCases)
  func listeners(_ listener: Listener) async throws {
    let server = try await listener.server()
    let (metrics, missed) = try await withService(listener.configuration(server.port), endsWithin: nil) {
      service async throws in
      await until { listener.isConnected(service) }
      func missed() -> Int { listener.missed(service.inside.metrics) }
      // Until the sockets and what waits are full; from then on, one goes or is refused for each that comes.
      await until {
        listener.tell(service)
        return missed() > 300
      }
      #expect(try await service.get("/healthz").status == 200)
      return (service.inside.metrics, missed())
    }
    // What waits is lost with the connection, of which NATS keeps no count.
    if listener != .nats { await until { listener.missed(metrics) > missed } }
    #expect(listener.missed(metrics) - missed <= listener.capacity)
    withExtendedLifetime(server) {}
  }
}
