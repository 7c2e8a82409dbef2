// Readers of views that move, over connections: one that reads with pauses, and one of WebRTC.
import Codecs
import NIOCore
import PreviewCore
import Synchronization
import TestSupport
import Testing

@testable import GLPreview
@testable import GLPreviewServer
@testable import ServiceCore
@testable import ServiceFoundation
@testable import WebRTC

@Suite("Readers of views that move", .timeLimit(.minutes(15)))
struct ViewMoveReaderTests {
  private static let lens = Lens(.fisheye(), fov: 180)

  private static func configuration(_ source: String, _ size: Size) throws -> ServerConfiguration {
    var view = ServedView(ViewConfiguration(name: "left", width: size.width, height: size.height))
    view.view.projection = Projection(yaw: -20, hfov: 60)
    view.video.keyframeInterval = .seconds(60)
    var camera = CameraConfiguration(source: source, views: [view])
    camera.options.lens = lens
    camera.isRequired = false
    return ServerConfiguration(cameras: [camera])
  }

  private static func move(_ body: String, by service: RunningService) async throws -> ServedPreview {
    let answer = try await service.send("POST", "/api/cameras/camera/views/left/move", body: body)
    #expect(answer.status == 200, "\(answer.text)")
    return try service.inside.registry.view("left", of: "camera")
  }

  // MARK: MJPEG

  /// A picture of a stream.
  private struct Published {
    let frame: Frame
    let jpeg: [UInt8]
    /// The memory of the part; nil when it is released.
    weak var lease: MemoryLease?
  }

  /// A stream whose camera gives a frame when the one before was published.
  private struct SteppedStream {
    let camera: SteppedCamera
    let move: ViewMove
    private(set) var published: [Published] = []

    init(_ camera: SteppedCamera, _ move: ViewMove) { (self.camera, self.move) = (camera, move) }

    /// Gives a frame. It is captured in the future, so that it is new whenever it is drawn: each frame a minute
    /// after the one before.
    func give() throws -> Frame {
      try camera.give(published.count, at: move.start + Duration.seconds(60) * (published.count + 1))
    }

    /// Waits until a frame is published.
    mutating func wait(for frame: Frame, in hub: StreamHub) async throws {
      await until { hub.newest?.timestamp == frame.timestamp }
      guard let part = hub.newest else { throw StreamEnded() }
      let jpeg = Array(part.jpeg.readableBytesView)
      published.append(Published(frame: frame, jpeg: jpeg, lease: part.lease))
    }
  }

  /// A client of a stream that reads with pauses.
  private struct PausingReader {
    private let connection: RawConnection
    private var reader = PartReader()
    /// The number of bytes that were taken apart.
    private var count: Int

    init(_ path: String, of service: RunningService) async throws {
      let end = "\r\n\r\n"
      let connection = try await RawConnection(
        to: service.port, sending: "GET \(path) HTTP/1.1\r\nHost: localhost\(end)", isSmall: true)
      try await connection.waits(for: end)
      let bytes = connection.bytes
      count = bytes.firstRange(of: Array(end.utf8))?.upperBound ?? bytes.count
      self.connection = connection
    }

    func pause() async throws { try await connection.stopReading() }

    /// Reads on, up to this JPEG. Returns all that have arrived since the last pause began.
    mutating func read(until jpeg: [UInt8]) async throws -> [[UInt8]] {
      try await connection.readAgain()
      var jpegs: [[UInt8]] = []
      while jpegs.last != jpeg {
        try await connection.waits(forMoreThan: count)
        let bytes = connection.bytes
        jpegs += reader.read(Array(bytes[count...])).map(\.jpeg)
        count = bytes.count
      }
      return jpegs
    }

    func close() async throws { try await connection.close() }
  }

  /// The samples of a frame's JPEG, by a view that stands still.
  private static func still(
    _ frame: Frame, _ pose: LensPose, as target: ServedPreview, by session: PreviewSession
  ) async throws -> [UInt8] {
    var view = target.served.view
    view.projection?.pose = pose
    view.lens = lens
    let drawn = try await session.draw(frame, [view], as: .ycbcr(.yuv420), at: frame.timestamp)
    guard let picture = drawn.first else { throw StreamEnded() }
    return try await samples(picture.jpeg(quality: target.served.encodedQuality).bytes)
  }

  private static func samples(_ jpeg: [UInt8]) throws -> [UInt8] {
    try JPEGDecoder.decode(jpeg, maximumPixels: 1 << 20).bytes
  }

  @Test(
    "a client that reads with pauses gets pictures in the poses of their captures, and the newest after each")
  func paused() async throws {
    let camera = SteppedCamera()
    // On the CPU, equal pictures have equal samples.
    try await withService(
      Self.configuration("script", Size(width: 640, height: 360)), options: ClockedRenderer(nil).options,
      makeSource: { camera.source(named: $1, $2) }
    ) { service in
      let target = try await Self.move(#"{"to": {"yaw": 60, "roll": 20}, "over": "1h"}"#, by: service)
      let move = try #require(target.preview.runningMove(at: .now))
      var stream = SteppedStream(camera, move)
      let first = try stream.give()
      var reader = try await PausingReader("/cameras/camera/left.mjpeg", of: service)
      let (hub, metrics) = (try #require(service.inside.streams.all.first), service.inside.metrics)
      try await stream.wait(for: first, in: hub)

      var received: [[UInt8]] = []
      for _ in 0..<3 {
        try await reader.pause()
        // Until what waits was replaced a few times.
        let before = metrics.skippedParts.load(ordering: .relaxed)
        while metrics.skippedParts.load(ordering: .relaxed) < before + 4 {
          let frame = try stream.give()
          try await stream.wait(for: frame, in: hub)
        }
        // The newest part, the one that waits, the one that is being sent, and one on its way to the connection.
        await until { stream.published.count { $0.lease != nil } <= 4 }
        let newest = try #require(stream.published.last)
        received += try await reader.read(until: newest.jpeg)
      }
      try await reader.close()

      let numbers = try received.map { jpeg in
        try #require(stream.published.firstIndex { $0.jpeg == jpeg }, "it was not published")
      }
      #expect(numbers == numbers.sorted() && numbers.last == stream.published.count - 1)
      for number in Set(numbers).sorted() {
        let (frame, jpeg) = (stream.published[number].frame, stream.published[number].jpeg)
        let still = try await Self.still(
          frame, move.pose(at: frame.timestamp), as: target, by: service.inside.registry.session)
        #expect(try Self.samples(jpeg) == still, "picture \(number)")
      }
    }
  }

  // MARK: WebRTC

  /// The next picture of a session, decoded.
  private static func picture(
    of peer: WHEPPeer, _ target: ServedPreview, by decoder: any BufferedDecoder
  ) async throws -> ReadPicture {
    let (isKey, bytes) = try await peer.picture()
    guard let format = target.preview.videoFormat(target.served.video) else { throw StreamEnded() }
    let sample = VideoSample(bytes: bytes, isKey: isKey, timestamp: CaptureClock.now, format: format)
    return ReadPicture(try decoder.frame(of: [sample]))
  }

  @Test(
    "a WebRTC session shows a move, and keeps its encoder",
    .enabled(if: hasEncoder && hasWebRTC, "libraries are missing: scripts/setup"))
  func session() async throws {
    // Too small for a lower rendition.
    let size = Size(width: 128, height: 72)
    var configuration = try Self.configuration("pattern:smpte,size=160x160,fps=20", size)
    configuration.cameras[0].keepsWarm = true
    try await withService(configuration) { service in
      // The camera has given its frame.
      #expect(try await service.get("/cameras/camera/left.jpg").status == 200)
      let target = try service.inside.registry.view("left", of: "camera")
      let decoder = try #require(BufferedDecoding.makeDecoder(maximumPixels: 1 << 20, memory: FramePool()))
      let peer = try await WHEPPeer()
      try await peer.connect(try await service.offer(peer, "/cameras/camera/left/whep").answer)
      let before = try await Self.picture(of: peer, target, by: decoder)
      let format = target.preview.videoFormat(target.served.video)
      #expect(before.size == size)

      _ = try await Self.move(#"{"to": {"yaw": 40}}"#, by: service)
      // The camera's pictures are all the same.
      var after = before
      while after.differences(from: before, by: 40, where: { _, _ in true }) < size.pixelCount / 10 {
        after = try await Self.picture(of: peer, target, by: decoder)
      }

      #expect(target.preview.videoFormat(target.served.video) == format)
      #expect(service.inside.videos.counters.encoders.values.reduce(0, +) == 1)
      #expect(service.sessionCount == 1)
      try await peer.close()
    }
  }
}
