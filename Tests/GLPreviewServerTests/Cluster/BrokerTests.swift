// Nodes that answer each other by a real nats-server.
import AsyncHTTPClient
import FoundationEssentials
import GLPreview
import NATS
import NIOCore
import NIOHTTP1
import TestSupport
import Testing

@testable import Cluster
@testable import GLPreviewServer
@testable import ServiceFoundation

@Suite("Requests by the broker", .enabled(if: NATSServer.isInstalled), .timeLimit(.minutes(15)))
struct BrokerTests {
  private static let main = "/cameras/camera/main"
  private static let view = "/api/cameras/camera/views/main"
  /// However long the machine takes.
  private static let old = "max_age=86400000"

  /// A still is the same frame for ever.
  private static func still(_ views: [ServedView] = [ServedView()]) -> ServerConfiguration {
    ServerConfiguration(cameras: [
      CameraConfiguration(source: "pattern:smpte,size=64x36,fps=0.001", views: views)
    ])
  }

  // MARK: Pictures

  @Test("snapshots come by the broker as they are over HTTP, with their header fields and conditions")
  func snapshots() async throws {
    try await withBroker(try await NATSServer(), Self.still()) { owner, edge in
      let words = Self.main + ".jpg?\(Self.old)"
      let (direct, through) = (try await owner.get(words), try await edge.get(words))
      #expect(through.status == 200 && through.bytes == direct.bytes && !direct.bytes.isEmpty)
      for name in [
        "ETag", "Content-Type", "Content-Length", "X-View-Size", "X-Timestamp", "X-Frame-Sequence",
      ] {
        #expect(through.headers[name] == direct.headers[name] && !direct.headers[name].isEmpty, "\(name)")
      }
      #expect(Set(through.headers.map(\.name)).isDisjoint(with: ["Status", "Method", "Target"]))

      let tag = try #require(direct.headers.first(name: "ETag"))
      let known = try await edge.get(words, [("If-None-Match", tag)])
      #expect(known.status == 304 && known.bytes.isEmpty && known.headers["ETag"] == [tag])
      let head = try await edge.send("HEAD", words)
      #expect(head.status == 200 && head.bytes.isEmpty)
      #expect(head.headers["Content-Length"] == direct.headers["Content-Length"])

      let png = try await edge.get(Self.main + ".png?width=32&\(Self.old)")
      #expect(png.headers["Content-Type"] == ["image/png"] && png.headers["X-View-Size"] == ["32x18"])
      let borrowed = try await edge.get("/api/frame.jpeg?src=camera/main&width=16&\(Self.old)")
      #expect(borrowed.headers["X-View-Size"] == ["16x9"])
      let wrong = try await edge.get(Self.main + ".jpg?width=wide")
      #expect(wrong.status == 400 && wrong.text.contains(#""parameter":"width""#))
      #expect(try await edge.get("/cameras/camera/nobody.jpg").status == 404)
      try await until { try await owner.answered("done") == 5 }
      try await until { try await owner.answered("refused") == 2 }
      #expect(
        try await edge.get("/metrics").text.contains(#"glpreview_peer_requests_total{result="done"} 5"#))
      #expect(try await edge.get("/metrics").text.contains("glpreview_broker_connected 1"))
    }
  }

  @Test("a mask is burnt in and a locked view stays locked, whoever asks by the broker")
  func masks() async throws {
    var locked = ServedView()
    locked.isLocked = true
    var owner = Self.still([locked])
    owner.cameras[0].options.masks = [PrivacyMask(.rectangle(.init(x: 0, y: 0, width: 64, height: 36)))]
    try await withBroker(try await NATSServer(), owner) { owner, edge in
      let plain = "/api/frame.jpeg?src=camera&\(Self.old)"
      let (direct, through) = (try await owner.get(plain), try await edge.get(plain))
      #expect(through.status == 200 && through.bytes == direct.bytes)
      try await withService(Self.still()) { open async throws in
        #expect(try await open.get(plain).bytes != through.bytes)
      }
      let crop = Self.main + ".jpg?crop=0,0,8,8"
      let (refused, same) = (try await owner.get(crop), try await edge.get(crop))
      #expect(refused.status >= 400 && same.status == refused.status && same.text == refused.text)
    }
  }

  @Test("an answer that is too large for a message is fetched over HTTP")
  func large() async throws {
    let server = try await NATSServer("max_payload: 2048")
    try await withBroker(server, StreamTests.configuration(), at: nil) { owner, edge in
      let picture = try await edge.get(Self.main + ".jpg")
      #expect(picture.status == 200 && picture.bytes.count > 2048)
      try await until { try await owner.answered("large") == 1 }
      #expect(try await edge.get(Self.main + ".jpg?width=16&quality=10").status == 200)
      try await until { try await owner.answered("done") == 1 }
    }
  }

  // MARK: Changes

  @Test("a view is changed by the broker with the owner's epoch, and not with a stale one")
  func changes() async throws {
    let server = try await NATSServer()
    try await withBroker(server, StreamTests.configuration()) { owner, edge in
      #expect(try await edge.send("PATCH", Self.view, body: #"{"width": 64}"#).status == 200)
      #expect(try await owner.get(Self.main + ".jpg").headers["X-View-Size"] == ["64x36"])
      #expect(try await edge.send("PATCH", Self.view, body: #"{"width": "wide"}"#).status == 400)
      #expect(try await edge.get("/api/cameras/camera").text.contains("pattern:"))

      owner.inside.responder?.serve(["camera": 6])
      let stale = try await edge.send("PATCH", Self.view, body: #"{"width": 32}"#)
      #expect(stale.status == 409 && stale.headers["Retry-After"] == ["1"])
      #expect(try await edge.get(Self.main + ".jpg").headers["X-View-Size"] == ["64x36"])
    }
  }

  @Test("who may only look changes nothing by the broker")
  func roles() async throws {
    let server = try await NATSServer()
    let tokens: [AccessConfiguration.Token] = [
      .init(secret: "look", role: .read), .init(secret: "change", role: .control),
    ]
    var owner = StreamTests.configuration()
    owner.access.tokens = tokens
    try await withBroker(server, owner, { $0.access.tokens = tokens }) { _, edge in
      let (look, change) = ([("Authorization", "Bearer look")], [("Authorization", "Bearer change")])
      #expect(try await edge.send("PATCH", Self.view, look, body: #"{"width": 64}"#).status == 403)
      #expect(try await edge.send("PATCH", Self.view, change, body: #"{"width": 64}"#).status == 200)
      #expect(try await edge.get(Self.main + ".jpg", look).status == 200)
      #expect(try await edge.get(Self.main + ".jpg").status == 401)
      let one = try await edge.get("/api/cameras/camera", look)
      #expect(one.status == 200 && !one.text.contains("pattern:"))
    }
  }

  // MARK: Faults

  @Test("a node that has the camera no more is told of with 503, and soon again")
  func nobody() async throws {
    try await withBroker(try await NATSServer(), Self.still()) { owner, edge in
      owner.inside.responder?.serve([:])
      await until { (try? await edge.get(Self.main + ".jpg").status) == 503 }
      let answer = try await edge.get(Self.main + ".jpg")
      #expect(answer.headers["Retry-After"] == ["1"] && answer.text.contains("node 'owner'"))
      owner.inside.responder?.serve(["camera": 7])
      await until { (try? await edge.get(Self.main + ".jpg").status) == 200 }
    }
  }

  @Test("without the broker, requests go over HTTP; the log says so once, and once when it is back")
  func brokerIsLost() async throws {
    let folder = NATSServer.makeFolder()
    let server = try await NATSServer(folder: folder)
    let records = LogRecords()
    try await withBroker(server, Self.still(), at: nil, logger: records.logger) { owner, edge in
      #expect(try await edge.get(Self.main + ".jpg?\(Self.old)").status == 200)
      await server.kill9()
      await until { edge.inside.broker?.isConnected == false }
      #expect(try await edge.get(Self.main + ".jpg?\(Self.old)").status == 200)
      #expect(try await edge.send("PATCH", Self.view, body: #"{"width": 32}"#).status == 200)
      try await until { try await owner.answered("done") == 1 }
      #expect(try await edge.get("/metrics").text.contains("glpreview_broker_connected 0"))

      let again = try await NATSServer(port: server.port)
      for service in [owner, edge] { await until { service.inside.broker?.isConnected == true } }
      await until { (try? await edge.get(Self.main + ".jpg?\(Self.old)").status) == 200 }
      await until { (try? await owner.answered("done")) ?? 0 > 1 }
      await until { records.messages.count { $0 == "broker connected" } == 2 }
      #expect(records.messages.count { $0 == "broker lost" } == 1)
      withExtendedLifetime(again) {}
    }
  }

  @Test("a subject that the servers refuse to this node is served over HTTP")
  func refused() async throws {
    let server = try await NATSServer(
      #"""
      authorization { users: [
        {user: "node", password: "node"},
        {user: "edge", password: "edge", permissions: {publish: {deny: ["glp.snap.>"]}}}
      ] }
      """#)
    var owner = Self.still()
    owner.cluster.broker = BrokerConfiguration()
    let configuration = owner
    try await withService(configuration.sharing(as: "owner", server, user: "node")) { owner in
      let edge = ServerConfiguration(cameras: []).sharing(as: "edge", server, user: "edge")
      try await withService(edge) { edge in
        let broker = try #require(edge.inside.broker)
        await until { broker.isConnected }
        try broker.client.publish("glp.snap.camera")
        await until { broker.isRefused("glp.snap.camera") }
        edge.inside.peers.apply(owner.asOwner())
        #expect(try await edge.get(Self.main + ".jpg").status == 200)
        #expect(try await owner.answered("done") == 0)
      }
    }
  }
}
