// Snapshots of earlier moments over HTTP.
import FoundationEssentials
import HTTPTypes
import Hummingbird
import NIOCore
import NIOHTTP1
import TestSupport
import Testing

@testable import GLPreview
@testable import GLPreviewServer
@testable import ServiceCore
@testable import ServiceFoundation

@Suite("Buffered pictures over HTTP", .timeLimit(.minutes(15)))
struct ReplayRouteTests {
  private static let main = "/cameras/camera/main.jpg"
  private static let post = "/api/cameras/camera/snapshots"

  private static func configuration(
    keeping duration: Duration? = .seconds(7200), delay: Duration = .zero
  ) -> ServerConfiguration {
    var camera = CameraConfiguration(source: "script")
    camera.replayDuration = duration
    camera.triggerDelay = delay
    camera.isRequired = false
    return ServerConfiguration(cameras: [camera])
  }

  /// The code of a JPEG in one grey.
  private static func code(_ jpeg: [UInt8]) throws -> Int {
    let frame = try JPEGDecoder.decode(jpeg, maximumPixels: 1 << 20)
    return Int(try #require(frame.bytes.first))
  }

  /// What is sent on of a picture as it is.
  private static func passed(_ code: Int) throws -> [UInt8] {
    try OriginalJPEG(checking: CountingCamera.jpeg(UInt8(code)), maximumPixels: 1 << 20).bytes
  }

  private static func header(_ name: String, _ answer: RunningService.Answer) -> String? {
    answer.headers[name].first
  }

  /// Whether the answer's X-Timestamp is that of a capture: as exact as the distance of two clocks.
  private static func isOf(_ time: CaptureInstant, _ answer: RunningService.Answer) -> Bool {
    let seconds = header("X-Timestamp", answer).flatMap(Double.init) ?? 0
    return abs(seconds - WallTime(capturedAt: time).secondsSinceEpoch) < 1
  }

  private static func text(_ time: CaptureInstant) -> String { WallTime(capturedAt: time).secondsText }

  @Test(
    "pictures from before a view was switched off return 404 afterwards, even after a reload",
    arguments: [[false, true], [false]], [false, true])
  func switchedOff(switches: [Bool], reloads: Bool) async throws {
    guard switches.last == true || reloads else { return }
    try await withPictures { service, camera, times in
      for isOn in switches {
        let answer = try await service.send(
          "PATCH", "/api/cameras/camera/views/main", body: #"{"enabled": \#(isOn)}"#)
        #expect(answer.status == 200)
      }
      if reloads { try await service.inside.apply(Self.configuration(keeping: .seconds(7100))) }
      for words in ["at=\(Self.text(times[5]))", "at=-1s"] {
        let answer = try await service.get("\(Self.main)?\(words)")
        #expect(answer.status == 404 && answer.text.contains("not-kept"), "\(words)")
      }
      #expect(
        try await service.send("POST", Self.post, body: #"{"before": "2h", "count": 3}"#).status == 404)
      // The camera of this test ends with its first reader.
      guard !reloads else { return }
      let after = try camera.give(200, ago: .zero)
      try await camera.took(times.count + 1)
      let answer = try await service.get("\(Self.main)?at=\(Self.text(after))")
      #expect(answer.status == 200)
    }
  }

  /// Beside a service whose camera has given codes 0, 10, 20 and so on, ten minutes apart, the last one just now.
  private func withPictures(
    _ count: Int = 10, _ configuration: ServerConfiguration = configuration(),
    _ work: @escaping @Sendable (RunningService, CountingCamera, [CaptureInstant]) async throws -> Void
  ) async throws {
    let camera = CountingCamera()
    try await withService(configuration, makeSource: { camera.source(named: $1, $2) }) { service in
      let times = try (0..<count).map {
        try camera.give(UInt8($0 * 10), ago: .seconds(600 * (count - 1 - $0)))
      }
      try await camera.took(count)
      try await work(service, camera, times)
    }
  }

  @Test("`at` with a picture's X-Timestamp returns that picture, as the original JPEG or rendered")
  func byTime() async throws {
    try await withPictures { service, _, times in
      for (number, time) in times.enumerated() {
        let whole = try await service.get("\(Self.main)?at=\(Self.text(time))")
        #expect(whole.status == 200 && Self.isOf(time, whole))
        #expect(Self.header("X-Frame-Sequence", whole) == "\(number)")
        #expect(try whole.bytes == Self.passed(number * 10))

        let drawn = try await service.get("\(Self.main)?at=\(Self.text(time + .seconds(300)))&width=16")
        #expect(abs(try Self.code(drawn.bytes) - number * 10) <= 3)
        #expect(Self.header("X-View-Size", drawn) == "16x16")
        #expect(Self.header("X-Frame-Sequence", drawn) == "\(number)")
      }
      let png = try await service.get("/cameras/camera/main.png?at=-900s")
      #expect(png.status == 200 && Self.header("X-Frame-Sequence", png) == "7")
    }
  }

  @Test("200 concurrent requests get the buffered pictures that they ask for")
  func crowd() async throws {
    try await withPictures { service, _, times in
      try await withThrowingTaskGroup(of: Void.self) { group in
        for client in 0..<200 {
          group.addTask {
            let number = client % times.count
            let words = client % 2 == 0 ? "" : "&width=16"
            let answer = try await service.get("\(Self.main)?at=\(Self.text(times[number]))\(words)")
            #expect(answer.status == 200)
            #expect(Self.header("X-Frame-Sequence", answer) == "\(number)")
          }
        }
        try await group.waitForAll()
      }
    }
  }

  @Test("a buffered picture returns 304 for its own ETag and 200 for another picture's")
  func conditional() async throws {
    try await withPictures { service, _, times in
      let path = "\(Self.main)?at=\(Self.text(times[3]))&width=16"
      let tag = try #require(Self.header("ETag", try await service.get(path)))
      #expect(try await service.get(path, [("If-None-Match", tag)]).status == 304)
      let other = "\(Self.main)?at=\(Self.text(times[4]))&width=16"
      #expect(try await service.get(other, [("If-None-Match", tag)]).status == 200)
    }
  }

  private struct NotKeptAnswer: Decodable {
    let code: String
    let detail: String
    let replay: [String: Double]?
  }

  @Test("buffered pictures return 503 with Retry-After, not 404, without memory to decode them")
  func noRoom() async throws {
    let camera = CountingCamera()
    try await withService(Self.configuration(), makeSource: { camera.source(named: $1, $2) }) { service in
      let budget = service.inside.registry.budget
      for code in 0..<3 {
        try camera.give(UInt8(code), ago: .seconds(3 - code), memory: FramePool(budget: budget))
      }
      try await camera.took(3)
      let narrow = "\(Self.main)?at=-1ms&width=16"
      budget.overhead = budget.capacity
      for answer in [
        try await service.get(narrow),
        try await service.get("/cameras/camera/main.png?at=-1ms"),
        try await service.get("\(Self.main)?best=sharpest&within=3600s"),
        try await service.send("POST", Self.post, body: #"{"before": "3600s", "count": 2}"#),
      ] {
        #expect(answer.status == 503 && answer.headers["Retry-After"] == ["1"], "\(answer.text)")
      }
      budget.overhead = 0
      let answer = try await service.get(narrow)
      #expect(answer.status == 200, "\(answer.text)")
    }
  }

  @Test("a time that is not buffered returns 404 with the start of the replay buffer")
  func notBuffered() async throws {
    try await withPictures { service, _, times in
      for answer in [
        try await service.get("\(Self.main)?at=-86400s"),
        try await service.send("POST", Self.post, body: #"{"at": "-86400s"}"#),
      ] {
        #expect(answer.status == 404)
        let problem = try answer.json(NotKeptAnswer.self)
        #expect(problem.code == "not-kept")
        let from = try #require(problem.replay?["from"])
        let first = try await service.get("\(Self.main)?at=\(from)")
        #expect(Self.isOf(times[0], first))
      }
    }
    let camera = CountingCamera()
    try await withService(
      Self.configuration(keeping: nil), makeSource: { camera.source(named: $1, $2) }
    ) { service in
      let answer = try await service.get("\(Self.main)?at=-1s")
      #expect(answer.status == 404)
      #expect(try answer.json(NotKeptAnswer.self).replay == nil)
    }
  }

  @Test(
    "invalid or contradictory at, best and within parameters return 400",
    arguments: [
      "at=", "at=now", "at=-", "at=--1s", "at=-0s", "at=1e300", "at=nan", "at=-1s&max_age=0", "at=5y",
      "best=x", "within=2s", "best=sharpest&within=0", "best=sharpest&max_age=1",
    ])
  func refused(words: String) async throws {
    try await withPictures(1) { service, _, _ in
      let answer = try await service.get("\(Self.main)?\(words)")
      #expect(answer.status == 400)
    }
  }

  @Test(
    "a POST with invalid or contradictory at, before, count, best or within returns 400",
    arguments: [
      #"{"at": "x"}"#, #"{"before": "0s"}"#, #"{"count": 3}"#, #"{"before": "3s", "count": 0}"#,
      #"{"before": "3s", "count": 21}"#, #"{"at": "-1s", "still": true}"#, #"{"before": "1s", "max_age": 5}"#,
      #"{"at": {}}"#,
      #"{"best": "x"}"#, #"{"within": "1s"}"#, #"{"best": "sharpest", "before": "1s"}"#,
    ])
  func refusedBodies(body: String) async throws {
    try await withPictures(1) { service, _, _ in
      let answer = try await service.send("POST", Self.post, body: body)
      #expect(answer.status == 400)
    }
  }

  private struct Shot: Decodable {
    let sequence: Int
    let pictures: [Picture]

    struct Picture: Decodable {
      let snapshot: String
    }
  }

  private struct Burst: Decodable {
    let snapshots: [Shot]
  }

  @Test("a burst returns each buffered picture once, and each is an event with the replay range")
  func burst() async throws {
    try await withPictures { service, _, times in
      let body = #"{"before": "2700s", "count": 10}"#
      let burst = try await service.send("POST", Self.post, body: body).json(Burst.self)
      #expect(burst.snapshots.map(\.sequence) == [4, 5, 6, 7, 8, 9])
      let first = try #require(burst.snapshots.first?.pictures.first)
      let bytes = try #require(Data(base64Encoded: first.snapshot))
      #expect(abs(try Self.code(Array(bytes)) - 40) <= 3)

      let parts = try await service.send(
        "POST", Self.post, [("Accept", "multipart/mixed")], body: #"{"before": "1500s", "count": 3}"#)
      #expect(parts.text.isEmpty || parts.status == 200)
      let sequences = String(decoding: parts.bytes, as: UTF8.self).split(separator: "\r\n")
        .filter { $0.hasPrefix("X-Frame-Sequence") }
      #expect(sequences == ["X-Frame-Sequence: 6", "X-Frame-Sequence: 7", "X-Frame-Sequence: 9"])

      let one = try await service.send("POST", Self.post, body: #"{"at": \#(Self.text(times[2]))}"#)
      #expect(try one.json(Shot.self).sequence == 2)

      let subscription = try service.inside.events.log.subscribe(
        after: "", EventLog.Filter(types: ["snapshot"]))
      var events: [String] = []
      while case .event(let event) = await subscription.next(within: .milliseconds(1)) {
        events.append(String(buffer: event.text))
      }
      #expect(events.count == 10)
      #expect(events.allSatisfy { $0.contains(#""replay":{"from":"#) })
    }
  }

  @Test(
    "a burst whose client disconnects continues only if snapshots are stored in a folder",
    arguments: [false, true])
  func leaves(isStored: Bool) async throws {
    try await withTemporaryFolder { folder in
      var configuration = Self.configuration()
      if isStored { configuration.snapshots.folder = FolderConfiguration(path: folder.path) }
      try await withPictures(10, configuration) { service, _, _ in
        let gate = service.inside.snapshots.provider.bufferedGate
        var places = try (0..<gate.capacity).map { _ in try gate.enter() }
        let events = try service.inside.events.log.subscribe(EventLog.Filter(types: ["snapshot"]))
        let body = #"{"before": "2700s", "count": 3}"#
        let client = try await RawConnection(
          to: service.port,
          sending: "POST \(Self.post) HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
        await until { gate.waiting == 1 }

        try await client.close()

        if isStored { await letOthersGoOn() } else { await until { gate.waiting == 0 } }
        places.removeAll()
        if isStored {
          for _ in 0..<3 {
            guard case .event = await events.next(within: allTheTimeThereIs) else {
              Issue.record("a snapshot is missing")
              return
            }
          }
        } else {
          #expect(try await service.get("\(Self.main)?at=-1s").status == 200)
          guard case .event = await events.next(within: .milliseconds(1)) else { return }
          Issue.record("a snapshot was taken for nobody")
        }
        await until { gate.count == 0 }
      }
      let stored = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
      #expect(stored.count { $0.hasSuffix(".jpg") } == (isStored ? 3 : 0))
    }
  }

  @Test(
    "requests for one buffered picture queue per client, and survive the first one's cancellation")
  func shares() async throws {
    try await withPictures { service, _, times in
      let (snapshots, target) = (
        service.inside.snapshots.provider, try service.inside.registry.view("main", of: "camera")
      )
      let gate = snapshots.bufferedGate
      let asked = Request(
        head: HTTPRequest(
          method: .get, scheme: nil, authority: nil, path: "\(Self.main)?at=\(Self.text(times[3]))"),
        body: RequestBody(buffer: ByteBuffer()))
      let query = try SnapshotQuery(
        QueryParameters(asked), of: target.served, as: .jpeg, offline: target.offline,
        timeout: allTheTimeThereIs)
      @Sendable func inside<Value>(_ address: String, _ work: () async throws -> Value) async throws -> Value
      {
        try await RequestClient.$current.withValue(
          RequestClient(address: ClientGroup(address)), operation: work)
      }
      @Sendable func picture(for address: String) async throws -> ByteBuffer {
        try await inside(address) {
          try await snapshots.inTurn(query.request, of: target, query) {
            let moment = try await snapshots.moment(of: target, query.request)
            let subject = snapshots.subject(moment, query, target)
            return try await snapshots.picture(subject, at: moment, query, of: target).bytes
          }
        }
      }
      var held: [AdmissionPermit] = []
      for _ in 0..<gate.share { held.append(try await inside("10.0.0.1") { try gate.enter() }) }
      let first = Task { try await picture(for: "10.0.0.1") }
      await until { gate.waiting == 1 }
      let others = (0..<3).map { _ in Task { try await picture(for: "10.0.0.1") } }
      await letOthersGoOn()

      let own = try await picture(for: "10.0.0.2")
      await until { gate.waiting == 1 && gate.count == gate.share }

      first.cancel()
      await #expect(throws: CancellationError.self) { try await first.value }
      await until { gate.waiting == 1 }
      held.removeAll()
      for other in others { #expect(try await other.value == own) }
      await until { gate.count == 0 && gate.waiting == 0 }
    }
  }

  @Test("best=sharpest returns a picture within the requested time span")
  func best() async throws {
    try await withPictures { service, _, times in
      // All are flat: the first of those that are compared.
      let end = Self.text(times[6])
      let picture = try await service.get("\(Self.main)?best=sharpest&within=1300s&at=\(end)")
      #expect(picture.status == 200 && Self.header("X-Frame-Sequence", picture) == "4")
      let body = #"{"best": "sharpest", "within": "1300s", "at": "\#(end)"}"#
      #expect(try await service.send("POST", Self.post, body: body).json(Shot.self).sequence == 4)
    }
  }

  @Test("an MP4 clip has each buffered picture of its time span once, and ends", .enabled(if: hasEncoder))
  func clip() async throws {
    let path = "/cameras/camera/main.mp4"
    try await withPictures { service, _, times in
      func pictures(_ words: String) async throws -> Int {
        let answer = try await service.get("\(path)?\(words)")
        #expect(answer.status == 200)
        #expect(answer.headers["Content-Type"].first?.hasPrefix("video/mp4; codecs=") == true)
        return String(decoding: answer.bytes, as: UTF8.self).split(separator: "moof").count - 1
      }
      #expect(try await pictures("before=3300s") == 6)
      #expect(try await pictures("before=3300s&after=1ms&width=16&bitrate=90000") == 6)
      #expect(try await pictures("at=\(Self.text(times[4]))&before=700s&after=700s") == 3)

      let gone = try await service.get("\(path)?at=-86400s&before=1s")
      #expect(gone.status == 404)
      for words in ["before=0s", "before=1s&duration=3", "after=700s", "before=1s&max_age=1", "at=-1s"] {
        let answer = try await service.get("\(path)?\(words)")
        #expect(answer.status == 400, "\(words)")
      }
    }
  }

  @Test(
    "a trigger delay shifts snapshots back, except those with max_age or an absolute `at`"
  )
  func delay() async throws {
    try await withPictures(10, Self.configuration(delay: .seconds(900))) { service, _, times in
      func sequence(_ body: String) async throws -> Int {
        try await service.send("POST", Self.post, body: body).json(Shot.self).sequence
      }
      #expect(try await sequence("{}") == 7)
      #expect(try await sequence(#"{"at": "-600s"}"#) == 6)
      #expect(try await sequence(#"{"at": "\#(Self.text(times[9]))"}"#) == 9)
      #expect(try await sequence(#"{"max_age": 86400000}"#) == 9)
      let picture = try await service.get("\(Self.main)?at=-600s")
      #expect(Self.header("X-Frame-Sequence", picture) == "6")
      let now = try await service.get("\(Self.main)?max_age=86400000")
      #expect(Self.header("X-Frame-Sequence", now) == "9")
    }
  }

  @Test("a mask added by a reload also hides areas of pictures buffered before it")
  func masked() async throws {
    var configuration = Self.configuration()
    configuration.cameras[0].options.referenceSize = CountingCamera.size
    let open = configuration
    try await withPictures(10, open) { service, _, times in
      let path = "\(Self.main)?at=\(Self.text(times[9]))&quality=95"
      #expect(abs(try Self.code(try await service.get(path).bytes) - 90) <= 3)

      var masked = open
      masked.cameras[0].options.masks = [try PrivacyMask(parsing: "16x16+0+0:fill=#FF0000")]
      try await service.inside.apply(masked)
      let hidden = try await service.get(path)

      #expect(hidden.status == 200 && Self.header("X-Frame-Sequence", hidden) == "9")
      #expect(try Self.code(hidden.bytes) < 80)
      let whole = try await service.get("\(Self.main)?at=\(Self.text(times[9]))")
      #expect(try whole.bytes != Self.passed(90))
    }
  }

  @Test("buffered pictures of a lost camera stay available, and its entry has the replay buffer")
  func lost() async throws {
    try await withPictures { service, camera, times in
      camera.lose()
      let answer = try await service.get("\(Self.main)?at=\(Self.text(times[9]))")
      #expect(answer.status == 200 && Self.isOf(times[9], answer))
      let entry = try await service.get("/api/cameras/camera").text
      #expect(entry.contains(#""replay":{"bytes":"#))
      try await until {
        try await service.get("/api/cameras/camera").text.contains(#""state":"lost""#)
      }
    }
  }
}
