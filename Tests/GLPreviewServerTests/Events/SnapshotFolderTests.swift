// Snapshots in a folder: whole files, no more than may be kept, and nothing outside of it.
import Foundation
import Logging
import ServiceLifecycle
import TestSupport
import Testing

@testable import GLPreview
@testable import ServiceCore
@testable import ServiceFoundation

@Suite("Snapshot folder")
struct SnapshotFolderTests {
  private static let noon = WallTime(sinceEpoch: .seconds(1_700_000_000))

  private static func name(_ camera: String, _ view: String, _ seconds: Int = 0) -> StampedFileName {
    StampedFileName(
      camera: camera, view: view, time: WallTime(sinceEpoch: noon.sinceEpoch + .seconds(seconds)))
  }

  private static func files(_ folder: URL) -> [String] {
    let names = FileManager.default.enumerator(atPath: folder.path)?.compactMap { $0 as? String } ?? []
    return names.filter { $0.contains("/") }.sorted()
  }

  private static func snapshot(_ camera: String, _ views: [String], _ seconds: Int) -> Snapshot {
    let picture = Picture(
      tight: Size(width: 16, height: 16), format: .rgba, bytes: [UInt8](repeating: 9, count: 1024))
    return Snapshot(
      camera: camera, sequence: 1, timestamp: .start,
      time: WallTime(sinceEpoch: noon.sinceEpoch + .seconds(seconds)),
      pictures: views.map {
        RenderedPicture(name: $0, picture: picture, PictureKey(sequence: 0), timestamp: .start)
      })
  }

  @Test("file names start with the time, escape camera and view names, and are parsed again")
  func names() {
    #expect(Self.name("door", "main").file == "2023-11-14T22-13-20.000Z-main.jpg")
    #expect(Self.name("../etc", "a/b:ü.x").camera == "%2E.%2Fetc")
    #expect(Self.name("d", "a/b:ü.x").file == "2023-11-14T22-13-20.000Z-a%2Fb%3A%C3%BC.x.jpg")
    #expect(Self.name("", ".").camera == "_")
    #expect(Self.name("d", "m").numbered(2) == "2023-11-14T22-13-20.000Z-m-2.jpg")

    let name = Self.name("d", "m")
    #expect(StampedFileName(camera: "d", file: name.file) == name)
    for other in ["notes.jpg", "2023-11-14T22-13-20.000Z-m.png", "2023-11-14T22:13:20.000Z-m.jpg"] {
      #expect(StampedFileName(camera: "d", file: other) == nil)
    }
  }

  @Test("a picture is written with restricted permissions, and numbered if its name exists")
  func write() async throws {
    try await withTemporaryFolder { folder in
      var store = try FolderStore(FolderConfiguration(path: folder.path), now: Self.noon, at: .start)
      let name = Self.name("door", "main")

      #expect(try store.write([1, 2, 3], as: name, at: .start) == "door/\(name.file)")
      #expect(try store.write([4], as: name, at: .start) == "door/\(name.numbered(2))")
      #expect(Self.files(folder) == ["door/\(name.numbered(2))", "door/\(name.file)"])
      #expect(try Data(contentsOf: folder.appending(path: "door/\(name.file)")) == Data([1, 2, 3]))

      // Others on the machine see nothing of it.
      for (path, mode) in [("door", 0o750), ("door/\(name.file)", 0o640)] {
        let attributes = try FileManager.default.attributesOfItem(atPath: folder.appending(path: path).path)
        let permissions = try #require(attributes[.posixPermissions] as? Int)
        #expect(permissions & ~mode == 0, "\(path)")
      }
    }
  }

  @Test("a camera folder that is a symbolic link or a file is rejected")
  func links() async throws {
    try await withTemporaryFolder { folder in
      let inside = folder.appending(path: "in")
      let outside = folder.appending(path: "out")
      for folder in [inside, outside] {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
      }
      try FileManager.default.createSymbolicLink(
        at: inside.appending(path: "door"), withDestinationURL: outside)
      try Data().write(to: inside.appending(path: "gate"))
      var store = try FolderStore(FolderConfiguration(path: inside.path), now: Self.noon, at: .start)

      #expect(throws: FolderError.self) { try store.write([1], as: Self.name("door", "main"), at: .start) }
      let error = #expect(throws: FolderError.self) {
        try store.write([1], as: Self.name("gate", "main"), at: .start)
      }
      #expect(error?.description == "\(inside.path)/gate: Not a directory")
      #expect(try FileManager.default.contentsOfDirectory(atPath: outside.path).isEmpty)
    }
  }

  @Test("the start removes partial files of ended processes and keeps all other files")
  func leftovers() async throws {
    try await withTemporaryFolder { folder in
      let door = folder.appending(path: "door")
      try FileManager.default.createDirectory(at: door, withIntermediateDirectories: false)
      let kept = [".glpreview-1-7.part", "notes.txt", Self.name("door", "main").file]
      for name in kept + [".glpreview-\(getpid())-3.part", ".glpreview-2147483646-3.part"] {
        try Data([1]).write(to: door.appending(path: name))
      }

      _ = try FolderStore(FolderConfiguration(path: folder.path), now: Self.noon, at: .start)

      #expect(Set(Self.files(folder)) == Set(kept.map { "door/\($0)" }))
    }
  }

  @Test("the oldest files are removed by count, bytes and age, also those of an earlier run")
  func retention() async throws {
    try await withTemporaryFolder { folder in
      var limits = FolderConfiguration(path: folder.path)
      do {
        var store = try FolderStore(limits, now: Self.noon, at: .start)
        for second in 0..<6 {
          _ = try store.write(
            [UInt8](repeating: 1, count: 100), as: Self.name(second % 2 == 0 ? "a" : "b", "m", second),
            at: .start)
        }
        #expect(store.prune(now: Self.noon, at: .start).isEmpty)
      }

      try Data([1]).write(to: folder.appending(path: "a/notes.jpg"))
      func left() -> [Int] {
        (0..<9).filter { second in
          ["a", "b"].contains { Self.files(folder).contains("\($0)/\(Self.name($0, "m", second).file)") }
        }
      }

      limits.maximumCount = 5
      var store = try FolderStore(limits, now: Self.noon, at: .start)
      #expect(store.prune(now: Self.noon, at: .start).count == 1)
      #expect(left() == [1, 2, 3, 4, 5])

      _ = try store.write([1], as: Self.name("a", "m", 6), at: .start)
      #expect(store.prune(now: Self.noon, at: .start).count == 1)
      #expect(left() == [2, 3, 4, 5, 6])

      limits.maximumBytes = 250
      store = try FolderStore(limits, now: Self.noon, at: .start)
      #expect(store.prune(now: Self.noon, at: .start).count == 2)
      #expect(left() == [4, 5, 6])

      // When the clock has had time to be set.
      limits.maximumAge = .seconds(700)
      let later = WallTime(sinceEpoch: Self.noon.sinceEpoch + .seconds(705))
      store = try FolderStore(limits, now: Self.noon, at: .start)
      #expect(store.prune(now: later, at: .second(705)).count == 1)
      #expect(left() == [5, 6])
      #expect(Self.files(folder).contains("a/notes.jpg"))
    }
  }

  @Test("files of this run are removed in the order of writing, whatever their timestamps")
  func retained() {
    var limits = FolderConfiguration(path: "/")
    limits.maximumCount = 3
    var files = RetainedFiles(limits, now: Self.noon, at: .start)
    let seconds = [5, 1, 3, 4, 2]
    for second in seconds { files.add(.init(name: Self.name("a", "m", second), bytes: 1), at: .start) }

    #expect(removed(&files, 0) == [5, 1])
    for second in 6..<3000 {
      files.add(.init(name: Self.name("a", "m", second), bytes: 1), at: .start)
      #expect(removed(&files, 0) == [(seconds + Array(6..<3000))[second - 4]])
    }
    #expect(files.count == 3)
  }

  @Test("files being written count towards the byte limit, but only complete files are removed")
  func open() {
    var limits = FolderConfiguration(path: "/")
    limits.maximumBytes = 100
    var files = RetainedFiles(limits, of: .recording, now: Self.noon, at: .start)
    for second in 1...3 { files.add(.init(name: Self.name("a", "m", second), bytes: 30), at: .start) }
    #expect(files.removeExcess(now: Self.noon, at: .start, besides: 10).isEmpty)
    #expect(files.removeExcess(now: Self.noon, at: .start, besides: 11).map(\.bytes) == [30])
    #expect(files.removeExcess(now: Self.noon, at: .start, besides: 1000, atMost: 1).count == 1)
    #expect(files.removeExcess(now: Self.noon, at: .start, besides: 1000).count == 1)
  }

  private static let seconds = Dictionary(
    uniqueKeysWithValues: (-4000..<4000).map { (name("a", "m", $0), $0) })

  /// The seconds in the names of what goes, `age` seconds after the start, the wall clock being off by `error` then.
  private func removed(_ files: inout RetainedFiles, _ age: Int, error: Int = 0) -> [Int] {
    let now = WallTime(sinceEpoch: Self.noon.sinceEpoch + .seconds(age + error))
    return files.removeExcess(now: now, at: .second(age)).compactMap { Self.seconds[$0.name] }
  }

  private func files(
    found: [Int], error: Int = 0, _ change: (inout FolderConfiguration) -> Void
  ) -> RetainedFiles {
    var limits = FolderConfiguration(path: "/")
    change(&limits)
    let now = WallTime(sinceEpoch: Self.noon.sinceEpoch + .seconds(error))
    var files = RetainedFiles(limits, now: now, at: .start)
    files.add(found.map { .init(name: Self.name("a", "m", $0), bytes: 1) })
    return files
  }

  @Test("files dated in the future are removed before new files, and a notice is given")
  func future() {
    var files = files(found: [3600, 3601, 3602, -10]) { $0.maximumCount = 4 }
    #expect(files.takeNotices().count == 1)

    for second in 1...3 {
      files.add(.init(name: Self.name("a", "m", second), bytes: 1), at: .second(second))
      #expect(removed(&files, second) == [3599 + second])
    }

    // Then the oldest that was found, and only then what was written.
    files.add(.init(name: Self.name("a", "m", 4), bytes: 1), at: .second(4))
    #expect(removed(&files, 4) == [-10])
    #expect(files.takeNotices().isEmpty)
    files.add(.init(name: Self.name("a", "m", 5), bytes: 1), at: .second(5))
    #expect(removed(&files, 5) == [1])
    #expect(files.takeNotices().count == 1)
  }

  @Test("a clock that jumps ahead expires no file early, and old files still expire")
  func jumpAhead() {
    var files = files(found: [-3000, -100]) { $0.maximumAge = .seconds(3600) }
    files.add(.init(name: Self.name("a", "m", 1), bytes: 1), at: .second(1))

    #expect(removed(&files, 10).isEmpty)
    #expect(removed(&files, 20, error: 300_000_000).isEmpty)
    #expect(files.takeNotices().count == 1)
    #expect(removed(&files, 599, error: 300_000_000).isEmpty)
    #expect(removed(&files, 650, error: 300_000_000) == [-3000])
    #expect(removed(&files, 3500) == [])
    #expect(removed(&files, 3550) == [-100])
    #expect(removed(&files, 3700) == [1])
    #expect(files.count == 0)
  }

  @Test("a clock that is ahead at the start and set back later expires no file early")
  func aheadAtStart() {
    var files = files(found: [-3000, -100], error: 300_000_000) { $0.maximumAge = .seconds(3600) }
    #expect(removed(&files, 10, error: 300_000_000).isEmpty)
    #expect(removed(&files, 60).isEmpty)
    #expect(removed(&files, 590).isEmpty)
    #expect(removed(&files, 650) == [-3000])
  }

  @Test("a clock that is behind at the start and corrected later lets files expire on time")
  func behindAtStart() {
    var files = files(found: [-3000, -100], error: -1_000_000_000) { $0.maximumAge = .seconds(3600) }
    // Until then they seem to come from the future.
    #expect(removed(&files, 10, error: -1_000_000_000).isEmpty)
    #expect(removed(&files, 20).isEmpty)
    #expect(removed(&files, 650) == [-3000])
    #expect(removed(&files, 3550) == [-100])
  }

  @Test("files are not tracked if there are no limits")
  func unlimited() {
    var files = files(found: []) { _ in }
    files.add(.init(name: Self.name("a", "m", 1), bytes: 1), at: .start)
    #expect(files.count == 0 && removed(&files, 1_000_000).isEmpty)
  }

  @Test(
    "all views of a snapshot are saved and counted; a missing folder is logged once and retried")
  func folder() async throws {
    try await withTemporaryFolder { folder in
      let metrics = ServiceMetrics()
      let records = LogRecords()
      var configuration = FolderConfiguration(path: folder.appending(path: "later/in").path)
      configuration.maximumCount = 3
      let kept = SnapshotFolder(
        configuration, metrics: metrics, logger: records.logger, now: { Self.noon }, clock: { .start })

      kept.add(Self.snapshot("door", ["a"], 0))
      kept.add(Self.snapshot("door", ["a", "b"], 1))
      await kept.flush()

      #expect(records.messages == ["snapshot not saved"])
      #expect(metrics.text.contains(#"glpreview_folder_files_total{result="failed"} 3"#))

      try FileManager.default.createDirectory(
        at: folder.appending(path: "later"), withIntermediateDirectories: false)
      kept.add(Self.snapshot("door", ["a", "b"], 2))
      kept.add(Self.snapshot("gate", ["a", "b"], 3))
      await kept.flush()

      #expect(records.messages.contains("saving of snapshots resumed"))
      let files = Self.files(folder.appending(path: "later/in"))
      #expect(files.count == 3)
      // The first millisecond of a second belongs to schedules.
      let name = Self.name("gate", "b", 3).file.replacing(".000Z", with: ".001Z")
      #expect(files.contains("gate/\(name)"))
      let text = metrics.text
      #expect(text.contains(#"glpreview_folder_files_total{result="done"} 4"#))
      #expect(text.contains("glpreview_folder_removed_total 1"))
      let jpeg = try Data(
        contentsOf: folder.appending(path: "later/in/gate/\(name)"))
      #expect(jpeg.starts(with: [0xFF, 0xD8]) && jpeg.suffix(2) == Data([0xFF, 0xD9]))
    }
  }

  @Test("if there are too many files to track, the tracked ones are limited and a notice is given")
  func tooMany() async throws {
    try await withTemporaryFolder { folder in
      let door = folder.appending(path: "door")
      try FileManager.default.createDirectory(at: door, withIntermediateDirectories: false)
      for second in 0..<5 {
        try Data([1]).write(to: door.appending(path: Self.name("door", "main", second).file))
      }
      try Data([1]).write(to: door.appending(path: ".glpreview-2147483646-3.part"))
      var configuration = FolderConfiguration(path: folder.path)
      configuration.maximumCount = 2
      let noon = WallTime(sinceEpoch: Self.noon.sinceEpoch + .seconds(10))
      var store = try FolderStore(configuration, now: noon, at: .start, mostFound: 3)

      #expect(store.takeFound().count == 3)
      #expect(store.prune(now: noon, at: .start).count == 1)
      #expect(Self.files(folder).count == 4)
      #expect(store.takeNotices().contains { $0.contains("3 files or more") })
      #expect(store.takeNotices().isEmpty)
    }
  }

  @Test("a disk that hangs does not delay the shutdown of the service", .timeLimit(.minutes(15)))
  func hangingDisk() async throws {
    try await withTemporaryFolder { folder in
      let (isAsked, isReleased) = (Watched(false), DispatchSemaphore(value: 0))
      let logger = LogRecords().logger
      let kept = SnapshotFolder(
        FolderConfiguration(path: folder.path), metrics: ServiceMetrics(), logger: logger,
        now: {
          isAsked.update { $0 = true }
          isReleased.wait()
          isReleased.signal()
          return Self.noon
        })
      let group = ServiceGroup(services: [kept], logger: logger)
      async let running: Void = group.run()
      await until { isAsked.value }

      await group.triggerGracefulShutdown()
      try await running

      isReleased.signal()
      await kept.flush()
    }
  }
}
