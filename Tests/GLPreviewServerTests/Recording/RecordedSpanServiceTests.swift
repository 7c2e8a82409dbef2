// Files of recorded spans over HTTP: ranges, errors, rights, other nodes, and that they can be decoded.
import FoundationEssentials
import NIOHTTP1
import PreviewCore
import TestSupport
import Testing

@testable import GLPreview
@testable import GLPreviewServer
@testable import Recordings
@testable import ServiceCore
@testable import ServiceFoundation
@testable import VideoFormats

@Suite("Files of recorded spans over HTTP", .timeLimit(.minutes(15)))
struct RecordedSpanServiceTests {
  private static func configuration(
    _ folder: URL, _ change: (inout CameraConfiguration) -> Void = { _ in }
  ) -> ServerConfiguration {
    var view = ServedView()
    view.video.keyframeInterval = .milliseconds(500)
    var camera = CameraConfiguration(source: "pattern:counter,size=160x90,fps=20", views: [view])
    camera.options.referenceSize = Size(width: 160, height: 90)
    change(&camera)
    var configuration = ServerConfiguration(cameras: [camera])
    configuration.recordings = FolderConfiguration(path: folder.path)
    return configuration
  }

  private static let access: AccessConfiguration = {
    var access = AccessConfiguration()
    access.tokens = [.init(secret: "look", role: .read), .init(secret: "rule", role: .control)]
    return access
  }()

  private static func header(_ token: String) -> [(String, String)] { [("Authorization", "Bearer \(token)")] }

  private static func known(_ service: RunningService) -> [Recording] {
    service.inside.recorders?.folder.recordings(of: nil, from: nil, to: nil, limit: 1000) ?? []
  }

  /// The path of a span's file, by seconds since a whole day.
  private static func path(_ from: Double, _ to: Double, _ more: String = "") -> String {
    "/recordings/camera.mp4?from=\(spanTime(from).secondsText)&to=\(spanTime(to).secondsText)\(more)"
  }

  private static let three = [
    NumberedRecording(0, from: 0), NumberedRecording(1, from: 10), NumberedRecording(2, from: 20),
  ]

  /// Runs `work` with a service that finds these recordings.
  private func withRecordings(
    _ recordings: [NumberedRecording], access: AccessConfiguration? = nil,
    _ change: @escaping (inout CameraConfiguration) -> Void = { _ in },
    _ work: @escaping @Sendable (RunningService) async throws -> Void
  ) async throws {
    try await withTemporaryFolder { folder async throws in
      for recording in recordings { try recording.write(to: folder) }
      var configuration = Self.configuration(folder, change)
      if let access { configuration.access = access }
      try await withService(configuration) { service in
        await until { Self.known(service).count == recordings.count }
        try await work(service)
      }
    }
  }

  @Test("a file is sent whole, in ranges, or not at all to clients that have it")
  func ranges() async throws {
    try await withRecordings(Self.three + [NumberedRecording(5, from: 30)]) { service in
      let path = Self.path(0.73, 5.45)
      let whole = try await service.get(path)
      #expect(whole.status == 200 && whole.headers["Content-Type"] == ["video/mp4"], "\(whole.text)")
      #expect(try SpanFile(whole.bytes).shown == Array(7...34))
      #expect(whole.headers["X-Timestamp"] == ["1767225600.700000"] && whole.headers["X-Gaps"] == ["1"])
      #expect(whole.headers["Accept-Ranges"] == ["bytes"])
      #expect(whole.headers["Content-Length"] == ["\(whole.bytes.count)"])
      #expect(try await service.get(path + "&view=main").bytes == whole.bytes)

      var pieces: [UInt8] = []
      while pieces.count < whole.bytes.count {
        let last = min(pieces.count + 99, whole.bytes.count - 1)
        let piece = try await service.get(path, [("Range", "bytes=\(pieces.count)-\(last)")])
        try #require(piece.status == 206 && piece.bytes.count == last + 1 - pieces.count)
        let field = "bytes \(pieces.count)-\(last)/\(whole.bytes.count)"
        #expect(piece.headers["Content-Range"] == [field])
        pieces += piece.bytes
      }
      #expect(pieces == whole.bytes)
      #expect(try await service.get(path, [("Range", "bytes=\(pieces.count)-")]).status == 416)

      let tag = try #require(whole.headers.first(name: "ETag"))
      let same = try await service.get(path, [("If-None-Match", tag)])
      #expect(same.status == 304 && same.bytes.isEmpty)
      for (known, status) in [(tag, 206), ("\"other\"", 200)] {
        let part = try await service.get(path, [("Range", "bytes=5-9"), ("If-Range", known)])
        #expect(part.status == status)
      }
      let head = try await service.send("HEAD", path)
      #expect(head.status == 200 && head.headers["Content-Length"] == whole.headers["Content-Length"])
      let other = try await service.get(Self.path(0.73, 5.25))
      #expect(other.status == 200 && other.headers["ETag"] != whole.headers["ETag"])

      let download = try await service.get(path + "&download")
      let name = "attachment; filename=\"camera-2026-01-01T00-00-00.700Z-main.mp4\""
      #expect(download.headers["Content-Disposition"] == [name] && download.bytes == whole.bytes)
    }
  }

  @Test("bad times return 400, times without a picture 404, and another size of the pictures 409")
  func refused() async throws {
    let recordings = Self.three + [NumberedRecording(3, from: 30, spanFormat(isWide: true))]
    try await withRecordings(recordings) { service in
      for query in [
        "", "to=-1s", "from=abc", "from=10&to=5", "from=5&to=5", "from=0&to=604801", "from=-8d",
        "from=-1h&to=soon", "from=-1h&x=1", "from=-1h&from=-2h",
      ] {
        let answer = try await service.get("/recordings/camera.mp4?\(query)")
        #expect(answer.status == 400, "\(query): \(answer.text)")
      }
      for path in ["from=-1h", "from=-1h&to=-1m&view=main"].map({ "/recordings/camera.mp4?\($0)" }) {
        let answer = try await service.get(path)
        #expect(answer.status == 404 && answer.text.contains("\"code\":\"not-recorded\""), "\(answer.text)")
        #expect(answer.text.contains("\"nearest\":[\"2026-01-01T00:00:04.000Z\"]"), "\(answer.text)")
      }
      #expect(try await service.get(Self.path(0, 3, "&view=other")).status == 404)
      #expect(try await service.get("/recordings/other.mp4?from=-1h").status == 404)

      let changed = try await service.get(Self.path(0, 9))
      #expect(changed.status == 409, "\(changed.text)")
      let time = "2026-01-01T00:00:03.000Z"
      #expect(changed.text.contains("to=\(time)") && changed.text.contains("from=\(time)"))
      let begin = spanTime(0).secondsText
      let first = try await service.get("/recordings/camera.mp4?from=\(begin)&to=\(time)")
      #expect(try SpanFile(first.bytes).shown == Array(0..<30))
      let second = try await service.get("/recordings/camera.mp4?from=\(time)&to=\(spanTime(9).secondsText)")
      #expect(try SpanFile(second.bytes).shown == Array(30..<40))
    }
  }

  @Test("recordings from before a mask need the role control, and the answer says which times do")
  func roles() async throws {
    let mask = try PrivacyMask(parsing: "40x40+0+0")
    var masked = NumberedRecording(1, from: 10)
    masked.note.masks = [mask]
    let recordings = [NumberedRecording(0, from: 0), masked]
    try await withRecordings(
      recordings, access: Self.access, { $0.options.masks = [mask] }
    ) { service in
      let (look, rule) = (Self.header("look"), Self.header("rule"))
      let some = try await service.get(Self.path(0.5, 9), look)
      #expect(some.status == 403)
      let times = "from 2026-01-01T00:00:00.500Z to 2026-01-01T00:00:01.000Z"
      #expect(some.text.contains(times), "\(some.text)")
      #expect(try await service.send("HEAD", Self.path(0.5, 9), look).status == 403)
      #expect(try await service.get(Self.path(0, 1), look).status == 403)
      let shown = try await service.get(
        "/recordings/camera.mp4?from=2026-01-01T00:00:01.000Z&to=\(spanTime(9).secondsText)", look)
      #expect(try SpanFile(shown.bytes).shown == Array(10..<20))
      for (from, numbers) in [(0.0, 0..<20), (0.5, 5..<20), (1, 10..<20)] {
        let all = try await service.get(Self.path(from, 9), rule)
        #expect(try SpanFile(all.bytes).shown == Array(numbers), "\(from)")
      }
      #expect(try await service.get(Self.path(0, 1)).status == 401)

      let later = Self.path(20, 30)
      #expect(try await service.get(later, look).text.contains("\"nearest\":[\"2026"))

      let off = try await service.send(
        "PATCH", "/api/cameras/camera/views/main", rule, body: #"{"enabled": false}"#)
      #expect(off.status == 200)
      #expect(try await service.get(Self.path(1, 9), look).status == 403)
      #expect(try await service.get(Self.path(1, 9), rule).status == 200)
      // Times of hidden recordings are hidden, too.
      for (token, isShown) in [(look, false), (rule, true)] {
        let answer = try await service.get(later, token)
        #expect(answer.status == 404 && answer.text.contains("nearest") == isShown, "\(answer.text)")
      }
    }
  }

  @Test("switching off a view ends files of its spans that are sent to clients without the role control")
  func sent() async throws {
    let large = 1 << 20
    // More than the buffers of a connection.
    let recordings = (0..<3).map { index in
      NumberedRecording(
        spanTime(Double(index)),
        (0..<8).map {
          NumberedRecording.Picture(number: $0, ticks: 9000 * $0, isKey: true, byteCount: large)
        })
    }
    try await withRecordings(recordings, access: Self.access) { service in
      var clients: [RawConnection] = []
      for token in ["look", "rule"] {
        let client = try await RawConnection(to: service.port, sending: "", isSmall: true)
        try await client.stopReading()
        let request =
          "GET \(Self.path(0, 9)) HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \(token)\r\nConnection: close\r\n\r\n"
        try await client.send(Array(request.utf8))
        clients.append(client)
      }
      await until { service.inside.access.grants.count == 2 }
      let answer = try await service.send(
        "PATCH", "/api/cameras/camera/views/main", Self.header("rule"), body: #"{"enabled": false}"#)
      #expect(answer.status == 200)

      for client in clients { try await client.readAgain() }
      try await clients[0].waitsForEnd()
      #expect(clients[0].bytes.count < 24 * large)
      try await clients[1].waits(forMoreThan: 24 * large)
    }
  }

  @Test("a node passes a span on to the node that has its recordings")
  func peers() async throws {
    try await withTemporaryFolder { folder async throws in
      for recording in Self.three { try recording.write(to: folder) }
      try await withOwnerAndEdge(Self.configuration(folder)) { owner, edge in
        await until { Self.known(owner).count == 3 }
        let path = Self.path(0.73, 2.45)
        let (direct, through) = (try await owner.get(path), try await edge.get(path))
        #expect(through.status == 200 && through.bytes == direct.bytes, "\(through.text)")
        #expect(through.headers["X-Timestamp"] == direct.headers["X-Timestamp"])
        let part = try await edge.get(path, [("Range", "bytes=10-99")])
        #expect(part.status == 206 && part.bytes == Array(direct.bytes[10..<100]))
        #expect(try await edge.get(Self.path(10, 20)).status == 404)
        #expect(try await edge.get(path, [("X-GLPreview-Hop", "1")]).status == 404)
      }
    }
  }

  /// The frames of a file, as a decoder shows them, and their times from the first.
  private static func frames(_ bytes: [UInt8], in folder: URL) async throws -> [Frame] {
    let file = folder.appending(path: "file.mp4")
    try Data(bytes).write(to: file)
    let source = try await SourceLocator(file.path).open()
    var frames: [Frame] = []
    while let frame = try await source.nextFrame() { frames.append(frame) }
    await source.close()
    return frames
  }

  @Test(
    "a span over several recordings is decoded to each recorded picture once, from the first one on",
    .enabled(if: hasEncoder, "no encoder of H.264: scripts/setup"))
  func decoded() async throws {
    try await withTemporaryFolder { folder async throws in
      let configuration = Self.configuration(folder.appending(path: "recordings")) {
        ($0.record.when, $0.record.segment) = (.always, .seconds(1))
      }
      try await withService(configuration) { service in
        await until { Self.known(service).count { $0.duration != nil } >= 4 }
        let done = Self.known(service).filter { $0.duration != nil }.sorted { $0.name < $1.name }
        var (expected, times): ([Frame], [WallTime]) = ([], [])
        for recording in done.prefix(3) {
          let bytes = try await service.get(recording.path).bytes
          expected += try await Self.frames(bytes, in: folder)
          var index = MP4Index()
          index.extend(to: bytes.count) { Array(bytes[$0..<min($0 + $1, bytes.count)]) }
          times += index.pictures.map {
            WallTime(sinceEpoch: recording.firstTime.sinceEpoch + .microseconds($0.ticks * 100 / 9))
          }
        }
        try #require(expected.count == times.count && times.count > 6)

        // From a picture between two keyframes on.
        let path =
          "/recordings/camera.mp4?from=\(times[5].secondsText)&to=\(done[3].firstTime.secondsText)"
        let span = try await service.get(path)
        #expect(span.status == 200, "\(span.text)")
        #expect(span.headers["X-Timestamp"] == [times[5].secondsText])
        let frames = try await Self.frames(span.bytes, in: folder)
        try #require(frames.count == expected.count - 5)
        for (frame, (same, time)) in zip(frames, zip(expected[5...], times[5...])) {
          #expect(frame.bytes == same.bytes && frame.format.size == same.format.size)
          // Without gaps, times are those of the recording.
          if span.headers["X-Gaps"] == ["0"] {
            let place = (frame.timestamp - frames[0].timestamp) / .seconds(1)
            #expect(abs(place - (time.sinceEpoch - times[5].sinceEpoch) / .seconds(1)) < 0.001)
          }
        }
        for (frame, next) in zip(frames, frames.dropFirst()) { #expect(frame.bytes != next.bytes) }
      }
    }
  }
}
