// Recordings and other programs' URLs at a node that has no camera.
import AsyncHTTPClient
import FoundationEssentials
import GLPreview
import HTTPTypes
import Hummingbird
import NIOCore
import NIOHTTP1
import TestSupport
import Testing

@testable import GLPreviewServer
@testable import Recordings
@testable import ServiceCore
@testable import ServiceFoundation

@Suite("Recordings and default cameras across peers", .timeLimit(.minutes(15)))
struct PeerRecordingTests {
  private struct List: Decodable {
    struct Node: Decodable {
      let name: String
      let state: String
      var reason: String?
    }

    let recordings: [Recording.Answer]
    var node: [String: String]?
    var peers: [Node]?
  }

  private static func recording(in folder: URL, as name: String = "camera") -> ServerConfiguration {
    var view = ServedView()
    view.video.keyframeInterval = .milliseconds(500)
    var camera = CameraConfiguration(
      name: name, source: "pattern:counter,size=160x90,fps=20", views: [view])
    (camera.record.when, camera.record.segment) = (.always, .seconds(1))
    var configuration = ServerConfiguration(cameras: [camera])
    configuration.recordings = FolderConfiguration(path: folder.path)
    return configuration
  }

  private static func done(_ service: RunningService) -> [Recording] {
    (service.inside.recorders?.folder.recordings(of: nil, from: nil, to: nil, limit: 1000) ?? [])
      .filter { $0.duration != nil }
  }

  @Test(
    "recordings of all nodes are listed together, read by range and deleted through any node",
    .enabled(if: hasEncoder, "no encoder of H.264: scripts/setup"))
  func recordings() async throws {
    try await withTemporaryFolder { folder in
      let (theirs, ours) = (folder.appending(path: "theirs"), folder.appending(path: "ours"))
      try await withOwnerAndEdge(
        Self.recording(in: theirs),
        { edge in
          let own = Self.recording(in: ours, as: "own")
          (edge.cameras, edge.recordings) = (own.cameras, own.recordings)
          edge.cluster.peers.append(nowhere)
        }
      ) { owner, edge in
        await until { Self.done(owner).count >= 2 && !Self.done(edge).isEmpty }
        await until { edge.inside.peers.cluster.peers.last?.state == .lost }
        let list = try await edge.get("/api/recordings?limit=1000").json(List.self)
        #expect(Set(list.recordings.map { "\($0.camera) \($0.node ?? "")" }) == ["camera owner", "own edge"])
        #expect(list.recordings.map(\.start) == list.recordings.map(\.start).sorted(by: >))
        #expect(list.node == ["name": "edge"] && list.peers?.map(\.state) == ["up", "lost"])
        #expect(list.peers?.last?.reason?.isEmpty == false)
        let some = try await edge.get("/api/recordings?camera=camera&limit=1").json(List.self)
        #expect(some.recordings.map(\.camera) == ["camera"])
        let asked = try await edge.get("/api/recordings", [("X-GLPreview-Hop", "1")]).json(List.self)
        #expect(asked.recordings.allSatisfy { $0.camera == "own" } && asked.peers == nil)

        let file = try #require(Self.done(owner).last).path
        let (direct, through) = (try await owner.get(file), try await edge.get(file))
        #expect(through.status == 200 && through.bytes == direct.bytes && !direct.bytes.isEmpty)
        #expect(through.headers["Accept-Ranges"] == ["bytes"])
        let part = try await edge.get(file, [("Range", "bytes=10-99")])
        #expect(part.status == 206 && part.bytes == Array(direct.bytes[10..<100]))
        #expect(part.headers["Content-Range"] == direct.headers["Content-Length"].map { "bytes 10-99/\($0)" })
        #expect(try await edge.get(file, [("Range", "bytes=\(direct.bytes.count)-")]).status == 416)
        #expect(
          try await edge.send("HEAD", file).headers["Content-Length"] == direct.headers["Content-Length"])
        #expect(try await edge.get(file, [("X-GLPreview-Hop", "1")]).status == 404)

        #expect(try await edge.send("DELETE", file).status == 204)
        for node in [owner, edge] { #expect(try await node.get(file).status == 404) }
        let unknown = try await edge.get("/recordings/camera/2026-01-01T00-00-00.000Z-main.mp4")
        #expect(unknown.status == 404 && unknown.text.contains("unavailable: "))
      }
    }
  }

  @Test(
    "a recording that no node has returns 404, or 503 if a peer fails to answer",
    arguments: [(404, 404), (429, 503), (500, 503)])
  func unknown(theirs: Int, ours: Int) async throws {
    try await withFakePeer { _, request in
      request.uri.path == "/api/cameras"
        ? Response(
          status: .ok,
          body: ResponseBody(
            byteBuffer: ByteBuffer(string: #"{"node": {"name": "owner", "instance": "i"}, "cameras": []}"#)))
        : Response(status: .init(code: theirs))
    } _: { address, _ in
      try await withService(edgeConfiguration(of: address)) { edge in
        await until { edge.inside.peers.cluster.peers.last?.state == .up }
        let answer = try await edge.get("/recordings/camera/2026-01-01T00-00-00.000Z-main.mp4")
        #expect(Int(answer.status) == ours)
        #expect(answer.headers["Retry-After"].isEmpty == (ours == 404))
        #expect(answer.text.contains("'owner'") == (ours == 503))
      }
    }
  }

  @Test("URLs without a camera name select the first peer's camera on a node without cameras")
  func compatibility() async throws {
    var owner = StreamTests.configuration()
    owner.cameras.append(
      CameraConfiguration(name: "second", source: "pattern:smpte,size=32x32,fps=20"))
    try await withOwnerAndEdge(owner) { owner, edge in
      for path in [
        "/snapshot", "/snapshot.jpg?width=32", "/api/frame.jpeg", "/?action=snapshot", "/?action=snapshot_0",
        "/snapshot?src=camera/main",
      ] {
        let answer = try await edge.get(path)
        #expect(answer.status == 200 && answer.headers["Content-Type"] == ["image/jpeg"], "\(path)")
        #expect(answer.headers["X-View-Size"] != ["32x32"], "\(path)")
      }
      for path in ["/?action=snapshot_1", "/snapshot?src=second"] {
        #expect(try await edge.get(path).headers["X-View-Size"] == ["32x32"], "\(path)")
      }
      for path in [
        "/?action=snapshot_2", "/?action=dance", "/?action=snapshot_x", "/snapshot?width=wide",
        "/?action=snapshot_-1", "/?action=stream_\(Int.min)", "/?action=stream_\(Int.max)",
      ] {
        #expect(try await edge.get(path).status == 400, "\(path)")
      }
      for path in [
        "/stream", "/stream.mjpg", "/stream.mjpeg?fps=5", "/?action=stream", "/?action=stream_1",
        "/api/stream.mjpeg", "/stream?src=second",
      ] {
        var reader = PartReader()
        var count = 0
        for try await chunk in try await edge.openStream(path) {
          count += reader.read(Array(chunk.readableBytesView)).count
          if count > 1 { break }
        }
        #expect(count > 1, "\(path)")
      }
      #expect(try await edge.get("/state").text.contains(#""ok":true"#))
      let page = try await edge.get("/")
      #expect(page.headers.first(name: "Content-Type")?.hasPrefix("text/html") == true)
      let own = try await edge.get("/snapshot", [("X-GLPreview-Hop", "1")])
      #expect(own.status == 404)
    }
  }

  @Test("URLs without a camera name count the node's own cameras before those of peers")
  func own() async throws {
    try await withOwnerAndEdge(
      StreamTests.configuration(),
      { edge in
        edge.cameras = [
          CameraConfiguration(name: "own", source: "pattern:smpte,size=32x32,fps=20")
        ]
      }
    ) { _, edge in
      for (path, isOwn) in [
        ("/snapshot", true), ("/?action=snapshot", true), ("/?action=snapshot_0", true),
        ("/?action=snapshot_1", false), ("/snapshot?src=camera", false), ("/snapshot?src=own", true),
      ] {
        let answer = try await edge.get(path)
        #expect(answer.status == 200 && (answer.headers["X-View-Size"] == ["32x32"]) == isOwn, "\(path)")
      }
    }
  }

  @Test("motion of a peer's camera is read, reported and ended through another node")
  func motion() async throws {
    var owner = StreamTests.configuration()
    owner.cameras[0].motion = MotionSettings()
    try await withOwnerAndEdge(owner) { owner, edge in
      let path = "/api/cameras/camera/motion"
      await until { (try? await edge.get(path).status) == 200 }
      #expect(try await edge.get(path).text.contains(#""active":"#))
      #expect(try await edge.get(path + "/cells").headers["Content-Type"] == ["application/octet-stream"])
      let said = try await edge.send("POST", path, body: #"{"label": "cat", "duration": 60}"#)
      #expect(said.status == 200 && said.text.contains("cat"))
      #expect(try await owner.get(path).text.contains("cat"))
      #expect(try await edge.send("DELETE", path).status == 200)
    }
  }
}
