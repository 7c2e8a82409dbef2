// What snapshots may cost: pictures that are kept, pictures that are made at a time, and what is refused.
import FoundationEssentials
import GLPreview
import NIOCore
import NIOHTTP1
import TestSupport
import Testing

@testable import GLPreviewServer
@testable import ServiceCore
@testable import ServiceFoundation

@Suite("Snapshot limits", .timeLimit(.minutes(15)))
struct SnapshotLimitTests {
  @Test("SingleFlightCache keeps the newest values within its capacity in bytes")
  func room() async throws {
    let work = SingleFlightCache<Int, Int>(capacity: 10_000) { $0 }
    let gate = AdmissionLimit(capacity: 1)

    for key in 1...20 { #expect(try await work.value(key, gate.enter) { 2000 } == 2000) }
    #expect(work.byteCount > 5000 && work.byteCount <= 10_000)

    // The newest is there, the oldest is not.
    #expect(try await work.value(20, gate.enter) { 7 } == 2000)
    #expect(try await work.value(1, gate.enter) { 7 } == 7)

    // What is larger than all the room is given to who asks, and not kept.
    #expect(try await work.value(30, gate.enter) { 20_000 } == 20_000)
    #expect(work.byteCount == 0)
    #expect(try await work.value(30, gate.enter) { 8 } == 8)
  }

  @Test("SingleFlightCache removes what nobody requests any more, and makes it again")
  func age() async throws {
    let work = SingleFlightCache<Int, Int>(capacity: 10_000, lifetime: .milliseconds(20)) { $0 }
    for value in [1000, 2000] {
      for key in 1...3 { #expect(try await work.value(key, { nil }) { value } > 0) }
      await until { work.byteCount == 0 }
      #expect(try await work.value(1, { nil }) { value + 1 } == value + 1)
      await until { work.byteCount == 0 }
    }
  }

  @Test("SingleFlightCache shares a running computation; another one is rejected at the limit")
  func admission() async throws {
    let work = SingleFlightCache<Int, Int>(capacity: 10_000) { $0 }
    let gate = AdmissionLimit(capacity: 1)
    let (open, opens) = AsyncStream.makeStream(of: Void.self)
    let (begun, begins) = AsyncStream.makeStream(of: Void.self)

    async let first = work.value(1, gate.enter) {
      begins.yield()
      for await _ in open { break }
      return 5
    }
    for await _ in begun { break }
    async let second = work.value(1, gate.enter) { 6 }
    await #expect(throws: Problem.self) { _ = try await work.value(2, gate.enter) { 7 } }

    opens.yield()
    #expect(try await first == 5)
    #expect(try await second == 5)
    await until { gate.count == 0 }
    #expect(try await work.value(2, gate.enter) { 7 } == 7)
  }

  @Test("a shared computation is cancelled only when its last waiting task is cancelled")
  func leaving() async throws {
    let work = SingleFlightCache<Int, Int>(capacity: 10_000) { $0 }
    let gate = AdmissionLimit(capacity: 1)
    let (begun, cancelled, isReady) = (Watched(0), Watched(0), Watched(false))
    func want() -> Task<Int, any Error> {
      Task {
        try await work.value(1, gate.enter) {
          begun.update { $0 += 1 }
          do { _ = try await isReady.first { $0 ? true : nil } } catch {
            cancelled.update { $0 += 1 }
            throw error
          }
          return 5
        }
      }
    }
    let first = want()
    _ = try await begun.first { $0 == 1 ? true : nil }
    let second = want()
    await until { work.waiters(for: 1) == 2 }
    first.cancel()
    await #expect(throws: CancellationError.self) { try await first.value }
    #expect(cancelled.value == 0 && begun.value == 1)

    second.cancel()
    await #expect(throws: CancellationError.self) { try await second.value }
    _ = try await cancelled.first { $0 == 1 ? true : nil }
    await until { gate.count == 0 }
    let third = want()
    _ = try await begun.first { $0 == 2 ? true : nil }
    isReady.update { $0 = true }
    #expect(try await third.value == 5)
  }

  @Test("a failed computation is not cached, and its admission is released")
  func failure() async throws {
    let work = SingleFlightCache<Int, Int>(capacity: 10_000) { $0 }
    let gate = AdmissionLimit(capacity: 1)
    await #expect(throws: CancellationError.self) {
      _ = try await work.value(1, gate.enter) { throw CancellationError() }
    }
    await until { gate.count == 0 }
    #expect(try await work.value(1, gate.enter) { 3 } == 3)
  }

  @Test("a POST returns 409 for a switched-off view, and 400 for repeated or empty views")
  func capture() async throws {
    var configuration = try SnapshotRouteTests.configuration()
    configuration.cameras[0].views[1].isEnabled = false

    try await withService(configuration) { service async throws in
      var answer: RunningService.Answer?
      for (body, status) in [
        (#"{"views": ["face"]}"#, 409), (#"{"views": ["main", "main"]}"#, 400), (#"{"views": []}"#, 400),
        (#"{"views": ["main"], "max_bytes": 10}"#, 400), (#"{"views": ["main"]}"#, 200),
      ] {
        answer = try await service.send("POST", "/api/cameras/camera/snapshots", body: body)
        #expect(answer?.status == status, "\(body)")
      }

      // The last alone was answered, and is the first that is told.
      struct Answer: Decodable { let sequence: Int }
      let sequence = try #require(answer).json(Answer.self).sequence
      let follower = try service.inside.events.log.subscribe(after: "0-0", .init(types: ["snapshot"]))
      guard case .event(let event) = await follower.next(within: allTheTimeThereIs) else {
        Issue.record("nobody was told")
        return
      }
      #expect(String(buffer: event.text).contains("\"sequence\":\(sequence)"))
    }
  }

  @Test("a POST applies the camera's `offline` setting unless its body overrides that")
  func offline() async throws {
    var configuration = try SnapshotRouteTests.configuration()
    configuration.cameras[1].offline = .error
    try await withService(configuration) { service async throws in
      let path = "/api/cameras/gone/snapshots"
      #expect(try await service.send("POST", path).status == 503)
      #expect(try await service.send("POST", path, body: #"{"offline": "placeholder"}"#).status == 200)
    }
  }

  @Test("a snapshot with offline=error waits for a camera that is slow to open")
  func slowOpening() async throws {
    var camera = CameraConfiguration(
      source:
        #"exec:sleep 0.2; printf 'YUV4MPEG2 W16 H16 F1:1 C420jpeg\n'; for i in 1 2 3 4 5 6 7 8 9; do printf 'FRAME\n'; head -c 384 /dev/zero; done; exec sleep 60"#
    )
    camera.isRequired = false
    camera.options.live = .init(
      stallsAfter: allTheTimeThereIs, reconnectsAfter: allTheTimeThereIs, connectsWithin: allTheTimeThereIs)
    var configuration = ServerConfiguration(cameras: [camera])
    configuration.timeouts.opening = .milliseconds(1)

    try await withService(configuration) { service in
      let answer = try await service.get("/cameras/camera/main.jpg?offline=error")
      #expect(answer.status == 200)
      #expect(answer.headers["X-Source-State"] == ["live"])
    }
  }

  @Test("a scene with a changed layout returns another picture and ETag for the same frames")
  func scenes() async throws {
    var configuration = ServerConfiguration(cameras: [
      CameraConfiguration(name: "one", source: "pattern:smpte,size=64x36,fps=0.001"),
      CameraConfiguration(name: "two", source: "pattern:counter,size=64x36,fps=0.001"),
    ])
    let scene = Scene(
      size: Size(width: 128, height: 64), tiles: [Tile("one"), Tile("two")])
    configuration.scenes = [SceneConfiguration(name: "all", scene: scene)]

    try await withService(configuration) { [configuration, scene] service async throws in
      let first = try await service.get("/cameras/all/main.jpg?exif=0")
      var (configuration, scene) = (configuration, scene)
      scene.tiles.reverse()
      configuration.scenes = [SceneConfiguration(name: "all", scene: scene)]
      try await service.inside.apply(configuration)
      let second = try await service.get("/cameras/all/main.jpg?exif=0")

      #expect(first.status == 200 && second.status == 200)
      #expect(first.headers["ETag"] != second.headers["ETag"])
      #expect(first.bytes != second.bytes)
    }
  }
}
