// Recorded pictures over HTTP: the right one for each time, in each form, also after a restart.
import FoundationEssentials
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

@Suite(
  "Recorded moments", .enabled(if: hasEncoder, "no encoder of H.264: scripts/setup"),
  .timeLimit(.minutes(15)))
struct RecordedMomentTests {
  private static let jpeg = "/recordings/camera.jpg"
  private static let png = "/recordings/camera.png"

  private static func path(at time: WallTime) -> String { "\(jpeg)?at=\(time.secondsText)" }

  private static func time(of answer: RunningService.Answer) -> String? {
    answer.headers["X-Timestamp"].first
  }

  private static func number(in answer: RunningService.Answer) throws -> Int? {
    try ReadPicture(file: answer.bytes).number
  }

  private static func seconds(_ text: String?) -> Double { text.flatMap(Double.init) ?? 0 }

  // MARK: Times

  @Test("each picture is found by its own time, and by any later time before the next picture")
  func each() async throws {
    let recorded = try await RecordedCounter.shared.value
    try await withEarlierRecordings(recorded.contents) { service, _ in
      let pictures = recorded.pictures
      for (index, picture) in pictures.enumerated() {
        // A starved machine captures pictures so close together that a time does not tell which is meant.
        let near = pictures.filter {
          abs(($0.time.sinceEpoch - picture.time.sinceEpoch) / .seconds(1)) < 0.005
        }
        guard near.count == 1 else { continue }
        let answer = try await service.get(Self.path(at: picture.time))
        try #require(answer.status == 200, "picture \(index)")
        #expect(Self.time(of: answer) == picture.time.secondsText, "picture \(index)")
        #expect(try Self.number(in: answer) == picture.number, "picture \(index)")

        guard index + 1 < pictures.count else { continue }
        let gap = pictures[index + 1].time.sinceEpoch - picture.time.sinceEpoch
        guard gap > .milliseconds(10), gap < .seconds(1) else { continue }
        let between = try await service.get(
          Self.path(at: WallTime(sinceEpoch: picture.time.sinceEpoch + gap / 2)))
        #expect(Self.time(of: between) == picture.time.secondsText, "after picture \(index)")
        #expect(between.bytes == answer.bytes, "after picture \(index)")
      }
    }
  }

  @Test("the X-Timestamp of a live picture gives the frame that it showed")
  func live() async throws {
    let recorded = try await RecordedCounter.shared.value
    try await withEarlierRecordings(recorded.contents) { service, _ in
      var count = 0
      for picture in recorded.live {
        let answer = try await service.get("\(Self.jpeg)?at=\(picture.time)")
        // The recorder may have begun later, or missed a frame.
        guard abs(Self.seconds(Self.time(of: answer)) - Self.seconds(picture.time)) < 0.002 else { continue }
        let time = Self.seconds(picture.time)
        let near = recorded.pictures.filter { abs($0.time.sinceEpoch / .seconds(1) - time) < 0.005 }
        guard near.count == 1 else { continue }
        #expect(try Self.number(in: answer) == picture.number)
        count += 1
      }
      #expect(count > 0)
    }
  }

  @Test("`near=keyframe` gives the nearest keyframe of the file")
  func keyframes() async throws {
    let recorded = try await RecordedCounter.shared.value
    try await withEarlierRecordings(recorded.contents) { service, _ in
      let file = recorded.files[1]
      let keys = file.pictures.filter(\.isKey)
      for picture in file.pictures {
        let answer = try await service.get("\(Self.path(at: picture.time))&near=keyframe")
        let key = try #require(keys.first { $0.time.secondsText == Self.time(of: answer) })
        #expect(try Self.number(in: answer) == key.number)
        func distance(_ other: RecordedCounter.Picture) -> Double {
          abs(other.time.secondsSinceEpoch - picture.time.secondsSinceEpoch)
        }
        // Pictures up to 2 ms later count too, which moves the middle between two keyframes.
        #expect(distance(key) < (keys.map(distance).min() ?? 0) + 0.005)
      }
    }
  }

  private struct NotRecorded: Decodable {
    let code: String
    var nearest: [String]?
  }

  @Test("a time that was not recorded returns 404 with the nearest times that were")
  func gaps() async throws {
    let recorded = try await RecordedCounter.shared.value
    let (file, start) = (recorded.files[0], 1_577_836_800)
    let files = [
      "2020-01-01T00-00-00.000Z-main.mp4": try file.moved(to: start),
      "2020-01-01T00-01-40.000Z-main.mp4": try file.moved(to: start + 100),
      "2020-01-01T00-03-20.000Z-other.mp4": try file.moved(to: start + 200),
    ]
    try await withEarlierRecordings(
      files, { $0.cameras[0].views.append(ServedView(ViewConfiguration(name: "other"))) }
    ) { service, _ in
      func missing(_ query: String) async throws -> NotRecorded {
        let answer = try await service.get(Self.jpeg + query)
        #expect(answer.status == 404, "\(query)")
        return try answer.json(NotRecorded.self)
      }
      func found(_ query: String) async throws -> String? {
        let answer = try await service.get(Self.jpeg + query)
        #expect(answer.status == 200, "\(query)")
        return Self.time(of: answer)
      }
      let first = WallTime(sinceEpoch: .seconds(start))
      let last = WallTime(sinceEpoch: first.sinceEpoch + file.span)
      // The list reads the files.
      _ = try await service.get("/api/recordings")
      let ends = service.recordings.compactMap(\.end).sorted()
      try #require(ends.count == 3)

      for query in ["?at=1000", "?at=\(start - 1)", "?at=-36500d"] {
        let answer = try await missing(query)
        #expect(answer.code == "not-recorded" && answer.nearest == ["2020-01-01T00:00:00.000Z"])
      }
      #expect(
        try await missing("?at=\(start + 50)").nearest == [ends[0].description, "2020-01-01T00:01:40.000Z"])
      #expect(try await missing("?at=2020-06-01T12:00:00Z").nearest == [ends[2].description])
      #expect(try await missing("?at=\(start)&view=other").nearest == ["2020-01-01T00:03:20.000Z"])
      #expect(try await missing("?at=\(start + 200)&view=main").nearest == [ends[1].description])
      #expect(try await missing("?view=none").nearest == nil)
      let unknown = try await service.get("/recordings/none.jpg")
      #expect(unknown.status == 404 && unknown.text.contains("not-recorded"))
      // Names of cameras that are not configured are not kept.
      let count = #"glpreview_recorded_requests_total{camera="",kind="picture",result="missing"} 1"#
      #expect(try await service.get("/metrics").text.contains(count))

      // Shortly after its end, and by the time that the answers name, a recording still has its last picture.
      let late = WallTime(sinceEpoch: ends[0].sinceEpoch + .milliseconds(500))
      #expect(try await found("?at=\(late.secondsText)") == last.secondsText)
      #expect(try await found("?at=\(ends[0])") == last.secondsText)
      for time in ["2020-01-01T00:00:00Z", "2020-01-01T01:00:00.01%2B01:00", "\(start)", "\(start).01"] {
        #expect(try await found("?at=\(time)") == first.secondsText)
      }
      // If the camera's usual view was not recorded then, another one is shown.
      let other = try await service.get("\(Self.jpeg)?at=\(start + 200)")
      #expect(other.headers["X-Recording"] == ["/recordings/camera/2020-01-01T00-03-20.000Z-other.mp4"])
    }
  }

  @Test("while a camera is recorded, the newest picture advances, and times before now are found")
  func during() async throws {
    try await withTemporaryFolder { folder in
      try await withService(RecordedCounter.configuration(folder) { $0.record.when = .always }) { service in
        await until { service.recordings.contains { $0.duration != nil } }
        var numbers: [Int] = []
        try await until {
          let answer = try await service.get(Self.jpeg)
          numbers.append(try #require(try Self.number(in: answer)))
          return (numbers.last ?? 0) > (numbers.first ?? 0) + 30
        }
        #expect(numbers == numbers.sorted())

        let earlier = try await service.get("\(Self.jpeg)?at=-1s")
        let latest = WallTime.now.secondsSinceEpoch - 1
        #expect(earlier.status == 200 && Self.seconds(Self.time(of: earlier)) < latest + 0.003)
      }
    }
  }

  // MARK: Forms

  @Test("without a time the newest picture is returned, as JPEG, PNG or text, with an ETag")
  func forms() async throws {
    let recorded = try await RecordedCounter.shared.value
    let last = try #require(recorded.pictures.last)
    let file = try #require(recorded.files.last?.name)
    try await withEarlierRecordings(recorded.contents) { service, _ in
      var answers: [RunningService.Answer] = []
      for path in [Self.jpeg, "\(Self.jpeg)?at=latest", Self.path(at: last.time), Self.png] {
        let answer = try await service.get(path)
        #expect(answer.status == 200 && Self.time(of: answer) == last.time.secondsText, "\(path)")
        #expect(answer.headers["X-Recording"] == ["/recordings/camera/\(file)"])
        #expect(answer.headers["X-View-Size"] == ["160x90"])
        #expect(try Self.number(in: answer) == last.number)
        answers.append(answer)
      }
      #expect(
        answers.map { $0.headers["Content-Type"].first?.suffix(4) } == ["jpeg", "jpeg", "jpeg", "/png"])
      let tags = answers.flatMap { $0.headers["ETag"] }
      try #require(tags.count == 4)
      #expect(Set(tags).count == 2 && Set(tags[..<3]).count == 1)

      let same = try await service.get(Self.jpeg, [("If-None-Match", tags[0])])
      #expect(same.status == 304 && same.bytes.isEmpty && same.headers["ETag"] == [tags[0]])
      #expect(Self.time(of: same) == last.time.secondsText)
      #expect(try await service.get(Self.png, [("If-None-Match", tags[0])]).status == 200)
      let earlier = Self.path(at: recorded.pictures[0].time)
      #expect(try await service.get(earlier, [("If-None-Match", tags[0])]).status == 200)

      let head = try await service.send("HEAD", Self.jpeg)
      #expect(head.status == 200 && head.bytes.isEmpty && head.headers["ETag"] == [tags[0]])
      let text = try await service.get("\(Self.jpeg)?encoding=dataurl")
      #expect(text.text.hasPrefix("data:image/jpeg;base64,"))
      let saved = try await service.get("\(Self.jpeg)?download=1")
      let disposition = saved.headers["Content-Disposition"].first ?? ""
      #expect(disposition.hasPrefix("attachment; filename=\"camera-2") && disposition.hasSuffix(".jpg\""))
    }
  }

  @Test("parameters of a view change the size, the part and the orientation of a recorded picture")
  func views() async throws {
    let recorded = try await RecordedCounter.shared.value
    try await withEarlierRecordings(recorded.contents) { service, _ in
      for (query, size) in [
        ("width=80", "80x45"), ("size=40x40", "40x40"), ("size=40x40&mode=fit", "40x40"),
        ("crop=80x90%2B80%2B0", "80x90"), ("crop=80,0,80,90&width=40", "40x45"), ("rotate=90", "90x160"),
        ("rotate=270&mirror=horizontal&height=32", "18x32"),
      ] {
        for path in [Self.jpeg, Self.png] {
          let answer = try await service.get("\(path)?\(query)")
          #expect(answer.status == 200 && answer.headers["X-View-Size"] == [size], "\(query)")
          let picture = try ReadPicture(file: answer.bytes)
          #expect(picture.size.description == size, "\(query)")
        }
      }
      let whole = try ReadPicture(file: try await service.get(Self.png).bytes)
      let right = try ReadPicture(file: try await service.get("\(Self.png)?crop=80,0,80,90").bytes)
      let turned = try ReadPicture(file: try await service.get("\(Self.png)?rotate=180").bytes)
      // Chroma is interpolated differently at the edges of a crop.
      var differences = 0
      for y in 4..<86 {
        for x in 4..<76 {
          let brightness = whole.brightness(80 + x, y)
          for other in [right.brightness(x, y), turned.brightness(79 - x, 89 - y)]
          where abs(other - brightness) > 4 { differences += 1 }
        }
      }
      #expect(differences == 0)
      let (good, bad) = (
        try await service.get("\(Self.jpeg)?quality=95"), try await service.get("\(Self.jpeg)?quality=20")
      )
      #expect(good.headers["X-View-Quality"] == ["95"] && bad.bytes.count < good.bytes.count)
    }
  }

  @Test("bad parameters return 400, and other files 404")
  func mistakes() async throws {
    let recorded = try await RecordedCounter.shared.value
    try await withEarlierRecordings(recorded.contents) { service, _ in
      for (query, parameter) in [
        ("at=yesterday", "at"), ("at=2026-13-01T00:00:00Z", "at"), ("near=middle", "near"),
        ("width=0", "width"), ("nothing=1", "nothing"), ("max_age=0", "max_age"), ("quality=101", "quality"),
        ("crop=200,0,80,90", "crop"),
      ] {
        let answer = try await service.get("\(Self.jpeg)?\(query)")
        #expect(answer.status == 400 && answer.text.contains(#""parameter":"\#(parameter)""#), "\(query)")
      }
      #expect(try await service.get("\(Self.png)?max_bytes=1000").status == 400)
      for path in ["/recordings/camera.gif", "/recordings/camera", "/recordings/.jpg"] {
        #expect(try await service.get(path).status == 404, "\(path)")
      }
    }
  }

  // MARK: Clients

  @Test("a signed link never shows a recorded picture, and a token in the URL does")
  func links() async throws {
    let recorded = try await RecordedCounter.shared.value
    let key = LinkKey(name: "mail", secret: "0123456789abcdef0123456789abcdef")
    try await withEarlierRecordings(
      recorded.contents,
      {
        $0.access = RecordedCounter.access
        $0.access.linkKeys = [key]
      }
    ) { service, _ in
      let link = try SignedLink.signed(Self.jpeg, by: key, until: 99_999_999_999)
      #expect(try await service.get(link).status == 403)
      let answer = try await service.send(
        "POST", "/api/links", RecordedCounter.controller, body: #"{"path":"\#(Self.jpeg)","for":"1h"}"#)
      #expect(answer.status == 400)
      #expect(try await service.get("\(Self.jpeg)?token=look").status == 200)
      #expect(try await service.get(Self.jpeg).status == 401)
    }
  }

  @Test("ten clients that request a picture at once share its decoding")
  func shared() async throws {
    let recorded = try await RecordedCounter.shared.value
    let wanted = try #require(recorded.files[1].pictures.dropFirst(4).first)
    try await withEarlierRecordings(recorded.contents) { service, _ in
      let folder = try #require(service.inside.recorders?.folder)
      let moments = RecordedMoments(
        folder, within: service.inside.registry.budget, maximumPixels: 1_000_000)
      func frames(_ time: WallTime, _ count: Int) async throws -> Set<FrameIdentity> {
        let found = try await moments.find(
          time, of: "camera", view: nil, preferring: "main", nearKey: false)
        let moment = try #require(found)
        return try await withThrowingTaskGroup(of: FrameIdentity.self) { group in
          for _ in 0..<count { group.addTask { try await moments.picture(of: moment).frame.identity } }
          var frames: Set<FrameIdentity> = []
          for try await frame in group { frames.insert(frame) }
          return frames
        }
      }
      let frame = try await frames(wanted.time, 10)
      #expect(frame.count == 1)
      #expect(try await frames(recorded.pictures[0].time, 1).isDisjoint(with: frame))

      let answers = try await withThrowingTaskGroup(of: [String].self) { group in
        for _ in 0..<10 {
          group.addTask {
            let answer = try await service.get(Self.path(at: wanted.time))
            let number = try Self.number(in: answer) ?? -1
            return answer.headers["ETag"] + ["\(answer.status)", "\(number)"]
          }
        }
        var answers: Set<[String]> = []
        for try await answer in group { answers.insert(answer) }
        return answers
      }
      #expect(answers.count == 1 && answers.first?.suffix(2) == ["200", "\(wanted.number)"])
    }
  }
}
