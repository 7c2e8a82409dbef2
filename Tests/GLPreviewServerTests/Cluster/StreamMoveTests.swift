// A camera that moves takes its clients along: every kind of stream against every way in which a camera moves.
import GLPreview
import RTSP
import TestSupport
import Testing

@testable import GLPreviewServer
@testable import ServiceCore
@testable import ServiceFoundation

@Suite(
  "Streams of cameras that move",
  .enabled(if: hasEncoder && hasWebRTC, "libraries are missing: scripts/setup"),
  .timeLimit(.minutes(15)))
struct StreamMoveTests {
  enum Consumer: CaseIterable {
    case mjpeg, severalViews, video, socketVideo, socketPictures, socketWebRTC, webRTC, rtsp
  }

  /// Where a camera goes.
  enum Move: CaseIterable {
    /// From a node to the next.
    case fromNode
    /// From here to the next node, and for a while it is nowhere.
    case fromHere
  }

  private static func configuration() -> ServerConfiguration {
    ServerConfiguration(cameras: [CameraConfiguration(source: "pattern:counter,size=160x90,fps=20")])
  }

  /// An edge in front of two nodes.
  private struct Nodes: Sendable {
    let first: RunningService
    let next: RunningService
    let edge: RunningService

    func know(owner: String, epoch: UInt64, without dead: String? = nil) {
      let urls = ["first": first.base, "next": next.base]
      edge.inside.peers.apply(.of(urls, owner: owner, epoch: epoch, without: dead))
    }

    /// The camera is at no node.
    func lose() async throws {
      try await edge.inside.registry.apply(edgeConfiguration(of: nowhere).patient())
    }
  }

  private static func withNodes(
    isHere: Bool, endsWithin limit: Duration? = .seconds(10),
    _ work: @escaping @Sendable (Nodes) async throws -> Void
  ) async throws {
    var edge = edgeConfiguration(of: nowhere)
    edge.rtsp.listen = .at(host: "127.0.0.1", port: 0)
    // What peers list wakes what waits.
    edge.timeouts.lostPeerPoll = allTheTimeThereIs
    if isHere { edge.cameras = configuration().cameras }
    try await withService(configuration()) { [edge] first in
      try await withService(configuration()) { next in
        try await withService(edge, endsWithin: limit) { edge in
          edge.inside.peers.configure(homes: [:], movable: ["camera"])
          try await work(Nodes(first: first, next: next, edge: edge))
        }
      }
    }
  }

  // MARK: The consumers

  private static func open(_ consumer: Consumer, at service: RunningService) async throws
    -> RevocationTests.Open
  {
    let proof = RevocationTests.Proof()
    return switch consumer {
    case .mjpeg: try await RevocationTests.streaming("/cameras/camera/main.mjpeg", service, proof)
    case .severalViews:
      try await RevocationTests.streaming(
        "/api/stream?view=camera/main&view=camera/main", service, proof)
    case .video: try await RevocationTests.streaming("/cameras/camera/main.mp4", service, proof)
    case .socketVideo: try await socket("mse", service)
    case .socketPictures: try await socket("mjpeg", service)
    case .socketWebRTC: try await RevocationTests.socketWebRTC(service, proof)
    case .webRTC: try await RevocationTests.webRTC(service, proof)
    case .rtsp: try await RevocationTests.rtsp(service, proof)
    }
  }

  private static func socket(_ type: String, _ service: RunningService) async throws -> RevocationTests.Open {
    let peer = try await WebSocketPeer(to: service.port, "/api/ws?src=camera/main")
    // MP4 begins with the size of a box.
    let begin: [UInt8] = type == "mse" ? [0] : [0xff, 0xd8]
    @Sendable func pictures() -> Int {
      peer.frames.count { $0.opcode == 2 && $0.payload.starts(with: begin) }
    }
    try await peer.send(#"{"type":"\#(type)"}"#)
    await peer.waits { pictures() > 0 }
    return RevocationTests.Open(end: { try await peer.waitsForEnd() }) {
      let count = pictures()
      await peer.waits { pictures() > count + 2 }
      #expect(peer.frames.count { $0.opcode == 2 } == pictures() || type == "mse")
    }
  }

  private static let clients = [4, 5]

  private static func clients(_ service: RunningService) -> [Int] {
    [service.watchers(), service.inside.videos.clientCount(of: "camera", "main")]
  }

  // MARK: The table

  @Test("streams of every kind go on when their camera moves to another node", arguments: Move.allCases)
  func table(move: Move) async throws {
    try await Self.withNodes(isHere: move == .fromHere) { nodes in
      if move == .fromNode { nodes.know(owner: "first", epoch: 1) }
      var opened: [RevocationTests.Open] = []
      for consumer in Consumer.allCases { opened.append(try await Self.open(consumer, at: nodes.edge)) }
      await until { Self.clients(nodes.edge) == Self.clients }

      switch move {
      case .fromNode: nodes.know(owner: "next", epoch: 2)
      case .fromHere:
        try await nodes.lose()
        await until { nodes.edge.inside.peerStreams.changes.waitingCount == 8 }
        nodes.know(owner: "next", epoch: 1)
      }

      await until { Self.clients(nodes.edge) == Self.clients }
      // One stream of each kind, for all clients here, and one of WebRTC, whose key pictures are frequent.
      await until { Self.clients(nodes.next) == [1, 2] && Self.clients(nodes.first) == [0, 0] }
      for open in opened { try await open.more() }
      #expect(nodes.edge.sessionCount == 2)
      #expect(nodes.first.sessionCount + nodes.next.sessionCount == 0)
    }
  }

  @Test("a client that waits for its camera's next node can leave, and the service can stop")
  func waiting() async throws {
    try await Self.withNodes(isHere: true, endsWithin: nil) { nodes in
      let peers = nodes.edge.inside.peerStreams
      let leaving = try await RawConnection(
        to: nodes.edge.port, sending: "GET /cameras/camera/main.mjpeg HTTP/1.1\r\nHost: localhost\r\n\r\n")
      let video = try await RawConnection(
        to: nodes.edge.port, sending: "GET /cameras/camera/main.mp4 HTTP/1.1\r\nHost: localhost\r\n\r\n")
      for client in [leaving, video] { try await client.waits(for: "HTTP/1.1 200 ") }
      var staying: [RevocationTests.Open] = []
      for consumer in Consumer.allCases { staying.append(try await Self.open(consumer, at: nodes.edge)) }
      await until { Self.clients(nodes.edge) == [5, 6] }

      try await nodes.lose()
      // Both sessions of WebRTC are read as one.
      await until { peers.changes.waitingCount == 10 }
      for client in [leaving, video] { try await client.close() }

      await until { peers.changes.waitingCount == 8 }
      #expect(staying.count == 8)
    }
  }
}
