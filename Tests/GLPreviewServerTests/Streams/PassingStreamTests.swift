// What a service sends of an MJPEG camera: its own pictures where nobody asks for others.
import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import Synchronization
import TestSupport
import Testing

@testable import GLPreview
@testable import GLPreviewServer
@testable import ServiceCore
@testable import ServiceFoundation

@Suite("JPEG passthrough over HTTP", .timeLimit(.minutes(15)))
struct PassingStreamTests {
  private static let main = "/cameras/camera/main"

  private static func configuration(_ views: [ServedView] = [ServedView()]) -> ServerConfiguration {
    ServerConfiguration(cameras: [CameraConfiguration(source: "script", views: views)])
  }

  private static func isPassed(_ path: String, of camera: JPEGCamera, _ service: RunningService) async throws
    -> Bool
  {
    let parts = try await service.parts(path, 2).parts
    #expect(parts.count >= 2)
    return parts.allSatisfy { $0.jpeg == camera.passed }
  }

  @Test(
    "an unmodified view sends the camera's original JPEGs, without rendering or encoding")
  func whole() async throws {
    let camera = try JPEGCamera()
    try await withService(Self.configuration(), makeSource: { camera.source(named: $1, $2) }) { service in
      let (_, parts) = try await service.parts(Self.main + ".mjpeg", 3)
      #expect(parts.allSatisfy { $0.jpeg == camera.passed && $0.headers["x-source-state"] == "live" })
      let sequences = parts.compactMap { $0.headers["x-frame-sequence"].flatMap(Int.init) }
      #expect(sequences == sequences.sorted() && sequences.count == parts.count)

      for path in [Self.main + ".jpg", "/snapshot", Self.main + ".jpg?exif=0&max_age=0"] {
        let answer = try await service.get(path)
        #expect(answer.bytes == camera.passed)
        #expect(answer.headers["Content-Type"] == ["image/jpeg"])
        #expect(answer.headers["X-View-Size"] == ["\(camera.size)"])
        #expect(answer.headers["X-View-Quality"].isEmpty && !answer.headers["ETag"].isEmpty)
      }
      let head = try await service.send("HEAD", Self.main + ".jpg")
      #expect(head.status == 200 && head.bytes.isEmpty)

      let statistics = service.inside.registry.session.statistics
      #expect(statistics.renders == 0 && statistics.jpegs == 0 && statistics.passed > 0)
      let metrics = try await service.get("/metrics").text
      #expect(
        metrics.contains("\nglpreview_pictures_passed_total ") && metrics.contains("_rendered_total 0\n"))
    }
  }

  @Test(
    "a stream with picture parameters is rendered, and one with only fps is passthrough",
    arguments: [
      ".mjpeg?quality=80", ".mjpeg?width=64", ".mjpeg?crop=16x16%2B0%2B0", ".mjpeg?rotate=180",
      ".mjpeg?filter=mitchell",
    ])
  func drawnStreams(words: String) async throws {
    let camera = try JPEGCamera()
    try await withService(Self.configuration(), makeSource: { camera.source(named: $1, $2) }) { service in
      let isPassed = try await Self.isPassed(Self.main + words, of: camera, service)
      #expect(!isPassed && service.inside.registry.session.statistics.passed == 0)
      let isOther = try await Self.isPassed(Self.main + ".mjpeg?fps=50&key=a", of: camera, service)
      #expect(isOther)
    }
  }

  @Test(
    "a snapshot with picture parameters is rendered, and one without is the original JPEG",
    arguments: [
      ".jpg?quality=95", ".jpg?exif=1", ".jpg?max_bytes=100000", ".jpg?size=64x48", ".jpg?mirror=both",
      ".png",
    ])
  func drawnSnapshots(words: String) async throws {
    let camera = try JPEGCamera()
    try await withService(Self.configuration(), makeSource: { camera.source(named: $1, $2) }) { service in
      let answer = try await service.get(Self.main + words)
      #expect(answer.status == 200 && answer.bytes != camera.passed)
      #expect(try await service.get(Self.main + ".jpg").bytes == camera.passed)
    }
  }

  @Test("a view with a quality is rendered; a PATCH sets or removes the quality in running streams")
  func quality() async throws {
    let camera = try JPEGCamera()
    var view = ServedView()
    view.quality = 80
    try await withService(Self.configuration([view]), makeSource: { camera.source(named: $1, $2) }) {
      service in
      #expect(try await service.get(Self.main + ".jpg").bytes != camera.passed)
      let path = "/api/cameras/camera/views/main"
      var (reader, wanted) = (PartReader(), [false, true, false])
      for try await chunk in try await service.openStream(Self.main + ".mjpeg") {
        guard let part = reader.read(Array(chunk.readableBytesView)).last,
          (part.jpeg == camera.passed) == wanted[0]
        else { continue }
        wanted.removeFirst()
        guard let next = wanted.first else { return }
        let body = #"{"quality": \#(next ? "null" : "80")}"#
        #expect(try await service.send("PATCH", path, body: body).status == 200)
      }
      Issue.record("the stream ended")
    }
  }

  @Test("once a view has a crop, its stream and snapshots contain no uncropped JPEG")
  func cropped() async throws {
    let camera = try JPEGCamera()
    try await withService(Self.configuration(), makeSource: { camera.source(named: $1, $2) }) { service in
      var (reader, isCropped) = (PartReader(), false)
      for try await chunk in try await service.openStream(Self.main + ".mjpeg") {
        for part in reader.read(Array(chunk.readableBytesView)) {
          if part.size == "16x8" { return }
          #expect(part.jpeg == camera.passed)
        }
        guard !isCropped else { continue }
        isCropped = true
        let body = #"{"crop": "16x8+0+0"}"#
        #expect(try await service.send("PATCH", "/api/cameras/camera/views/main", body: body).status == 200)
        let snapshot = try await service.get(Self.main + ".jpg")
        #expect(try JPEGProbe(snapshot.bytes).width == 16)
      }
      Issue.record("the stream ended")
    }
  }

  @Test("a passthrough stream continues with the state `lost` when its camera is lost")
  func lost() async throws {
    let camera = try JPEGCamera()
    try await withService(Self.configuration(), makeSource: { camera.source(named: $1, $2) }) { service in
      var reader = PartReader()
      for try await chunk in try await service.openStream(Self.main + ".mjpeg") {
        guard let part = reader.read(Array(chunk.readableBytesView)).last else { continue }
        guard part.headers["x-source-state"] == "live" else {
          #expect(part.headers["x-source-state"] == "lost" && part.size == "\(camera.size)")
          return
        }
        #expect(part.jpeg == camera.passed)
        camera.lose()
      }
      Issue.record("the stream ended")
    }
  }

  @Test(
    "a stream of the default quality shares a rendered view's stream, not a passthrough one"
  )
  func sharing() async throws {
    let camera = try JPEGCamera()
    let views = [ServedView(), ServedView(ViewConfiguration(name: "small", width: 32))]
    try await withService(Self.configuration(views), makeSource: { camera.source(named: $1, $2) }) {
      service in
      let (streams, registry) = (service.inside.streams, service.inside.registry)
      for (view, isShared) in [("main", false), ("small", true)] {
        let target = try registry.view(view, of: nil)
        var wanted = target.served
        wanted.quality = 80
        let one = try streams.join(target, as: target.served, every: .zero)
        let other = try streams.join(target, as: wanted, every: .zero)
        #expect((one.hub === other.hub) == isShared)
      }
    }
  }

  @Test(
    "passthrough is ready without a renderer, which opens for the first rendered picture"
  )
  func readiness() async throws {
    let camera = try JPEGCamera()
    let opened = Opened()
    var options = PreviewSession.Options()
    options.renderers = SharedRenderers { choice in
      opened.count.add(1, ordering: .relaxed)
      return try await GLRenderer.open(choice)
    }
    try await withService(
      Self.configuration(), options: options, makeSource: { camera.source(named: $1, $2) }
    ) { service in
      try await until { try await service.get("/readyz").status == 200 }
      let isPassed = try await Self.isPassed(Self.main + ".mjpeg", of: camera, service)
      #expect(isPassed)
      #expect(opened.count.load(ordering: .relaxed) == 0)
      #expect(try await !service.get("/metrics").text.contains("glpreview_gpu_info{"))
      let info = #"glpreview_source_info{camera="camera",format="MJPG",transport="test"} 1"#
      try await until { try await service.get("/metrics").text.contains(info) }

      #expect(try await service.get(Self.main + ".png").status == 200)
      #expect(opened.count.load(ordering: .relaxed) == 1)
    }
  }

  private final class Opened: Sendable {
    let count = Atomic(0)
  }
}
