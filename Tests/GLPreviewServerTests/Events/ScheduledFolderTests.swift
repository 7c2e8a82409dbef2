// Snapshots of schedules in a folder: what replaces what, what a slow disk drops, and what may no longer be shown.
import Dispatch
import Foundation
import TestSupport
import Testing

@testable import GLPreview
@testable import ServiceCore
@testable import ServiceFoundation

@Suite("Scheduled snapshots in a folder", .timeLimit(.minutes(15)))
struct ScheduledFolderTests {
  private static let noon = WallTime(sinceEpoch: .seconds(1_700_000_000))

  /// A snapshot in one grey.
  private static func snapshot(
    _ camera: String = "door", views: [String] = ["main"], code: UInt8 = 9, _ state: SourceState = .live
  ) -> Snapshot {
    let picture = Picture(
      tight: Size(width: 16, height: 16), format: .rgba, bytes: [UInt8](repeating: code, count: 1024))
    return Snapshot(
      camera: camera, sequence: 1, timestamp: .start, time: noon, sourceState: state,
      pictures: views.map {
        RenderedPicture(
          name: $0, picture: picture, PictureKey(sequence: 0), timestamp: .start, sourceState: state)
      })
  }

  /// Names of the moment so many seconds after noon.
  private static func sending(_ second: Int = 0, isLatest: Bool = false) -> ScheduledSending {
    var sending = ScheduledSending(moment: WallTime(sinceEpoch: noon.sinceEpoch + .seconds(second)))
    (sending.isInSequence, sending.isLatest) = (true, isLatest)
    return sending
  }

  private static func files(_ folder: URL, _ camera: String = "door") -> [String] {
    let names = try? FileManager.default.contentsOfDirectory(atPath: folder.appending(path: camera).path)
    return (names ?? []).sorted()
  }

  private static func bytes(_ folder: URL, _ file: String) throws -> [UInt8] {
    try Array(Data(contentsOf: folder.appending(path: "door/\(file)")))
  }

  /// The value of the counter of files with a result.
  private static func count(_ result: String, _ metrics: ServiceMetrics) -> Int {
    let name = "glpreview_folder_files_total{result=\"\(result)\"} "
    let line = metrics.text.split(separator: "\n").first { $0.hasPrefix(name) }
    return line.flatMap { Int($0.dropFirst(name.count)) } ?? 0
  }

  @Test("a placeholder replaces no picture of its moment, and a picture replaces any")
  func placeholders() async throws {
    try await withTemporaryFolder { folder in
      let (metrics, records) = (ServiceMetrics(), LogRecords())
      let kept = SnapshotFolder(
        FolderConfiguration(path: folder.path), metrics: metrics, logger: records.logger)
      func written(_ snapshot: Snapshot, _ second: Int) async throws -> [UInt8] {
        kept.add(snapshot, Self.sending(second))
        await kept.flush()
        let file = try #require(Self.files(folder).last)
        return try Self.bytes(folder, file)
      }

      let picture = try await written(Self.snapshot(code: 10), 0)
      #expect(try await written(Self.snapshot(code: 90, .lost), 0) == picture)
      let other = try await written(Self.snapshot(code: 200), 0)
      #expect(other != picture)
      #expect(Self.files(folder) == ["2023-11-14T22-13-20.000Z-main.jpg"])

      let placeholder = try await written(Self.snapshot(code: 90, .lost), 1)
      #expect(placeholder != picture && placeholder != other)
      #expect(try await written(Self.snapshot(code: 10), 1) != placeholder)
      #expect(Self.files(folder).count == 2)
      #expect(try Self.bytes(folder, "2023-11-14T22-13-20.000Z-main.jpg") == other)
      #expect(Self.count("done", metrics) == 5 && records.messages == [])
    }
  }

  @Test("a picture of a moment and a posted one that was captured at its beginning are two files")
  func posted() async throws {
    try await withTemporaryFolder { folder in
      let kept = SnapshotFolder(
        FolderConfiguration(path: folder.path), metrics: ServiceMetrics(), logger: LogRecords().logger)
      kept.add(Self.snapshot(code: 10))
      await kept.flush()
      let posted = try Self.bytes(folder, "2023-11-14T22-13-20.001Z-main.jpg")
      kept.add(Self.snapshot(code: 200), Self.sending())
      kept.add(Self.snapshot(code: 90))
      await kept.flush()
      #expect(
        Self.files(folder).sorted() == [
          "2023-11-14T22-13-20.000Z-main.jpg", "2023-11-14T22-13-20.001Z-main-2.jpg",
          "2023-11-14T22-13-20.001Z-main.jpg",
        ])
      #expect(try Self.bytes(folder, "2023-11-14T22-13-20.001Z-main.jpg") == posted)
      #expect(try Self.bytes(folder, "2023-11-14T22-13-20.000Z-main.jpg") != posted)
    }
  }

  @Test("a placeholder is the latest picture too")
  func latestPlaceholder() async throws {
    try await withTemporaryFolder { folder in
      let kept = SnapshotFolder(
        FolderConfiguration(path: folder.path), metrics: ServiceMetrics(), logger: LogRecords().logger)
      kept.add(Self.snapshot(code: 10), Self.sending(isLatest: true))
      await kept.flush()
      let picture = try Self.bytes(folder, "latest-main.jpg")
      kept.add(Self.snapshot(code: 90, .lost), Self.sending(isLatest: true))
      await kept.flush()
      #expect(try Self.bytes(folder, "latest-main.jpg") != picture)
      #expect(try Self.bytes(folder, "2023-11-14T22-13-20.000Z-main.jpg") == picture)
    }
  }

  @Test("a picture that may no longer be shown when its turn comes is not written, and others are")
  func hidden() async throws {
    try await withTemporaryFolder { folder in
      let (metrics, records, mayShow) = (ServiceMetrics(), LogRecords(), Watched(true))
      let kept = SnapshotFolder(
        FolderConfiguration(path: folder.path), metrics: metrics, logger: records.logger)
      let isReleased = DispatchSemaphore(value: 0)
      kept.queue.async { isReleased.wait() }
      kept.add(Self.snapshot("posted", views: ["main", "face"])) { $0 == "face" || mayShow.value }
      kept.add(Self.snapshot("door"), Self.sending()) { _ in mayShow.value }
      mayShow.update { $0 = false }
      isReleased.signal()
      await kept.flush()

      #expect(Self.files(folder, "posted") == ["2023-11-14T22-13-20.001Z-face.jpg"])
      #expect(Self.files(folder) == [])
      #expect(Self.count("dropped", metrics) == 2 && Self.count("done", metrics) == 1)
      #expect(records.lines == ["snapshots for the folder dropped: reason=may no longer be shown"])

      kept.add(Self.snapshot("door"), Self.sending(1))
      await kept.flush()
      #expect(Self.files(folder).count == 1)
    }
  }

  @Test("while the disk hangs snapshots wait in their order, and those above a limit are dropped")
  func hanging() async throws {
    try await withTemporaryFolder { folder in
      let (metrics, records) = (ServiceMetrics(), LogRecords())
      let kept = SnapshotFolder(
        FolderConfiguration(path: folder.path), metrics: metrics, logger: records.logger,
        queueTimeout: allTheTimeThereIs)
      let isReleased = DispatchSemaphore(value: 0)
      kept.queue.async { isReleased.wait() }
      for second in 0..<100 {
        kept.add(
          Self.snapshot(code: UInt8(2 * second)), Self.sending(second, isLatest: true))
      }
      // 8 are on the queue, and 64 wait for it.
      #expect(Self.count("dropped", metrics) == 28)
      isReleased.signal()
      await until { Self.count("done", metrics) == 72 }
      await kept.flush()

      let names = Self.files(folder).filter { !$0.hasPrefix("latest-") }
      #expect(names.count == 72 && names.last == "2023-11-14T22-14-31.000Z-main.jpg")
      // The last one that was written is the last one of those.
      let newest = try Self.bytes(folder, try #require(names.last))
      #expect(try Self.bytes(folder, "latest-main.jpg") == newest)
      #expect(Self.count("dropped", metrics) == 28)
      #expect(records.lines == ["snapshots for the folder dropped: reason=too many wait"])
    }
  }

  @Test(
    "snapshots that wait for a slow disk hold at most so many bytes, but one may always wait",
    arguments: [(3000, 10), (1, 9)])
  func waitingBytes(mostBytes: Int, count: Int) async throws {
    try await withTemporaryFolder { folder in
      let metrics = ServiceMetrics()
      let kept = SnapshotFolder(
        FolderConfiguration(path: folder.path), metrics: metrics, logger: LogRecords().logger,
        queueTimeout: allTheTimeThereIs, mostBytes: mostBytes)
      let isReleased = DispatchSemaphore(value: 0)
      kept.queue.async { isReleased.wait() }
      // 8 are on the queue. Each has 1024 bytes.
      for second in 0..<20 { kept.add(Self.snapshot(), Self.sending(second)) }
      #expect(Self.count("dropped", metrics) == 20 - count)
      isReleased.signal()
      await until { Self.count("done", metrics) == count }
      await kept.flush()
      #expect(Self.files(folder).count == count && Self.count("dropped", metrics) == 20 - count)
    }
  }
}
