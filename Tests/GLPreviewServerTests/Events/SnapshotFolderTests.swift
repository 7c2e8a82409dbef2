// Snapshots in a folder: whole files, no more than may be kept, and nothing outside of it.
import CoreMetrics
import Foundation
import GLPreview
import Logging
import Testing

@testable import GLPreviewServer

@Suite("The folder of snapshots")
struct SnapshotFolderTests {
  private static let noon = WallTime(sinceEpoch: .seconds(1_700_000_000))

  private static func name(_ camera: String, _ view: String, _ seconds: Int = 0) -> SnapshotFileName {
    SnapshotFileName(
      camera: camera, view: view, time: WallTime(sinceEpoch: noon.sinceEpoch + .seconds(seconds)))
  }

  /// An empty folder that goes when `body` is over.
  private static func withFolder<T>(_ body: (URL) async throws -> T) async throws -> T {
    let folder = URL.temporaryDirectory.appending(path: "glpreview-folder-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    return try await body(folder)
  }

  private static func files(_ folder: URL) -> [String] {
    let names = FileManager.default.enumerator(atPath: folder.path)?.compactMap { $0 as? String } ?? []
    return names.filter { $0.contains("/") }.sorted()
  }

  private static func snapshot(_ camera: String, _ views: [String], _ seconds: Int) -> Snapshot {
    let picture = Picture(
      tight: Size(width: 16, height: 16), format: .rgba, bytes: [UInt8](repeating: 9, count: 1024))
    return Snapshot(
      camera: camera, sequence: 1, timestamp: .zero,
      time: WallTime(sinceEpoch: noon.sinceEpoch + .seconds(seconds)),
      pictures: views.map { SnapshotPicture(name: $0, picture: picture) })
  }

  @Test("names sort by time, and no name leads anywhere else")
  func names() {
    #expect(Self.name("door", "main").file == "2023-11-14T22-13-20.000Z-main.jpg")
    #expect(Self.name("../etc", "a/b:ü.x").camera == "%2E.%2Fetc")
    #expect(Self.name("d", "a/b:ü.x").file == "2023-11-14T22-13-20.000Z-a%2Fb%3A%C3%BC.x.jpg")
    #expect(Self.name("", ".").camera == "_")
    #expect(Self.name("d", "m").numbered(2) == "2023-11-14T22-13-20.000Z-m-2.jpg")
    let name = Self.name("d", "m")
    #expect(SnapshotFileName(camera: "d", file: name.file) == name)
    for other in ["notes.jpg", "2023-11-14T22-13-20.000Z-m.png", "2023-11-14T22:13:20.000Z-m.jpg"] {
      #expect(SnapshotFileName(camera: "d", file: other) == nil)
    }
  }

  @Test("a picture is written whole, the second of one name beside the first")
  func write() async throws {
    try await Self.withFolder { folder in
      var store = try FolderStore(SnapshotFolderConfiguration(path: folder.path))
      let name = Self.name("door", "main")
      #expect(try store.write([1, 2, 3], as: name) == "door/\(name.file)")
      #expect(try store.write([4], as: name) == "door/\(name.numbered(2))")
      #expect(Self.files(folder) == ["door/\(name.numbered(2))", "door/\(name.file)"])
      #expect(try Data(contentsOf: folder.appending(path: "door/\(name.file)")) == Data([1, 2, 3]))
    }
  }

  @Test("a camera's folder that is a link is not followed, and a file in its place is no folder")
  func links() async throws {
    try await Self.withFolder { folder in
      let inside = folder.appending(path: "in")
      let outside = folder.appending(path: "out")
      for folder in [inside, outside] {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
      }
      try FileManager.default.createSymbolicLink(
        at: inside.appending(path: "door"), withDestinationURL: outside)
      try Data().write(to: inside.appending(path: "gate"))
      var store = try FolderStore(SnapshotFolderConfiguration(path: inside.path))
      #expect(throws: FolderError.self) { try store.write([1], as: Self.name("door", "main")) }
      let error = #expect(throws: FolderError.self) { try store.write([1], as: Self.name("gate", "main")) }
      #expect(error?.description == "\(inside.path)/gate: Not a directory")
      #expect(try FileManager.default.contentsOfDirectory(atPath: outside.path).isEmpty)
    }
  }

  @Test("what an earlier life left half written goes at the start; what somebody else writes or keeps stays")
  func leftovers() async throws {
    try await Self.withFolder { folder in
      let door = folder.appending(path: "door")
      try FileManager.default.createDirectory(at: door, withIntermediateDirectories: false)
      let kept = [".glpreview-1-7.part", "notes.txt", Self.name("door", "main").file]
      for name in kept + [".glpreview-\(getpid())-3.part", ".glpreview-2147483646-3.part"] {
        try Data([1]).write(to: door.appending(path: name))
      }
      _ = try FolderStore(SnapshotFolderConfiguration(path: folder.path))
      #expect(Set(Self.files(folder)) == Set(kept.map { "door/\($0)" }))
    }
  }

  @Test("the oldest go first: by count, by bytes, by age, those of an earlier life too")
  func retention() async throws {
    try await Self.withFolder { folder in
      var limits = SnapshotFolderConfiguration(path: folder.path)
      do {
        var store = try FolderStore(limits)
        for second in 0..<6 {
          _ = try store.write(
            [UInt8](repeating: 1, count: 100), as: Self.name(second % 2 == 0 ? "a" : "b", "m", second))
        }
        #expect(store.prune(now: Self.noon) == 0)
      }
      try Data([1]).write(to: folder.appending(path: "a/notes.jpg"))
      func left() -> [Int] {
        (0..<9).filter { second in
          ["a", "b"].contains { Self.files(folder).contains("\($0)/\(Self.name($0, "m", second).file)") }
        }
      }
      limits.maximumCount = 5
      var store = try FolderStore(limits)
      #expect(store.count == 6)
      #expect(store.prune(now: Self.noon) == 1)
      #expect(left() == [1, 2, 3, 4, 5])
      _ = try store.write([1], as: Self.name("a", "m", 6))
      #expect(store.prune(now: Self.noon) == 1)
      #expect(left() == [2, 3, 4, 5, 6])

      limits.maximumBytes = 250
      store = try FolderStore(limits)
      #expect(store.prune(now: Self.noon) == 2)
      #expect(left() == [4, 5, 6])

      limits.maximumAge = .seconds(10)
      store = try FolderStore(limits)
      #expect(store.prune(now: WallTime(sinceEpoch: Self.noon.sinceEpoch + .seconds(15))) == 1)
      #expect(left() == [5, 6])
      #expect(Self.files(folder).contains("a/notes.jpg"))
    }
  }

  @Test("what is known of files stays right when a clock goes back, and after many")
  func retained() {
    var limits = SnapshotFolderConfiguration(path: "/")
    limits.maximumCount = 3
    var files = RetainedFiles(limits)
    for second in [5, 1, 3, 4, 2] { files.add(.init(name: Self.name("a", "m", second), bytes: 1)) }
    #expect(files.removeExcess(now: Self.noon).map(\.name) == [1, 2].map { Self.name("a", "m", $0) })
    for second in 6..<3000 {
      files.add(.init(name: Self.name("a", "m", second), bytes: 1))
      #expect(files.removeExcess(now: Self.noon).map(\.name) == [Self.name("a", "m", second - 3)])
    }
    #expect(files.count == 3)
  }

  @Test(
    "all views of a snapshot are kept and counted; a folder that can't be is told of once, and tried again")
  func folder() async throws {
    try await Self.withFolder { folder in
      let metrics = PrometheusMetrics()
      let records = LogRecords()
      var configuration = SnapshotFolderConfiguration(path: folder.appending(path: "later/in").path)
      configuration.maximumCount = 3
      let kept = SnapshotFolder(
        configuration, metrics: ServiceMetrics(metrics), logger: records.logger, now: { Self.noon })
      kept.add(Self.snapshot("door", ["a"], 0))
      kept.add(Self.snapshot("door", ["a", "b"], 1))
      await kept.flush()
      #expect(records.messages == ["a snapshot can't be kept"])
      #expect(await metrics.text().contains(#"glpreview_folder_files_total{result="failed"} 3"#))

      try FileManager.default.createDirectory(
        at: folder.appending(path: "later"), withIntermediateDirectories: false)
      kept.add(Self.snapshot("door", ["a", "b"], 2))
      kept.add(Self.snapshot("gate", ["a", "b"], 3))
      await kept.flush()
      #expect(records.messages.last == "snapshots can be kept again")
      let files = Self.files(folder.appending(path: "later/in"))
      #expect(files.count == 3)
      #expect(files.contains("gate/\(Self.name("gate", "b", 3).file)"))
      let text = await metrics.text()
      #expect(text.contains(#"glpreview_folder_files_total{result="done"} 4"#))
      #expect(text.contains("glpreview_folder_removed_total 1"))
      let jpeg = try Data(
        contentsOf: folder.appending(path: "later/in/gate/\(Self.name("gate", "b", 3).file)"))
      #expect(jpeg.starts(with: [0xFF, 0xD8]) && jpeg.suffix(2) == Data([0xFF, 0xD9]))
    }
  }
}
