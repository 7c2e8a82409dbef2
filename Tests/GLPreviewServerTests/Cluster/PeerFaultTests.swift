// Peers that are away, slow, or hostile: they are told of, and harm nobody.
import FoundationEssentials
import GLPreview
import HTTPTypes
import Hummingbird
import NIOCore
import NIOHTTP1
import Synchronization
import TestSupport
import Testing

@testable import Cluster
@testable import GLPreviewServer
@testable import ServiceCore

@Suite("Faulty peers", .timeLimit(.minutes(15)))
struct PeerFaultTests {
  private static let list = """
    {"node": {"name": "fake", "instance": "f1"}, "cameras": [{"name": "door", "state": "live", "views": [{"name": "main"}]}]}
    """

  /// The list of a peer called `fake` with a camera `door`.
  static var listing: Response { json(list) }

  private static func json(_ text: String, _ status: HTTPResponse.Status = .ok) -> Response {
    Response(
      status: status, headers: [.contentType: "application/json"],
      body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
  }

  @Test("a peer that returns 500 keeps its cameras, listed as lost, until it recovers")
  func comesBack() async throws {
    let isAway = Atomic(false)
    let records = LogRecords()
    try await withFakePeer { peer, request in
      isAway.load(ordering: .relaxed) ? Self.json("{}", .internalServerError) : Self.json(Self.list)
    } _: { address, peer in
      try await withService(edgeConfiguration(of: address), logger: records.logger) { edge in
        func state() -> PeerState? { edge.inside.peers.cluster.peers.first?.state }
        await until { state() == .up }
        isAway.store(true, ordering: .relaxed)
        await until { state() == .lost }
        let camera = try #require(try await edge.nodes().cameras.first)
        #expect(camera.state == "lost" && camera.reason == "node 'fake' answered 500")
        let answer = try await edge.get("/cameras/door/main.jpg")
        #expect(answer.status == 502 && answer.text.contains("node 'fake'") && !answer.text.contains(address))
        // One of a list of views is shown as lost, also alone.
        #expect(try await edge.parts("/api/stream?view=door/main", 1).parts.count == 1)
        #expect(try await edge.get("/metrics").text.contains(#"glpreview_peer_up{peer="fake"} 0"#))
        isAway.store(false, ordering: .relaxed)
        await until { state() == .up }
        #expect(try await edge.nodes().cameras.first?.state == "live")
        #expect(records.messages.filter { $0 == "peer lost" }.count == 1)
        #expect(records.messages.filter { $0 == "peer connected" }.count == 2)
      }
    }
  }

  @Test("URL parameters without effect are removed before a request is forwarded to a peer")
  func shares() async throws {
    let asked = Mutex<[String]>([])
    try await withFakePeer { peer, request in
      guard ["/cameras/", "/stream", "/snapshot"].contains(where: request.uri.path.hasPrefix) else {
        return Self.json(Self.list)
      }
      asked.withLock { $0.append(request.head.path ?? "") }
      return Self.json("{}", .conflict)
    } _: { address, peer in
      try await withService(edgeConfiguration(of: address)) { edge in
        await until { edge.inside.peers.cluster.peers.first?.state == .up }
        for words in [
          "_=1&width=32&t=5", "c%62=2&width=32", "width=32&cacheBust=x", "1595&width=32&bypassCache=1",
          "width=32?0.5",
        ] {
          for url in ["stream?\(words)&foo=\(words.count)", "snapshot?bar=\(words.count)&\(words)"] {
            #expect(try await edge.get("/\(url)&src=door").status == 409)
          }
          for file in ["jpg?\(words)", "mjpeg?\(words)&key=\(words.count)", "mp4?duration=3&\(words)"] {
            let answer = try await edge.get("/cameras/door/main.\(file)")
            #expect(answer.status == 409)
          }
        }
      }
    }
    let paths = ["jpg?width=32", "mjpeg?width=32", "mp4?duration=3&width=32"]
    let others = ["/stream?width=32&src=door", "/snapshot?width=32&src=door"]
    #expect(Set(asked.withLock { $0 }) == Set(paths.map { "/cameras/door/main.\($0)" } + others))
  }

  @Test(
    "the timeout of a forwarded request follows its `timeout` or the length of its animation",
    arguments: [
      ("main.jpg", 10), ("main.webp", 40), ("main.WEBP?before=3s", 40), ("main.webp?after=90s", 130),
      ("main.webp?after=2h", 640), ("main.webp?after=never", 40), ("main.jpg?timeout=20000", 25),
      ("main.jpg?timeout=1", 10), ("main.jpg?timeout=100000000", 65),
      ("main.webp?after=5s&timeout=20000", 60),
    ])
  func time(file: String, seconds: Int) {
    let request = Request(
      head: HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/cameras/door/\(file)"),
      body: RequestBody(buffer: ByteBuffer()))
    #expect(PeerForwarder.time(for: request, limit: .seconds(10)) == .seconds(seconds))
  }

  @Test("a peer that refuses connections is lost")
  func nobody() async throws {
    try await withService(edgeConfiguration(of: "http://127.0.0.1:1")) { edge in
      await until { edge.inside.peers.cluster.peers.first?.state == .lost }
      let peer = try #require(try await edge.nodes().peers?.first)
      #expect(peer.name == "peer-1" && peer.reason == "can't be reached" && peer.cameras == 0)
    }
  }

  @Test(
    "a peer whose camera list is invalid, too large or late is lost, with the reason",
    arguments: [
      ("nonsense", "sent no list of cameras: is it a GLPreview service?"),
      ("redirect", "redirected to another address"),
      ("endless", "sent too much data"), ("slow", "did not answer in time"),
      ("half", "did not answer in time"),
      ("broken", "answered 500"), ("host", "rejected this host name (see access.hosts there)"),
    ])
  func hostile(kind: String, reason: String) async throws {
    try await withFakePeer { peer, request in
      switch kind {
      case "redirect": return Response(status: .found, headers: [.location: "http://127.0.0.1:1/"])
      case "endless":
        return Response(
          status: .ok,
          body: ResponseBody { writer in
            while true { try await writer.write(ByteBuffer(repeating: 0x20, count: 1 << 20)) }
          })
      case "slow":
        try await peer.hangs()
        return Self.json(Self.list)
      case "half":
        return Response(
          status: .ok,
          body: ResponseBody { writer in
            try await writer.write(ByteBuffer(string: "{"))
            try await peer.hangs()
          })
      case "broken": return Self.json(Self.list, .internalServerError)
      case "host": return Self.json("{}", .misdirectedRequest)
      default: return Self.json("hello")
      }
    } _: { address, peer in
      var configuration = edgeConfiguration(of: address)
      if kind == "slow" || kind == "half" { configuration.timeouts.peerList = .milliseconds(50) }
      try await withService(configuration) { edge in
        await until { edge.inside.peers.cluster.peers.first?.reason == reason }
        #expect(edge.inside.peers.cluster.peers.first?.state == .lost)
      }
    }
  }

  @Test("a forwarded response keeps only expected header fields and types, and sends no credentials")
  func answers() async throws {
    let records = LogRecords()
    try await withFakePeer { peer, request in
      guard ["/cameras/", "/stream", "/snapshot"].contains(where: request.uri.path.hasPrefix) else {
        return Self.json(Self.list)
      }
      #expect(request.headers[.authorization] == nil && request.headers[.cookie] == nil)
      #expect(!(request.uri.query ?? "").contains("token"))
      var response = Self.json(#"{"a": 1}"#)
      response.headers[.contentType] =
        request.uri.queryParameters["kind"].map(String.init) ?? "application/json"
      response.headers[.setCookie] = "a=b"
      response.headers[.accessControlAllowOrigin] = "*"
      response.headers[.contentSecurityPolicy] = "default-src *"
      response.headers[.location] = "https://elsewhere.example/"
      response.headers[named: "Refresh"] = "0"
      response.headers[.eTag] = "\"x\""
      return response
    } _: { address, peer in
      try await withService(edgeConfiguration(of: address), logger: records.logger) { edge in
        await until { edge.inside.peers.cluster.peers.first?.state == .up }
        let answer = try await edge.get(
          "/cameras/door/main.jpg?token=5ECRET", [("Cookie", "a=5ECRET"), ("Authorization", "Bearer 5ECRET")])
        #expect(answer.status == 200 && answer.headers["ETag"] == ["\"x\""])
        for name in ["Set-Cookie", "Access-Control-Allow-Origin", "Location", "Refresh"] {
          #expect(answer.headers[name].isEmpty, "\(name)")
        }
        #expect(answer.headers["Content-Security-Policy"] == ["default-src 'none'; frame-ancestors 'none'"])
        for kind in ["text/html", "image/svg%2Bxml", "text/javascript"] {
          #expect(try await edge.get("/cameras/door/main.jpg?kind=\(kind)").status == 502, "\(kind)")
        }
        let refused = { records.lines.filter { $0.hasPrefix("request not forwarded: reason=") } }
        #expect(refused().count == 1 && refused()[0].contains("unexpected content type"))
        _ = try await edge.get("/cameras/door/main.jpg")
        _ = try await edge.get("/cameras/door/main.jpg?kind=text/html")
        #expect(refused().count == 2)
      }
    }
  }

  @Test("40 clients get a peer's snapshot at the same time, and a peer that hangs gives 504")
  func sharing() async throws {
    let gate = Watched(false)
    let asked = Atomic(0)
    try await withFakePeer { peer, request in
      guard ["/cameras/", "/stream", "/snapshot"].contains(where: request.uri.path.hasPrefix) else {
        return Self.json(Self.list)
      }
      if request.uri.queryParameters["hang"] != nil { try await peer.hangs() }
      asked.add(1, ordering: .relaxed)
      _ = try await gate.first { $0 ? true : nil }
      return Response(
        status: .ok, headers: [.contentType: "image/jpeg"],
        body: ResponseBody(byteBuffer: ByteBuffer(string: "picture")))
    } _: { address, _ in
      try await withService(edgeConfiguration(of: address)) { edge in
        await until { edge.inside.peers.cluster.peers.first?.state == .up }
        var clients: [RawConnection] = []
        for _ in 0..<40 {
          clients.append(
            try await RawConnection(
              to: edge.port, sending: "GET /cameras/door/main.jpg HTTP/1.1\r\nHost: localhost\r\n\r\n"))
        }
        await until { asked.load(ordering: .relaxed) > 0 }
        await letOthersGoOn()
        gate.update { $0 = true }
        // More than one client's share of requests: they were not sent one by one.
        for client in clients {
          try await client.waits(for: "picture")
          #expect(client.received.hasPrefix("HTTP/1.1 200 "))
        }
      }
      var hasty = edgeConfiguration(of: address)
      hasty.timeouts.peerAnswer = .milliseconds(50)
      try await withService(hasty) { edge in
        await until { edge.inside.peers.cluster.peers.first?.state == .up }
        let hung = try await edge.get("/cameras/door/main.jpg?hang=1")
        #expect(hung.status == 504 && hung.text.contains("node 'fake' did not answer in time"))
      }
    }
  }
}
