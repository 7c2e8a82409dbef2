// Views for players of HLS. How video is cut into segments: HLSTimelineTests; secrets that go: RevocationTests.
import Foundation
import NIOHTTP1
import Synchronization
import TestSupport
import Testing

@testable import GLPreview
@testable import GLPreviewServer
@testable import HLS
@testable import ServiceCore
@testable import ServiceFoundation
@testable import VideoFormats

@Suite("HLS", .enabled(if: hasEncoder, "no encoder of H.264: scripts/setup"), .timeLimit(.minutes(15)))
struct HLSTests {
  private static let main = "/cameras/camera/main.m3u8"

  private static func configuration(
    _ source: String = "pattern:counter,size=160x90,fps=20", _ change: (inout ServedView) -> Void = { _ in }
  ) -> ServerConfiguration {
    var view = ServedView()
    change(&view)
    return ServerConfiguration(cameras: [
      CameraConfiguration(source: source, views: [view, ServedView(ViewConfiguration(name: "other"))])
    ])
  }

  private static func clients(_ service: RunningService) -> Int {
    service.inside.videos.clientCount(of: "camera", "main")
  }

  private static func playlist(
    _ service: RunningService, _ path: String = main, _ headers: [(String, String)] = []
  ) async throws -> MediaPlaylist {
    let answer = try await service.get(path, headers)
    try #require(answer.status == 200, "\(answer.text)")
    #expect(answer.headers["Content-Type"] == ["application/vnd.apple.mpegurl"])
    // A node that forwards says it in its own words.
    #expect([["private, no-store"], ["no-store"]].contains(answer.headers["Cache-Control"]))
    return try MediaPlaylist(answer.text)
  }

  /// The address of a playlist's URI.
  private static func address(_ uri: String, of path: String = main) throws -> String {
    let url = try #require(URL(string: uri, relativeTo: URL(string: "http://host" + path)))
    return url.absoluteURL.absoluteString.replacing("http://host", with: "")
  }

  /// The first segment of a playlist and its initialization segment, as one; nil if a slow test has lost its place.
  private static func video(
    _ service: RunningService, _ path: String = main, _ headers: [(String, String)] = []
  ) async throws -> [UInt8]? {
    let segment = try #require(try await playlist(service, path, headers).segments.last)
    var bytes: [UInt8] = []
    for uri in [segment.map, segment.uri] {
      let answer = try await service.get(address(uri, of: path), headers)
      guard answer.status == 200 else { return nil }
      #expect(answer.headers["Content-Type"] == ["video/mp4"])
      #expect([["private, max-age=10"], ["no-store"]].contains(answer.headers["Cache-Control"]))
      bytes += answer.bytes
    }
    return bytes
  }

  private static func sizes(_ bytes: [UInt8]) throws -> (size: Size?, pictures: Int) {
    var reader = FragmentedMP4Reader(pictureLimit: 1 << 20)
    let events = try reader.take(bytes[...])
    #expect(reader.waitingByteCount == 0)
    guard case .header(let header, let shown) = events.first else { return (nil, 0) }
    // The sequence parameter set is the first in `avcC`, from its ninth byte on.
    let length = Int(header[6]) << 8 | Int(header[7])
    let size = shown ?? SequenceParameters(Array(header[8..<8 + length]))?.size
    return (size, events.count - 1)
  }

  @Test("an HLS player gets a playlist, an initialization segment and media segments")
  func plays() async throws {
    try await withService(Self.configuration()) { service in
      let last = Mutex(try await Self.playlist(service))
      await until {
        guard let next = try? await Self.playlist(service) else { return false }
        return last.withLock { last in
          // Where a slow test has been forgotten, the stream has begun again.
          if next.sequence <= last.sequence + last.segments.count {
            #expect(throws: Never.self) { try next.check(after: last) }
          }
          last = next
          return next.segments.count > 2
        }
      }
      await until {
        guard let bytes = try? await Self.video(service), let found = try? Self.sizes(bytes) else {
          return false
        }
        return found.size == Size(width: 160, height: 90) && found.pictures > 10
      }
      let cameras = try await service.get("/api/cameras").text
      #expect(cameras.contains("\"hls\":\"/cameras/camera/main.m3u8\""))
      #expect(try await service.send("HEAD", Self.main).status == 200)
    }
  }

  @Test("HLS players with the same parameters share a stream and are counted as clients")
  func sharing() async throws {
    try await withService(Self.configuration()) { service in
      let (hls, small) = (service.inside.hls, Self.main + "?width=80&quality=50")
      // On a slow machine the first may be forgotten while the last one waits.
      await until {
        for (path, program) in [(Self.main, "a"), (Self.main, "b"), (Self.main, "a"), (small, "a")] {
          _ = try? await Self.playlist(service, path, [("User-Agent", program)])
        }
        let metrics = try? await service.get("/metrics").text
        return hls.streams.withLock { $0.count } == 2 && Self.clients(service) == 3
          && metrics?.contains("glpreview_stream_clients{camera=\"camera\",view=\"main\"} 3\n") == true
      }
      await until {
        guard let bytes = try? await Self.video(service, small), let found = try? Self.sizes(bytes) else {
          return false
        }
        return found.size == Size(width: 80, height: 45)
      }

      hls.forgetViewers(at: CaptureClock.now + .seconds(60))
      #expect(hls.streams.withLock { $0.isEmpty })
      await until { Self.clients(service) == 0 }
    }
  }

  @Test("an HLS viewer counts and holds a permit until 3 target durations after its last request")
  func viewers() async throws {
    try await withService(Self.configuration()) { service in
      let (videos, gate) = (service.inside.videos, AdmissionLimit(capacity: 2))
      let target = try service.inside.registry.view(nil, of: nil)
      let stream = try HLSStream(target, target.served, target.served.video, videos)
      func visit(_ program: String, at second: Int) throws {
        try stream.visit(.init(program: program), at: .second(second), nil, gate)
      }
      let reading = Task { await stream.run(within: service.inside.registry.budget) }
      try visit("a", at: 100)
      let text = try #require(try await playlist(of: stream))
      let most = 3 * (try MediaPlaylist(text).target)
      try visit("b", at: 101)
      try visit("a", at: 104)
      #expect(Self.clients(service) == 2 && gate.count == 2)
      #expect(throws: Problem.self) { try visit("c", at: 105) }

      #expect(stream.forgetViewers(at: .millisecond(100_999 + most * 1000)) && Self.clients(service) == 2)
      #expect(stream.forgetViewers(at: .second(101 + most)) && Self.clients(service) == 1)
      try visit("c", at: 102 + most)
      #expect(stream.forgetViewers(at: .second(104 + most)) && gate.count == 1)
      #expect(!stream.forgetViewers(at: .second(102 + 2 * most)) && gate.count == 0)

      // Then the view is not drawn any more, and nothing of it is given.
      await reading.value
      await #expect(throws: Problem.self) { try await playlist(of: stream) }
    }
  }

  private func playlist(of stream: HLSStream) async throws -> String? {
    try await stream.playlist("", for: .init(program: "a"), at: .second(100), within: allTheTimeThereIs)
  }

  @Test("an HLS viewer that waits for the first segment does not expire")
  func waiting() async throws {
    try await withService(Self.configuration()) { service in
      let (videos, gate) = (service.inside.videos, AdmissionLimit(capacity: 2))
      let target = try service.inside.registry.view(nil, of: nil)
      let stream = try HLSStream(target, target.served, target.served.video, videos)
      try stream.visit(.init(program: "a"), at: .second(100), nil, gate)
      let text = Task { try await playlist(of: stream) }
      await until { stream.isAwaited }
      #expect(stream.forgetViewers(at: .second(10_000)))
      let reading = Task { await stream.run(within: service.inside.registry.budget) }
      #expect(try await text.value != nil)
      #expect(!stream.forgetViewers(at: .second(100_000)) && gate.count == 0)
      await reading.value
    }
  }

  @Test(
    "an invalid HLS request returns 400, 403, 404 or 409 and starts no stream",
    arguments: [
      (main + "?fps=5", 400), (main + "?width=0", 400), (main + "?bitrate=1", 400), (main + "/1.m4s", 404),
      (main + "/x", 404), ("/cameras/camera/none.m3u8", 404), ("/cameras/none/main.m3u8", 404),
      ("/cameras/camera/other.m3u8", 409), ("/cameras/camera/locked.m3u8?width=80", 403),
    ])
  func mistakes(path: String, status: Int) async throws {
    var configuration = Self.configuration()
    configuration.cameras[0].views[1].isEnabled = false
    var locked = ServedView(ViewConfiguration(name: "locked"))
    locked.isLocked = true
    configuration.cameras[0].views.append(locked)
    try await withService(configuration) { (service) async throws in
      #expect(try await service.get(path).status == status)
      #expect(service.inside.hls.streams.withLock { $0.isEmpty })
    }
  }

  @Test("an HLS playlist of a camera without frames returns 504 after the first-picture timeout")
  func timeouts() async throws {
    let camera = CountingCamera()
    var configuration = Self.configuration("dark")
    configuration.cameras[0].isRequired = false
    configuration.timeouts.firstPicture = .milliseconds(50)
    try await withService(configuration, makeSource: { camera.source(named: $1, $2) }) {
      (service) async throws in
      #expect(try await service.get(Self.main).status == 504)
      service.inside.hls.forgetViewers(at: CaptureClock.now + .seconds(60))
      await until { Self.clients(service) == 0 }
    }
  }

  // MARK: What ends

  /// A change of a view.
  enum Change: CaseIterable {
    case disabled, removed, replaced, masked, lockedToAnother, turned, locked
  }

  @Test("segments from before a change of the view are not served", arguments: Change.allCases)
  func changes(change: Change) async throws {
    try await withService(Self.configuration()) { (service) async throws in
      let paths = [Self.main, Self.main + "?width=80"]
      var segments: [String] = []
      for path in paths {
        segments += try await Self.playlist(service, path).segments.map { try Self.address($0.uri, of: path) }
      }
      var changed = Self.configuration()
      switch change {
      case .disabled: changed.cameras[0].views[0].isEnabled = false
      case .removed: changed.cameras[0].views.removeFirst()
      case .replaced: changed.cameras[0].source = "pattern:smpte,size=160x90,fps=20"
      case .masked:
        changed.cameras[0].options.masks = [
          PrivacyMask(.rectangle(Rectangle(x: 0, y: 0, width: 80, height: 90)))
        ]
      case .lockedToAnother:
        changed.cameras[0].views[0].view.crop = Rectangle(x: 0, y: 0, width: 64, height: 64)
        changed.cameras[0].views[0].isLocked = true
      case .turned: changed.cameras[0].views[0].view.rotation = .clockwise90
      case .locked: changed.cameras[0].views[0].isLocked = true
      }
      try await service.inside.apply(changed)

      let statuses = try await segments.asyncMap { try await service.get($0).status }
      // A view that is locked as it is goes on; a slow test may have lost its place.
      let isOwn = segments.map { !$0.contains("width=") }
      #expect(zip(statuses, isOwn).allSatisfy { $0 != 200 || $1 && change == .locked })
      let now = try await service.get(Self.main)
      let expected = [Change.disabled: 409, .removed: 404][change] ?? 200
      #expect(now.status == expected)
      let names = segments.compactMap { $0.split(separator: "/").last }
      #expect(!names.contains { now.text.contains("/\($0)") } || change == .locked)
      if expected != 200 { await until { Self.clients(service) == 0 } }
    }
  }

  // MARK: Secrets

  @Test(
    "a token in a playlist's URL is also in the URLs of its segments, escaped",
    arguments: [true, false])
  func tokens(isPeers: Bool) async throws {
    let token = "a&b?\"c=d%+é"
    var configuration = Self.configuration()
    configuration.access.tokens = [.init(secret: token, role: .read), .init(secret: "peer", role: .read)]
    let changed = configuration
    let test = { @Sendable (service: RunningService) async throws in
      let path = Self.main + "?width=80&token=a%26b%3F%22c%3Dd%25%2B%C3%A9"
      #expect(try await service.get(Self.main).status == (isPeers ? 200 : 401))
      await until { (try? await Self.video(service, path)) != nil }
      let playlist = try await Self.playlist(service, path)
      let segment = try #require(playlist.segments.last)
      #expect(segment.uri.contains("token=a%26b%3F%22c%3Dd%25%2B%C3%A9") && segment.uri.contains("width=80"))
      guard !isPeers else { return }
      let bare = Self.main + "/" + segment.uri.split(separator: "/")[1].prefix { $0 != "?" }
      #expect(try await service.get(bare + "?width=80").status == 401)
      #expect(try await service.get(bare + "?width=80", [("Authorization", "Bearer peer")]).status == 200)

      var without = changed
      without.access.tokens.removeFirst()
      try await service.inside.apply(without)
      #expect(try await service.get(path).status == 401)
      #expect(try await service.get(Self.address(segment.uri, of: path)).status == 401)
    }
    if isPeers {
      try await withOwnerAndEdge(configuration, token: "peer") { try await test($1) }
    } else {
      try await withService(configuration) { try await test($0) }
    }
  }

  @Test("revoking its token removes an HLS viewer, and the stream ends with the last viewer")
  func secretThatGoes() async throws {
    var configuration = Self.configuration()
    configuration.access.tokens = ["one", "two"].map { .init(secret: $0, role: .read) }
    let changed = configuration
    try await withService(configuration) { service in
      await until {
        for token in ["one", "two"] {
          _ = try? await Self.playlist(service, Self.main, [("Authorization", "Bearer \(token)")])
        }
        return Self.clients(service) == 2
      }
      var without = changed
      without.access.tokens.removeFirst()
      try await service.inside.apply(without)
      #expect(Self.clients(service) <= 1)
      without.access.tokens = [.init(secret: "three", role: .read)]
      try await service.inside.apply(without)
      #expect(Self.clients(service) == 0)
      await until { service.inside.hls.streams.withLock { $0.isEmpty } }
    }
  }

  private static let player = ["/usr/bin/ffmpeg", "/usr/local/bin/ffmpeg"].first {
    FileManager.default.isExecutableFile(atPath: $0)
  }

  @Test("ffmpeg plays 120 frames of an HLS view", .enabled(if: player != nil, "needs ffmpeg"))
  func playedByFFmpeg() async throws {
    let program = try #require(Self.player)
    try await withTemporaryFolder { folder in
      try await withService(Self.configuration()) { service in
        let file = folder.appending(path: "sums")
        try Data().write(to: file)
        let url = service.base + Self.main
        let words = "-nostdin -loglevel error -i \(url) -frames:v 120 -fps_mode passthrough -f framemd5 -"
        let player = try ChildProcess(
          program, words.split(separator: " ").map(String.init), environment: [:], in: folder.path,
          writingTo: file.path)

        let status = await ChildProcess.status(of: player.id)

        let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
        let sums = lines.filter { !$0.hasPrefix("#") }.compactMap { $0.split(separator: " ").last }
        #expect(status == 0 && lines.contains("#dimensions 0: 160x90"))
        // The counter moves.
        #expect(sums.count == 120 && Set(sums).count > 60)
      }
    }
  }

  @Test("HLS of a peer's view is forwarded")
  func peers() async throws {
    try await withOwnerAndEdge(Self.configuration()) { owner, edge in
      await until {
        guard let bytes = try? await Self.video(edge), let found = try? Self.sizes(bytes) else {
          return false
        }
        return found.size == Size(width: 160, height: 90)
      }
      #expect(edge.inside.hls.streams.withLock { $0.isEmpty })
    }
  }
}

extension Array {
  /// One after another.
  fileprivate func asyncMap<Result>(_ work: (Element) async throws -> Result) async rethrows -> [Result] {
    var results: [Result] = []
    for element in self { results.append(try await work(element)) }
    return results
  }
}
