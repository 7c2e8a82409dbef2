// The limits of time-lapses: bytes of files, room on the disk, and how long one is made without a request.
import Foundation
import GLPreview
import HTTPTypes
import PreviewCore
import TestSupport
import Testing

@testable import GLPreviewServer
@testable import Schedules
@testable import ServiceCore
@testable import ServiceFoundation

@Suite(
  "Limits of time-lapses", .enabled(if: hasEncoder, "no encoder of H.264: scripts/setup"),
  .timeLimit(.minutes(15)))
struct TimeLapseLimitTests {
  private typealias Kept = KeptTimeLapseTests

  @Test("a file above the limit is refused with advice, and leaves no bytes behind")
  func large() async throws {
    try await withTemporaryFolder { folder in
      try StoredTestPictures.store([100, 200], in: folder)
      try await Kept.withTimeLapses(folder, mostBytes: 10) { timeLapses in
        let order = try Kept.order(folder)
        let problem = await #expect(throws: Problem.self) { try await timeLapses.timeLapse(order) }
        #expect(problem?.status == .badRequest && problem?.detail.contains("at most 10 bytes") == true)
        #expect(problem?.detail.contains("'every' or a smaller 'width'") == true)
        await until { timeLapses.maker.files.reserved == 0 }
      }
    }
  }

  @Test("files count until their last reader has released them; above 4 GiB no other one is made")
  func held() async throws {
    try await withTemporaryFolder { folder in
      try StoredTestPictures.store([100, 200], in: folder)
      try await Kept.withTimeLapses(folder) { timeLapses in
        let files = timeLapses.maker.files
        var read: TimeLapse? = try await timeLapses.timeLapse(Kept.order(folder))
        #expect(files.reserved > 0)
        timeLapses.expire(at: CaptureClock.now + TimeLapses.lifetime)
        #expect(timeLapses.count == 0 && files.reserved > 0)
        #expect(await read?.read(4, 4) == Array("ftyp".utf8))
        read = nil
        await until { files.reserved == 0 }

        var slow: MemoryLease? = try files.reserve(5 << 30)
        let order = try Kept.order(folder, fps: 5)
        let problem = await #expect(throws: Problem.self) { try await timeLapses.timeLapse(order) }
        #expect(problem?.status == .serviceUnavailable, "\(slow?.byteCount ?? 0)")
        slow = nil
        await until { files.reserved == 0 }
        #expect(try await timeLapses.timeLapse(order).pictureCount == 2)
      }
    }
  }

  @Test("a retry joins a time-lapse whose only request was cancelled")
  func retry() async throws {
    try await withTemporaryFolder { folder in
      try StoredTestPictures.store([100, 200], in: folder)
      try await Kept.withTimeLapses(folder, holding: allTheTimeThereIs) { timeLapses in
        var places = [try timeLapses.gate.enter(), try timeLapses.gate.enter()]
        let order = try Kept.order(folder)
        let first = Task { try await timeLapses.timeLapse(order) }
        // The request, and the task that waits on in its place.
        await until { timeLapses.flights.waiters(for: order.key) == 2 && timeLapses.gate.waiting == 1 }
        first.cancel()
        await #expect(throws: CancellationError.self) { _ = try await first.value }
        #expect(timeLapses.flights.waiters(for: order.key) == 1 && timeLapses.gate.waiting == 1)

        let second = Task { try await timeLapses.timeLapse(order) }
        await until { timeLapses.flights.waiters(for: order.key) == 3 }
        places.removeAll()
        #expect(try await second.value.pictureCount == 2)
      }
    }
  }

  @Test("a time-lapse without a request gives its place to another one")
  func givenUp() async throws {
    try await withTemporaryFolder { folder in
      try StoredTestPictures.store([100, 200], in: folder)
      try await Kept.withTimeLapses(folder, holding: allTheTimeThereIs) { timeLapses in
        var places = [try timeLapses.gate.enter(), try timeLapses.gate.enter()]
        let (left, wanted) = (try Kept.order(folder), try Kept.order(folder, fps: 5))
        let first = Task { try await timeLapses.timeLapse(left) }
        await until { timeLapses.flights.waiters(for: left.key) == 2 && timeLapses.gate.waiting == 1 }
        first.cancel()
        await #expect(throws: CancellationError.self) { _ = try await first.value }

        let second = Task { try await timeLapses.timeLapse(wanted) }
        await until { timeLapses.flights.waiters(for: left.key) == 0 && timeLapses.gate.waiting == 1 }
        places.removeAll()
        #expect(try await second.value.pictureCount == 2)
        #expect(timeLapses.count == 1)
      }
    }
  }

  @Test(
    "a disk with less than 5 % or 256 MiB of room, whichever is less, is short",
    arguments: [
      (1000, 50, false), (1000, 49, true), (0, 0, false), (1e12, 268_435_456, false),
      (1e12, 268_435_455, true),
    ] as [(Double, Double, Bool)])
  func room(total: Double, free: Double, isShort: Bool) {
    #expect(DiskSpace(total: total, free: free).isShort == isShort)
  }

  @Test("the room of a file system is known for a file in it", arguments: ["", "missing"])
  func file(place: String) async throws {
    try await withTemporaryFolder { folder in
      let file = try DiskFile(unnamedIn: folder.appending(path: place).path)
      let space = try #require(await DiskSpace(of: file))
      #expect(space.total > 0 && space.free <= space.total)
    }
  }
}
