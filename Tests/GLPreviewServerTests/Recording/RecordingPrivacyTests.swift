// Recordings from before a view was hidden: who may see them.
import FoundationEssentials
import Logging
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

  /// The status of a recording, and whether it is listed.
  private static func seen(_ path: String, by token: String, at service: RunningService) async throws
    -> String
  {
    let status = try await service.get(path, header(token)).status
    let list = try await service.get("/api/recordings?limit=1000", header(token)).json(List.self)
    return "\(status) \(list.recordings.contains { $0.url == path } ? "listed" : "not listed")"
  }

  /// The path of a recording that has ended, and was begun after this call.
  private static func next(_ service: RunningService) async throws -> String {
    func done() -> [Recording] {
      (service.inside.recorders?.folder.recordings(of: nil, from: nil, to: nil, limit: 1000) ?? [])
    }
    // The recorder of before may still be writing.
    let now = WallTime.now
    var new: Recording?
    await until {
      new = done().first { $0.duration ?? .zero > .zero && $0.start > now }
      return new != nil
    }
    return try #require(new).path
  }

  @Test("recordings made before a view was locked, switched off or removed need the role control")
  func hidden() async throws {
    let log = LogRecords()
    try await withTemporaryFolder { folder in
      let narrow = try await withService(Self.configuration(folder), logger: log.logger) { service in
        let old = try await Self.next(service)
        #expect(try await Self.seen(old, by: "look", at: service) == "200 listed")

        let mask = try PrivacyMask(parsing: "40x40+0+0")
        try await service.inside.apply(Self.configuration(folder) { $0.options.masks = [mask] })
        #expect(log.messages.contains("recordings from before a change of masks kept"))
        #expect(try await Self.seen(old, by: "look", at: service) == "200 listed")

        try await service.inside.apply(Self.configuration(folder, Self.lock(80)))
        #expect(try await Self.seen(old, by: "look", at: service) == "403 not listed")
        #expect(try await Self.seen(old, by: "rule", at: service) == "200 listed")
        let narrow = try await Self.next(service)
        #expect(try await Self.seen(narrow, by: "look", at: service) == "200 listed")

        try await service.inside.apply(Self.configuration(folder, Self.lock(100)))
        #expect(try await Self.seen(narrow, by: "look", at: service) == "403 not listed")
        let wide = try await Self.next(service)
        #expect(try await Self.seen(wide, by: "look", at: service) == "200 listed")

        for change: (inout CameraConfiguration) -> Void in [
          { $0.views[0].isEnabled = false }, { $0.views[0].view.name = "other" },
        ] {
          try await service.inside.apply(Self.configuration(folder, change))
          for path in [old, narrow, wide] {
            #expect(try await Self.seen(path, by: "look", at: service) == "403 not listed")
            #expect(try await Self.seen(path, by: "rule", at: service) == "200 listed")
          }
        }
        try await service.inside.apply(Self.configuration(folder))
        #expect(try await Self.seen(narrow, by: "look", at: service) == "200 listed")
        return narrow
      }
      // Files say themselves what they show, to the next run too.
      try await withService(Self.configuration(folder, Self.lock(80))) { service async throws in
        #expect(try await Self.seen(narrow, by: "look", at: service) == "200 listed")
      }
      try await withService(Self.configuration(folder, Self.lock(100))) { service async throws in
        #expect(try await Self.seen(narrow, by: "look", at: service) == "403 not listed")
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

  @Test("a peer relays recordings of a switched-off view only to clients with the role control")
  func peers() async throws {
    try await withTemporaryFolder { folder in
      try await withOwnerAndEdge(
        Self.configuration(folder), token: "rule", { $0.access = Self.access }
      ) { owner, edge in
        let path = try await Self.next(owner)
        var off = Self.configuration(folder) { $0.views[0].isEnabled = false }
        off.cluster.name = "owner"
        try await owner.inside.apply(off)
        #expect(try await edge.get(path, Self.header("look")).status == 403)
        #expect(try await edge.get(path, Self.header("rule")).status == 200)
      }
    }
  }
}
