// Clips of kept pictures over HTTP: what ends them, and animations.
import FoundationEssentials
import Glibc
import NIOCore
import NIOHTTP1
import PreviewCore
import TestSupport
import Testing

@testable import Codecs
@testable import GLPreview
@testable import GLPreviewServer
@testable import ServiceCore
@testable import ServiceFoundation

/// libwebp's own decoder; nil where it is not installed.
private let decodeWebP: WebPDecoder? = WebPDecoder()

@safe private struct WebPDecoder: Sendable {
  typealias Decode =
    @convention(c) (
      UnsafePointer<UInt8>?, Int, UnsafeMutablePointer<CInt>?, UnsafeMutablePointer<CInt>?
    ) -> UnsafeMutablePointer<UInt8>?

  private let decode: Decode

  init?() {
    guard let library = unsafe dlopen("libwebp.so.7", RTLD_LAZY),
      let symbol = unsafe dlsym(library, "WebPDecodeRGBA")
    else { return nil }
    unsafe decode = unsafe unsafeBitCast(symbol, to: Decode.self)
  }

  /// R, G, B, A of a file.
  func pixels(_ file: [UInt8]) -> (size: Size, bytes: [UInt8])? {
    var (width, height): (CInt, CInt) = (0, 0)
    guard let bytes = unsafe decode(file, file.count, &width, &height) else { return nil }
    defer { unsafe free(bytes) }
    let size = Size(width: Int(width), height: Int(height))
    return (size, unsafe Array(UnsafeBufferPointer(start: bytes, count: 4 * size.pixelCount)))
  }
}

@Suite("Clips over HTTP", .timeLimit(.minutes(15)))
struct ClipRouteTests {
  private static func configuration() -> ServerConfiguration {
    var camera = CameraConfiguration(source: "script")
    camera.replayDuration = .seconds(7200)
    camera.isRequired = false
    return ServerConfiguration(cameras: [camera])
  }

  /// Beside a service whose camera has given so many pictures, ten seconds apart, the last one just now. Their codes go up by
  /// `step`.
  private func withPictures(
    _ count: Int = 6, step: Int = 40, _ configuration: ServerConfiguration = configuration(),
    _ work: @escaping @Sendable (RunningService, CountingCamera, [CaptureInstant]) async throws -> Void
  ) async throws {
    let camera = CountingCamera()
    try await withService(configuration, makeSource: { camera.source(named: $1, $2) }) { service in
      let now = CaptureClock.now
      let times = try (0..<count).map {
        try camera.give(UInt8($0 * step), ago: .seconds(10 * (count - 1 - $0)), now: now)
      }
      try await camera.took(count)
      try await work(service, camera, times)
    }
  }

  private static func text(_ time: CaptureInstant) -> String { WallTime(capturedAt: time).secondsText }

  private struct Animation {
    let size: Size
    let loops: Int
    var pictures: [(duration: Int, file: [UInt8])] = []

    init(_ bytes: [UInt8]) throws {
      func number(_ bytes: ArraySlice<UInt8>) -> Int { bytes.reversed().reduce(0) { $0 << 8 | Int($1) } }
      try #require(bytes.starts(with: "RIFF".utf8) && bytes[8...].starts(with: "WEBPVP8X".utf8))
      #expect(number(bytes[4..<8]) == bytes.count - 8 && bytes[20] == 0x02)
      size = Size(width: number(bytes[24..<27]) + 1, height: number(bytes[27..<30]) + 1)
      #expect(bytes[30...].starts(with: "ANIM".utf8))
      loops = number(bytes[42..<44])
      for chunk in WebPAnimation.chunks(of: bytes) where chunk.name == "ANMF" {
        let content = Array(chunk.bytes.dropFirst(8))
        let size = Size(width: number(content[6..<9]) + 1, height: number(content[9..<12]) + 1)
        #expect(size == self.size && content[..<6].allSatisfy { $0 == 0 } && content[15] == 0b10)
        let picture = Array("WEBP".utf8) + content[16...]
        let length = (0..<4).map { UInt8(truncatingIfNeeded: picture.count >> (8 * $0)) }
        pictures.append((number(content[12..<15]), Array("RIFF".utf8) + length + picture))
      }
    }
  }

  @Test(
    "a WebP animation has the buffered pictures of its span, with their durations and colours",
    .enabled(if: decodeWebP != nil), arguments: ["", "&width=33&height=21&mode=stretch"])
  func animation(words: String) async throws {
    let decoder = try #require(decodeWebP)
    try await withPictures { service, _, times in
      let answer = try await service.get(
        "/cameras/camera/main.webp?before=44s&fps=1&quality=95&at=\(Self.text(times[5]))\(words)")
      #expect(answer.status == 200 && answer.headers["Content-Type"] == ["image/webp"])
      let animation = try Animation(answer.bytes)

      #expect(animation.loops == 0 && animation.pictures.count == 5)
      for duration in animation.pictures.map(\.duration).dropLast() { #expect(abs(duration - 10_000) <= 1) }
      #expect(animation.pictures.last?.duration == 1000)
      for (time, picture) in zip(times[1...], animation.pictures) {
        let png = try await service.get("/cameras/camera/main.png?at=\(Self.text(time))\(words)")
        let expected = try PNGDecoder.decode(png.bytes, maximumPixels: 1 << 20)
        let found = try #require(decoder.pixels(picture.file))
        #expect(found.size == animation.size && found.size == expected.format.size)
        #expect(words.isEmpty || found.size == Size(width: 33, height: 21))
        #expect(abs(Int(found.bytes[0]) - Int(expected.bytes[0])) <= 6)
      }
    }
  }

  @Test("an invalid animation request returns 400, and one that is not buffered returns 404")
  func refused() async throws {
    try await withPictures { service, _, _ in
      for (words, status) in [
        ("", 400), ("at=-1s", 400), ("before=3s&fps=0", 400), ("before=100s&fps=5", 400),
        ("before=3s&bitrate=100000", 400), ("before=1s&after=700s&fps=0.1", 400),
        ("at=-7000s&before=1s", 404),
      ] {
        let answer = try await service.get("/cameras/camera/main.webp?\(words)")
        #expect(answer.status == status, "\(words): \(answer.text)")
      }
    }
  }

  @Test(
    "a clip beyond the memory budget returns 503, and succeeds once there is memory",
    arguments: ["mp4?before=25s", "mp4?before=25s&keyframe=2", "webp?before=25s&fps=1"])
  func noRoom(file: String) async throws {
    try await withPictures { service, _, times in
      let budget = service.inside.registry.budget
      let path = "/cameras/camera/main.\(file)&at=\(Self.text(times[5]))"
      budget.overhead = budget.capacity

      for _ in 0..<8 {
        let answer = try await service.get(path)
        #expect(answer.status == 503 && answer.headers["Retry-After"] == ["1"], "\(answer.text)")
      }

      await until { service.inside.clips.making.count == 0 }
      budget.overhead = 0
      let isPossible = file.hasPrefix("webp") ? decodeWebP != nil : hasEncoder
      if isPossible { #expect(try await service.get(path).status == 200) }
    }
  }

  @Test(
    "a client that disconnects while its clip waits for future pictures frees its slot",
    arguments: ["mp4", "webp"])
  func leaves(kind: String) async throws {
    try await withPictures { service, camera, _ in
      // As many as one client may have, and then as many again.
      for _ in 0..<4 {
        let waiting = try await RawConnection(
          to: service.port,
          sending:
            "GET /cameras/camera/main.\(kind)?after=500s&fps=0.2 HTTP/1.1\r\nHost: localhost\r\n\r\n"
            .replacing(kind == "mp4" ? "&fps=0.2" : "none", with: ""))
        await until { service.inside.clips.following.count > 0 }
        try await waiting.close()
        await until { service.inside.clips.following.count == 0 }
      }
    }
  }

  @Test("clips that wait for future pictures do not block other clips", .enabled(if: hasEncoder))
  func waits() async throws {
    try await withPictures { service, _, times in
      var waiting: [RawConnection] = []
      // As many as may be made at a time, and one; the first half of them begins with what is kept.
      for number in 0..<5 {
        let words = number < 2 ? "before=25s&after=500s" : "after=500s"
        waiting.append(
          try await RawConnection(
            to: service.port,
            sending: "GET /cameras/camera/main.mp4?\(words) HTTP/1.1\r\nHost: localhost\r\n\r\n"))
      }
      let clips = service.inside.clips
      await until { clips.following.count == 5 && clips.making.count == 0 }

      let other = try await service.get("/cameras/camera/main.mp4?before=25s&at=\(Self.text(times[5]))")
      #expect(other.status == 200)
      for connection in waiting { try await connection.close() }
      await until { clips.following.count == 0 }
    }
  }

  @Test("a clip ends at its end time even if the camera is lost meanwhile", .enabled(if: hasEncoder))
  func lost() async throws {
    try await withPictures { service, camera, times in
      let at = Self.text(times[5])
      let clip = Task { try await service.get("/cameras/camera/main.mp4?before=25s&after=1s&at=\(at)") }
      camera.lose()
      let answer = try await clip.value
      #expect(answer.status == 200)
      #expect(String(decoding: answer.bytes, as: UTF8.self).split(separator: "moof").count - 1 == 3)
    }
  }

  @Test("200 concurrent requests of one client for buffered pictures all succeed")
  func manyMoments() async throws {
    try await withPictures(40, step: 6) { service, _, times in
      try await withThrowingTaskGroup(of: Void.self) { group in
        for client in 0..<200 {
          group.addTask {
            let number = client % times.count
            let answer = try await service.get(
              "/cameras/camera/main.jpg?width=16&at=\(Self.text(times[number]))")
            #expect(answer.status == 200, "\(answer.text)")
            #expect(answer.headers["X-Frame-Sequence"] == ["\(number)"])
          }
        }
        try await group.waitForAll()
      }
    }
  }

  @Test(
    "a queued request for a buffered picture returns 409 once its view is switched off",
    arguments: ["", "&width=16"])
  func switchedOff(words: String) async throws {
    try await withPictures { service, _, times in
      let gate = service.inside.snapshots.provider.bufferedGate
      var places = try (0..<gate.capacity).map { _ in try gate.enter() }
      let path = "/cameras/camera/main.jpg?at=\(Self.text(times[3]))\(words)"
      #expect(try await service.get("\(path)&timeout=1").status == 504)
      await until { gate.waiting == 0 }

      let waiting = Task { try await service.get(path) }
      await until { gate.waiting == 1 }
      let change = try await service.send(
        "PATCH", "/api/cameras/camera/views/main", body: #"{"enabled": false}"#)
      #expect(change.status == 200)
      places.removeAll()
      let answer = try await waiting.value
      #expect(answer.status == 409, "\(answer.text)")
      #expect(answer.headers["Content-Type"] != ["image/jpeg"])
    }
  }

  @Test(
    "an animation whose view is locked while it waits has the locked crop or returns 503",
    .enabled(if: decodeWebP != nil))
  func locked() async throws {
    try await withPictures { service, _, _ in
      let waiting = Task { try await service.get("/cameras/camera/main.webp?before=500s&after=5s&fps=0.2") }
      await until { service.inside.clips.following.count > 0 }
      var locked = Self.configuration()
      locked.cameras[0].views[0].view.crop = Rectangle(x: 0, y: 0, width: 8, height: 4)
      locked.cameras[0].views[0].isLocked = true
      try await service.inside.apply(locked)
      // On a busy machine it may have been complete before that.
      let isInTime = service.inside.clips.following.count > 0

      let answer = try await waiting.value
      if answer.status == 200, isInTime {
        #expect(try Animation(answer.bytes).size == Size(width: 8, height: 4))
      } else {
        #expect(answer.status == 503 || !isInTime, "\(answer.text)")
      }
    }
  }

  private struct Entry: Decodable {
    struct Replay: Decodable {
      let from: Double
      let to: Double
      let seconds: Double
      let bytes: Int
      let pictures: Int
    }

    let replay: Replay
  }

  @Test("/api/cameras and /metrics report the size and span of the replay buffer")
  func told() async throws {
    try await withPictures { service, _, _ in
      let replay = try await service.get("/api/cameras/camera").json(Entry.self).replay
      #expect(replay.pictures == 6 && replay.bytes > 0 && abs(replay.seconds - 50) < 0.01)
      #expect(abs(replay.to - replay.from - replay.seconds) < 0.01)
      let metrics = try await service.get("/metrics").text
      #expect(metrics.contains(#"glpreview_replay_pictures{camera="camera"} 6"#))
      #expect(metrics.contains(#"glpreview_replay_bytes{camera="camera"} \#(replay.bytes)"#))
      #expect(metrics.contains(#"glpreview_replay_seconds{camera="camera"}"#))
    }
  }

  @Test("a reload with a shorter replay duration removes older buffered pictures")
  func reload() async throws {
    try await withPictures { service, _, _ in
      var shorter = Self.configuration()
      shorter.cameras[0].replayDuration = .seconds(25)
      try await service.inside.apply(shorter)
      try await until {
        try await service.get("/api/cameras/camera").json(Entry.self).replay.pictures == 4
      }
    }
  }
}
