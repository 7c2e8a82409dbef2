// H.264 of another node's camera: one stream from it for all who watch the same, passed on as it comes.
import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import PreviewCore
import TestSupport
import Testing

@testable import CaptureHTTP
@testable import GLPreview
@testable import GLPreviewServer
@testable import RTSP
@testable import ServiceCore
@testable import ServiceFoundation
@testable import VideoFormats

private let hasWebP = (try? WebPAnimation.load()) != nil

@Suite(
  "Video of peers", .enabled(if: hasEncoder, "no encoder of H.264: scripts/setup"), .timeLimit(.minutes(15)))
struct PeerVideoTests {
  private static let main = "/cameras/camera/main.mp4"

  private static func configuration(
    _ source: String = "pattern:counter,size=320x180,fps=20", _ change: (inout ServedView) -> Void = { _ in }
  ) -> ServerConfiguration {
    var view = ServedView()
    change(&view)
    return ServerConfiguration(cameras: [CameraConfiguration(source: source, views: [view])])
  }

  private static func clients(_ service: RunningService) -> Int {
    service.inside.videos.clientCount(of: "camera", "main")
  }

  /// What a client has received as MP4 when it has so many pictures.
  private static func events(_ stream: HTTPClientResponse.Body, pictures count: Int) async throws
    -> (headers: [Size?], pictures: [[UInt8]])
  {
    try await events(stream) { $0.count >= count }
  }

  private static func events(
    _ stream: HTTPClientResponse.Body, until isEnough: ([[UInt8]]) -> Bool
  ) async throws -> (headers: [Size?], pictures: [[UInt8]]) {
    var (reader, headers, found) = (FragmentedMP4Reader(pictureLimit: 1 << 20), [Size?](), [[UInt8]]())
    for try await chunk in stream {
      for event in try reader.take(Array(chunk.readableBytesView)[...]) {
        switch event {
        case .header(_, let shown): headers.append(shown)
        case .picture(let bytes, _): found.append(bytes)
        }
      }
      if isEnough(found) { break }
    }
    return (headers, found)
  }

  @Test("8 MP4 clients of a node share one stream from the peer, passed through without decoding")
  func sharing() async throws {
    // The view is too small for a second encoding: a watcher that falls behind keeps this one.
    let small = Self.configuration("pattern:counter,size=128x72,fps=20")
    try await withOwnerAndEdge(small) { owner, edge in
      let target = try owner.inside.registry.view(nil, of: nil)
      let own = try owner.inside.videos.begin(target, as: target.served, target.served.video)
      let encoded = Watched<Set<[UInt8]>>([])
      let reading = Task {
        while let sample = try await own.next() { encoded.update { _ = $0.insert(sample.bytes) } }
      }
      defer { reading.cancel() }
      var streams: [HTTPClientResponse.Body] = []
      for number in 0..<8 { streams.append(try await edge.openStream("\(Self.main)?_=\(number)")) }
      #expect(Self.clients(edge) == 8 && edge.inside.peerStreams.count == 1)
      await until { Self.clients(owner) == 2 }
      for stream in streams {
        // The owner's own watcher may lose some where the machine is busy, as any client may.
        let (headers, pictures) = try await Self.events(stream) { pictures in
          pictures.count(where: encoded.value.contains) >= 5
        }
        #expect(headers.count == 1)
        #expect(pictures.count(where: encoded.value.contains) >= 5)
      }
      let statistics = edge.inside.registry.session.statistics
      #expect(statistics.renders == 0 && statistics.decoded == 0)
      streams = []
      await until { Self.clients(edge) == 0 }
      edge.inside.peerStreams.removeUnwatched(at: CaptureClock.now + allTheTimeThereIs)
      #expect(edge.inside.peerStreams.count == 0)
      await until { Self.clients(owner) == 1 }
    }
  }

  @Test("URL parameters of an MP4 apply at the peer, and `duration` and `download` at the node")
  func words() async throws {
    try await withOwnerAndEdge(Self.configuration()) { _, edge in
      let short = try await edge.get("\(Self.main)?duration=0.3&download=1&width=101&height=57")
      #expect(
        short.status == 200 && short.headers.first(name: "Content-Type")?.hasPrefix("video/mp4") == true)
      #expect(short.headers.first(name: "Content-Disposition")?.contains("camera-main.mp4") == true)
      var reader = FragmentedMP4Reader(pictureLimit: 1 << 20)
      let first = try reader.take(short.bytes[...]).first
      // The stream has even sides; the file says what to show.
      guard case .header(_, shown: Size(width: 101, height: 57)) = first else {
        Issue.record("\(String(describing: first).prefix(200))")
        return
      }
      for (words, status) in [
        ("width=wide", 400), ("colour=red", 400), ("duration=long", 400), ("bitrate=1", 400),
      ] {
        let refused = try await edge.get("\(Self.main)?\(words)")
        #expect(refused.status == status && refused.text.contains(#""parameter":"#), "\(words)")
      }
      #expect(try await edge.get("/api/stream.mp4?src=camera/nobody").status == 404)
      #expect(edge.inside.peerStreams.count == 1)
    }
  }

  @Test("a peer's locked view can't be resized, and its streams end when it is disabled")
  func locked() async throws {
    let configuration = Self.configuration {
      $0.isLocked = true
      $0.view.width = 64
    }
    try await withOwnerAndEdge(configuration) { owner, edge in
      #expect(try await edge.get("\(Self.main)?width=320").status == 403)
      let (video, jpegs) = (
        try await edge.openStream(Self.main), try await edge.openStream("/cameras/camera/main.mjpeg")
      )
      await until { Self.clients(owner) == 1 && owner.watchers() == 1 }
      var off = configuration
      off.cluster.name = "owner"
      off.cameras[0].views[0].isEnabled = false
      try await owner.inside.apply(off)
      // Both end once the edge knows.
      for try await _ in video {}
      for try await _ in jpegs {}
      #expect(try await edge.get(Self.main).status == 409)
    }
  }

  @Test("WebSocket clients play a peer's camera as MSE, MJPEG and WebRTC")
  func sockets() async throws {
    try await withOwnerAndEdge(Self.configuration()) { owner, edge in
      let peer = try await WebSocketPeer(to: edge.port, "/api/ws?src=camera/main&width=160&bitrate=200000")
      try await peer.send(#"{"type": "mse", "value": "avc1.640029"}"#)
      await peer.waits { peer.frames.count { $0.opcode == 2 } > 3 }
      #expect(peer.texts.first?.contains("avc1.42") == true)
      let first = try #require(peer.frames.first { $0.opcode == 2 })
      #expect(String(decoding: first.payload[4..<8], as: UTF8.self) == "ftyp")
      try await peer.close()

      let jpegs = try await WebSocketPeer(to: edge.port, "/api/ws?src=camera&width=64&bitrate=200000")
      try await jpegs.send(#"{"type":"mjpeg"}"#)
      await jpegs.waits { jpegs.frames.count { $0.opcode == 2 } > 2 }
      for frame in jpegs.frames where frame.opcode == 2 { #expect(try JPEGProbe(frame.payload).width == 64) }
      try await jpegs.close()

      if hasWebRTC {
        let caller = try await WebSocketPeer(to: edge.port, "/api/ws?src=camera")
        let offer = try await WHEPPeer().offer.split(whereSeparator: \.isNewline).joined(separator: "\\r\\n")
        try await caller.send(#"{"type":"webrtc/offer","value":"\#(offer)"}"#)
        await caller.waits { !caller.texts.isEmpty || caller.closingCode != nil }
        #expect(caller.texts.first?.contains("a=ice-lite") == true, "\(caller.texts)")
        #expect(edge.sessionCount == 1 && owner.sessionCount == 0)
        try await caller.close()
      }
      let refused = try await WebSocketPeer(to: edge.port, "/api/ws?src=camera&width=wide")
      #expect(refused.head.hasPrefix("HTTP/1.1 400 "), "\(refused.head)")
      let unknown = try await WebSocketPeer(to: edge.port, "/api/ws?src=camera/nobody")
      #expect(unknown.head.hasPrefix("HTTP/1.1 404 "), "\(unknown.head)")
    }
  }

  @Test("an RTSP client plays a peer's camera")
  func rtsp() async throws {
    try await withOwnerAndEdge(Self.configuration(), { $0.rtsp.listen = .at(host: "127.0.0.1", port: 0) }) {
      owner, edge in
      await until { edge.inside.rtsp.port != nil }
      let port = try #require(edge.inside.rtsp.port)
      let peer = try await RTSPPeer(to: port)
      let url = "rtsp://127.0.0.1:\(port)/camera"
      let description = try await peer.ask("DESCRIBE", url)
      #expect(description.status == 200 && description.body.contains("a=framesize:96 320-180"))
      let answer = try await peer.ask(
        "SETUP", url + "/trackID=0", [("Transport", "RTP/AVP/TCP;unicast;interleaved=0-1")])
      let session = String(try #require(answer.fields["session"]).prefix { $0 != ";" })
      #expect(try await peer.ask("PLAY", url, [("Session", session)]).status == 200)
      #expect(try await peer.packet(channel: 0)[12] & 31 == 7, "parameter sets come first")
      #expect(edge.inside.peerStreams.count == 1)
      #expect(try await peer.ask("DESCRIBE", "rtsp://127.0.0.1:\(port)/camera/nobody").status == 404)
      try await peer.close()
    }
  }

  @Test(
    "clips and animations of a peer's replay buffer are served through another node",
    .enabled(if: hasWebP, "no libwebp7"),
    arguments: [("mp4", "video/mp4"), ("webp", "image/webp")])
  func clips(suffix: String, type: String) async throws {
    var configuration = Self.configuration()
    configuration.cameras[0].replayDuration = .seconds(60)
    try await withOwnerAndEdge(configuration) { owner, edge in
      await until { owner.inside.registry.session["camera-0"]?.bufferedTimes != nil }
      let clip = try await edge.get("/cameras/camera/main.\(suffix)?before=30s&width=64")
      #expect(clip.status == 200)
      #expect(clip.headers.first(name: "Content-Type")?.hasPrefix(type) == true)
      #expect(clip.bytes.count > 100)
      #expect(try await edge.get("/cameras/camera/main.\(suffix)?before=nothing").status == 400)
    }
  }

  @Test("an MP4 stream of a peer's camera ends when the node gets its own camera of that name")
  func ends() async throws {
    try await withOwnerAndEdge(Self.configuration()) { owner, edge in
      let stream = try await edge.openStream(Self.main)
      _ = try await Self.events(stream, pictures: 1)
      var configuration = edgeConfiguration(of: owner.base)
      configuration.cameras = Self.configuration().cameras
      let other = try await edge.openStream(Self.main)
      try await edge.inside.apply(configuration)
      for try await _ in other {}
      #expect(try await edge.nodes().cameras.map(\.node) == ["edge"])
      // The peer's camera is no longer read either.
      await until {
        edge.inside.peerStreams.removeUnwatched(at: CaptureClock.now + allTheTimeThereIs)
        return Self.clients(owner) == 0
      }
    }
  }

  @Test("FragmentStream rejects data that is not MP4, an invalid box, and too many pixels")
  func liars() async throws {
    var options = SourceOptions()
    for bytes in [[UInt8]("<html>no video here</html>".utf8), [0xFF, 0xFF, 0xFF, 0xFF] + "mdat".utf8] {
      var stream = FragmentStream(options)
      guard case .unusable = stream.take(bytes[...], at: .start).first else {
        Issue.record("it was taken")
        return
      }
    }
    options.maximumPixels = 100
    let format = H264Format(
      sps: [0x67, 66, 0xC0, 30, 0xDA, 0x7E, 0xAD], pps: [0x68, 0xCE, 0x3C, 0x80],
      size: Size(width: 16, height: 16), encoder: nil)
    let key = VideoSample(
      bytes: [0, 0, 0, 4, 0x65, 0x88, 0x84, 0], isKey: true, timestamp: .start, format: format)
    var (mp4, stream) = (FragmentedMP4(), FragmentStream(options))
    guard case .unusable = stream.take(mp4.append(key)[...], at: .start).first else {
      Issue.record("a picture that is too large was taken")
      return
    }
  }
}
