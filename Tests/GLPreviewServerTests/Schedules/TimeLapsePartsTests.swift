// The parts of time-lapses: times in URLs, the choice of pictures, and the files that are kept.
import Foundation
import GLPreview
import Glibc
import HTTPTypes
import Hummingbird
import HummingbirdCore
import NIOCore
import PreviewCore
import TestSupport
import Testing

@testable import GLPreviewServer
@testable import Schedules
@testable import ServiceCore
@testable import ServiceFoundation

/// The pictures of tests, and the files that schedules make of them.
enum StoredTestPictures {
  static let noon = 1_796_040_000
  static let size = Size(width: 64, height: 48)

  /// A JPEG in one grey.
  static func jpeg(_ code: UInt8, _ size: Size = StoredTestPictures.size) throws -> [UInt8] {
    let grey = [UInt8](repeating: code, count: size.pixelCount)
    let neutral = [UInt8](repeating: 128, count: size.pixelCount)
    return try JPEGEncoder(quality: 95).encode(
      Picture(tight: size, format: .ycbcr(.yuv444), bytes: grey + neutral + neutral))
  }

  /// The file of a moment, so many seconds after noon. Its folder exists afterwards.
  static func file(
    at offset: Double, in folder: URL, _ view: String = "main", of camera: String = "door"
  ) throws -> URL {
    let time = WallTime(sinceEpoch: .seconds(noon) + .milliseconds(Int(offset * 1000)))
    let name = StampedFileName(camera: camera, view: view, time: time)
    let place = folder.appending(path: name.camera)
    try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
    return place.appending(path: name.file)
  }

  static func store(
    _ bytes: [UInt8], at offset: Double, in folder: URL, _ view: String = "main", of camera: String = "door"
  ) throws {
    try Data(bytes).write(to: file(at: offset, in: folder, view, of: camera))
  }

  /// Stores a picture of each code, a minute apart.
  static func store(_ codes: [UInt8], in folder: URL) throws {
    for (index, code) in codes.enumerated() { try store(jpeg(code), at: Double(60 * index), in: folder) }
  }
}

@Suite("Times in URLs")
struct TimePointTests {
  @Test(
    "seconds since 1970 and RFC 3339 are absolute times",
    arguments: [
      ("0", 0.0), ("1796018400", 1_796_018_400), ("1796018400.25", 1_796_018_400.25),
      ("2026-11-30T06:00:00Z", 1_796_018_400), ("2026-11-30t06:00:00z", 1_796_018_400),
      ("2026-11-30 06:00:00Z", 1_796_018_400), ("2026-11-30T06:00:00.25Z", 1_796_018_400.25),
      ("2026-11-30T07:00:00.5+01:00", 1_796_018_400.5), ("2026-11-30T07:00:00 01:00", 1_796_018_400),
      ("2026-11-30T00:30:00-05:30", 1_796_018_400), ("2000-03-01T00:00:00-05:30", 951_888_600),
      ("2024-02-29T00:00:00Z", 1_709_164_800), ("2016-12-31T23:59:60Z", 1_483_228_800),
      ("1969-12-31T23:59:59Z", -1), ("0001-01-01T00:00:00Z", -62_135_596_800),
      ("9999-12-31T23:59:59.000Z", 253_402_300_799),
    ] as [(String, Double)])
  func absolute(text: String, seconds: Double) throws {
    let point = try TimePoint(parsing: text, key: "at")
    guard case .at(let time) = point else {
      Issue.record("\(point)")
      return
    }
    #expect(abs(time.secondsSinceEpoch - seconds) < 0.001)
    #expect(point.time(before: WallTime(sinceEpoch: .zero)) == time)
  }

  @Test("whole seconds are exact", arguments: ["1796018400", "2026-11-30T06:00:00Z", "1796018400.0"])
  func exact(text: String) throws {
    #expect(
      try TimePoint(parsing: text, key: "at") == .at(WallTime(sinceEpoch: .seconds(1_796_018_400))))
  }

  @Test(
    "a minus sign begins a time before now",
    arguments: [("-1d", 86400), ("-36h", 129_600), ("-90", 90), ("-500ms", 0.5), ("-1.5m", 90)]
      as [(String, Double)])
  func relative(text: String, seconds: Double) throws {
    let (point, duration) = (
      try TimePoint(parsing: text, key: "at"), Duration.milliseconds(Int(seconds * 1000))
    )
    #expect(point == .before(duration))
    let now = WallTime(sinceEpoch: .seconds(1_796_018_400))
    #expect(point.time(before: now) == WallTime(sinceEpoch: now.sinceEpoch - duration))
  }

  @Test(
    "any other text is an error that names the parameter",
    arguments: [
      "", "now", "1d", "-", "-x", "-0s", "nan", "inf", "-inf", "1e12", "2026-11-30", "2026-11-30T06:00:00",
      "2026-11-30T06:00Z", "2026-11-30T24:00:00Z", "2026-11-30T06:60:00Z", "2026-11-30T06:00:61Z",
      "2026-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z",
      "2026-11-00T00:00:00Z", "26-11-30T06:00:00Z", "2026-11-30T06:00:00.Z", "2026-11-30T06:00:00+1:00",
      "2026-11-30T06:00:00+0100", "2026-11-30T06:00:00+24:00", "2026-11-30T06:00:00Zz",
      "2026-11-30T06-00-00Z", "２026-11-30T06:00:00Z",
    ])
  func wrong(text: String) {
    let error = #expect(throws: ParameterError.self) { try TimePoint(parsing: text, key: "at") }
    #expect(error?.key == "at")
  }
}

@Suite("Choice of the pictures of a time-lapse")
struct PictureSearchTests {
  private static func search(_ files: [String], from: Int, to: Int, view: Substring = "main") -> PictureSearch
  {
    let noon = StoredTestPictures.noon
    var search = PictureSearch(
      of: view, from: WallTime(sinceEpoch: .seconds(noon + from)),
      to: WallTime(sinceEpoch: .seconds(noon + to)))
    for file in files { if let name = StampedFileName(camera: "door", file: file) { search.see(name) } }
    return search
  }

  private static func times(_ search: PictureSearch, every interval: Duration? = nil) -> [Int] {
    search.times(every: interval).map { $0 - StoredTestPictures.noon }
  }

  @Test("times of whole seconds of the view are found in order, the first and the last one included")
  func found() {
    let files = [
      "2026-11-30T12-00-30.000Z-main.jpg", "2026-11-30T12-00-00.000Z-main.jpg",
      "2026-11-30T12-01-00.000Z-main.jpg", "2026-11-30T12-00-10.001Z-main.jpg",
      "2026-11-30T12-00-10.000Z-other.jpg", "2026-11-30T12-00-10.000Z-main-2.jpg",
      "2026-11-30T12-00-10.000Z-main.mp4", "latest-main.jpg", "2026-11-30T12-00-99.000Z-main.jpg",
      "2026-11-30T11-59-00.000Z-main.jpg", "2026-11-30T11-59-59.000Z-main.jpg",
      "2026-11-30T12-01-30.000Z-main.jpg", "2026-11-30T12-01-01.000Z-main.jpg",
    ]
    let search = Self.search(files, from: 0, to: 60)
    #expect(Self.times(search) == [0, 30, 60])
    #expect(search.nearest.map(\.description) == ["2026-11-30T11:59:59.000Z", "2026-11-30T12:01:01.000Z"])
    #expect(Self.times(Self.search(files, from: 1, to: 59)) == [30])
    #expect(Self.search([], from: 0, to: 60).nearest == [])
  }

  @Test(
    "pictures are at least `every` apart",
    arguments: [
      (0.5, [0, 10, 20, 25, 30, 60]), (10, [0, 10, 20, 30, 60]), (11, [0, 20, 60]), (25, [0, 25, 60]),
      (61, [0]),
    ] as [(Double, [Int])])
  func every(seconds: Double, expected: [Int]) {
    let files = [0, 10, 20, 25, 30, 60].map { second in
      StampedFileName(
        camera: "door", view: "main",
        time: WallTime(sinceEpoch: .seconds(StoredTestPictures.noon + second))
      ).file
    }
    let search = Self.search(files, from: 0, to: 3600)
    #expect(Self.times(search, every: .seconds(seconds)) == expected)
  }

  @Test("too many pictures are refused with a value of `every` that suffices")
  func tooMany() async throws {
    try await withTemporaryFolder { folder in
      for index in 0..<12 {
        try StoredTestPictures.store([1], at: Double(60 * index), in: folder)
      }
      func stored(_ words: String) throws -> StoredPictures {
        try StoredPictures(
          of: "door", "main", in: folder.path, query("from=1796040000&to=1796050000\(words)"), atMost: 5)
      }
      let problem = #expect(throws: Problem.self) { try stored("") }
      let text = try #require(problem?.detail)
      #expect(problem?.status == .badRequest && text.contains("12 pictures") && text.contains("at most 5"))
      let advice = try #require(text.firstMatch(of: /every=([0-9]+s)/)).1
      let count = try stored("&every=\(advice)").pictures.count
      #expect((3...5).contains(count), "\(advice)")
    }
  }

  @Test(
    "sizes are even, and keep the first picture's shape where a side is missing",
    arguments: [
      (Size(width: 1280, height: 720), nil, nil, Size(width: 1280, height: 720)),
      (Size(width: 3840, height: 2160), nil, nil, Size(width: 1920, height: 1080)),
      (Size(width: 641, height: 361), nil, nil, Size(width: 642, height: 362)),
      (Size(width: 3840, height: 2160), 3840, nil, Size(width: 3840, height: 2160)),
      (Size(width: 1280, height: 720), 641, nil, Size(width: 642, height: 362)),
      (Size(width: 1280, height: 720), nil, 360, Size(width: 640, height: 360)),
      (Size(width: 1280, height: 720), 100, 333, Size(width: 100, height: 334)),
      (Size(width: 4000, height: 10), nil, nil, Size(width: 1920, height: 16)),
    ] as [(Size, Int?, Int?, Size)])
  func sizes(first: Size, width: Int?, height: Int?, expected: Size) {
    #expect(TimeLapseSize.size(from: first, width: width, height: height) == expected)
  }
}

/// The parameters of a URL.
private func query(_ words: String) throws -> TimeLapseQuery {
  let head = HTTPRequest(
    method: .get, scheme: nil, authority: nil, path: "/cameras/door/main/timelapse.mp4?\(words)")
  return try TimeLapseQuery(Request(head: head, body: RequestBody(buffer: ByteBuffer())))
}

@Suite(
  "Time-lapses that are kept", .enabled(if: hasEncoder, "no encoder of H.264: scripts/setup"),
  .timeLimit(.minutes(15)))
struct KeptTimeLapseTests {
  /// Runs `work` with the time-lapses of a service that answers no requests.
  static func withTimeLapses(
    _ folder: URL, holding: Duration = .zero, mostBytes: Int = 4 << 30,
    _ work: (TimeLapses) async throws -> Void
  ) async throws {
    let configuration = try ValidatedConfiguration(ServerConfiguration().patient())
    let parts = try await ServiceParts(configuration, logger: LogRecords().logger)
    let maker = TimeLapseMaker(
      session: parts.registry.session, budget: parts.registry.budget, folder: folder.path,
      mostPixels: 1 << 20, mostBytes: mostBytes)
    let result: Result<Void, any Error>
    do {
      result = .success(
        try await work(TimeLapses(maker, queueTimeout: allTheTimeThereIs, holding: holding)))
    } catch { result = .failure(error) }
    await parts.registry.session.close()
    try result.get()
  }

  static func order(_ folder: URL, fps rate: Int = 25) throws -> TimeLapseOrder {
    let query = try query("from=1796040000&to=1796050000&fps=\(rate)")
    let pictures = try StoredPictures(of: "door", "main", in: folder.path, query)
    return TimeLapseOrder(pictures, query, VideoConfiguration(encoder: software))
  }

  @Test("the eight files that were requested last are kept, for ten minutes after their last request")
  func kept() async throws {
    try await withTemporaryFolder { folder in
      try StoredTestPictures.store([100, 200], in: folder)
      try await Self.withTimeLapses(folder) { timeLapses in
        var tags: [String] = []
        let before = CaptureClock.now
        for rate in 1...9 {
          tags.append(try await timeLapses.timeLapse(Self.order(folder, fps: rate)).entityTag)
          // The first one is used again and again.
          #expect(try await timeLapses.timeLapse(Self.order(folder, fps: 1)).entityTag == tags[0])
        }
        #expect(timeLapses.count == TimeLapses.mostKept && Set(tags).count == 9)
        #expect(try await timeLapses.timeLapse(Self.order(folder, fps: 9)).entityTag == tags[8])
        #expect(try await timeLapses.timeLapse(Self.order(folder, fps: 2)).entityTag != tags[1])

        #expect(timeLapses.expire(at: before + TimeLapses.lifetime - .seconds(1)))
        #expect(timeLapses.count == TimeLapses.mostKept)
        #expect(!timeLapses.expire(at: CaptureClock.now + TimeLapses.lifetime))
        #expect(timeLapses.count == 0)
      }
    }
  }

  @Test("a request waits while two others are made, and one that is cancelled makes nothing")
  func waiting() async throws {
    try await withTemporaryFolder { folder in
      try StoredTestPictures.store([100, 200], in: folder)
      try await Self.withTimeLapses(folder) { timeLapses in
        var held = [try timeLapses.gate.enter(), try timeLapses.gate.enter()]
        let order = try Self.order(folder)
        let tasks = (0..<2).map { _ in Task { try await timeLapses.timeLapse(order) } }
        await until { timeLapses.gate.waiting == 1 }
        for task in tasks { task.cancel() }
        for task in tasks {
          await #expect(throws: CancellationError.self) { _ = try await task.value }
        }
        await until { timeLapses.gate.waiting == 0 }
        #expect(timeLapses.count == 0)

        let other = Task { try await timeLapses.timeLapse(order) }
        await until { timeLapses.gate.waiting == 1 }
        held.removeAll()
        #expect(try await other.value.pictureCount == 2)
        #expect(timeLapses.count == 1)
      }
    }
  }

  @Test("a time-lapse can be read at any offset, as often as it is held")
  func reading() async throws {
    try await withTemporaryFolder { folder in
      try StoredTestPictures.store([100, 200], in: folder)
      try await Self.withTimeLapses(folder) { timeLapses in
        let made = try await timeLapses.timeLapse(Self.order(folder))
        var whole: [UInt8] = []
        while true {
          let part = await made.read(whole.count, 100)
          guard !part.isEmpty else { break }
          whole += part
        }
        #expect(whole.count == made.byteCount && whole[4..<8].elementsEqual("ftyp".utf8))
        #expect(await made.read(made.byteCount - 3, 100) == Array(whole.suffix(3)))
        #expect(await made.read(made.byteCount, 100) == [])
        // It does not depend on the folder.
        timeLapses.expire(at: CaptureClock.now + TimeLapses.lifetime)
        try FileManager.default.removeItem(at: folder.appending(path: "door"))
        #expect(await made.read(0, 8) == Array(whole.prefix(8)))
      }
    }
  }
}

@Suite("Files without a name")
struct DiskFileTests {
  @Test(
    "a file without a name has what was written, in the folder or in that of temporary files",
    arguments: ["", "missing"])
  func unnamed(place: String) async throws {
    try await withTemporaryFolder { folder in
      let file = try DiskFile(unnamedIn: folder.appending(path: place).path)
      try await file.write([1, 2, 3], at: 0)
      try await file.write([4, 5], at: 3)
      #expect(await file.read(0, 10) == [1, 2, 3, 4, 5])
      #expect(await file.read(2, 2) == [3, 4])
      #expect(await file.read(5, 1) == [])
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
    }
  }

  @Test("a full disk is reported as such")
  func full() async throws {
    let full = DiskFile(unsafe open("/dev/full", O_WRONLY | O_CLOEXEC))
    await #expect(throws: DiskError(ENOSPC)) { try await full.write([1], at: 0) }
    #expect(DiskError(ENOSPC).isFull && DiskError(EDQUOT).isFull && !DiskError(EIO).isFull)
  }
}
