// Recordings from before a view was hidden: the roles that may see them.
import FoundationEssentials
import Logging
import NIOHTTP1
import PreviewCore
import TestSupport
import Testing

@testable import GLPreview
@testable import GLPreviewServer
@testable import Recordings
@testable import ServiceFoundation

@Suite(
  "Recordings made before a view was hidden", .enabled(if: hasEncoder, "no encoder of H.264: scripts/setup"),
  .timeLimit(.minutes(15)))
struct RecordingPrivacyTests {
  private static func configuration(
    _ folder: URL, _ change: (inout CameraConfiguration) -> Void = { _ in }
  ) -> ServerConfiguration {
    var view = ServedView()
    view.video.keyframeInterval = .milliseconds(500)
    var camera = CameraConfiguration(source: "pattern:counter,size=160x90,fps=20", views: [view])
    (camera.record.when, camera.record.segment) = (.always, .seconds(1))
    camera.options.referenceSize = Size(width: 160, height: 90)
    change(&camera)
    var configuration = ServerConfiguration(cameras: [camera])
    configuration.recordings = FolderConfiguration(path: folder.path)
    configuration.access = access
    return configuration
  }

  private static let access: AccessConfiguration = {
    var access = AccessConfiguration()
    access.tokens = [.init(secret: "look", role: .read), .init(secret: "rule", role: .control)]
    return access
  }()

  private static func lock(_ width: Int) -> (inout CameraConfiguration) -> Void {
    {
      $0.views[0].view.crop = Rectangle(x: 0, y: 0, width: width, height: 90)
      $0.views[0].isLocked = true
    }
  }

  private static func header(_ token: String) -> [(String, String)] { [("Authorization", "Bearer \(token)")] }

  private struct List: Decodable { let recordings: [Recording.Answer] }

  /// How long after its begin a recording is asked for a picture.
  private static let offset = Duration.milliseconds(100)

  /// The URL of one of the first pictures of a recording.
  private static func picture(of recording: Recording) -> String {
    let start = recording.firstPicture ?? recording.start
    let time = WallTime(sinceEpoch: start.sinceEpoch + offset)
    return "/recordings/camera.jpg?view=\(recording.view)&at=\(time.secondsText)"
  }

  /// The status of a recording, whether it is listed, and the status of a picture of it.
  private static func seen(_ recording: Recording, by token: String, at service: RunningService) async throws
    -> String
  {
    let path = recording.path
    let status = try await service.get(path, header(token)).status
    let list = try await service.get("/api/recordings?limit=1000", header(token)).json(List.self)
    let answer = try await service.get(picture(of: recording), header(token))
    if answer.status == 200 { #expect(answer.headers["X-Recording"] == [path]) }
    let isListed = list.recordings.contains { $0.url == path }
    return "\(status) \(isListed ? "listed" : "not listed") \(answer.status)"
  }

  /// A recording that has ended, and was begun after this call. It lasts until after the time of its picture:
  /// on a busy machine a recording may have one picture alone, and the next one begins before that time.
  private static func next(_ service: RunningService) async throws -> Recording {
    func done() -> [Recording] {
      (service.inside.recorders?.folder.recordings(of: nil, from: nil, to: nil, limit: 1000) ?? [])
    }
    // The recorder of before may still be writing.
    let now = WallTime.now
    var new: Recording?
    await until {
      new = done().first { $0.duration ?? .zero > Self.offset * 2 && $0.start > now }
      return new != nil
    }
    return try #require(new)
  }

  /// Returns when a service has found a recording of an earlier run.
  private static func untilKnown(_ recording: Recording, at service: RunningService) async {
    await until { service.recordings.contains { $0.name == recording.name } }
  }

  @Test("recordings made before a view was locked, switched off or removed need the role control")
  func hidden() async throws {
    let log = LogRecords()
    try await withTemporaryFolder { folder in
      let narrow = try await withService(Self.configuration(folder), logger: log.logger) { service in
        let old = try await Self.next(service)
        #expect(try await Self.seen(old, by: "look", at: service) == "200 listed 200")

        let mask = try PrivacyMask(parsing: "40x40+0+0")
        try await service.inside.apply(Self.configuration(folder) { $0.options.masks = [mask] })
        #expect(log.messages.contains("recordings from before a change of masks kept"))
        // Pictures of it get the mask, so it is listed for them.
        #expect(try await Self.seen(old, by: "look", at: service) == "403 listed 200")
        #expect(try await Self.seen(old, by: "rule", at: service) == "200 listed 200")

        try await service.inside.apply(Self.configuration(folder, Self.lock(80)))
        #expect(try await Self.seen(old, by: "look", at: service) == "403 not listed 403")
        #expect(try await Self.seen(old, by: "rule", at: service) == "200 listed 200")
        let narrow = try await Self.next(service)
        #expect(try await Self.seen(narrow, by: "look", at: service) == "200 listed 200")
        let small = Self.picture(of: narrow) + "&width=40"
        #expect(try await service.get(small, Self.header("look")).status == 403)
        #expect(try await service.get(small, Self.header("rule")).status == 200)

        try await service.inside.apply(Self.configuration(folder, Self.lock(100)))
        #expect(try await Self.seen(narrow, by: "look", at: service) == "403 not listed 403")
        let wide = try await Self.next(service)
        #expect(try await Self.seen(wide, by: "look", at: service) == "200 listed 200")

        for change: (inout CameraConfiguration) -> Void in [
          { $0.views[0].isEnabled = false }, { $0.views[0].view.name = "other" },
        ] {
          try await service.inside.apply(Self.configuration(folder, change))
          for recording in [old, narrow, wide] {
            #expect(try await Self.seen(recording, by: "look", at: service) == "403 not listed 403")
            #expect(try await Self.seen(recording, by: "rule", at: service) == "200 listed 200")
          }
        }
        try await service.inside.apply(Self.configuration(folder))
        #expect(try await Self.seen(narrow, by: "look", at: service) == "200 listed 200")
        return narrow
      }
      // Files say themselves what they show, to the next run too.
      try await withService(Self.configuration(folder, Self.lock(80))) { service async throws in
        await Self.untilKnown(narrow, at: service)
        #expect(try await Self.seen(narrow, by: "look", at: service) == "200 listed 200")
      }
      try await withService(Self.configuration(folder, Self.lock(100))) { service async throws in
        await Self.untilKnown(narrow, at: service)
        #expect(try await Self.seen(narrow, by: "look", at: service) == "403 not listed 403")
      }
    }
  }

  @Test(
    "switching off a view ends downloads of its recordings by clients without the role control"
  )
  func sent() async throws {
    try await withTemporaryFolder { folder in
      try RevocationTests.makeRecording(in: folder)
      let configuration = Self.configuration(folder) { $0.record.when = .never }
      try await withService(configuration) { service in
        func recordings() -> [Recording] {
          service.inside.recorders?.folder.recordings(of: nil, from: nil, to: nil, limit: 1) ?? []
        }
        await until { !recordings().isEmpty }
        let path = try #require(recordings().first).path
        var clients: [RawConnection] = []
        for token in ["look", "rule"] {
          let client = try await RawConnection(to: service.port, sending: "", isSmall: true)
          try await client.stopReading()
          let request =
            "GET \(path) HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \(token)\r\nConnection: close\r\n\r\n"
          try await client.send(Array(request.utf8))
          clients.append(client)
        }
        await until { service.inside.access.grants.count == 2 }
        let answer = try await service.send(
          "PATCH", "/api/cameras/camera/views/main", Self.header("rule"), body: #"{"enabled": false}"#)
        #expect(answer.status == 200)

        for client in clients { try await client.readAgain() }
        try await clients[0].waitsForEnd()
        #expect(clients[0].bytes.count < RevocationTests.largeBytes)
        try await clients[1].waits(forMoreThan: RevocationTests.largeBytes)
      }
    }
  }

  @Test("a peer relays recordings and pictures of them, to each client what the owner shows to it")
  func peers() async throws {
    let mask = try PrivacyMask(parsing: "40x40+0+0")
    try await withTemporaryFolder { folder in
      try await withOwnerAndEdge(
        Self.configuration(folder), token: "rule", { $0.access = Self.access }
      ) { owner, edge in
        let (look, rule) = (Self.header("look"), Self.header("rule"))
        let recording = try await Self.next(owner)
        let (path, picture) = (recording.path, Self.picture(of: recording))
        func configure(_ change: (inout CameraConfiguration) -> Void) async throws {
          var configuration = Self.configuration(folder, change)
          configuration.cluster.name = "owner"
          try await owner.inside.apply(configuration)
        }
        let plain = try await owner.get(picture, look)
        let relayed = try await edge.get(picture, look)
        #expect(plain.status == 200 && relayed.status == 200 && relayed.bytes == plain.bytes)
        for name in ["X-Timestamp", "X-Recording", "ETag", "X-View-Size"] {
          #expect(relayed.headers[name] == plain.headers[name] && !plain.headers[name].isEmpty, "\(name)")
        }
        #expect(try await edge.send("HEAD", picture, look).status == 200)
        #expect(try await edge.get("/recordings/camera.png", look).status == 200)
        #expect(try await edge.get("\(picture)&nothing=1", look).status == 400)
        let missing = try await edge.get("/recordings/camera.jpg?at=1000", look)
        #expect(missing.status == 404 && missing.text.contains(#""code":"not-recorded""#))
        // The owner's first recording is the next one.
        let start = try #require(owner.recordings.map(\.start).min())
        #expect(missing.text.contains(#""nearest":["\#(start)"]"#), "\(missing.text)")

        try await configure { $0.options.masks = [mask] }
        let masked = try await edge.get(picture, look)
        #expect(masked.status == 200 && masked.bytes != plain.bytes)
        #expect(try await edge.get(picture, rule).bytes == masked.bytes)
        #expect(try await edge.get(path, look).status == 403)
        #expect(try await edge.get(path, rule).status == 200)

        try await configure { $0.views[0].isEnabled = false }
        for url in [path, picture] {
          #expect(try await edge.get(url, look).status == 403)
          #expect(try await edge.get(url, rule).status == 200)
        }
      }
    }
  }
}
