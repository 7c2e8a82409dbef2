// Clients that can't follow a view get it at half its size and rate, as long as they must.
import GLPreview
import NIOCore
import TestSupport
import Testing

@testable import GLPreview
@testable import GLPreviewServer
@testable import ServiceCore
@testable import ServiceFoundation

private func at(_ seconds: Double) -> CaptureInstant { .start + .seconds(1000) + .seconds(seconds) }

@Suite("Video renditions")
struct VideoRungTests {
  @Test("a lagging client moves to the lower rendition, and back after 30 s without drops")
  func moves() {
    var rendition = VideoRendition()
    #expect(rendition.move(isLeftBehind: false, lastDrop: at(0), at: at(1)) == nil)
    #expect(rendition.move(isLeftBehind: true, lastDrop: at(1), at: at(1)) == .down)
    #expect(rendition.isLower)
    #expect(rendition.move(isLeftBehind: true, lastDrop: nil, at: at(30.9)) == nil)
    #expect(rendition.move(isLeftBehind: false, lastDrop: at(5), at: at(34.9)) == nil)
    #expect(rendition.move(isLeftBehind: false, lastDrop: at(5), at: at(35)) == .up)
    #expect(!rendition.isLower)
  }

  @Test("each failed return to full size doubles the wait, up to 10 min; one over 2 min resets it")
  func backoff() {
    var (rendition, time) = (VideoRendition(), 0.0)
    for wait in [30.0, 60, 120, 240, 480, 600, 600] {
      #expect(rendition.move(isLeftBehind: true, lastDrop: nil, at: at(time)) == .down)
      #expect(rendition.move(isLeftBehind: false, lastDrop: nil, at: at(time + wait - 0.1)) == nil)
      #expect(rendition.move(isLeftBehind: false, lastDrop: nil, at: at(time + wait)) == .up)
      time += wait + 120
    }
    time += 1
    #expect(rendition.move(isLeftBehind: true, lastDrop: nil, at: at(time)) == .down)
    #expect(rendition.move(isLeftBehind: false, lastDrop: nil, at: at(time + 30)) == .up)
  }

  @Test("a refused lower rendition is requested again after 30 s")
  func refusal() {
    var rendition = VideoRendition()
    #expect(rendition.move(isLeftBehind: true, lastDrop: nil, at: at(0)) == .down)
    rendition.refuse(at: at(0))
    #expect(!rendition.isLower)
    #expect(rendition.move(isLeftBehind: true, lastDrop: nil, at: at(29.9)) == nil)
    #expect(rendition.move(isLeftBehind: true, lastDrop: nil, at: at(30)) == .down)
  }

  @Test("a lower rendition halves a view's size and labels; a view 159 pixels wide has none")
  func halves() throws {
    let size = Size(width: 640, height: 360)
    func half(_ width: Int?, _ height: Int?) throws -> [Int?] {
      let half = try #require(ViewConfiguration(width: width, height: height).halved(from: size))
      return [half.width, half.height]
    }
    #expect(try half(640, 360) == [320, 180])
    #expect(try half(641, nil) == [320, nil])
    #expect(try half(nil, 361) == [nil, 180])
    #expect(try half(nil, nil) == [320, nil])
    #expect(ViewConfiguration().halved(from: Size(width: 159, height: 900)) == nil)
    let label = Label(name: "door", size: 17)
    let small = try #require(ViewConfiguration(labels: [label]).halved(from: size)?.labels.first)
    #expect(small.font.size == 8 && small.margin == 4 && small.content == label.content)
  }
}

@Suite(
  "Slow video clients", .enabled(if: hasEncoder, "no encoder of H.264: scripts/setup"),
  .timeLimit(.minutes(15)))
struct SlowVideoTests {
  /// Runs `work` with the streams of a service for which three drops are enough, whatever time has passed.
  private static func withStreams(
    size: String = "320x180", _ served: ServedView = ServedView(), waiting: Duration = allTheTimeThereIs,
    gate: Int = 4,
    _ work: @escaping @Sendable (VideoStreams, RunningService, ServedPreview) async throws -> Void
  ) async throws {
    let configuration = ServerConfiguration(
      cameras: [CameraConfiguration(source: "pattern:counter,size=\(size),fps=20", views: [served])])
    try await withService(configuration) { service in
      var control = BitrateControl()
      (control.loweredAfter, control.dropsExpireAfter, control.leftBehindAfter) = (
        allTheTimeThereIs, allTheTimeThereIs, .zero
      )
      let streams = VideoStreams(
        service.inside.registry, gate: AdmissionLimit(capacity: gate), counting: VideoCounters(),
        logger: LogRecords().logger, control: control, rendition: VideoRendition(wait: waiting))
      try await work(streams, service, try service.inside.registry.view("main", of: "camera"))
    }
  }

  private static func drop(_ stream: VideoStream) async throws -> VideoSample? {
    // A picture that is read late counts as lost too.
    for _ in 0..<3 {
      let sample = try await stream.next()
      if stream.isReduced { return sample }
      stream.lost()
    }
    return try await stream.next()
  }

  /// The newest picture of a batched stream, which has none while its camera stalls.
  private static func newest(of stream: VideoStream) async throws -> VideoSample? {
    while let samples = try await stream.nextSamples() {
      if let last = samples.last { return last }
    }
    return nil
  }

  @Test(
    "a client that drops frames gets half the size from a keyframe on; others keep full size"
  )
  func down() async throws {
    try await Self.withStreams { streams, service, target in
      let slow = try streams.begin(target, as: target.served, target.served.video)
      let quick = try streams.begin(target, as: target.served, target.served.video)
      // However long this takes: a batched client drops nothing, so that it alone is sure to keep the view.
      let batched = try streams.begin(target, as: target.served, target.served.video, inBatches: true)
      let before = try #require(try await slow.next())
      #expect(before.format.size == Size(width: 320, height: 180))
      let after = try #require(try await Self.drop(slow))

      #expect(after.format.size == Size(width: 160, height: 90))
      #expect(after.isKey && after.timestamp > before.timestamp)
      #expect(slow.isReduced && !quick.isReduced && !batched.isReduced)
      #expect(streams.reducedCount(of: "camera", "main") == 1)
      #expect(streams.clientCount(of: "camera", "main") == 2)
      #expect(try await Self.newest(of: batched)?.format == before.format)
      batched.end()
      var last = after
      for _ in 0..<5 {
        let next = try #require(try await slow.next())
        #expect(next.timestamp > last.timestamp && next.format == after.format)
        last = next
      }
      // A second slow client shares the encoder; the rendition ends with the last of them.
      #expect(try await Self.drop(quick)?.format.size == Size(width: 160, height: 90))
      #expect(streams.counters.encoders.values.reduce(0, +) <= 2)
      slow.end()
      quick.end()
      let end = try await slow.next()
      #expect(end == nil)
      let known = try await service.get("/api/cameras").text
      #expect(known.contains("\"reduced_clients\":0"))
    }
  }

  @Test("a client that keeps up returns to the full size with a keyframe")
  func up() async throws {
    try await Self.withStreams(waiting: .zero) { streams, _, target in
      let stream = try streams.begin(target, as: target.served, target.served.video)
      let low = try #require(try await Self.drop(stream))
      let high = try #require(try await stream.next())
      #expect(low.format.size == Size(width: 160, height: 90))
      #expect(high.format.size == Size(width: 320, height: 180))
      #expect(high.isKey && high.timestamp > low.timestamp)
    }
  }

  @Test("changing a view ends its lower rendition, and switching the view off ends the stream")
  func followed() async throws {
    try await Self.withStreams { streams, service, target in
      let stream = try streams.begin(target, as: target.served, target.served.video)
      #expect(try await Self.drop(stream)?.format.size == Size(width: 160, height: 90))
      _ = try await service.send(
        "PATCH", "/api/cameras/camera/views/main", body: #"{"size": "200x100"}"#)
      #expect(!stream.isReduced)
      let sample = try #require(try await stream.next())
      #expect(sample.format.size == Size(width: 200, height: 100) && sample.isKey)

      #expect(try await Self.drop(stream)?.format.size == Size(width: 100, height: 50))
      _ = try await service.send("PATCH", "/api/cameras/camera/views/main", body: #"{"enabled": false}"#)
      let end = try await stream.next()
      #expect(end == nil)
    }
  }

  @Test("a locked view has a lower rendition of half its size")
  func locked() async throws {
    var served = ServedView()
    served.isLocked = true
    try await Self.withStreams(served) { streams, _, target in
      let stream = try streams.begin(target, as: target.served, target.served.video)
      #expect(try await Self.drop(stream)?.format.size == Size(width: 160, height: 90))
    }
  }

  @Test(
    "a requested width of 160 has a lower rendition of 80, and a width of 100 has none",
    arguments: [("160", 80), ("100", 100)])
  func words(width: String, expected: Int) async throws {
    try await Self.withStreams { streams, _, target in
      var wanted = target.served
      wanted.view.width = Int(width)
      let stream = try streams.begin(target, as: wanted, target.served.video)
      #expect(try await Self.drop(stream)?.format.size.width == expected)
    }
  }

  @Test("a slow client keeps the full size if no further encoder is admitted")
  func full() async throws {
    try await Self.withStreams(gate: 0) { streams, _, target in
      let stream = try streams.begin(target, as: target.served, target.served.video)
      #expect(try await Self.drop(stream)?.format.size == Size(width: 320, height: 180))
      #expect(!stream.isReduced)
    }
  }
}
