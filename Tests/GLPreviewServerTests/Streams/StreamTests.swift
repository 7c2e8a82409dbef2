// Live streams over HTTP: what comes, how soon, to whom, and how often it is drawn.
import AsyncHTTPClient
import GLPreview
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization
import TestSupport
import Testing

@testable import GLPreviewServer
@testable import ServiceCore
@testable import ServiceFoundation

@Suite("MJPEG streams", .timeLimit(.minutes(15)))
struct StreamTests {
  /// 320x180 at 20 frames a second.
  static let pattern = "pattern:counter,size=320x180,fps=20"

  static func configuration(_ views: [ServedView] = [ServedView()]) -> ServerConfiguration {
    ServerConfiguration(cameras: [CameraConfiguration(source: pattern, views: views)])
  }

  @Test("an MJPEG stream has multipart headers, and parts with size, sequence, timestamp and view")
  func form() async throws {
    try await withService(Self.configuration()) { service in
      let (head, parts) = try await service.parts("/cameras/camera/main.mjpeg", 3)

      #expect(head["Content-Type"] == ["multipart/x-mixed-replace; boundary=boundarydonotcross"])
      #expect(head["Connection"] == ["close"])
      #expect(head["Transfer-Encoding"].isEmpty)
      #expect(head["X-Accel-Buffering"] == ["no"])
      #expect(parts.allSatisfy { $0.size == "320x180" })

      let sequences = parts.compactMap { $0.headers["x-frame-sequence"].flatMap(Int.init) }
      // Where nothing new comes for a second, as on a starved machine, the last comes again.
      #expect(sequences == sequences.sorted() && sequences.count == parts.count)
      let stamp = try #require(parts[0].headers["x-timestamp"])
      #expect(stamp.split(separator: ".").last?.count == 6)
      #expect(parts[0].headers["x-camera"] == "camera" && parts[0].headers["x-view"] == "main")
    }
  }

  @Test("12 clients of one stream share its frames, each rendered and encoded at most once")
  func sharing() async throws {
    try await withService(Self.configuration()) { service in
      let session = service.inside.registry.session
      let before = session.statistics

      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<12 {
          group.addTask { _ = try await service.parts("/cameras/camera/main.mjpeg", 5) }
        }
        try await group.waitForAll()
      }

      // In this order: each is made of what is counted after it.
      let metrics = service.inside.metrics
      let encodes = session.statistics.jpegs - before.jpegs
      let after = session.statistics

      // The probe of readiness takes a frame, and draws nothing.
      #expect(after.pictures - before.pictures <= after.frames - before.frames + 1)
      #expect(encodes > 0 && encodes <= after.pictures)
      #expect(metrics.sentParts.load(ordering: .relaxed) >= 60)
    }
  }

  @Test("streams with URL parameters have the requested size and are removed with their last client")
  func words() async throws {
    try await withService(Self.configuration()) { service in
      let path = "/cameras/camera/main.mjpeg?width=64&rotate=90"
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<4 {
          group.addTask {
            let parts = try await service.parts(path, 4).parts
            #expect(parts.allSatisfy { $0.size == "64x114" })
          }
        }
        try await group.waitForAll()
      }

      // What was made for them is gone when they are.
      await until { service.inside.streams.all.isEmpty }
      #expect(service.inside.registry.session.allPreviews.count == 1)
    }
  }

  // That none comes before it is due is held by clocks that are moved by hand: StreamLifeTests.pace and watcherPace.
  @Test("a stream with fps=4 delivers parts in the order of frames")
  func pace() async throws {
    try await withService(Self.configuration()) { service in
      let parts = try await service.parts("/cameras/camera/main.mjpeg?fps=4", 3).parts
      let sequences = parts.compactMap { $0.headers["x-frame-sequence"].flatMap(Int.init) }
      #expect(sequences.count == parts.count && parts.count >= 3)
      #expect(sequences == sequences.sorted())
    }
  }

  @Test("one stream carries several views, and each part names its view")
  func several() async throws {
    var face = ViewConfiguration(name: "face")
    try face.set("crop", to: "90x90+0+0")

    try await withService(Self.configuration([ServedView(), ServedView(face)])) { service in
      let path = "/api/stream?view=camera/main&view=camera/face&fps=10"
      var sizes: [String: Set<String>] = [:]
      var count = 12

      // Which of them comes how often is the connection's.
      while sizes.count < 2 {
        let parts = try await service.parts(path, count).parts
        sizes = Dictionary(grouping: parts) { $0.headers["x-view"] ?? "" }.mapValues { Set($0.map(\.size)) }
        count *= 2
      }

      #expect(sizes == ["main": ["320x180"], "face": ["90x90"]])
    }
  }

  @Test(
    "a width resizes several views, but not scenes, locked views or those over the ad hoc limit")
  func severalInOneSize() async throws {
    var door = ServedView(ViewConfiguration(name: "door", width: 96))
    door.isLocked = true
    var configuration = Self.configuration([ServedView(), door, ServedView(ViewConfiguration(name: "third"))])
    configuration.limits.adHocViews = 1
    configuration.scenes = [
      SceneConfiguration(
        name: "wall", scene: Scene(size: Size(width: 160, height: 90), tiles: [Tile("camera")]))
    ]

    try await withService(configuration) { service in
      let names = ["camera/main", "camera/door", "camera/third", "wall/main"]
      let query = names.map { "view=\($0)" }.joined(separator: "&")
      var sizes: [String: Set<String>] = [:]
      var count = 12

      while sizes.count < 4 {
        let parts = try await service.parts("/api/stream?\(query)&width=64", count).parts
        sizes = Dictionary(grouping: parts) {
          "\($0.headers["x-camera"] ?? "")/\($0.headers["x-view"] ?? "")"
        }.mapValues { Set($0.map(\.size)) }
        count *= 2
      }

      #expect(
        sizes == [
          "camera/main": ["64x36"], "camera/door": ["96x54"], "camera/third": ["320x180"],
          "wall/main": ["160x90"],
        ])
    }
  }

  @Test(
    "a stream of a locked view returns 403 for a width under any URL, and ignores cache busters"
  )
  func lockedAlone() async throws {
    var door = ServedView(ViewConfiguration(name: "door", width: 96))
    door.isLocked = true
    try await withService(Self.configuration([door])) { service in
      for path in [
        "/api/stream?view=camera/door&", "/cameras/camera/door.mjpeg?", "/stream?", "/?action=stream&",
      ] {
        let answer = try await service.get(path + "width=64")
        #expect(answer.status == 403 && answer.text.contains("\"parameter\":\"width\""), "\(path)")
        let words = "1595805826022&_=width&t=5&fps=10?rand=1"
        #expect(try await service.parts(path + words, 1).parts.first?.size == "96x54", "\(path)")
      }
    }
  }

  @Test(
    "an invalid stream request returns a problem with its parameter and starts no stream",
    arguments: [
      ("/cameras/camera/main.mjpeg?rotate=x", 400, "rotate"),
      ("/cameras/camera/main.mjpeg?width=0", 400, "width"),
      ("/cameras/camera/main.mjpeg?width=60000&height=60000", 400, ""),
      ("/cameras/camera/main.mjpeg?crop=500x500%2B0%2B0", 400, "crop"),
      ("/cameras/camera/main.mjpeg?fps=-1", 400, "fps"),
      ("/cameras/camera/main.mjpeg?width=10&width=20", 400, "width"),
      ("/cameras/camera/main.mjpeg?colour=red", 400, "colour"),
      ("/cameras/camera/none.mjpeg", 404, ""), ("/cameras/none/main.mjpeg", 404, ""),
      ("/cameras/camera/main.bmp", 404, ""), ("/cameras/camera/main.webp", 400, "before"),
      ("/cameras/camera/main", 404, ""),
      ("/api/stream", 400, "view"), ("/api/stream?view=camera", 400, "view"),
    ])
  func refusals(path: String, status: Int, parameter: String) async throws {
    try await withService(Self.configuration()) { service in
      let answer = try await service.get(path)
      #expect(answer.status == status)
      #expect(answer.headers["Content-Type"] == ["application/problem+json"])
      if !parameter.isEmpty { #expect(answer.text.contains("\"parameter\":\"\(parameter)\"")) }
      #expect(service.inside.streams.all.isEmpty)
    }
  }

  /// A client that asks for a stream, and reads nothing of it.
  private static func stuckClient(of service: RunningService) async throws -> any Channel {
    let client = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .connectTimeout(.hours(1))
      .channelOption(.autoRead, value: false)
      .channelOption(.socketOption(.so_rcvbuf), value: 4096)
      .connect(host: "127.0.0.1", port: service.port).get()
    try await client.writeAndFlush(
      ByteBuffer(string: "GET /cameras/camera/main.mjpeg?width=1280 HTTP/1.1\r\nHost: localhost\r\n\r\n"))
    return client
  }

  @Test("parts for a client that reads nothing are skipped, and other clients get theirs")
  func slowClient() async throws {
    try await withService(Self.configuration()) { service in
      let stuck = try await Self.stuckClient(of: service)
      let metrics = service.inside.metrics

      try await until {
        _ = try await service.parts("/cameras/camera/main.mjpeg?width=1280", 2)
        return metrics.skippedParts.load(ordering: .relaxed) > 0
      }

      #expect(metrics.cutOff.load(ordering: .relaxed) == 0)
      try await stuck.close()
    }
  }

  @Test("a stream client that reads nothing is disconnected after the stall timeout")
  func stalledClient() async throws {
    var configuration = Self.configuration()
    configuration.limits.stalledClient = .milliseconds(200)

    try await withService(configuration) { service in
      let stuck = try await Self.stuckClient(of: service)

      // It hears of it, though it reads nothing of what was sent before.
      try await stuck.closeFuture.get()
      #expect(service.inside.metrics.cutOff.load(ordering: .relaxed) > 0)
      await until { service.inside.streams.all.allSatisfy { $0.clientCount == 0 } }
    }
  }

  @Test("an MJPEG stream ends when the service stops")
  func shutdown() async throws {
    let reader = try await withService(Self.configuration()) { service in
      let body = try await service.openStream("/cameras/camera/main.mjpeg")
      let (begun, first) = AsyncStream.makeStream(of: Void.self)
      let reader = Task {
        // What was on its way may still come; then it is over, one way or the other.
        do { for try await _ in body { first.yield() } } catch {}
      }
      for await _ in begun { break }
      return reader
    }

    await reader.value
  }
}
