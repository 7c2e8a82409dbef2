// Nodes that serve each other's cameras, over HTTP on loopback.
import AsyncHTTPClient
import FoundationEssentials
import NIOCore
import NIOHTTP1
import Synchronization
import TestSupport
import Testing

@testable import GLPreview
@testable import GLPreviewServer
@testable import ServiceCore
@testable import ServiceFoundation

@Suite("Peers", .timeLimit(.minutes(15)))
struct PeerTests {
  private static let main = "/cameras/camera/main"

  private static func secured(_ configuration: ServerConfiguration) -> ServerConfiguration {
    var configuration = configuration
    configuration.access.tokens = [
      .init(secret: "look", role: .read), .init(secret: "change", role: .control),
    ]
    return configuration
  }

  private static func bearing(_ token: String) -> [(String, String)] {
    [("Authorization", "Bearer \(token)")]
  }

  private static func camera(_ name: String, _ node: String) -> ServerConfiguration {
    var configuration = ServerConfiguration(
      cameras: [CameraConfiguration(name: name, source: StreamTests.pattern)])
    configuration.cluster.name = node
    return configuration
  }

  // MARK: Listing and snapshots

  @Test("a node lists its peer's cameras and serves their snapshots with the same bytes and headers")
  func snapshots() async throws {
    var still = StreamTests.configuration()
    // A still is the same frame for ever.
    still.cameras[0].source = "pattern:smpte,size=64x36,fps=0.001"
    try await withOwnerAndEdge(still) { owner, edge in
      let listed = try await edge.nodes()
      #expect(listed.cameras.map(\.name) == ["camera"] && listed.cameras[0].node == "owner")
      #expect(listed.cameras[0].node_url == owner.base && listed.cameras[0].source == nil)
      #expect(listed.node?.name == "edge" && listed.peers?.map(\.state) == ["up"])

      // However long the machine takes.
      let old = "max_age=86400000"
      let words = Self.main + ".jpg?\(old)"
      let (direct, through) = (try await owner.get(words), try await edge.get(words))
      #expect(through.status == 200 && through.bytes == direct.bytes && !direct.bytes.isEmpty)
      for name in ["ETag", "Content-Type", "X-View-Size", "X-Timestamp", "X-Frame-Sequence", "Cache-Control"]
      {
        #expect(through.headers[name] == direct.headers[name] && !direct.headers[name].isEmpty, "\(name)")
      }
      let tag = try #require(direct.headers.first(name: "ETag"))
      let known = try await edge.get(words, [("If-None-Match", tag)])
      #expect(known.status == 304 && known.bytes.isEmpty && known.headers["ETag"] == [tag])
      let head = try await edge.send("HEAD", words)
      #expect(head.status == 200 && head.bytes.isEmpty)

      let png = try await edge.get(Self.main + ".png?width=32&\(old)")
      #expect(png.headers["Content-Type"] == ["image/png"] && png.headers["X-View-Size"] == ["32x18"])
      let wrong = try await edge.get(Self.main + ".jpg?width=wide")
      #expect(wrong.status == 400 && wrong.text.contains(#""parameter":"width""#))
      #expect(try await edge.get("/cameras/camera/nobody.jpg").status == 404)
      #expect(try await edge.get("/cameras/nobody/main.jpg").status == 404)
      let borrowed = try await edge.get("/api/frame.jpeg?src=camera/main&width=16&\(old)")
      #expect(borrowed.headers["X-View-Size"] == ["16x9"])
      #expect(try await edge.get("/api/cameras/camera").text.contains(#""source":"#))
      #expect(try await edge.get("/api/ws?src=camera").status == 426)
      let metrics = try await edge.get("/metrics").text
      #expect(metrics.contains(#"glpreview_peer_up{peer="owner"} 1"#))
      #expect(metrics.contains(#"glpreview_peer_requests_total{result="refused"} 2"#))
    }
  }

  @Test(
    "view changes and snapshots of a peer's camera are made there, and its errors are forwarded"
  )
  func changes() async throws {
    try await withOwnerAndEdge(StreamTests.configuration()) { owner, edge in
      let path = "/api/cameras/camera/views/main"
      #expect(try await edge.send("PATCH", path, body: #"{"width": 64}"#).status == 200)
      #expect(try await owner.get(Self.main + ".jpg").headers["X-View-Size"] == ["64x36"])
      #expect(try await edge.send("PATCH", path, body: #"{"width": "wide"}"#).status == 400)

      let taken = try await edge.send("POST", "/api/cameras/camera/snapshots", body: #"{"views": ["main"]}"#)
      #expect(taken.status == 200 && taken.text.contains(#""view":"main""#))
      let parts = try await edge.send(
        "POST", "/api/cameras/camera/snapshots", [("Accept", "multipart/mixed")], body: "{}")
      #expect(parts.headers.first(name: "Content-Type")?.hasPrefix("multipart/mixed; boundary=") == true)
      #expect(try await edge.get("/api/cameras/camera/controls").status == 409)

      #expect(try await edge.send("PATCH", path, body: #"{"enabled": false}"#).status == 200)
      #expect(try await edge.get(Self.main + ".jpg").status == 409)
      #expect(try await edge.get(Self.main + ".mjpeg").status == 409)
    }
  }

  // MARK: Roles

  @Test("a read-only client changes nothing at a peer and sees no sources or addresses")
  func roles() async throws {
    try await withOwnerAndEdge(
      Self.secured(StreamTests.configuration()), token: "change", { $0 = Self.secured($0) }
    ) { owner, edge in
      let (look, change) = (Self.bearing("look"), Self.bearing("change"))
      let path = "/api/cameras/camera/views/main"
      #expect(try await edge.send("PATCH", path, look, body: #"{"width": 64}"#).status == 403)
      #expect(try await edge.send("PATCH", path, change, body: #"{"width": 64}"#).status == 200)

      let seen = try await edge.get("/api/cameras", look).text
      #expect(!seen.contains(owner.base) && !seen.contains("pattern:") && seen.contains(#""node":"owner""#))
      #expect(try await edge.nodes(change).peers?.first?.url == owner.base)
      let one = try await edge.get("/api/cameras/camera", look)
      #expect(one.status == 200 && !one.text.contains("pattern:") && !one.text.contains("watchers"))
      #expect(try await edge.get("/api/cameras/camera", change).text.contains("pattern:"))
      #expect(try await edge.get(Self.main + ".jpg").status == 401)
      #expect(try await edge.get(Self.main + ".jpg?token=look").status == 200)
      let stream = HTTPClientRequest(url: edge.base + Self.main + ".mjpeg?token=look")
      #expect(try await HTTPClient.patient.execute(stream, timeout: .hours(1)).status == .ok)
    }
  }

  @Test("X-GLPreview-Role only lowers the role of a token, and an unknown role counts as the lowest")
  func lowering() async throws {
    try await withService(Self.secured(StreamTests.configuration())) { service in
      for (token, role, status) in [
        ("change", "control", 200), ("change", "read", 403), ("look", "control", 403),
        ("change", "king", 403),
      ] {
        let answer = try await service.send(
          "PATCH", "/api/cameras/camera/views/main", Self.bearing(token) + [("X-GLPreview-Role", role)],
          body: #"{"width": 64}"#)
        #expect(answer.status == status, "\(token) as \(role)")
      }
      #expect(try await service.send("GET", "/api/cameras", [("X-GLPreview-Role", "control")]).status == 401)
    }
  }

  @Test("a read-only cluster token allows no change at the peer, and a wrong one is reported")
  func tokens() async throws {
    let owner = Self.secured(StreamTests.configuration())
    try await withOwnerAndEdge(owner, token: "look") { _, edge async throws in
      let path = "/api/cameras/camera/views/main"
      #expect(try await edge.send("PATCH", path, body: #"{"width": 64}"#).status == 403)
      #expect(try await edge.get(Self.main + ".jpg").status == 200)
    }
    try await withService(owner) { owner in
      try await withService(edgeConfiguration(of: owner.base, token: "wrong")) { edge in
        await until { edge.inside.peers.cluster.peers.first?.state == .unauthorized }
        let peer = try #require(try await edge.nodes().peers?.first)
        #expect(peer.state == "unauthorized" && peer.reason?.contains("token") == true)
        #expect(try await edge.get(Self.main + ".jpg").status == 404)
      }
    }
  }

  // MARK: Rings

  @Test("in a ring of three a node serves only its own and its peer's cameras; a second hop gets 508")
  func ring() async throws {
    try await withService(Self.camera("a", "A")) { a in
      try await withService(Self.camera("b", "B")) { b in
        try await withService(Self.camera("c", "C")) { c in
          for (node, next, own) in [(a, b, ("a", "A")), (b, c, ("b", "B")), (c, a, ("c", "C"))] {
            var configuration = Self.camera(own.0, own.1)
            configuration.cluster.peers = [next.base]
            try await node.inside.apply(configuration)
          }
          for node in [a, b, c] {
            await until { node.inside.peers.cluster.peers.first?.state == .up }
            // Once more, now that all know each other.
            node.inside.peers.requestPoll(node.inside.peers.cluster.peers[0].url)
          }
          #expect(try await a.nodes().cameras.map(\.name) == ["a", "b"])
          #expect(try await b.nodes().cameras.map(\.name) == ["b", "c"])
          #expect(try await a.get("/cameras/b/main.jpg").status == 200)
          #expect(try await a.get("/cameras/c/main.jpg").status == 404)

          let hop = [("X-GLPreview-Hop", "1")]
          #expect(try await a.nodes(hop).cameras.map(\.name) == ["a"])
          for path in ["/cameras/b/main.jpg", "/cameras/b/main.mjpeg", "/api/cameras/b", "/api/ws?src=b"] {
            #expect(try await a.get(path, hop).status == 508, "\(path)")
          }
          #expect(try await a.get("/api/stream?view=b/main", hop).status == 404)
        }
      }
    }
  }

  @Test("a node that is its own peer logs that once and lists its cameras once")
  func itself() async throws {
    let records = LogRecords()
    try await withService(Self.camera("a", "A"), logger: records.logger) { a in
      var configuration = Self.camera("a", "A")
      configuration.cluster.peers = [a.base]
      try await a.inside.apply(configuration)
      await until { a.inside.peers.cluster.peers.first?.state == .itself }
      #expect(try await a.nodes().cameras.map(\.name) == ["a"])
      #expect(try await a.get("/cameras/a/main.jpg").status == 200)
      #expect(records.messages.filter { $0.hasPrefix("peer ignored: it is this node") }.count == 1)
    }
  }

  @Test("a node serves its own camera rather than a peer's of the same name, and logs the conflict")
  func conflict() async throws {
    try await withService(Self.camera("door", "B")) { b in
      var mine = Self.camera("door", "A")
      mine.cameras[0].source = "pattern:smpte,size=32x18,fps=10"
      mine.cluster.peers = [b.base]
      let records = LogRecords()
      try await withService(mine, logger: records.logger) { a in
        await until { a.inside.peers.cluster.peers.first?.state == .up }
        let listed = try await a.nodes()
        #expect(listed.cameras.map(\.node) == ["A"] && listed.peers?.first?.conflicts == ["door"])
        #expect(try await a.get("/cameras/door/main.jpg").headers["X-View-Size"] == ["32x18"])
        #expect(
          records.messages.filter { $0.hasPrefix("two nodes have a camera with the same name") }.count == 1)
      }
    }
  }
}

@Test("parameters for a peer are normalized, without view names and tokens in any escaping")
func wordsForPeers() {
  #expect(PeerStreams.parameters(in: "width=32&fps=5") == PeerStreams.parameters(in: "fps=5&width=32&t=17"))
  #expect(PeerStreams.parameters(in: "%76iew=yard/main&v%69ew=a/b&view&%74oken=x&width=32") == "width=32")
  #expect(PeerStreams.parameters(in: "%zz=1") == "%zz=1")
}
