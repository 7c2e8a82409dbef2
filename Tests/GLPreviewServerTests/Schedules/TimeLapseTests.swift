// Time-lapses over HTTP: which pictures they show, when, and who may have them.
import Foundation
import GLPreview
import NIOHTTP1
import PreviewCore
import TestSupport
import Testing

@testable import GLPreviewServer
@testable import Schedules
@testable import ServiceCore
@testable import ServiceFoundation

@Suite(
  "Time-lapses over HTTP", .enabled(if: hasEncoder, "no encoder of H.264: scripts/setup"),
  .timeLimit(.minutes(15)))
struct TimeLapseTests {
  private typealias Stored = StoredTestPictures

  private static let path = "/cameras/door/main/timelapse.mp4"
  /// The hour from noon on.
  private static let hour = "from=2026-11-30T12:00:00Z&to=2026-11-30T13:00:00Z"
  private static let film = "\(path)?\(hour)"

  private static func configuration(
    _ folder: URL?, _ change: (inout ServerConfiguration) -> Void = { _ in }
  ) -> ServerConfiguration {
    var view = ServedView()
    view.video.encoder = software
    let door = CameraConfiguration(
      name: "door", source: "pattern:counter,size=64x48,fps=20", views: [view])
    var configuration = ServerConfiguration(cameras: [door])
    configuration.snapshots.folder = folder.map { FolderConfiguration(path: $0.path) }
    change(&configuration)
    return configuration
  }

  private static func tag(_ answer: RunningService.Answer) throws -> String {
    try #require(answer.headers.first(name: "ETag"))
  }

  /// The frames of a file, as our own decoder reads it.
  private static func frames(_ bytes: [UInt8]) async throws -> [Frame] {
    try await withTemporaryFolder { folder in
      let file = folder.appending(path: "film.mp4")
      try Data(bytes).write(to: file)
      let source = try await SourceLocator(file.path).open()
      var frames: [Frame] = []
      while let frame = try await source.nextFrame() { frames.append(frame) }
      await source.close()
      return frames
    }
  }

  /// The grey of a frame in its middle row, at a column; in the middle by default.
  private static func code(_ frame: Frame, column: Int? = nil) -> Int {
    let (plane, size) = (frame.planes[0], frame.format.size)
    let offset = plane.offset + size.height / 2 * plane.bytesPerRow + (column ?? size.width / 2)
    // Videos have 16 for black and 235 for white.
    return (Int(frame.bytes[offset]) - 16) * 255 / 219
  }

  // MARK: What it shows

  @Test("a time-lapse has the stored pictures of its view in the order of time, each shown equally long")
  func order() async throws {
    let codes: [UInt8] = [20, 60, 100, 140, 180, 220]
    try await withTemporaryFolder { folder in
      for index in [3, 0, 5, 1, 4, 2] {
        try Stored.store(Stored.jpeg(codes[index]), at: Double(60 * index), in: folder)
      }
      let other = try Stored.jpeg(255)
      try Stored.store(other, at: 90, in: folder, "face")
      try Stored.store(other, at: 90, in: folder, "main-2")
      try Stored.store(other, at: 90, in: folder, of: "yard")
      // A snapshot by POST, and pictures of other times.
      try Stored.store(other, at: 90.5, in: folder)
      try Stored.store(other, at: -1, in: folder)
      try Stored.store(other, at: 3601, in: folder)
      try Data(other).write(to: folder.appending(path: "door/latest-main.jpg"))
      try await withService(Self.configuration(folder)) { service in
        let answer = try await service.get("\(Self.film)&fps=10")
        try #require(answer.status == 200, "\(answer.text)")
        #expect(answer.headers["Content-Type"] == ["video/mp4"] && answer.headers["X-Pictures"] == ["6"])
        let frames = try await Self.frames(answer.bytes)
        #expect(frames.map(\.format.size) == [Size](repeating: Stored.size, count: 6))
        for (index, (frame, code)) in zip(frames, codes).enumerated() {
          #expect(abs(Self.code(frame) - Int(code)) < 8, "picture \(index)")
          let time = (frame.timestamp - frames[0].timestamp) / .seconds(1)
          #expect(abs(time - Double(index) / 10) < 0.001)
        }
      }
    }
  }

  @Test("`every` leaves out pictures that follow another one too soon")
  func every() async throws {
    try await withTemporaryFolder { folder in
      try Stored.store([20, 60, 100, 140, 180, 220], in: folder)
      try await withService(Self.configuration(folder)) { service in
        let answer = try await service.get("\(Self.film)&every=2m")
        #expect(answer.headers["X-Pictures"] == ["3"])
        let found = try await Self.frames(answer.bytes).map { Self.code($0) }
        for (code, expected) in zip(found, [20, 100, 180]) { #expect(abs(code - expected) < 8) }
        // The next time that is far enough, not the nearest one.
        #expect(try await service.get("\(Self.film)&every=61s").headers["X-Pictures"] == ["3"])
        #expect(try await service.get("\(Self.film)&every=1h").headers["X-Pictures"] == ["1"])
      }
    }
  }

  @Test("all pictures have the first one's size or the requested one; other shapes get bars")
  func sizes() async throws {
    try await withTemporaryFolder { folder in
      try Stored.store(Stored.jpeg(200), at: 0, in: folder)
      try Stored.store(Stored.jpeg(200, Size(width: 24, height: 48)), at: 60, in: folder)
      try await withService(Self.configuration(folder)) { service in
        for (words, size) in [
          ("", Stored.size), ("&width=32", Size(width: 32, height: 24)),
          ("&height=25", Size(width: 34, height: 26)),
          ("&width=31&height=40", Size(width: 32, height: 40)),
        ] {
          let answer = try await service.get(Self.film + words)
          let frames = try await Self.frames(answer.bytes)
          #expect(frames.map(\.format.size) == [size, size], "\(words)")
          guard let last = frames.last else { continue }
          #expect(abs(Self.code(last) - 200) < 12 && Self.code(last, column: 1) < 20, "\(words)")
        }
        let large = try await service.get("\(Self.film)&width=8192")
        #expect(large.status == 400 && large.text.contains("limits.pixels"), "\(large.text)")
      }
    }
  }

  @Test("damaged and removed files, links and folders are left out; without any picture the answer is 404")
  func damaged() async throws {
    try await withTemporaryFolder { folder in
      let whole = try Stored.jpeg(100)
      try Stored.store(Array("no picture".utf8), at: 0, in: folder)
      try Stored.store([], at: 60, in: folder)
      try Stored.store(Array(whole.prefix(whole.count / 2)), at: 120, in: folder)
      try FileManager.default.createDirectory(
        at: Stored.file(at: 180, in: folder), withIntermediateDirectories: true)
      try await withService(Self.configuration(folder)) { service in
        let none = try await service.get(Self.film)
        #expect(none.status == 404 && none.text.contains("can be decoded"), "\(none.text)")

        try Stored.store(whole, at: 240, in: folder)
        try FileManager.default.createSymbolicLink(
          at: Stored.file(at: 300, in: folder), withDestinationURL: Stored.file(at: 240, in: folder))
        let one = try await service.get(Self.film)
        #expect(one.status == 200 && one.headers["X-Pictures"] == ["1"], "\(one.text)")
        let found = try await Self.frames(one.bytes).map { Self.code($0) }
        #expect(found.count == 1 && abs((found.first ?? 0) - 100) < 8)
      }
    }
  }

  // MARK: How it is sent

  @Test("a time-lapse is served with ETag, ranges, HEAD and as a download")
  func ranges() async throws {
    try await withTemporaryFolder { folder in
      try Stored.store([20, 60, 100], in: folder)
      try await withService(Self.configuration(folder)) { service in
        let whole = try await service.get(Self.film)
        let tag = try Self.tag(whole)
        let size = whole.bytes.count
        #expect(whole.headers["Accept-Ranges"] == ["bytes"] && whole.headers["Content-Length"] == ["\(size)"])
        #expect(whole.headers["Cache-Control"] == ["no-cache"] && whole.headers["Content-Disposition"] == [])

        for range in [0..<10, 10..<size - 10, size - 1..<size] {
          let field = ("Range", "bytes=\(range.lowerBound)-\(range.upperBound - 1)")
          let part = try await service.get(Self.film, [field, ("If-Range", tag)])
          #expect(part.status == 206 && part.bytes == Array(whole.bytes[range]), "\(range)")
          #expect(
            part.headers["Content-Range"] == [
              "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(size)"
            ])
        }
        let other = try await service.get(Self.film, [("Range", "bytes=0-9"), ("If-Range", "\"other\"")])
        #expect(other.status == 200 && other.bytes == whole.bytes)
        let beyond = try await service.get(Self.film, [("Range", "bytes=\(size)-")])
        #expect(beyond.status == 416 && beyond.headers["Content-Range"] == ["bytes */\(size)"])
        let known = try await service.get(Self.film, [("If-None-Match", tag)])
        #expect(known.status == 304 && known.bytes.isEmpty && known.headers["ETag"] == [tag])

        let head = try await service.send("HEAD", Self.film)
        #expect(head.status == 200 && head.bytes.isEmpty && head.headers["Content-Length"] == ["\(size)"])
        #expect(head.headers["ETag"] == [tag] && head.headers["X-Pictures"] == ["3"])
        let download = try await service.get("\(Self.film)&download=1")
        #expect(
          download.headers["Content-Disposition"] == [#"attachment; filename="door-main-timelapse.mp4""#])
        #expect(download.bytes == whole.bytes)
        // The file has no name, in any folder.
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["door"])
      }
    }
  }

  @Test("two clients get one file, other parameters another, and a new picture makes another one")
  func shared() async throws {
    try await withTemporaryFolder { folder in
      try Stored.store([20, 60, 100], in: folder)
      try await withService(Self.configuration(folder)) { service in
        async let one = service.get(Self.film)
        async let two = service.get(Self.film)
        let (first, second) = try await (one, two)
        let tag = try Self.tag(first)
        #expect(first.status == 200 && first.bytes == second.bytes)
        #expect(try tag == Self.tag(second))
        // The same pictures, in other words.
        let same = try await service.get("\(Self.path)?from=1796040000&to=2026-11-30T13:05:00%2B00:05&fps=25")
        #expect(try Self.tag(same) == tag)
        let slower = try await service.get("\(Self.film)&fps=5")
        #expect(try Self.tag(slower) != tag)

        try Stored.store(Stored.jpeg(140), at: 180, in: folder)
        let more = try await service.get(Self.film)
        #expect(try Self.tag(more) != tag && more.headers["X-Pictures"] == ["4"])
        try Stored.store(Stored.jpeg(30, Size(width: 32, height: 32)), at: 180, in: folder)
        let changed = try await service.get(Self.film)
        #expect(try Self.tag(changed) != Self.tag(more))
        // Those from before are still there.
        let shorter = try await service.get("\(Self.path)?from=1796040000&to=1796040130")
        #expect(try Self.tag(shorter) == tag)
      }
    }
  }

  @Test("a time-lapse beyond the memory budget returns 503, and succeeds once there is memory")
  func memory() async throws {
    try await withTemporaryFolder { folder in
      try Stored.store([20, 60], in: folder)
      try await withService(Self.configuration(folder)) { service in
        let budget = service.inside.registry.budget
        budget.overhead = budget.capacity
        let refused = try await service.get(Self.film)
        #expect(refused.status == 503 && refused.headers["Retry-After"] == ["1"], "\(refused.text)")
        budget.overhead = 0
        #expect(try await service.get(Self.film).status == 200)
      }
    }
  }

  // MARK: What is refused

  @Test("a time-lapse needs the role control; links and the role read get 403")
  func access() async throws {
    var key = LinkKey(name: "mail", secret: "mail 0123456789abcdef0123456789abcdef")
    key.allowsForever = true
    let link = try SignedLink.signed(Self.film, by: key, until: nil)
    try await withTemporaryFolder { folder in
      try Stored.store([20, 60], in: folder)
      let configuration = Self.configuration(folder) {
        $0.access.tokens = [.init(secret: "look", role: .read), .init(secret: "rule", role: .control)]
        $0.access.linkKeys = [key]
        // It does not matter how the view is shown now.
        $0.cameras[0].views[0].isEnabled = false
      }
      try await withService(configuration) { service in
        for (path, token, status) in [
          (Self.film, "rule", 200), (Self.film, "look", 403), (Self.film, "wrong", 401), (link, "", 403),
          (Self.film, "", 401), ("\(Self.film)&token=look", "", 403), ("\(Self.film)&token=rule", "", 200),
          // Who may not see a time-lapse does not learn whether there is one.
          ("/cameras/yard/main/timelapse.mp4", "look", 403),
        ] {
          let headers = token.isEmpty ? [] : [("Authorization", "Bearer \(token)")]
          let answer = try await service.get(path, headers)
          #expect(answer.status == status, "\(path) \(token): \(answer.text)")
        }
      }
    }
  }

  private struct Refusal: Decodable {
    let detail: String
    var parameter: String?
    var code: String?
    var nearest: [String]?
  }

  @Test("without pictures of that time the answer is 404 with the nearest times")
  func none() async throws {
    try await withTemporaryFolder { folder in
      try Stored.store([20, 60, 100], in: folder)
      try await withService(Self.configuration(folder)) { service in
        for (words, nearest) in [
          ("from=1796040001&to=1796040059", ["2026-11-30T12:00:00.000Z", "2026-11-30T12:01:00.000Z"]),
          ("from=1796040121&to=1796050000", ["2026-11-30T12:02:00.000Z"]),
          ("to=1796039999", ["2026-11-30T12:00:00.000Z"]),
        ] {
          let answer = try await service.get("\(Self.path)?\(words)")
          let refusal = try answer.json(Refusal.self)
          #expect(answer.status == 404 && refusal.nearest == nearest, "\(words): \(answer.text)")
          #expect(refusal.code == "not-stored")
        }
        for path in [
          "/cameras/door/other/timelapse.mp4", "/cameras/nothing/main/timelapse.mp4",
          "/cameras/..%2Fdoor/main/timelapse.mp4", "/cameras/%2E%2E/main/timelapse.mp4",
        ] {
          let answer = try await service.get("\(path)?\(Self.hour)")
          #expect(answer.status == 404 && !answer.text.contains("nearest"), "\(path): \(answer.text)")
        }
      }
    }
    try await withService(Self.configuration(nil)) { service in
      let answer = try await service.get(Self.path)
      #expect(answer.status == 404 && answer.text.contains("snapshots.folder"), "\(answer.text)")
    }
  }

  @Test("an invalid parameter returns 400 and names it")
  func parameters() async throws {
    try await withTemporaryFolder { folder in
      try await withService(Self.configuration(folder)) { service in
        for (words, parameter) in [
          ("from=yesterday", "from"), ("to=2026-11-31T00:00:00Z", "to"), ("from=-1x", "from"),
          ("from=2000&to=1000", "from"), ("from=1000&to=1000", "from"), ("from=-1h&to=-2h", "from"),
          ("fps=0", "fps"), ("fps=61", "fps"), ("fps=2.5", "fps"), ("every=0", "every"),
          ("every=often", "every"), ("width=15", "width"), ("width=8193", "width"), ("height=0", "height"),
          ("download=perhaps", "download"), ("label=a", "label"), ("from=1&from=2", "from"),
        ] {
          let answer = try await service.get("\(Self.path)?\(words)")
          #expect(answer.status == 400, "\(words): \(answer.text)")
          #expect(try answer.json(Refusal.self).parameter == parameter, "\(words)")
        }
      }
    }
  }
}
