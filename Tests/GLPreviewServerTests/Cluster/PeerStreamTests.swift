// Live pictures of another node's cameras: one stream from it for all who watch the same.
import AsyncHTTPClient
import FoundationEssentials
import NIOCore
import NIOHTTP1
import TestSupport
import Testing

@testable import GLPreview
@testable import GLPreviewServer
@testable import ServiceCore
@testable import ServiceFoundation

@Suite("Streams of peers", .timeLimit(.minutes(15)))
struct PeerStreamTests {
  private static let main = "/cameras/camera/main"

  private static func configuration() -> ServerConfiguration {
    ServerConfiguration(cameras: [CameraConfiguration(source: "script")])
  }

  @Test("20 MJPEG clients of a node share one stream from the peer and get its original JPEGs")
  func sharing() async throws {
    let camera = try JPEGCamera()
    try await withOwnerAndEdge(Self.configuration(), makeSource: { camera.source(named: $1, $2) }) {
      owner, edge in
      var clients: [RawConnection] = []
      for number in 0..<20 {
        clients.append(
          try await RawConnection(
            to: edge.port,
            sending: "GET \(Self.main).mjpeg?key=x&_=\(number) HTTP/1.1\r\nHost: localhost\r\n\r\n"))
      }
      for client in clients { try await client.waits(for: "image/jpeg") }
      #expect(edge.watchers() == 20 && edge.inside.peerStreams.count == 1)
      // The connection by which the node asked whether the view may be watched ends by itself.
      await until { owner.watchers() == 1 }

      let (head, parts) = try await edge.parts(Self.main + ".mjpeg", 3)
      #expect(head["Content-Type"] == ["multipart/x-mixed-replace; boundary=boundarydonotcross"])
      #expect(parts.allSatisfy { $0.jpeg == camera.passed && $0.headers["x-source-state"] == "live" })
      #expect(parts.allSatisfy { $0.headers["x-camera"] == "camera" && $0.headers["x-view"] == "main" })
      #expect(owner.watchers() == 1)
      #expect(edge.inside.registry.session.statistics.renders == 0)

      for client in clients { try await client.close() }
      await until { edge.watchers() == 0 && owner.watchers() == 0 }
      edge.inside.peerStreams.removeUnwatched(at: CaptureClock.now + allTheTimeThereIs)
      #expect(edge.inside.peerStreams.count == 0)
    }
  }

  @Test("new clients of a peer's camera get no earlier picture; those of a local camera do")
  func newcomers() async throws {
    let camera = CountingCamera()
    try await withOwnerAndEdge(Self.configuration(), makeSource: { camera.source(named: $1, $2) }) {
      owner, edge in
      _ = try await RawConnection(
        to: edge.port, sending: "GET \(Self.main).mjpeg HTTP/1.1\r\nHost: localhost\r\n\r\n")
      try camera.give(50)
      await until { edge.inside.streams.all.first?.newest != nil }

      let later = CaptureClock.now + .seconds(3600)
      #expect(edge.inside.streams.all.first?.newest(since: .start) != nil)
      #expect(edge.inside.streams.all.first?.newest(since: later) == nil)
      #expect(owner.inside.streams.all.first?.newest(since: later) != nil)
    }
  }

  @Test(
    "a client that joins after the peer's source changed gets no earlier picture; others go on"
  )
  func hidden() async throws {
    let (first, second) = (CountingCamera(), CountingCamera())
    var after = Self.configuration()
    (after.cameras[0].source, after.cluster.name) = ("second", "owner")
    let request = "GET \(Self.main).mjpeg HTTP/1.1\r\nHost: localhost\r\n\r\n"
    @Sendable func parts(_ client: RawConnection) -> [RunningService.Part] {
      var reader = PartReader()
      let bytes = client.bytes
      let body = bytes.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound ?? bytes.count
      return reader.read(Array(bytes[body...])).filter { $0.headers["x-source-state"] == "live" }
    }
    @Sendable func code(_ part: RunningService.Part) throws -> Int {
      Int(try JPEGDecoder.decode(part.jpeg, maximumPixels: 1 << 20).bytes[0])
    }
    try await withOwnerAndEdge(
      Self.configuration(),
      makeSource: { ($0 == "second" ? second : first).source(named: $1, $2) }
    ) { [after] owner, edge in
      let early = try await RawConnection(to: edge.port, sending: request)
      try first.give(50)
      await until { !parts(early).isEmpty }
      func newest() -> ByteBuffer? { edge.inside.streams.all.first?.newest?.bytes }
      let old = try #require(newest())
      try await owner.inside.apply(after)
      await until { newest() != old }

      let late = try await RawConnection(to: edge.port, sending: request)
      await until { edge.watchers() == 2 }
      try second.give(200)
      await until { !parts(late).isEmpty && (try? parts(early).contains { try code($0) > 150 }) == true }
      for part in parts(late) { #expect(try code(part) > 150) }
    }
  }

  @Test("URL parameters apply at the peer, equal ones share a stream, and invalid ones return 400")
  func words() async throws {
    try await withOwnerAndEdge(StreamTests.configuration()) { owner, edge in
      let small = try await edge.parts(Self.main + ".mjpeg?width=32&fps=10", 2)
      #expect(small.parts.allSatisfy { $0.size == "32x18" })
      let same = try await edge.parts(Self.main + ".mjpeg?fps=10&width=32&key=me", 1)
      #expect(same.parts[0].size == "32x18" && edge.inside.peerStreams.count == 1)
      #expect(try await edge.parts("/api/stream.mjpeg?src=camera&width=64", 1).parts[0].size == "64x36")
      #expect(edge.inside.peerStreams.count == 2)

      for (path, status) in [
        (".mjpeg?width=wide", 400), (".mjpeg?colour=red", 400), (".mjpeg?crop=9999x1%2B0%2B0", 400),
      ] {
        let refused = try await edge.get(Self.main + path)
        #expect(refused.status == status && refused.text.contains(#""parameter":"#), "\(path)")
      }
      #expect(edge.inside.peerStreams.count == 2)
    }
  }

  @Test("a peer's locked view keeps its size, and parameters that change it return 403")
  func locked() async throws {
    var view = ServedView(ViewConfiguration(name: "main", width: 40))
    view.isLocked = true
    let open = ServedView(ViewConfiguration(name: "open", width: 80))
    try await withOwnerAndEdge(StreamTests.configuration([view, open])) { _, edge in
      let alone = "/api/stream?view=camera/main"
      for path in [Self.main + ".mjpeg?key=me", alone, alone + "&key=me&fps=5"] {
        let parts = try await edge.parts(path, 2).parts
        #expect(parts.allSatisfy { $0.size == "40x22" || $0.size == "40x23" }, "\(path)")
      }
      // Words are for those of several that take them, and that somebody watches them changes nothing for one alone.
      var sizes: [String: Set<String>] = [:]
      var count = 4
      while sizes.count < 2 {
        let parts = try await edge.parts(alone + "&view=camera/open&width=64", count).parts
        sizes = Dictionary(grouping: parts) { $0.headers["x-view"] ?? "" }.mapValues { Set($0.map(\.size)) }
        count *= 2
      }
      #expect(sizes["open"] == ["64x36"] && sizes["main"]?.allSatisfy { $0.hasPrefix("40x") } == true)
      for path in [
        Self.main + ".jpg?width=64", Self.main + ".mjpeg?width=64", Self.main + ".jpg?crop=100x100%2B0%2B0",
        Self.main + ".png?size=320x180", alone + "&width=64", "/api/stream?width=64&key=me&view=camera/main",
        alone + "&crop=100x100%2B0%2B0", alone + "&rotate=90",
      ] {
        let answer = try await edge.get(path)
        #expect(answer.status == 403 && answer.text.contains("locked"), "\(path): \(answer.text)")
      }
    }
  }

  @Test("a stream of several views combines views of peers with the node's own")
  func several() async throws {
    var off = ServedView(ViewConfiguration(name: "off"))
    off.isEnabled = false
    let configuration = StreamTests.configuration([ServedView(), off])
    let own: @Sendable (inout ServerConfiguration) -> Void = {
      $0.cameras = [CameraConfiguration(name: "own", source: StreamTests.pattern)]
    }
    try await withOwnerAndEdge(configuration, own) { _, edge in
      var (reader, seen) = (PartReader(), Set<String>())
      let path = "/api/stream?view=own/main&view=camera/main&view=camera/off&width=32"
      for try await chunk in try await edge.openStream(path) {
        for part in reader.read(Array(chunk.readableBytesView)) {
          #expect(part.size == "32x18")
          seen.insert("\(part.headers["x-camera"] ?? "")/\(part.headers["x-view"] ?? "")")
        }
        if seen.count == 2 { break }
      }
      #expect(seen == ["own/main", "camera/main"])
      for (query, status) in [
        ("view=camera/nobody", 404), ("view=camera/main&width=wide", 400), ("view=camera/main&x=1", 400),
        ("view=camera/off", 409), ("view=camera/main&crop=9999x1%2B0%2B0", 400), ("view=camera/a%3Fb", 404),
      ] {
        #expect(try await edge.get("/api/stream?\(query)").status == status, "\(query)")
      }
    }
  }

  @Test("a stream of a peer's camera goes on with state `lost` when the camera is lost")
  func lost() async throws {
    let camera = try JPEGCamera()
    try await withOwnerAndEdge(Self.configuration(), makeSource: { camera.source(named: $1, $2) }) {
      _, edge in
      var reader = PartReader()
      for try await chunk in try await edge.openStream(Self.main + ".mjpeg") {
        guard let part = reader.read(Array(chunk.readableBytesView)).last else { continue }
        if part.headers["x-source-state"] == "lost" { return }
        #expect(part.headers["x-source-state"] == "live")
        camera.lose()
      }
      Issue.record("the stream ended")
    }
  }

  @Test("an MJPEG stream of a peer's camera ends when the node gets its own camera of that name")
  func renamed() async throws {
    try await withOwnerAndEdge(StreamTests.configuration()) { owner, edge in
      let stream = try await edge.openStream(Self.main + ".mjpeg")
      var configuration = edgeConfiguration(of: owner.base)
      configuration.cameras = StreamTests.configuration().cameras
      try await edge.inside.apply(configuration)
      for try await _ in stream {}
      #expect(try await edge.nodes().cameras.map(\.node) == ["edge"])
    }
  }
}
