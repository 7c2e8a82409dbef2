// Recordings of a service: files that play, also after the worst, and what clients can do with them.
import FoundationEssentials
import Glibc
import NIOCore
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

@Suite("Recordings", .enabled(if: hasEncoder, "no encoder of H.264: scripts/setup"), .timeLimit(.minutes(15)))
struct RecordingTests {
  private static func configuration(
    _ folder: URL, _ change: (inout RecordingConfiguration) -> Void
  ) -> ServerConfiguration {
    var view = ServedView()
    view.video.keyframeInterval = .milliseconds(500)
    var camera = CameraConfiguration(source: "pattern:counter,size=160x90,fps=20", views: [view])
    camera.record.segment = .seconds(1)
    change(&camera.record)
    var configuration = ServerConfiguration(cameras: [camera])
    configuration.recordings = FolderConfiguration(path: folder.path)
    return configuration
  }

  private struct List: Decodable {
    struct Item: Decodable {
      let camera: String
      let view: String
      let start: String
      var duration: Double?
      let bytes: Int
      let url: String
      let recording: Bool
    }

    let recordings: [Item]
  }

  private static func list(_ service: RunningService, _ query: String = "") async throws -> [List.Item] {
    try await service.get("/api/recordings\(query)").json(List.self).recordings
  }

  /// The recordings in the folder, without asking by HTTP again and again.
  private static func known(_ service: RunningService) -> [Recording] {
    service.inside.recorders?.folder.recordings(of: nil, from: nil, to: nil, limit: 1000) ?? []
  }

  /// The pictures of a file, and whether it has its length.
  private static func pictures(_ bytes: [UInt8]) throws -> (count: Int, known: MP4Recording?) {
    var reader = FragmentedMP4Reader(pictureLimit: 1 << 20)
    let events = try reader.take(bytes[...])
    let known = MP4Recording(size: bytes.count) { Array(bytes[$0..<min($0 + $1, bytes.count)]) }
    return (events.count { if case .picture = $0 { true } else { false } }, known)
  }

  @Test("`always` recordings are listed, served with ETags and byte ranges, and deleted")
  func always() async throws {
    try await withTemporaryFolder { folder in
      try await withService(Self.configuration(folder) { $0.when = .always }) { service in
        await until { Self.known(service).count { $0.duration != nil } >= 2 }
        let done = try await Self.list(service).filter { !$0.recording }
        let file = try #require(done.last)
        #expect(file.camera == "camera" && file.view == "main")
        let whole = try await service.get(file.url)
        #expect(whole.status == 200 && whole.bytes.count == file.bytes)
        #expect(whole.headers.first(name: "Accept-Ranges") == "bytes")
        let (count, known) = try Self.pictures(whole.bytes)
        #expect(count >= 1 && known?.isFinished == true)
        #expect(abs(Double(known?.length ?? 0) / 90_000 - (file.duration ?? 0)) < 0.001)

        let tag = try #require(whole.headers.first(name: "ETag"))
        for known in [tag, "\"other\", W/\(tag)", "*"] {
          let same = try await service.get(file.url, [("If-None-Match", known)])
          #expect(same.status == 304 && same.bytes.isEmpty && same.headers.first(name: "ETag") == tag)
        }
        #expect(try await service.get(file.url, [("If-None-Match", "\"other\"")]).status == 200)

        let part = try await service.get(file.url, [("Range", "bytes=10-99")])
        #expect(part.status == 206 && part.bytes == Array(whole.bytes[10..<100]))
        #expect(part.headers.first(name: "Content-Range") == "bytes 10-99/\(file.bytes)")
        let tail = try await service.get(file.url, [("Range", "bytes=-5")])
        #expect(tail.status == 206 && tail.bytes == Array(whole.bytes.suffix(5)))
        #expect(try await service.get(file.url, [("Range", "bytes=\(file.bytes)-")]).status == 416)
        #expect(try await service.get(file.url, [("Range", "lines=1-2")]).status == 200)

        #expect(try await service.get("/api/recordings?camera=other").json(List.self).recordings.isEmpty)
        #expect(try await service.get("/api/recordings?from=1&to=2").json(List.self).recordings.isEmpty)
        #expect(try await service.get("/api/recordings?limit=0").status == 400)
        for path in ["camera/x.mp4", "..%2f..%2fetc/passwd", "camera/2026-01-01T00-00-00.000Z-main.mp4"] {
          #expect(try await service.get("/recordings/\(path)").status == 404, "\(path)")
        }
        // The bytes that are read of it count in the service's memory.
        let budget = service.inside.registry.budget
        budget.overhead = budget.capacity
        let refused = try await service.get(file.url)
        #expect(refused.status == 503 && refused.headers["Retry-After"] == ["1"])
        budget.overhead = 0
        #expect(try await service.get(file.url).bytes == whole.bytes)
        #expect(try await service.send("DELETE", file.url).status == 204)
        #expect(try await service.get(file.url).status == 404)
        #expect(try await service.send("POST", "/api/cameras/camera/recording").status == 409)
      }
      // All that is left was finished when the service ended.
      for file in try files(in: folder) {
        #expect(try Self.pictures(Array(Data(contentsOf: file))).known?.isFinished == true)
      }
    }
  }

  @Test("a triggered recording starts before the request, and events report its start, end and URL")
  func trigger() async throws {
    let configuration: (URL) -> ServerConfiguration = { folder in
      Self.configuration(folder) {
        $0.when = .trigger
        // Counted from when the trigger is handled, which may be long after it was asked for.
        ($0.before, $0.after, $0.segment) = (.seconds(60), .seconds(1), .seconds(60))
      }
    }
    try await withTemporaryFolder { folder in
      try await withService(configuration(folder)) { service in
        let events = try service.inside.events.log.subscribe(EventLog.Filter(types: ["recording"]))
        // So that there is something before it.
        let watched = try service.inside.registry.view(nil, of: nil)
        await until { service.inside.videos.clientCount(of: watched.preview) == 1 }
        #expect(service.inside.videos.clientCount(of: "camera", "main") == 0, "a recorder is no client")
        let video = try service.inside.videos.begin(watched, as: watched.served, watched.served.video)
        for _ in 0..<40 { _ = try await video.next() }
        #expect(try await Self.list(service).isEmpty)

        let asked = CaptureClock.now
        let answer = try await service.send(
          "POST", "/api/cameras/camera/recording", body: #"{"duration": 1}"#)
        #expect(answer.status == 202)
        await until { Self.known(service).first?.duration != nil }
        let file = try #require(try await Self.list(service).first)
        let start = try #require(Self.known(service).first?.start)
        #expect(start <= WallTime(capturedAt: asked - .milliseconds(900)), "\(file.start)")
        // How far past the trigger depends on when the last picture came: RecordingPlanTests has that.
        let end = WallTime(sinceEpoch: start.sinceEpoch + .seconds(file.duration ?? 0))
        #expect(end > WallTime(capturedAt: asked), "\(file.duration ?? 0)")
        var told: [String] = []
        while told.count < 2 {
          if case .event(let event) = await events.next(within: allTheTimeThereIs) {
            told.append(String(buffer: event.text))
          }
        }
        #expect(told[0].contains(#""what":"began""#) && told[1].contains(#""what":"ended""#))
        #expect(told[1].contains(file.url.replacing("/", with: "\\/")) || told[1].contains(file.url))
        for body in [#"{"duration": -1}"#, #"{"duration": 1e9}"#, "[]"] {
          #expect(try await service.send("POST", "/api/cameras/camera/recording", body: body).status == 400)
        }
        #expect(try await service.send("DELETE", "/api/cameras/camera/recording").status == 204)
      }
    }
  }

  @Test("a recording truncated by a killed process plays up to its last complete fragment")
  func killed() async throws {
    try await withTemporaryFolder { folder in
      let configuration = Self.configuration(folder) { ($0.when, $0.segment) = (.always, .seconds(3600)) }
      try await withService(configuration) { _ in
        try await until {
          try files(in: folder).contains { try Self.pictures(Array(Data(contentsOf: $0))).count >= 8 }
        }
      }
      let written = try files(in: folder).map { try Array(Data(contentsOf: $0)) }
      var bytes = try #require(written.max { $0.count < $1.count })
      let (count, known) = try Self.pictures(bytes)
      // As it is while it is recorded, and cut within a fragment.
      let room = try #require(known).lengthOffset
      bytes.replaceSubrange(room + 4..<room + 8, with: "free".utf8)
      for (index, cut) in [0, 1, 30, 200].enumerated() {
        let name = "camera/2026-01-0\(index + 1)T00-00-00.000Z-main.mp4"
        try Data(bytes.dropLast(cut)).write(to: folder.appending(path: name))
      }
      try Data(bytes.prefix(100)).write(
        to: folder.appending(path: "camera/2026-01-09T00-00-00.000Z-main.mp4"))
      try Data("hello".utf8).write(to: folder.appending(path: "camera/notes.txt"))

      try await withService(Self.configuration(folder) { $0.when = .trigger }) { service in
        await until { Self.known(service).count >= 5 }
        let old = try await Self.list(service, "?to=1768000000").sorted { $0.start < $1.start }
        #expect(old.map(\.start) == (1...4).map { "2026-01-0\($0)T00:00:00.000Z" })
        for (index, item) in old.enumerated() {
          let (left, known) = try Self.pictures(try await service.get(item.url).bytes)
          #expect(known?.isFinished == true && left >= count - 2 - index && left <= count)
          #expect(index == 0 ? left == count : left < count)
        }
      }
      // A file without a picture is removed, and one of another program stays.
      #expect(
        !FileManager.default.fileExists(
          atPath: folder.appending(path: "camera/2026-01-09T00-00-00.000Z-main.mp4").path))
      #expect(FileManager.default.fileExists(atPath: folder.appending(path: "camera/notes.txt").path))
    }
  }

  @Test(
    "a full disk deletes the oldest recordings, then ends the file, and later recordings succeed"
  )
  func full() async throws {
    try await withTemporaryFolder { folder in
      let capacity = Watched(100_000)
      let recordings = RecordingFolder(
        FolderConfiguration(path: folder.path), metrics: ServiceMetrics(), logger: LogRecords().logger
      ) { descriptor, bytes in
        let used = (try? files(in: folder).reduce(0) { $0 + (try Data(contentsOf: $1).count) }) ?? 0
        return used + bytes.count > capacity.value ? ENOSPC : RecordedBytes.append(descriptor, bytes)
      }
      let format = H264Format(
        sps: [0x67, 66, 0xC0, 30, 0xDA, 0x7E, 0xAD], pps: [0x68, 0xCE, 0x3C, 0x80],
        size: Size(width: 14, height: 12), encoder: nil)
      func fragments(_ mp4: inout FragmentedMP4, from index: Int) -> [UInt8] {
        mp4.append(
          VideoSample(
            bytes: [UInt8](repeating: 1, count: 1000), isKey: true, timestamp: .start + .seconds(index + 1),
            format: format))
      }
      var kept: [Recording] = []
      for index in 0..<3 {
        var mp4 = FragmentedMP4(isFile: true)
        let (handle, recording) = recordings.begin(
          "a", "main", at: WallTime(sinceEpoch: .seconds(1000 + index)))
        #expect(recordings.append(fragments(&mp4, from: index), to: handle))
        recordings.end(handle, length: mp4.length) { _ in }
        kept.append(recording)
      }
      await recordings.flush()
      #expect(recordings.recordings(of: nil, from: nil, to: nil, limit: 9).count == 3)

      // There is room for two and a half.
      capacity.update { $0 = 4000 }
      var mp4 = FragmentedMP4(isFile: true)
      let (handle, last) = recordings.begin("a", "main", at: WallTime(sinceEpoch: .seconds(2000)))
      #expect(recordings.append(fragments(&mp4, from: 10), to: handle))
      await recordings.flush()
      #expect(
        recordings.recordings(of: nil, from: nil, to: nil, limit: 9).map(\.name) == [last.name, kept[2].name])
      // Now there is none, and the file ends with what it has.
      let length = mp4.length
      capacity.update { $0 = 0 }
      #expect(recordings.append(fragments(&mp4, from: 11), to: handle))
      await recordings.flush()
      #expect(!recordings.append(fragments(&mp4, from: 12), to: handle))
      let ended = Watched<Recording?>(nil)
      recordings.end(handle, length: mp4.length) { recording in ended.update { $0 = recording } }
      await recordings.flush()
      #expect(ended.value?.duration == .seconds(Double(length) / 90_000))
      #expect(recordings.recordings(of: nil, from: nil, to: nil, limit: 9).map(\.name) == [last.name])
      // It goes on when there is room again.
      capacity.update { $0 = 100_000 }
      var next = FragmentedMP4(isFile: true)
      let (other, _) = recordings.begin("a", "main", at: WallTime(sinceEpoch: .seconds(3000)))
      #expect(recordings.append(fragments(&next, from: 20), to: other))
      recordings.end(other, length: next.length) { _ in }
      await recordings.flush()
      #expect(recordings.recordings(of: nil, from: nil, to: nil, limit: 9).count == 2)
      for file in try files(in: folder) {
        #expect(try Self.pictures(Array(Data(contentsOf: file))).known?.isFinished == true)
      }
    }
  }

  @Test(
    "a recording whose last write fails plays up to the write before; without one no file remains",
    arguments: [0, 1, 3])
  func failsAtEnd(writes: Int) async throws {
    try await withTemporaryFolder { folder in
      var configuration = Self.configuration(folder) { _ in }
      configuration.recordings = nil
      try await withService(configuration) { service in
        let target = try service.inside.registry.view(nil, of: nil)
        let (ending, written) = (Watched<Recorder?>(nil), Watched<[UInt8]>([]))
        let count = Watched(0)
        let recordings = RecordingFolder(
          FolderConfiguration(path: folder.path), metrics: ServiceMetrics(), logger: LogRecords().logger
        ) { descriptor, bytes in
          guard count.value < writes else {
            ending.value?.end()
            return EIO
          }
          count.update { $0 += 1 }
          written.update { $0 += bytes }
          return RecordedBytes.append(descriptor, bytes)
        }
        var record = RecordingConfiguration()
        (record.when, record.segment) = (.always, .seconds(3600))
        let told = Watched<[Recording]>([])
        let recorder = Recorder(
          "camera", "main", record, recordings, within: service.inside.registry.budget,
          logger: LogRecords().logger,
          onChange: { recording in told.update { $0.append(recording) } }
        ) {
          try service.inside.videos.begin(
            target, as: target.served, target.served.video, inBatches: true)
        }
        ending.update { $0 = recorder }

        await recorder.run()
        await recordings.flush()
        ending.update { $0 = nil }

        // It has ended, whether or not anything is left of it.
        #expect(told.value.map(\.isOpen) == [true, false])
        let left = try files(in: folder)
        #expect(left.count == min(writes, 1))
        guard let file = left.first else { return }
        let (pictures, known) = try Self.pictures(Array(Data(contentsOf: file)))
        #expect(try pictures == Self.pictures(written.value).count && known?.isFinished == true)
        #expect(told.value.last?.duration == known.map { RecordedBytes.duration($0.length) })
      }
    }
  }

  @Test("unreadable files named like recordings are neither listed nor deleted")
  func foreign() async throws {
    try await withTemporaryFolder { folder in
      let camera = folder.appending(path: "camera")
      try FileManager.default.createDirectory(
        at: camera.appending(path: "2026-01-01T00-00-00.000Z-main.mp4"), withIntermediateDirectories: true)
      let format = H264Format(
        sps: [0x67, 66, 0xC0, 30, 0xDA, 0x7E, 0xAD], pps: [0x68, 0xCE, 0x3C, 0x80],
        size: Size(width: 14, height: 12), encoder: nil)
      var mp4 = FragmentedMP4(isFile: true)
      var bytes = mp4.append(
        VideoSample(
          bytes: [0, 0, 0, 2, 0x65, 1], isKey: true, timestamp: .start + .seconds(1), format: format))
      let time = try #require(bytes.firstRange(of: Array("tfdt".utf8))).upperBound + 4
      bytes.replaceSubrange(time..<time + 8, with: [UInt8](repeating: 0xFF, count: 8))
      let damaged = camera.appending(path: "2026-01-02T00-00-00.000Z-main.mp4")
      try Data(bytes + [UInt8](repeating: 0, count: 8000)).write(to: damaged)
      let other = camera.appending(path: "2026-01-03T00-00-00.000Z-main.mp4")
      try Data("something of somebody".utf8).write(to: other)
      try await withService(Self.configuration(folder) { $0.when = .always }) { service in
        await until { Self.known(service).contains { $0.duration != nil } }
        let old = try await Self.list(service, "?to=1768000000")
        #expect(old.isEmpty)
      }
      #expect(FileManager.default.fileExists(atPath: damaged.path))
      #expect(FileManager.default.fileExists(atPath: other.path))
    }
  }

  @Test("a trigger after a view was locked records none of the time before the lock")
  func locked() async throws {
    let configuration: @Sendable (URL, Bool) -> ServerConfiguration = { folder, isLocked in
      var configuration = Self.configuration(folder) {
        ($0.when, $0.before, $0.after) = (.trigger, .seconds(60), .seconds(1))
      }
      configuration.cameras[0].views[0].isLocked = isLocked
      return configuration
    }
    try await withTemporaryFolder { folder in
      try await withService(configuration(folder, false)) { service in
        let watched = try service.inside.registry.view(nil, of: nil)
        await until { service.inside.videos.clientCount(of: watched.preview) == 1 }
        let video = try service.inside.videos.begin(watched, as: watched.served, watched.served.video)
        var times: [CaptureInstant] = []
        while times.count < 60, let sample = try await video.next() { times.append(sample.timestamp) }

        try await service.inside.apply(configuration(folder, true))
        let path = "/api/cameras/camera/recording"
        #expect(try await service.send("POST", path, body: #"{"duration": 1}"#).status == 202)
        await until { Self.known(service).contains { $0.duration != nil } }
        let start = try #require(Self.known(service).map(\.start).min())
        #expect(start > WallTime(capturedAt: times[40]))
      }
    }
  }

  @Test("a reload that inserts a new first view records that view from then on")
  func reload() async throws {
    try await withTemporaryFolder { folder in
      let configuration = Self.configuration(folder) { $0.when = .always }
      try await withService(configuration) { service in
        await until { Self.known(service).contains { $0.view == "main" } }
        var other = configuration
        var narrow = ServedView(ViewConfiguration(name: "narrow", width: 32))
        narrow.isLocked = true
        other.cameras[0].views.insert(narrow, at: 0)
        try await service.inside.apply(other)
        await until { Self.known(service).contains { $0.view == "narrow" && $0.duration != nil } }
        // The one before ends beside it.
        await until { Self.known(service).filter { $0.duration == nil }.allSatisfy { $0.view == "narrow" } }
      }
    }
  }

  @Test(
    "a Range header is parsed as one part, as the whole file or as unsatisfiable",
    arguments: [
      ("bytes=0-9", ByteRange.part(0..<10)), ("bytes=90-", .part(90..<100)), ("bytes=-10", .part(90..<100)),
      ("bytes=-1000", .part(0..<100)), ("bytes=50-1000", .part(50..<100)), ("bytes=100-", .unsatisfiable),
      ("bytes=-0", .unsatisfiable), ("bytes=5-4", .whole), ("bytes=a-b", .whole), ("bytes=0-1,5-6", .whole),
      ("lines=0-9", .whole), ("bytes=-", .whole), ("bytes=99999999999999999999-", .whole),
      ("Bytes=0-0", .part(0..<1)),
    ])
  func ranges(field: String, expected: ByteRange) { #expect(ByteRange(field, of: 100) == expected) }
}

private func files(in folder: URL) throws -> [URL] {
  let camera = folder.appending(path: "camera").path
  let other = folder.appending(path: "a").path
  return [camera, other].flatMap { path in
    ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).filter { $0.hasSuffix(".mp4") }
      .sorted()
      .map { URL(filePath: path).appending(path: $0) }
  }
}
