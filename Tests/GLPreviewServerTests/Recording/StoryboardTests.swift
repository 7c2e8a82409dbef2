// Storyboards of recorded spans: their cues, their sheets, and who may see them.
import FoundationEssentials
import NIOHTTP1
import PreviewCore
import TestSupport
import Testing

@testable import GLPreview
@testable import GLPreviewServer
@testable import Recordings
@testable import ServiceFoundation

@Suite(
  "Storyboards of recordings", .enabled(if: hasEncoder, "no encoder of H.264: scripts/setup"),
  .timeLimit(.minutes(15)))
struct StoryboardTests {
  private static let start = RecordedKeyframes.start
  private static let vtt = "/recordings/camera/storyboard.vtt"
  private static let jpg = "/recordings/camera/storyboard.jpg"
  /// Parts of two seconds, with middles at even seconds from the first recording on.
  private static let span = "from=\(start - 1)&to=\(start + 59)&count=30"

  // MARK: Cues

  @Test("each part of the span with a recording has a cue, and adjacent parts with equal pictures share one")
  func cues() async throws {
    let world = try await RecordedKeyframes()
    try await withEarlierRecordings(world.files) { service, _ in
      let answer = try await service.get("\(Self.vtt)?\(Self.span)")
      #expect(answer.headers["Content-Type"] == ["text/vtt"])
      #expect(answer.headers["Cache-Control"] == ["private, no-cache"])
      var expected = "WEBVTT\n"
      for (first, last) in [
        (0, 0), (1, 1), (2, 2), (3, 3), (4, 4), (5, 6), (20, 20), (21, 21), (22, 23),
      ] {
        let (begin, end) = ((2 * first).digits(2), (2 * last + 2).digits(2))
        expected += "\n00:00:\(begin).000 --> 00:00:\(end).000\n\(Self.jpg)?from=\(Self.start - 1).000"
        expected += "&to=\(Self.start + 59).000&count=30&width=160&height=90&quality=75&sheet=0"
        expected += "#xywh=\(first % 5 * 160),\(first / 5 * 90),160,90\n"
      }
      #expect(answer.text == expected)
      #expect(try await service.numbers(StoryboardCue.all(in: answer)) == world.numbers)
    }
  }

  @Test("parts of a second are on several sheets, and a sheet without a picture returns 404")
  func sheets() async throws {
    let world = try await RecordedKeyframes()
    try await withEarlierRecordings(world.files) { service, _ in
      let query = "from=\(Self.start - 1)&to=\(Self.start + 59)&count=60"
      let cues = try await service.cues("\(Self.vtt)?\(query)")
      let spans = [(1, 2), (2, 4), (4, 7), (7, 8), (8, 10), (10, 13), (41, 42), (42, 44), (44, 47)]
      #expect(cues.map(\.begin) == spans.map { "00:00:\($0.0.digits(2)).000" })
      #expect(cues.map(\.end) == spans.map { "00:00:\($0.1.digits(2)).000" })
      #expect(cues.map { $0.url.hasSuffix("&sheet=1") } == spans.map { $0.0 >= 25 })
      #expect(try await service.numbers(cues) == world.numbers)
      #expect(try await service.get("\(Self.jpg)?\(query)&sheet=2").status == 404)
      #expect(try await service.get("\(Self.jpg)?\(query)&sheet=3").status == 400)
    }
  }

  @Test("a long part shows the keyframe nearest to its middle of all its recordings")
  func longParts() async throws {
    let world = try await RecordedKeyframes()
    try await withEarlierRecordings(world.files) { service, _ in
      let query = "from=2025-12-31T23:59:50Z&to=\(Self.start + 990)&count=10"
      let cues = try await service.cues("\(Self.vtt)?\(query)&width=64")
      #expect(cues.map(\.begin) == ["00:00:00.000"] && cues.map(\.end) == ["00:01:40.000"])
      #expect(cues.first?.place == Rectangle(x: 0, y: 0, width: 64, height: 36))
      let sheet = try ReadSheet(try await service.get("\(Self.jpg)?\(query)&width=64"))
      #expect(sheet.size == Size(width: 320, height: 72))
      let large = try await service.cues("\(Self.vtt)?\(query)")
      #expect(try await service.numbers(large) == [world.numbers[6]])
    }
  }

  @Test("a sheet has the size of its tiles and is drawn once", arguments: [160, 320])
  func drawing(width: Int) async throws {
    let world = try await RecordedKeyframes()
    try await withEarlierRecordings(world.files) { service, _ in
      let cues = try await service.cues("\(Self.vtt)?\(Self.span)&width=\(width)")
      let first = try #require(cues.first)
      #expect(first.place.size == Size(width: width, height: width * 9 / 16))
      let session = service.inside.registry.session
      let before = session.statistics.renders
      let answer = try await service.get(first.url)
      #expect(session.statistics.renders - before == 1)
      #expect(answer.headers["Content-Type"] == ["image/jpeg"])
      #expect(answer.headers["Cache-Control"] == ["private, no-cache"])
      #expect(answer.headers["X-Timestamp"] == ["\(Self.start).000000"])
      let sheet = try ReadSheet(answer)
      #expect(sheet.size == Size(width: 5 * width, height: 5 * width * 9 / 16))
      #expect(try cues.map { try sheet.tile($0.place).number } == world.numbers)
      // A part without a recording.
      let height = width * 9 / 16
      let empty = try sheet.tile(Rectangle(x: 4 * width, y: 2 * height, width: width, height: height))
      #expect(empty.brightness(width / 2, height / 2) < 20)
      let low = try await service.get(first.url.replacing("quality=75", with: "quality=20"))
      #expect(low.status == 200 && low.bytes.count < answer.bytes.count)
    }
  }

  @Test("large pictures are reduced to the size of a tile one by one, with their masks")
  func largePictures() async throws {
    let view = try ViewConfiguration(parsing: "main:size=960x540")
    try await withTemporaryFolder { folder in
      func configuration(_ occasion: RecordingConfiguration.Occasion) -> ServerConfiguration {
        RecordedCounter.configuration(folder) { ($0.record.when, $0.views[0].view) = (occasion, view) }
      }
      try await withService(configuration(.always)) { service in
        await until { service.recordings.contains { $0.duration != nil } }
      }
      let count = try RecordedCounter.names(in: folder).count
      let idle = configuration(.never)
      try await withService(idle) { service in
        await until { service.recordings.count == count }
        let start = try #require(service.recordings.last).start
        let end = WallTime(sinceEpoch: start.sinceEpoch + .seconds(1))
        let cues = try await service.cues("\(Self.vtt)?from=\(start)&to=\(end)&count=1")
        let cue = try #require(cues.first)
        #expect(cues.count == 1 && cue.place == Rectangle(x: 0, y: 0, width: 160, height: 90))
        let session = service.inside.registry.session
        let before = session.statistics.renders
        let open = try await service.get(cue.url)
        // The picture, and the sheet.
        #expect(session.statistics.renders - before == 2)
        let sheet = try ReadSheet(open)
        let whole = try sheet.tile(cue.place)
        #expect(sheet.size == cue.place.size && whole.number != nil)

        var masked = idle
        masked.cameras[0].options.masks = [try PrivacyMask(parsing: "80x90+0+0")]
        try await service.inside.apply(masked)
        let tile = try ReadSheet(try await service.get(cue.url)).tile(cue.place)
        #expect(tile.brightness(20, 45) < 25 && tile.brightness(150, 5) > 35)
      }
    }
  }

  // MARK: Requests

  @Test("a client that has the cues or the sheet gets 304, and HEAD gets no body")
  func known() async throws {
    let world = try await RecordedKeyframes()
    try await withEarlierRecordings(world.files) { service, _ in
      for path in ["\(Self.vtt)?\(Self.span)", "\(Self.jpg)?\(Self.span)"] {
        let answer = try await service.get(path)
        let tag = try #require(answer.headers["ETag"].first)
        let same = try await service.get(path, [("If-None-Match", tag)])
        #expect(same.status == 304 && same.bytes.isEmpty && same.headers["ETag"] == [tag])
        #expect(try await service.get(path, [("If-None-Match", "\"other\"")]).status == 200)
        let head = try await service.send("HEAD", path)
        #expect(head.status == 200 && head.bytes.isEmpty && head.headers["ETag"] == [tag])
      }
    }
  }

  @Test("invalid parameters return 400 and name the parameter")
  func parameters() async throws {
    struct Answer: Decodable { let parameter: String? }
    let world = try await RecordedKeyframes()
    try await withEarlierRecordings(world.files) { service, _ in
      let ends = "from=\(Self.start)&to=\(Self.start + 60)"
      for (query, parameter) in [
        ("\(ends)&count=0", "count"), ("\(ends)&count=401", "count"), ("\(ends)&width=15", "width"),
        ("\(ends)&width=641", "width"), ("\(ends)&height=0", "height"), ("\(ends)&quality=101", "quality"),
        ("\(ends)&timeout=60001", "timeout"), ("\(ends)&other=1", "other"), ("from=yesterday", "from"),
        ("from=\(Self.start)&to=\(Self.start)", "from"), ("from=2&to=1", "from"),
        ("from=\(Self.start)&to=\(Self.start + 32 * 86_400)", "from"),
        ("from=1969-12-31T23:59:59Z&to=60", "from"), ("to=1h", "to"),
      ] {
        for path in [Self.vtt, Self.jpg] {
          let answer = try await service.get("\(path)?\(query)")
          #expect(answer.status == 400, "\(query)")
          #expect(try answer.json(Answer.self).parameter == parameter, "\(query)")
        }
      }
      #expect(try await service.get("\(Self.vtt)?\(ends)&sheet=0").status == 400)
      #expect(try await service.get("\(Self.jpg)?\(ends)&count=30&sheet=2").status == 400)
    }
  }

  @Test("a span without a recording returns 404 with the nearest recorded times")
  func gaps() async throws {
    struct Answer: Decodable {
      let code: String
      let nearest: [String]?
    }
    let world = try await RecordedKeyframes()
    try await withEarlierRecordings(world.files) { service, _ in
      // All files are read then, so that their ends are known.
      #expect(try await service.cues("\(Self.vtt)?\(Self.span)").count == 9)
      let gap = "from=\(Self.start + 20)&to=\(Self.start + 30)"
      for path in ["\(Self.vtt)?\(gap)", "\(Self.jpg)?\(gap)"] {
        let answer = try await service.get(path)
        let nearest = try answer.json(Answer.self)
        #expect(answer.status == 404 && nearest.code == "not-recorded")
        #expect(nearest.nearest == ["2026-01-01T00:00:12.000Z", "2026-01-01T00:00:40.000Z"])
      }
      // The last hour, by default.
      #expect(try await service.get(Self.vtt).status == 404)
      #expect(try await service.get("\(Self.vtt)?\(Self.span)&view=other").status == 404)
      let view = try await service.get("\(Self.vtt)?\(Self.span)&view=main")
      #expect(try StoryboardCue.all(in: view).allSatisfy { $0.url.contains("&view=main&") })
      #expect(try await service.get("/recordings/other/storyboard.vtt?\(Self.span)").status == 404)
    }
  }

  // MARK: Privacy

  @Test("a mask that is added later hides its part of each tile, and recordings in which it can't be found")
  func masks() async throws {
    // Of the last recording, it is unknown where it shows the camera.
    let world = try await RecordedKeyframes(lastNote: RecordingNote())
    try await withEarlierRecordings(world.files, { $0.access = RecordedCounter.access }) {
      service, configuration in
      let (reader, controller) = (RecordedCounter.reader, RecordedCounter.controller)
      let before = try await service.cues("\(Self.vtt)?\(Self.span)", reader)
      #expect(before.count == 9)
      let url = try #require(before.first).url
      let open = try await service.get(url, reader)
      #expect(try ReadSheet(open).tile(try #require(before.first).place).number == world.numbers[0])

      var masked = configuration
      masked.cameras[0].options.masks = [try PrivacyMask(parsing: "80x90+0+0")]
      try await service.inside.apply(masked)

      for (role, count) in [(reader, 6), (controller, 9)] {
        let cues = try await service.cues("\(Self.vtt)?\(Self.span)", role)
        #expect(cues.map(\.begin) == before.prefix(count).map(\.begin))
        let answer = try await service.get(url, role)
        #expect(answer.headers["ETag"] != open.headers["ETag"])
        let sheet = try ReadSheet(answer)
        for cue in cues.prefix(6) {
          let tile = try sheet.tile(cue.place)
          #expect(tile.brightness(20, 45) < 25 && tile.brightness(150, 5) > 35)
        }
        let last = try sheet.tile(try #require(before.last).place)
        #expect((last.brightness(150, 5) > 35) == (count == 9))
      }
    }
  }

  @Test("recordings of a view that is switched off have tiles only for the role control")
  func roles() async throws {
    struct Nearest: Decodable { let nearest: [String]? }
    let world = try await RecordedKeyframes()
    try await withEarlierRecordings(world.files, { $0.access = RecordedCounter.access }) {
      service, configuration in
      let (cues, sheet) = ("\(Self.vtt)?\(Self.span)", "\(Self.jpg)?\(Self.span)")
      for path in [cues, sheet] {
        #expect(try await service.get(path).status == 401)
        #expect(try await service.get(path, RecordedCounter.reader).status == 200)
      }
      var off = configuration
      off.cameras[0].views[0].isEnabled = false
      try await service.inside.apply(off)
      let hidden = try await service.get(cues, RecordedCounter.reader)
      #expect(hidden.status == 200 && hidden.text == "WEBVTT\n")
      #expect(try await service.get(sheet, RecordedCounter.reader).status == 404)
      // Their times are left out, too.
      let gap = "\(Self.vtt)?from=\(Self.start + 20)&to=\(Self.start + 30)"
      for (role, count) in [(RecordedCounter.reader, 0), (RecordedCounter.controller, 2)] {
        let answer = try await service.get(gap, role)
        let nearest = try answer.json(Nearest.self).nearest ?? []
        #expect(answer.status == 404 && nearest.count == count)
      }
      let shown = try await service.cues(cues, RecordedCounter.controller)
      #expect(try await service.numbers(shown, RecordedCounter.controller) == world.numbers)
    }
  }

  @Test("another node returns the storyboard of the node that has the recordings")
  func peers() async throws {
    let world = try await RecordedKeyframes()
    try await withTemporaryFolder { folder in
      let camera = folder.appending(path: "camera")
      try FileManager.default.createDirectory(at: camera, withIntermediateDirectories: true)
      for (name, bytes) in world.files { try Data(bytes).write(to: camera.appending(path: name)) }
      try await withOwnerAndEdge(RecordedCounter.configuration(folder)) { owner, edge in
        await until { owner.recordings.count == 3 }
        let (direct, through) = (
          try await owner.get("\(Self.vtt)?\(Self.span)"), try await edge.get("\(Self.vtt)?\(Self.span)")
        )
        #expect(through.status == 200 && through.bytes == direct.bytes)
        #expect(try await edge.numbers(StoryboardCue.all(in: through)) == world.numbers)
        #expect(try await edge.get("\(Self.vtt)?from=1&to=60").status == 404)
      }
    }
  }
}
