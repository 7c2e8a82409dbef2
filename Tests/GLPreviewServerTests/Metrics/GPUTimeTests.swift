// Tests that each view counts the GPU's time, and that views by URL are refused while the GPU is busy.
import AsyncHTTPClient
import GLPreview
import NIOCore
import NIOHTTP1
import PreviewCore
import Synchronization
import TestSupport
import Testing

@testable import GLPreviewServer
@testable import ServiceCore
@testable import ServiceFoundation

@Suite("GPU time", .timeLimit(.minutes(15)))
struct GPUTimeTests {
  private static func configuration(limit: Int = 90) -> ServerConfiguration {
    var configuration = ServerConfiguration(cameras: [
      CameraConfiguration(
        source: StreamTests.pattern,
        views: [
          ServedView(ViewConfiguration(width: 300, height: 100)),
          ServedView(ViewConfiguration(name: "small", width: 100, height: 100)),
        ])
    ])
    let tile = Tile("camera")
    configuration.scenes = [
      SceneConfiguration(name: "wall", scene: Scene(size: Size(width: 64, height: 36), tiles: [tile]))
    ]
    configuration.limits.gpu = limit
    return configuration
  }

  /// The GPU's seconds of each view that has some, as `/metrics` lists them.
  private static func seconds(_ service: RunningService) async throws -> [String: Double] {
    var found: [String: Double] = [:]
    for line in try await service.get("/metrics").text.split(separator: "\n") {
      guard line.hasPrefix("glpreview_gpu_seconds_total{") else { continue }
      let words = line.split(separator: " ")
      let names = words[0].split(separator: "\"")
      found["\(names[1])/\(names[3])"] = Double(words[1])
    }
    return found
  }

  /// The refusal of a request; nil if it was not refused.
  private static func refusal(_ service: RunningService, _ path: String) async throws -> HTTPClientResponse? {
    let request = HTTPClientRequest(url: "\(service.base)/cameras/camera/\(path)")
    let response = try await HTTPClient.patient.execute(request, timeout: .hours(1))
    return response.status == .tooManyRequests ? response : nil
  }

  @Test("each view counts the GPU's time for its pictures, and for those of URLs with parameters")
  func views() async throws {
    let renderer = ClockedRenderer(.milliseconds(1))
    try await withService(Self.configuration(), options: renderer.options) { service in
      #expect(try await Self.seconds(service) == [:])

      for path in ["camera/main.jpg", "camera/small.jpg", "wall/main.jpg"] {
        #expect(try await service.get("/cameras/\(path)").status == 200)
      }
      let one = try await Self.seconds(service)
      #expect(one.keys.sorted() == ["camera/main", "camera/small", "wall/main"])
      #expect(one.values.allSatisfy { $0 > 0 })

      let snapshot = "/cameras/camera/main.jpg?width=20"
      #expect(try await service.get(snapshot).status == 200)
      let two = try await Self.seconds(service)
      #expect(two["camera/main"] ?? 0 > one["camera/main"] ?? 0 && two["camera/small"] == one["camera/small"])

      // A stream of a URL has a preview of its own, which goes; its time stays.
      _ = try await service.parts("/cameras/camera/small.mjpeg?width=20", 3)
      await until { service.inside.registry.session.previews.count == 2 }
      let three = try await Self.seconds(service)
      #expect(three["camera/small"] ?? 0 > two["camera/small"] ?? 0)
      #expect(three["camera/main"] == two["camera/main"])
    }
  }

  @Test("views that are drawn together share the time by the size of their pictures")
  func parts() async throws {
    let renderer = ClockedRenderer(.milliseconds(4))
    try await withService(Self.configuration(), options: renderer.options) { service in
      let answer = try await service.send("POST", "/api/cameras/camera/snapshots")
      #expect(answer.status == 200, "\(answer.text)")

      let seconds = try await Self.seconds(service)
      #expect(abs((seconds["camera/main"] ?? 0) - 0.003) < 1e-6)
      #expect(abs((seconds["camera/small"] ?? 0) - 0.001) < 1e-6)
    }
  }

  @Test(
    "views by URL get 429 while the GPU is busy, and configured views do not",
    arguments: [
      "main.jpg?width=20", "main.png?width=20", "main.mjpeg?width=20", "main.mp4?width=20",
      "main.m3u8?width=20", "main.jpg?width=20&at=-1ms", "main.jpg?width=20&best=sharpest",
      "main.mp4?width=20&before=1s", "main.webp?width=20&before=1s",
    ])
  func refusals(path: String) async throws {
    let renderer = ClockedRenderer(.seconds(10))
    var configuration = Self.configuration()
    configuration.cameras[0].replayDuration = .seconds(60)
    try await withService(configuration, options: renderer.options) { service in
      // It is drawn on and on.
      let stream = try await service.openStream("/cameras/camera/small.mjpeg")
      let load = service.inside.registry.session
      await until { load.gpuLoad ?? 0 >= 1 }

      var found: HTTPClientResponse?
      try await until {
        found = try await Self.refusal(service, path)
        return found != nil
      }
      try await until { try await service.get("/api/cameras").text.contains(#""load":"#) }
      let refusal = try #require(found)
      let text = String(buffer: try await refusal.body.collect(upTo: 1 << 16))
      #expect(refusal.headers["Retry-After"] == ["3"])
      #expect(text.contains("% of the time") && text.contains("limits.gpu"))
      for served in ["main.jpg", "small.jpg", "main.jpg?best=sharpest", "main.mjpeg"] {
        #expect(try await Self.refusal(service, served) == nil)
      }
      _ = stream

      renderer.time.withLock { $0 = .zero }
      await until { load.gpuLoad ?? 0 < 0.9 }
      try await until { try await service.get("/cameras/camera/main.jpg?width=20").status == 200 }
    }
  }

  @Test("a stream that has begun is not refused, nor what continues it")
  func begun() async throws {
    let renderer = ClockedRenderer(.zero)
    try await withService(Self.configuration(), options: renderer.options) { service in
      let path = "/cameras/camera/main.mjpeg?width=20"
      let first = try await service.openStream(path)
      renderer.time.withLock { $0 = .seconds(10) }
      let registry = service.inside.registry
      await until { registry.session.gpuLoad ?? 0 >= 1 }

      // It is joined, and goes on.
      _ = try await service.parts(path, 3)
      #expect(throws: Problem.self) {
        while true { try registry.checkGPU() }
      }
      try CameraRegistry.$isContinuing.withValue(true) { try registry.checkGPU() }
      _ = first
    }
  }

  @Test("no view is refused without a limit, or without a clock", arguments: [Duration.seconds(10), nil])
  func unlimited(time: Duration?) async throws {
    let renderer = ClockedRenderer(time)
    try await withService(
      Self.configuration(limit: time == nil ? 1 : 0), options: renderer.options
    ) { service async throws in
      let session = service.inside.registry.session
      for width in 20..<24 {
        try await until { () async throws -> Bool in
          let answer = try await service.get("/cameras/camera/main.jpg?width=\(width)")
          #expect(answer.status == 200)
          return time == nil || session.gpuLoad ?? 0 >= 1
        }
      }
      let seconds = try await Self.seconds(service)
      #expect(seconds.isEmpty == (time == nil))
    }
  }
}
