// WebRTC of another node's camera: sent by the node that a client asks, from one stream of the camera's node.
import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import PreviewCore
import Synchronization
import TestSupport
import Testing

@testable import GLPreview
@testable import GLPreviewServer
@testable import ServiceCore
@testable import ServiceFoundation
@testable import WebRTC

@Suite(
  "WebRTC of peers", .enabled(if: hasWebRTC, "libssl3 or libsrtp2-1 is missing here: scripts/setup"),
  .enabled(if: hasEncoder, "no encoder of H.264: scripts/setup"), .timeLimit(.minutes(15)))
struct PeerWebRTCTests {
  private static let path = "/cameras/camera/main/whep"

  private static func configuration(_ change: (inout ServedView) -> Void = { _ in }) -> ServerConfiguration {
    var view = ServedView()
    change(&view)
    return ServerConfiguration(
      cameras: [CameraConfiguration(source: "pattern:counter,size=320x180,fps=20", views: [view])])
  }

  private static func clients(_ service: RunningService) -> Int {
    service.inside.videos.clientCount(of: "camera", "main")
  }

  @Test(
    "WebRTC and MP4 clients of a node share one stream from the peer, without decoding"
  )
  func sharing() async throws {
    try await withOwnerAndEdge(Self.configuration()) { owner, edge in
      let target = try owner.inside.registry.view(nil, of: nil)
      let own = try owner.inside.videos.begin(
        target, as: target.served, VideoConfiguration(keyframeInterval: .seconds(2)))
      let encoded = Watched<Set<[UInt8]>>([])
      let reading = Task {
        while let sample = try await own.next() { encoded.update { _ = $0.insert(sample.bytes) } }
      }
      defer { reading.cancel() }
      let peers = [try await WHEPPeer(), try await WHEPPeer()]
      for peer in peers { try await peer.connect(try await edge.offer(peer).answer) }
      let stream = try await edge.openStream("/cameras/camera/main.mp4?keyframe=2")

      for peer in peers {
        let first = try await peer.picture()
        #expect(first.isKey)
        // The owner's own watcher may lose some where the machine is busy, as any client may.
        var same = 0
        while same < 5 { if encoded.value.contains(try await peer.picture().bytes) { same += 1 } }
      }

      #expect(edge.sessionCount == 2 && owner.sessionCount == 0)
      #expect(Self.clients(edge) == 3 && edge.inside.peerStreams.count == 1)
      await until { Self.clients(owner) == 2 }
      let statistics = edge.inside.registry.session.statistics
      #expect(statistics.renders == 0 && statistics.decoded == 0)
      #expect(edge.inside.videos.counters.encoders.isEmpty)
      for peer in peers { try await peer.close() }
      _ = stream
    }
  }

  @Test("a WebRTC client starts with the last keyframe and gets it again after a PLI")
  func lastKey() async throws {
    try await withOwnerAndEdge(Self.configuration()) { _, edge in
      let first = try await WHEPPeer()
      try await first.connect(try await edge.offer(first).answer)
      let known = Watched<Set<[UInt8]>>([])
      let reading = Task {
        while true {
          let picture = try await first.picture()
          if picture.isKey { known.update { _ = $0.insert(picture.bytes) } }
        }
      }
      defer { reading.cancel() }
      _ = try await known.first { $0.isEmpty ? nil : true }

      // Where the next key picture comes meanwhile, that is the first.
      var (begins, repeats) = (false, false)
      while !begins || !repeats {
        let peer = try await WHEPPeer()
        let before = known.value
        try await peer.connect(try await edge.offer(peer).answer)
        let key = try await peer.picture()
        #expect(key.isKey)
        begins = begins || before.contains(key.bytes)
        let ssrc = Array(try await peer.packet()[8..<12])
        try await peer.send(rtcp: [0x81, 206, 0, 2, 0, 0, 0, 1] + ssrc)
        var again = try await peer.picture()
        while !again.isKey { again = try await peer.picture() }
        repeats = repeats || again.bytes == key.bytes
        try await peer.close()
      }
    }
  }

  @Test(
    "a WebRTC session survives a reload, and ends if its view is disabled or its camera replaced"
  )
  func reloads() async throws {
    try await withOwnerAndEdge(Self.configuration()) { owner, edge in
      let peer = try await WHEPPeer()
      let (location, answer) = try await edge.offer(peer)
      #expect(location.hasPrefix("\(Self.path)/"))
      try await peer.connect(answer)

      var other = edgeConfiguration(of: owner.base)
      other.cameras = [CameraConfiguration(name: "own", source: StreamTests.pattern)]
      try await edge.inside.apply(other)
      for _ in 0..<20 { _ = try await peer.picture() }
      #expect(edge.sessionCount == 1)
      #expect(try await edge.send("PATCH", location).status == 204)

      var off = Self.configuration { $0.isEnabled = false }
      off.cluster.name = "owner"
      try await owner.inside.apply(off)
      try await peer.untilEnded()
      await until { edge.sessionCount == 0 }
      try await peer.vanish()
      let refused = try await edge.send(
        "POST", Self.path, [("Content-Type", "application/sdp")], body: await peer.offer)
      #expect(refused.status == 409, "\(refused.text)")

      off.cameras[0].views[0].isEnabled = true
      try await owner.inside.apply(off)
      let next = try await WHEPPeer()
      await until { edge.inside.peers.offers("main", of: "camera") }
      _ = try await edge.offer(next)
      other.cameras[0].name = "camera"
      try await edge.inside.apply(other)
      await until { edge.sessionCount == 0 }
      try await next.vanish()
    }
  }

  @Test(
    "DELETE ends a WebRTC session for its own client only; two sessions share one peer stream"
  )
  func requests() async throws {
    var owner = Self.configuration()
    owner.access.tokens = [.init(secret: "nodes", role: .control)]
    let change: @Sendable (inout ServerConfiguration) -> Void = {
      $0.access.tokens = [.init(secret: "looker", role: .read), .init(secret: "other", role: .read)]
      $0.webRTC.iceServers = [.init(url: "stun:stun.example:3478")]
    }
    try await withOwnerAndEdge(owner, token: "nodes", change) { owner, edge in
      func bearer(_ token: String) -> [(String, String)] { [("Authorization", "Bearer \(token)")] }
      let link = [#"<stun:stun.example:3478>; rel="ice-server""#]
      let options = try await edge.send("OPTIONS", Self.path, bearer("looker"))
      #expect(options.status == 204 && options.headers["Link"] == link)
      #expect(try await edge.send("OPTIONS", "/cameras/camera/other/whep", bearer("looker")).status == 404)
      let peer = try await WHEPPeer()
      #expect(edge.inside.peerStreams.count == 0)
      let (location, answer) = try await edge.offer(peer, Self.path + "?width=64", bearer("looker"))
      try await peer.connect(answer)
      _ = try await peer.picture()
      let again = try await edge.send(
        "POST", "/api/webrtc?src=camera&width=64", bearer("looker") + [("Content-Type", "application/sdp")],
        body: await peer.offer)
      #expect(again.status == 201 && again.headers["Link"] == link)
      #expect(edge.inside.peerStreams.count == 1)

      #expect(try await edge.send("DELETE", location).status == 401)
      #expect(try await edge.send("DELETE", location, bearer("other")).status == 404)
      #expect(try await edge.send("DELETE", location, bearer("looker")).status == 200)
      try await peer.untilEnded()
      await until { edge.sessionCount == 1 }
      #expect(owner.sessionCount == 0)
      try await peer.vanish()
    }
  }

  @Test("a WebRTC session goes on with the next owner when its camera moves")
  func moves() async throws {
    try await withService(Self.configuration()) { first in
      try await withService(Self.configuration()) { next in
        try await withService(edgeConfiguration(of: nowhere)) { edge in
          let urls = ["first": first.base, "next": next.base]
          edge.inside.peers.configure(homes: [:], movable: ["camera"])
          edge.inside.peers.apply(.of(urls, owner: "first", epoch: 1))
          let peer = try await WHEPPeer()
          try await peer.connect(try await edge.offer(peer).answer)
          _ = try await peer.picture()

          edge.inside.peers.apply(.of(urls, owner: "first", epoch: 1, without: "first"))
          edge.inside.peerStreams.followPeers()
          edge.inside.peers.apply(.of(urls, owner: "next", epoch: 2, without: "first"))
          edge.inside.peerStreams.followPeers()

          await until { Self.clients(next) > 0 && Self.clients(first) == 0 }
          while try await !peer.picture().isKey {}
          for _ in 0..<5 { _ = try await peer.picture() }
          #expect(edge.sessionCount == 1 && first.sessionCount + next.sessionCount == 0)
          try await peer.close()
        }
      }
    }
  }

  @Test("a node without WebRTC forwards offers and session requests to the peer")
  func forwarded() async throws {
    try await withOwnerAndEdge(Self.configuration(), { $0.webRTC.listen = .off }) { owner, edge in
      let peer = try await WHEPPeer()
      let (location, answer) = try await edge.offer(peer)
      #expect(location.hasPrefix("\(Self.path)/"))
      try await peer.connect(answer)
      _ = try await peer.packet()
      #expect(owner.sessionCount == 1 && edge.inside.peerStreams.count == 0)
      #expect(try await edge.send("DELETE", location).status == 200)
      await until { owner.sessionCount == 0 }
      try await peer.close()
    }
  }

  @Test("an offer is forwarded to the peer if the peer refuses the node a stream")
  func refused() async throws {
    var owner = Self.configuration()
    // One client has half of the places: none.
    owner.limits.adHocViews = 1
    try await withOwnerAndEdge(owner) { owner, edge in
      let target = try owner.inside.registry.view(nil, of: nil)
      let place = try owner.inside.videos.begin(target, as: target.served, VideoConfiguration(quality: 70))
      let peer = try await WHEPPeer()
      try await peer.connect(try await edge.offer(peer).answer)
      _ = try await peer.packet()
      #expect(owner.sessionCount == 1 && edge.sessionCount == 0)
      try await peer.close()
      place.end()
    }
  }
}

extension WHEPPeer {
  /// The next whole picture: its slices as samples have them, and whether parameter sets stand before them. What is left of a
  /// picture whose beginning was read already counts as one.
  func picture() async throws -> (isKey: Bool, bytes: [UInt8]) {
    var units: [[UInt8]] = []
    while true {
      let packet = try await packet()
      let words = packet[0] & 0x10 == 0 ? 0 : 1 + Int(packet[14]) << 8 + Int(packet[15])
      let payload = packet[(12 + 4 * words)...]
      let kind = payload[payload.startIndex] & 31
      if kind != 28 {
        units.append(Array(payload))
      } else {
        let (indicator, header) = (payload[payload.startIndex], payload[payload.startIndex + 1])
        if header & 0x80 != 0 || units.isEmpty { units.append([indicator & 0xE0 | header & 31]) }
        units[units.count - 1] += payload.dropFirst(2)
      }
      guard packet[1] & 0x80 != 0 else { continue }
      let slices = units.filter { ![7, 8].contains($0[0] & 31) }
      let bytes = slices.flatMap { unit in
        (0..<4).map { UInt8(truncatingIfNeeded: unit.count >> (24 - 8 * $0)) } + unit
      }
      return (units.contains { $0[0] & 31 == 7 }, bytes)
    }
  }
}
