// A secret that is taken away ends what it opened, and nothing else does: every long answer against every way in which secrets go.
import FoundationEssentials
import Glibc
import Logging
import NIOCore
import NIOHTTP1
import TestSupport
import Testing

@testable import GLPreview
@testable import GLPreviewServer
@testable import RTSP
@testable import Recordings
@testable import ServiceCore
@testable import ServiceFoundation

@Suite(
  "Revoked credentials", .enabled(if: hasEncoder && hasWebRTC, "libraries are missing: scripts/setup"),
  .timeLimit(.minutes(15)))
struct RevocationTests {
  /// How a secret goes, or what allows a page of another site.
  enum Loss: CaseIterable {
    case tokenRemoved, tokenLowered, passwordChanged, userRemoved, loggedOut, tokenOfLoginRemoved
    case peersTokenRemoved, credentialsRequired
    case originRemoved, originMayOnlyRead, hostRemoved
  }

  /// What outlives the check of its request.
  enum Answer: CaseIterable {
    case mjpeg, severalViews, video, clip, events, recording
    case picture, animation, capture
    case socketVideo, socketPictures, socketThatAsksLater, socketWebRTC
    case webRTC, rtsp
  }

  enum Outcome { case ends, goesOn, isNotOffered }

  private static func outcome(of answer: Answer, after loss: Loss) -> Outcome {
    switch (loss, answer) {
    case (.passwordChanged, .rtsp), (.userRemoved, .rtsp), (.credentialsRequired, .rtsp): .ends
    // RTSP has passwords alone.
    case (_, .rtsp): .isNotOffered
    // The only one here that needs the role `control`.
    case (.tokenLowered, .capture): .ends
    case (.tokenLowered, _): .goesOn
    case (.originMayOnlyRead, .mjpeg), (.originMayOnlyRead, .severalViews), (.originMayOnlyRead, .video),
      (.originMayOnlyRead, .clip), (.originMayOnlyRead, .events), (.originMayOnlyRead, .recording),
      (.originMayOnlyRead, .picture), (.originMayOnlyRead, .animation):
      .goesOn
    default: .ends
    }
  }

  // MARK: The service

  private static func configuration(_ folder: URL, asks: Bool) -> ServerConfiguration {
    var camera = CameraConfiguration(source: "pattern:counter,size=160x90,fps=20", views: [ServedView()])
    camera.replayDuration = .seconds(10)
    var dark = CameraConfiguration(name: "dark", source: "dark")
    dark.isRequired = false
    var configuration = ServerConfiguration(cameras: [camera, dark])
    configuration.recordings = FolderConfiguration(path: folder.path)
    configuration.rtsp.listen = .at(host: "127.0.0.1", port: 0)
    if asks { configuration.access = access }
    return configuration
  }

  private static let access: AccessConfiguration = {
    var access = AccessConfiguration()
    access.tokens = ["theirs", "other"].map { .init(secret: $0, role: .control) }
    access.users = ["anna", "other"].map { .init(name: $0, password: $0, role: .control) }
    access.allowedOrigins = ["https://page.example"]
    access.allowedHosts = ["camera.example"]
    return access
  }()

  /// How a client proves who it is.
  struct Proof {
    var fields: [(String, String)] = []
    var user: String?
    var host = "localhost"

    static let other = Proof(fields: [("Authorization", "Bearer other")], user: "other")
  }

  private static func proof(for loss: Loss, _ service: RunningService) async throws -> Proof {
    let token = ("Authorization", "Bearer theirs")
    switch loss {
    case .tokenRemoved, .tokenLowered: return Proof(fields: [token])
    case .originRemoved, .originMayOnlyRead:
      return Proof(fields: [token, ("Origin", "https://page.example")])
    case .hostRemoved: return Proof(fields: [token], host: "camera.example")
    case .peersTokenRemoved: return Proof(fields: [token, ("X-GLPreview-Hop", "1")])
    case .passwordChanged, .userRemoved:
      return Proof(fields: [("Authorization", "Basic YW5uYTphbm5h")], user: "anna")
    case .loggedOut, .tokenOfLoginRemoved:
      let answer = try await service.send("POST", "/api/login", body: #"{"token": "theirs"}"#)
      let cookie = try #require(answer.headers["Set-Cookie"].first?.split(separator: ";").first)
      // Its name has the port of the request's Host, which some clients here do not say.
      let other = "glpreview-0=" + (cookie.split(separator: "=").last ?? "")
      return Proof(fields: [("Cookie", "\(cookie); \(other)")])
    case .credentialsRequired: return Proof()
    }
  }

  private static func cause(
    _ loss: Loss, at service: RunningService, _ folder: URL, _ proof: Proof
  ) async throws {
    var changed = configuration(folder, asks: true)
    switch loss {
    case .tokenRemoved, .tokenOfLoginRemoved, .peersTokenRemoved: changed.access.tokens.removeFirst()
    case .tokenLowered: changed.access.tokens[0].role = .read
    case .passwordChanged: changed.access.users[0].password = "another"
    case .userRemoved: changed.access.users.removeFirst()
    case .originRemoved: changed.access.allowedOrigins = []
    case .originMayOnlyRead: changed.access.allowedOrigins = ["*"]
    case .hostRemoved: changed.access.allowedHosts = []
    case .credentialsRequired: break
    case .loggedOut:
      let answer = try await service.send("POST", "/api/logout", proof.fields)
      #expect(answer.status == 204)
      return
    }
    try await service.inside.apply(changed)
  }

  // MARK: The answers

  /// An answer that is being given.
  struct Open {
    /// How many grants it has.
    var grants = 1
    /// Returns when it has ended.
    let end: @Sendable () async throws -> Void
    /// Returns when more of it has come.
    let more: @Sendable () async throws -> Void
  }

  private static func open(_ answer: Answer, at service: RunningService, _ proof: Proof) async throws -> Open
  {
    let main = "/cameras/camera/main"
    return switch answer {
    case .mjpeg: try await streaming(main + ".mjpeg", service, proof)
    case .severalViews: try await streaming("/api/stream?view=camera/main", service, proof)
    case .video: try await streaming(main + ".mp4", service, proof)
    case .clip: try await streaming(main + ".mp4?before=1s&after=500s", service, proof)
    case .events: try await waiting("GET", "/api/events", service, proof)
    case .recording: try await download(service, proof)
    case .picture: try await waiting("GET", "/cameras/dark/main.jpg", service, proof)
    case .animation: try await waiting("GET", main + ".webp?before=1s&after=200s&fps=1", service, proof)
    case .capture: try await waiting("POST", "/api/cameras/dark/snapshots", service, proof)
    case .socketVideo: try await socket(#"{"type":"mse"}"#, service, proof)
    case .socketPictures: try await socket(#"{"type":"mjpeg"}"#, service, proof)
    case .socketThatAsksLater: try await socket(nil, service, proof)
    case .socketWebRTC: try await socketWebRTC(service, proof)
    case .webRTC: try await webRTC(service, proof)
    case .rtsp: try await rtsp(service, proof)
    }
  }

  private static func request(_ method: String, _ path: String, _ proof: Proof) -> String {
    let fields = proof.fields + (method == "POST" ? [("Content-Length", "0")] : [])
    return "\(method) \(path) HTTP/1.1\r\nHost: \(proof.host)\r\n"
      + fields.map { "\($0): \($1)\r\n" }.joined() + "\r\n"
  }

  static func streaming(
    _ path: String, _ service: RunningService, _ proof: Proof
  ) async throws -> Open {
    let connection = try await RawConnection(to: service.port, sending: request("GET", path, proof))
    try await connection.waits(for: "HTTP/1.1 200 ")
    return Open(end: { try await connection.waitsForEnd() }) {
      for _ in 0..<3 { try await connection.waits(forMoreThan: connection.bytes.count) }
    }
  }

  /// Of these no more comes while nothing happens.
  private static func waiting(
    _ method: String, _ path: String, _ service: RunningService, _ proof: Proof
  ) async throws -> Open {
    let connection = try await RawConnection(to: service.port, sending: request(method, path, proof))
    return Open(end: {
      try await connection.waitsForEnd()
      // All but events have not begun.
      #expect(connection.received.isEmpty || connection.received.contains("text/event-stream"))
    }) {}
  }

  static let largeBytes = 16 << 20

  private static func download(_ service: RunningService, _ proof: Proof) async throws -> Open {
    let path = try #require(
      service.inside.recorders?.folder.recordings(of: nil, from: nil, to: nil, limit: 1).first?.path)
    let connection = try await RawConnection(to: service.port, sending: "", isSmall: true)
    try await connection.stopReading()
    try await connection.send(Array(request("GET", path, proof).utf8))
    return Open(end: {
      try await connection.readAgain()
      try await connection.waitsForEnd()
      #expect(connection.bytes.count < largeBytes)
    }) {
      try await connection.readAgain()
      try await connection.waits(forMoreThan: largeBytes)
    }
  }

  private static func socketPeer(_ service: RunningService, _ proof: Proof) async throws -> WebSocketPeer {
    let peer = try await WebSocketPeer(
      to: service.port, "/api/ws?src=camera", host: proof.host, more: proof.fields.map { "\($0): \($1)" })
    #expect(peer.head.hasPrefix("HTTP/1.1 101 "))
    return peer
  }

  /// A socket that plays, or is asked to play at the end.
  private static func socket(
    _ message: String?, _ service: RunningService, _ proof: Proof
  ) async throws -> Open {
    let peer = try await socketPeer(service, proof)
    @Sendable func pictures() -> Int { peer.frames.count { $0.opcode == 2 } }
    if let message {
      try await peer.send(message)
      await peer.waits { pictures() > 0 }
    }
    return Open(end: {
      if message == nil { try? await peer.send(#"{"type":"mjpeg"}"#) }
      try await peer.waitsForEnd()
      if message == nil { #expect(pictures() == 0) }
    }) {
      if message == nil { try await peer.send(#"{"type":"mjpeg"}"#) }
      let count = pictures()
      await peer.waits { pictures() > count + 2 }
    }
  }

  struct Message: Codable {
    let type: String
    let value: String
  }

  static func socketWebRTC(_ service: RunningService, _ proof: Proof) async throws -> Open {
    let (socket, peer) = (try await socketPeer(service, proof), try await WHEPPeer())
    let offer = try JSONEncoder().encode(Message(type: "webrtc/offer", value: await peer.offer))
    try await socket.send(String(decoding: offer, as: UTF8.self))
    await socket.waits { !socket.texts.isEmpty }
    let text = try #require(socket.texts.first)
    let message = try JSONDecoder().decode(Message.self, from: Data(text.utf8))
    try await peer.connect(try #require(WHEPPeer.Answer(message.value)))
    return Open(
      grants: 2,
      end: {
        try await socket.waitsForEnd()
        try await peer.untilEnded()
      }, more: { _ = try await peer.packet() })
  }

  static func webRTC(_ service: RunningService, _ proof: Proof) async throws -> Open {
    let peer = try await WHEPPeer()
    let (_, answer) = try await service.offer(
      peer, "/cameras/camera/main/whep", proof.fields + [("Host", proof.host)])
    try await peer.connect(answer)
    return Open(end: { try await peer.untilEnded() }, more: { _ = try await peer.packet() })
  }

  static func rtsp(_ service: RunningService, _ proof: Proof) async throws -> Open {
    await until { service.inside.rtsp.port != nil }
    let port = try #require(service.inside.rtsp.port)
    let (peer, url) = (try await RTSPPeer(to: port), "rtsp://127.0.0.1:\(port)/camera/main")
    let challenge = try await peer.ask("DESCRIBE", url)
    func ask(_ method: String, _ fields: [(String, String)]) async throws -> RTSPPeer.Answer {
      let proved =
        try proof.user.map { try RTSPAccessTests.authorization(challenge, $0, $0, method, url) } ?? []
      return try await peer.ask(method, url, fields + proved)
    }
    let ready = try await ask("SETUP", [("Transport", "RTP/AVP/TCP;unicast;interleaved=0-1")])
    let session = try #require(ready.fields["session"]).prefix { $0 != ";" }
    #expect(try await ask("PLAY", [("Session", String(session))]).status == 200)
    return Open(end: { try await peer.waitsForEnd() }, more: { _ = try await peer.packet(channel: 0) })
  }

  /// A file that takes longer to send than a client may stay. Only its beginning is on the disk.
  static func makeRecording(in folder: URL) throws {
    func box(_ type: String, _ content: [UInt8]) -> [UInt8] {
      [0, 0, 0, UInt8(content.count + 8)] + Array(type.utf8) + content
    }
    let length: [UInt8] = [1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0]
    let name = StampedFileName(camera: "camera", view: "main", time: .now, .recording)
    let file = folder.appending(path: name.camera).appending(path: name.file)
    try FileManager.default.createDirectory(
      at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(box("moov", box("mvex", box("mehd", length)))).write(to: file)
    let isMade = unsafe truncate(file.path, largeBytes) == 0
    #expect(isMade)
  }

  // MARK: The table

  @Test(
    "revoking a credential, origin or host ends the responses that it allowed and no others",
    arguments: Loss.allCases)
  func table(loss: Loss) async throws {
    let (dark, records) = (CountingCamera(), LogRecords())
    try await withTemporaryFolder { folder in
      try Self.makeRecording(in: folder)
      let before = Self.configuration(folder, asks: loss != .credentialsRequired)
      try await withService(
        before,
        makeSource: { text, name, options in
          text == "dark"
            ? dark.source(named: name, options) : SessionSource(text, name: name, options: options)
        }, logger: records.logger
      ) { service in
        await until {
          service.inside.recorders?.folder.recordings(of: nil, from: nil, to: nil, limit: 1).isEmpty == false
        }
        let proof = try await Self.proof(for: loss, service)
        let answers = Answer.allCases.filter { Self.outcome(of: $0, after: loss) != .isNotOffered }
        var (ending, going): ([Answer: Open], [Open]) = ([:], [])
        for answer in answers {
          let open = try await Self.open(answer, at: service, proof)
          if Self.outcome(of: answer, after: loss) == .ends {
            ending[answer] = open
          } else {
            going.append(open)
          }
          guard loss != .credentialsRequired else { continue }
          going.append(try await Self.open(answer, at: service, .other))
        }
        let grants = service.inside.access.grants
        let stays = going.reduce(0) { $0 + $1.grants }
        await until { grants.count == stays + ending.values.reduce(0) { $0 + $1.grants } }

        try await Self.cause(loss, at: service, folder, proof)

        let ended = Watched<Set<Answer>>([])
        await withTaskGroup { group in
          for (answer, open) in ending {
            group.addTask {
              do { try await open.end() } catch { Issue.record("\(answer): \(error)") }
              ended.update { _ = $0.insert(answer) }
            }
          }
          await until { ended.value.count == ending.count }
          // Where the time limit has ended the test, this names those that did not end.
          #expect(ended.value == Set(ending.keys))
          group.cancelAll()
        }
        await until { grants.count == stays }
        for open in going { try await open.more() }
        #expect(records.messages.contains("clients disconnected"))
      }
    }
  }

  /// HLS has no answer that lasts: each request is asked again.
  @Test(
    "an HLS player gets nothing more after its access is revoked, and other players do",
    arguments: Loss.allCases)
  func players(loss: Loss) async throws {
    try await withTemporaryFolder { folder in
      let before = Self.configuration(folder, asks: loss != .credentialsRequired)
      try await withService(before) { service in
        func get(_ path: String, _ proof: Proof) async throws -> RunningService.Answer {
          try await service.get("/cameras/camera/" + path, proof.fields + [("Host", proof.host)])
        }
        let proof = try await Self.proof(for: loss, service)
        let playlist = try MediaPlaylist(try await get("main.m3u8", proof).text)
        let segment = try #require(playlist.segments.last).uri
        if loss != .credentialsRequired { #expect(try await get("main.m3u8", .other).status == 200) }
        let videos = service.inside.videos
        #expect(videos.clientCount(of: "camera", "main") <= 2)

        try await Self.cause(loss, at: service, folder, proof)

        let isLost = Self.outcome(of: .video, after: loss) == .ends
        if isLost {
          #expect(videos.clientCount(of: "camera", "main") <= (loss == .credentialsRequired ? 0 : 1))
        }
        // Reading is refused to no origin: its browser shows an answer to the page only if the page's origin is in it.
        let answers = [try await get("main.m3u8", proof), try await get(segment, proof)]
        if loss == .originRemoved {
          #expect(answers.allSatisfy { $0.headers["Access-Control-Allow-Origin"].isEmpty })
        } else {
          #expect((answers[0].status == 200) == !isLost && (!isLost || answers[1].status != 200))
        }
        #expect(try await get("main.m3u8", .other).status == 200)
      }
    }
  }

  @Test("revoking a peer's token ends its streams at the node with the camera")
  func peers() async throws {
    var owner = ServerConfiguration(cameras: [
      CameraConfiguration(source: "pattern:counter,size=160x90,fps=20")
    ])
    owner.access = Self.access
    try await withOwnerAndEdge(owner, token: "theirs") { [owner] owner_, edge in
      let paths = ["/cameras/camera/main.mjpeg", "/cameras/camera/main.mp4"]
      for path in paths { _ = try await Self.streaming(path, edge, Proof()) }
      await until { owner_.watchers() == 1 && owner_.inside.videos.clientCount(of: "camera", "main") == 1 }

      var changed = owner
      changed.cluster.name = "owner"
      changed.access.tokens.removeFirst()
      try await owner_.inside.apply(changed)

      await until { owner_.watchers() == 0 && owner_.inside.videos.clientCount(of: "camera", "main") == 0 }
      await until { owner_.inside.access.grants.count == 0 }
    }
  }
}
