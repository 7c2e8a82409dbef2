// Nodes that answer programs by a real nats-server, and each other over HTTP.
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

@Suite("Requests over NATS", .enabled(if: NATSServer.isInstalled), .timeLimit(.minutes(15)))
struct BrokerTests {
  private static let main = "/cameras/camera/main"
  private static let view = "/api/cameras/camera/views/main"
  /// However long the machine takes.
  private static let old = "max_age=86400000"

  private static func message(_ target: String, _ fields: (String, String)...) -> NATSHeaders {
    // On a busy machine a picture takes longer than the 15 seconds of a message that says nothing.
    var headers: NATSHeaders = ["Target": target, "Deadline": "600000"]
    for (name, value) in fields { headers.add(value, for: name) }
    return headers
  }

  /// A still is the same frame for ever.
  private static func still(_ views: [ServedView] = [ServedView()]) -> ServerConfiguration {
    ServerConfiguration(cameras: [
      CameraConfiguration(source: "pattern:smpte,size=64x36,fps=0.001", views: views)
    ])
  }

  // MARK: Programs

  @Test("a snapshot over NATS has the same bytes, header fields and 304 response as over HTTP")
  func snapshots() async throws {
    let server = try await NATSServer()
    try await withBroker(server, Self.still()) { owner, _ in
      try await withClient(of: server) { client async throws in
        let words = Self.main + ".jpg?\(Self.old)"
        let direct = try await owner.get(words)
        let answer = try await client.request("glp.snap.camera", headers: Self.message(words))
        #expect(answer.headers["Status"] == "200")
        #expect(answer.payload == direct.bytes && !direct.bytes.isEmpty)
        for name in ["ETag", "Content-Type", "X-View-Size", "X-Timestamp", "X-Frame-Sequence"] {
          #expect(answer.headers[name] == direct.headers.first(name: name) && answer.headers[name] != nil)
        }
        let tag = try #require(direct.headers.first(name: "ETag"))
        let known = try await client.request(
          "glp.snap.camera", headers: Self.message(words, ("If-None-Match", tag)))
        #expect(known.headers["Status"] == "304" && known.payload.isEmpty)
        try await until { try await owner.answered("done") == 2 }
      }
    }
  }

  @Test("masks and locked views apply to requests over NATS as over HTTP")
  func masks() async throws {
    var locked = ServedView()
    locked.isLocked = true
    var owner = Self.still([locked])
    owner.cameras[0].options.masks = [PrivacyMask(.rectangle(.init(x: 0, y: 0, width: 64, height: 36)))]
    let server = try await NATSServer()
    try await withBroker(server, owner) { owner, _ in
      try await withClient(of: server) { client async throws in
        let plain = "/api/frame.jpeg?src=camera&\(Self.old)"
        let answer = try await client.request("glp.snap.camera", headers: Self.message(plain))
        #expect(try await owner.get(plain).bytes == answer.payload)
        try await withService(Self.still()) { open async throws in
          #expect(try await open.get(plain).bytes != answer.payload)
        }
        let crop = Self.main + ".jpg?crop=0,0,8,8"
        let refused = try await client.request("glp.snap.camera", headers: Self.message(crop))
        let same = try await owner.get(crop)
        #expect(same.status >= 400 && refused.headers["Status"] == "\(same.status)")
        #expect(String(decoding: refused.payload, as: UTF8.self) == same.text)
      }
    }
  }

  @Test("a response above the NATS payload limit becomes 303, and a released camera has no responder")
  func faults() async throws {
    let server = try await NATSServer("max_payload: 2048")
    try await withBroker(server, StreamTests.configuration()) { owner, _ in
      try await withClient(of: server) { client async throws in
        let large = try await client.request("glp.snap.camera", headers: Self.message(Self.main + ".jpg"))
        #expect(large.headers["Status"] == "303" && large.payload.isEmpty)
        let small = Self.message(Self.main + ".jpg?width=16&quality=10")
        #expect(try await client.request("glp.snap.camera", headers: small).headers["Status"] == "200")
        try await until { try await owner.answered("large") == 1 }
        owner.inside.responder?.serve([:])
        await until {
          // One that arrives while the node gives the camera up is answered too.
          do { _ = try await client.request("glp.snap.camera", headers: small) } catch {
            return error as? NATSError == .noResponders
          }
          return false
        }
      }
    }
  }

  // MARK: Nodes

  @Test(
    "peers use HTTP with and without NATS; the loss and return of NATS are logged once each")
  func brokerIsLost() async throws {
    let folder = NATSServer.makeFolder()
    let server = try await NATSServer(folder: folder)
    let records = LogRecords()
    try await withBroker(server, Self.still(), logger: records.logger) { owner, edge in
      let (direct, through) = (
        try await owner.get(Self.main + ".jpg?\(Self.old)"),
        try await edge.get(Self.main + ".jpg?\(Self.old)")
      )
      #expect(through.status == 200 && through.bytes == direct.bytes)
      #expect(try await edge.get("/metrics").text.contains("glpreview_broker_connected 1"))
      await server.kill9()
      await until { edge.inside.broker?.isConnected == false }
      #expect(try await edge.get(Self.main + ".jpg?\(Self.old)").status == 200)
      #expect(try await edge.send("PATCH", Self.view, body: #"{"width": 32}"#).status == 200)
      #expect(try await edge.get("/metrics").text.contains("glpreview_broker_connected 0"))

      let again = try await NATSServer(port: server.reserved)
      for service in [owner, edge] { await until { service.inside.broker?.isConnected == true } }
      await until { records.messages.count { $0 == "NATS server connected" } == 2 }
      #expect(records.messages.count { $0 == "NATS server lost" } == 1)
      #expect(try await owner.answered("done") == 0)
      withExtendedLifetime(again) {}
    }
  }
}
