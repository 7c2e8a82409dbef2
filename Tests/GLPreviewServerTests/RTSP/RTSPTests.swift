// The RTSP server: what a client gets, who is let in, and how it ends.
import Logging
import NIOCore
import PreviewCore
import Synchronization
import TestSupport
import Testing

@testable import GLPreview
@testable import GLPreviewServer
@testable import RTSP
@testable import ServiceCore
@testable import ServiceFoundation

@Suite(
  "The RTSP server", .enabled(if: hasEncoder, "no encoder of H.264: scripts/setup"), .timeLimit(.minutes(15)))
struct RTSPTests {
  static let tcp = [("Transport", "RTP/AVP/TCP;unicast;interleaved=0-1")]

  static func configuration(
    _ source: String = "pattern:counter,size=320x180,fps=20", _ views: [ServedView] = [ServedView()]
  ) -> ServerConfiguration {
    var configuration = ServerConfiguration(cameras: [CameraConfiguration(source: source, views: views)])
    configuration.rtsp.listen = .at(host: "127.0.0.1", port: 0)
    return configuration
  }

  /// Runs `work` with the port of a service's RTSP server.
  static func withServer(
    _ configuration: ServerConfiguration = configuration(),
    logger: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
    _ work: @escaping @Sendable (RunningService, Int) async throws -> Void
  ) async throws {
    try await withService(configuration, logger: logger) { service in
      await until { service.inside.rtsp.port != nil }
      try await work(service, try #require(service.inside.rtsp.port))
    }
  }

  static func url(_ port: Int, _ path: String = "camera/main") -> String {
    "rtsp://127.0.0.1:\(port)/\(path)"
  }

  /// Sets a session up, and returns its name.
  static func setUp(_ peer: RTSPPeer, _ port: Int) async throws -> (String, String) {
    let answer = try await peer.ask("SETUP", url(port) + "/trackID=0", tcp)
    #expect(answer.status == 200)
    let session = try #require(answer.fields["session"])
    return ("Session", String(session.prefix { $0 != ";" }))
  }

  // MARK: Pictures

  @Test("an RTSP client gets interleaved RTP from a keyframe on, until TEARDOWN")
  func pictures() async throws {
    try await Self.withServer { service, port in
      let peer = try await RTSPPeer(to: port)
      #expect(try await peer.ask("OPTIONS", "*").fields["public"]?.contains("DESCRIBE") == true)
      let description = try await peer.ask("DESCRIBE", Self.url(port), [("Accept", "application/sdp")])
      #expect(description.status == 200 && description.fields["content-type"] == "application/sdp")
      #expect(description.fields["content-base"] == Self.url(port) + "/")
      for line in ["a=rtpmap:96 H264/90000", "a=control:trackID=0", "a=framesize:96 320-180"] {
        #expect(description.body.contains(line + "\r\n"))
      }
      #expect(description.body.contains("packetization-mode=1;profile-level-id=42"))

      let session = try await Self.setUp(peer, port)
      let playing = try await peer.ask("PLAY", Self.url(port), [session, ("Range", "npt=0.000-")])
      #expect(playing.status == 200)
      let first = try await peer.packet(channel: 0)
      let number = UInt16(first[2]) << 8 | UInt16(first[3])
      let time = first[4..<8].reduce(0) { $0 << 8 | Int($1) }
      #expect(playing.fields["rtp-info"]?.hasSuffix(";seq=\(number);rtptime=\(time)") == true)
      #expect(first[0] == 0x80 && first[1] == 96 && first[12] & 31 == 7, "parameter sets come first")
      var (last, ends) = (number, 0)
      while ends < 5 {
        let packet = try await peer.packet(channel: 0)
        last &+= 1
        #expect(UInt16(packet[2]) << 8 | UInt16(packet[3]) == last)
        if packet[1] & 0x80 != 0 { ends += 1 }
      }
      let report = try await peer.packet(channel: 1)
      #expect(report[1] == 200 && Array(report[4..<8]) == Array(first[8..<12]))
      #expect(service.inside.videos.clientCount(of: "camera", "main") == 1)
      #expect(try await peer.ask("GET_PARAMETER", Self.url(port), [session]).status == 200)

      #expect(try await peer.ask("TEARDOWN", Self.url(port), [session]).status == 200)
      await until { service.inside.videos.clientCount(of: "camera", "main") == 0 }
      #expect(try await peer.ask("GET_PARAMETER", Self.url(port), [session]).status == 454)
      // The connection is good for another session.
      _ = try await Self.setUp(peer, port)
      try await peer.close()
    }
  }

  /// The time of a packet's picture, in ticks of 1/90000 s.
  private static func time(of packet: [UInt8]) -> UInt32 {
    packet[4..<8].reduce(0) { $0 << 8 | UInt32($1) }
  }

  @Test("a client that sends a picture loss indication gets a keyframe before the next regular one")
  func keys() async throws {
    var view = ServedView()
    view.video.keyframeInterval = .seconds(60)
    let configuration = Self.configuration("pattern:counter,size=320x180,fps=20", [view])
    try await Self.withServer(configuration) { _, port in
      let peer = try await RTSPPeer(to: port)
      let session = try await Self.setUp(peer, port)
      #expect(try await peer.ask("PLAY", Self.url(port), [session]).status == 200)
      var packet = try await peer.packet(channel: 0)
      let first = Self.time(of: packet)
      while packet[1] & 0x80 == 0 { packet = try await peer.packet(channel: 0) }
      // Picture loss indication.
      try await peer.send([0x81, 206, 0, 2, 0, 0, 0, 1] + packet[8..<12], channel: 1)
      while Self.time(of: packet) == first || packet[12] & 31 != 7 {
        packet = try await peer.packet(channel: 0)
      }
      // By the pictures' own clock, so that it does not matter how long they took.
      #expect(Self.time(of: packet) &- first < 60 * 90_000)
      try await peer.close()
    }
  }

  #if FFmpeg
    @Test(
      "PreviewSession reads the RTSP server over TCP and UDP with correct colours",
      arguments: ["", "#transport=udp"])
    func ownSource(transport: String) async throws {
      var access = AccessConfiguration()
      access.users = [.init(name: "anna", password: "a:b", role: .read)]
      var configuration = Self.configuration("pattern:smpte,size=320x180,fps=20")
      configuration.access = access
      try await Self.withServer(configuration) { _, port in
        var source = SessionSource("rtsp://anna:a%3Ab@127.0.0.1:\(port)/camera" + transport)
        source.opensWithin = allTheTimeThereIs
        source.options.live = LiveOptions(
          stallsAfter: allTheTimeThereIs, reconnectsAfter: allTheTimeThereIs,
          connectsWithin: allTheTimeThereIs)
        let session = try PreviewSession(source)
        _ = try session.addPreview()
        let request = SnapshotRequest(.newest, as: .rgba, timeout: allTheTimeThereIs)
        let picture = try #require(try await session.snapshot(request).pictures.first).picture
        #expect(picture.size == Size(width: 320, height: 180))
        // The second bar is yellow, the sixth red, the last one blue, at three quarters.
        for (x, color) in [(68, [191, 191, 0]), (250, [191, 0, 0]), (297, [0, 0, 191])] {
          let found = (0..<3).map { picture.bytes[(60 * 320 + x) * 4 + $0] }
          #expect(zip(found, color).allSatisfy { abs(Int($0) - $1) < 12 }, "\(found) at \(x)")
        }
        await session.close()
      }
    }
  #endif

  // MARK: Refusals

  @Test(
    "unsupported RTSP requests return their error status, and the connection stays open",
    arguments: [
      ("DESCRIBE", "camera/none", [], 404), ("DESCRIBE", "none/main", [], 404),
      ("DESCRIBE", "a/b/c", [], 404),
      ("DESCRIBE", "camera/none?camera/main", [], 404), ("SETUP", "camera/main", [], 461),
      ("DESCRIBE", "camera/main", [("Require", "onvif-replay")], 551),
      ("OPTIONS", "camera/main", [("Proxy-Require", "gradual")], 551),
      ("SETUP", "camera/main", [("Transport", "RTP/AVP;multicast")], 461), ("SETUP", "none", tcp, 404),
      ("PLAY", "camera/main", [], 454), ("PLAY", "camera/main", [("Session", "1")], 454),
      ("TEARDOWN", "camera/main", [("Session", "1")], 454), ("PAUSE", "camera/main", [], 405),
      ("ANNOUNCE", "camera/main", [("Content-Length", "0")], 405), ("FLY", "camera/main", [], 501),
      ("GET_PARAMETER", "camera/main", [("Session", "1")], 454), ("GET_PARAMETER", "camera/main", [], 200),
      ("SET_PARAMETER", "camera/main", [], 451),
    ] as [(String, String, [(String, String)], Int)])
  func refusals(method: String, path: String, fields: [(String, String)], status: Int) async throws {
    try await Self.withServer { _, port in
      let peer = try await RTSPPeer(to: port)
      let answer = try await peer.ask(method, Self.url(port, path), fields)
      #expect(answer.status == status)
      #expect(answer.fields["unsupported"] == (status == 551 ? fields[0].1 : nil))
      #expect(try await peer.ask("OPTIONS", "*").status == 200)
      try await peer.close()
    }
  }

  @Test("the query of an RTSP URL is ignored in DESCRIBE, SETUP and PLAY")
  func query() async throws {
    try await Self.withServer { service, port in
      let (peer, url) = (try await RTSPPeer(to: port), Self.url(port) + "?video&audio")
      let description = try await peer.ask("DESCRIBE", url)
      #expect(description.status == 200 && description.fields["content-base"] == Self.url(port) + "/")
      // Clients put the track behind the URL, or behind the base.
      let answer = try await peer.ask("SETUP", url + "/trackID=0", Self.tcp)
      #expect(answer.status == 200)
      let session = ("Session", String(try #require(answer.fields["session"]).prefix { $0 != ";" }))
      #expect(try await peer.ask("PLAY", url, [session]).status == 200)
      _ = try await peer.packet(channel: 0)
      try await peer.close()
    }
  }

  @Test("switching off a view closes its RTSP connections, and DESCRIBE then returns 503")
  func ends() async throws {
    try await Self.withServer { service, port in
      var peers: [RTSPPeer] = []
      for name in ["main", "main"] {
        let peer = try await RTSPPeer(to: port)
        let session = try await Self.setUp(peer, port)
        #expect(try await peer.ask("PLAY", Self.url(port, "camera/" + name), [session]).status == 200)
        _ = try await peer.packet(channel: 0)
        peers.append(peer)
      }
      var view = ServedView()
      view.isEnabled = false
      try await service.inside.apply(Self.configuration("pattern:counter,size=320x180,fps=20", [view]))
      for peer in peers { try await peer.waitsForEnd() }
      let late = try await RTSPPeer(to: port)
      #expect(try await late.ask("DESCRIBE", Self.url(port)).status == 503)
      try await late.close()
    }
  }

  @Test("garbage returns 400 or 413 and closes the connection; the next client is served")
  func garbage() async throws {
    try await Self.withServer { _, port in
      for text in ["GET / HTTP/1.1\r\n\r\n", "\u{0}\u{1}\r\n\r\n", String(repeating: "x", count: 20_000)] {
        let peer = try await RTSPPeer(to: port)
        try await peer.send(text)
        #expect([400, 413].contains(try await peer.answer().status))
        try await peer.waitsForEnd()
      }
      let peer = try await RTSPPeer(to: port)
      #expect(try await peer.ask("OPTIONS", "*").status == 200)
      try await peer.close()
    }
  }

  // MARK: Those who are slow, or go

  @Test("an RTSP client that stops reading is disconnected after the stall timeout")
  func slow() async throws {
    var view = ServedView()
    // Mostly key pictures, which are large.
    view.video.keyframeInterval = .milliseconds(100)
    var configuration = Self.configuration("pattern:zoneplate,size=1280x720,fps=20", [view])
    configuration.limits.stalledClient = .milliseconds(500)
    try await Self.withServer(configuration) { service, port in
      let slow = try await RTSPPeer(to: port, isSmall: true)
      let session = try await Self.setUp(slow, port)
      #expect(try await slow.ask("PLAY", Self.url(port), [session]).status == 200)
      try await slow.stopReading()
      await until { service.inside.rtsp.clientCount == 0 }
      await until { service.inside.videos.clientCount(of: "camera", "main") == 0 }
      try await slow.close()
    }
  }

  @Test("an RTSP client that does not read its responses is disconnected after the stall timeout")
  func unreadResponses() async throws {
    var configuration = Self.configuration()
    configuration.limits.stalledClient = .milliseconds(500)
    try await Self.withServer(configuration) { service, port in
      let peer = try await RTSPPeer(to: port, isSmall: true)
      #expect(try await peer.ask("OPTIONS", "*").status == 200)
      try await peer.stopReading()
      let requests = String(repeating: "OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n", count: 1000)
      let flood = Task { while true { try await peer.send(requests) } }
      await until { service.inside.rtsp.clientCount == 0 }
      await #expect(throws: (any Error).self) { try await flood.value }
      try? await peer.close()
    }
  }

  @Test("RTSP connections beyond a client's limit are closed, and its other ones stay open")
  func connectionsPerClient() async throws {
    try await Self.withServer { service, port in
      var peers: [RTSPPeer] = []
      for _ in 0..<service.inside.rtsp.connectionsPerClient {
        let peer = try await RTSPPeer(to: port)
        #expect(try await peer.ask("OPTIONS", "*").status == 200)
        peers.append(peer)
      }
      for _ in 0..<20 { try await RTSPPeer(to: port).waitsForEnd() }
      for peer in peers {
        #expect(try await peer.ask("OPTIONS", "*").status == 200)
        try await peer.close()
      }
      await until { service.inside.rtsp.clientCount == 0 }
      let late = try await RTSPPeer(to: port)
      #expect(try await late.ask("OPTIONS", "*").status == 200)
    }
  }

  @Test("RTSP clients that disconnect without TEARDOWN leave no session behind")
  func vanishing() async throws {
    try await Self.withServer { service, port in
      for index in 0..<20 {
        let peer = try await RTSPPeer(to: port)
        let session = try await Self.setUp(peer, port)
        if index.isMultiple(of: 2) {
          #expect(try await peer.ask("PLAY", Self.url(port), [session]).status == 200)
        }
        try await peer.close()
      }
      await until { service.inside.videos.clientCount(of: "camera", "main") == 0 }
      await until { service.inside.rtsp.clientCount == 0 }
    }
  }
}
