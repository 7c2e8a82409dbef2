// Views as MP4 over HTTP. How long they last: StreamLifeTests.
import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import TestSupport
import Testing

@testable import GLPreview
@testable import GLPreviewServer
@testable import ServiceCore
@testable import ServiceFoundation

@Suite(
  "Video over HTTP", .enabled(if: hasEncoder, "no encoder of H.264: scripts/setup"), .timeLimit(.minutes(15)))
struct VideoRouteTests {
  private static let main = "/cameras/camera/main.mp4"

  private static func configuration(_ views: [ServedView] = [ServedView()]) -> ServerConfiguration {
    ServerConfiguration(
      cameras: [CameraConfiguration(source: "pattern:counter,size=320x180,fps=20", views: views)])
  }

  /// The names of the boxes at the top of an MP4.
  private static func boxes(_ bytes: [UInt8]) -> [String] {
    var (names, offset) = ([String](), 0)
    while offset + 8 <= bytes.count {
      let length = bytes[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) }
      guard length >= 8, offset + length <= bytes.count else { return names + ["cut"] }
      names.append(String(decoding: bytes[offset + 4..<offset + 8], as: UTF8.self))
      offset += length
    }
    return names
  }

  @Test(
    "an MP4 stream has complete fragments and ends after the requested duration",
    arguments: ["", "&width=64", "&bitrate=90000"])
  func duration(words: String) async throws {
    try await withService(Self.configuration()) { service in
      let answer = try await service.get(Self.main + "?duration=0.3" + words)
      #expect(answer.status == 200)
      #expect(answer.headers["Content-Type"].first?.hasPrefix("video/mp4; codecs=\"avc1.42") == true)
      #expect(answer.headers["Cache-Control"] == ["no-store"])
      let boxes = Self.boxes(answer.bytes)
      #expect(boxes.prefix(2) == ["ftyp", "moov"])
      let fragments = Array(boxes.dropFirst(2))
      #expect(fragments.count >= 2 && fragments.count.isMultiple(of: 2))
      #expect(fragments.enumerated().allSatisfy { $1 == ($0.isMultiple(of: 2) ? "moof" : "mdat") })
      await until { service.inside.videos.clientCount(of: "camera", "main") == 0 }
    }
  }

  @Test("MP4 video supports go2rtc's URL, HEAD and a file name for downloads")
  func others() async throws {
    try await withService(Self.configuration()) { service in
      let alias = try await service.get("/api/stream.mp4?src=camera/main&duration=0.1")
      #expect(alias.status == 200 && Self.boxes(alias.bytes).first == "ftyp")
      let head = try await service.send("HEAD", Self.main)
      #expect(head.status == 200 && head.bytes.isEmpty)
      let download = try await service.get(Self.main + "?duration=0.1&download=1")
      #expect(download.headers["Content-Disposition"] == ["attachment; filename=\"camera-main.mp4\""])
      let cameras = try await service.get("/api/cameras").text
      #expect(cameras.contains("\"mp4\":\"/cameras/camera/main.mp4\""))
    }
  }

  @Test("clients of the same video share an encoder, and another bitrate adds one")
  func sharing() async throws {
    try await withService(Self.configuration()) { service in
      let preview = try service.inside.registry.view("main", of: "camera").preview
      let bodies = try await [
        service.openStream(Self.main), service.openStream(Self.main),
        service.openStream(Self.main + "?bitrate=100000"),
      ]
      var iterators = bodies.map { $0.makeAsyncIterator() }
      for index in iterators.indices { _ = try await iterators[index].next() }
      #expect(preview.videos.count == 2)
      #expect(service.inside.videos.clientCount(of: "camera", "main") == 3)
      let metrics = try await service.get("/metrics").text
      #expect(metrics.contains("glpreview_stream_clients{camera=\"camera\",view=\"main\"} 3\n"))
    }
  }

  @Test(
    "a view's video settings apply to its encoder; /metrics and /api/cameras report them"
  )
  func configured() async throws {
    let video = VideoConfiguration(
      bitrate: 90_000, quality: 50, keyframeInterval: .seconds(2), encoder: software)
    var view = ServedView()
    view.video = video
    try await withService(Self.configuration([view])) { service in
      var body = try await service.openStream(Self.main).makeAsyncIterator()
      _ = try await body.next()
      let preview = try service.inside.registry.view("main", of: "camera").preview
      let running = preview.videoFormat(video)?.encoder
      #expect(running == software)
      // The same words are the same encoder.
      var same = try await service.openStream(Self.main + "?bitrate=90000&quality=50&keyframe=2")
        .makeAsyncIterator()
      _ = try await same.next()
      #expect(preview.videos.count == 1)

      let cameras = try await service.get("/api/cameras").text
      let name = software.rawValue
      #expect(cameras.contains("\"bitrate\":90000,\"codec\":\"avc1.42"))
      #expect(
        cameras.contains(
          "\"current_bitrate\":90000,\"encoder\":\"\(name)\",\"keyframe\":2,"
            + "\"not_passed\":\"the video settings require encoding\",\"quality\":50,"))
      #expect(cameras.contains("\"reduced_clients\":0,\"running\":\"\(name)\""))
      let metrics = try await service.get("/metrics").text
      #expect(metrics.contains("glpreview_video_encoders{encoder=\"\(name)\"} 1\n"))
      #expect(metrics.contains("glpreview_video_bitrate{camera=\"camera\",view=\"main\"} 90000\n"))
      #expect(metrics.contains("glpreview_video_reduced_clients{camera=\"camera\",view=\"main\"} 0\n"))
      #expect(!metrics.contains("glpreview_video_pictures_total 0\n"))
      #expect(!metrics.contains("glpreview_video_key_pictures_total 0\n"))
      #expect(try await service.get(Self.main + "?encoder=openh264").status == 400)
    }
  }

  @Test(
    "invalid video parameters return 400",
    arguments: [
      ("?duration=0", 400), ("?duration=x", 400), ("?fps=5", 400), ("?bitrate=1", 400), ("?keyframe=0", 400),
      ("?width=0", 400), ("?download=maybe", 400),
    ])
  func mistakes(words: String, status: Int) async throws {
    try await withService(Self.configuration()) { (service) async throws in
      #expect(try await service.get(Self.main + words).status == status)
    }
  }

  @Test("a locked view's video returns 200 as configured, and 403 with another width")
  func locked() async throws {
    var view = ServedView()
    view.isLocked = true
    try await withService(Self.configuration([view])) { (service) async throws in
      #expect(try await service.get(Self.main + "?width=64").status == 403)
      #expect(try await service.get(Self.main + "?duration=0.1").status == 200)
      #expect(try await service.get("/cameras/camera/other.mp4").status == 404)
    }
  }
}
