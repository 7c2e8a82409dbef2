// What a job takes of a worker's memory: as much as a few of its views, however many it has.
import Foundation
import GLPreview
import Synchronization
import TestSupport
import Testing

@testable import glpreview_cli

@Suite("Memory use of jobs", .timeLimit(.minutes(15)))
struct JobMemoryTests {
  private static func permissions(mostOfJob: Int = .max) -> JobPermissions {
    JobPermissions(
      sources: nil, folder: nil, readable: HostList([]), writable: HostList([]), maximumPixels: 100_000_000,
      maximumPixelsOfJob: mostOfJob, limit: .seconds(1_000_000))
  }

  /// Renders a job, and returns what `budget` had reserved when each picture was delivered.
  private static func render(
    _ words: [String], within budget: MemoryBudget, mostOfJob: Int = .max,
    deliver: @escaping () async throws -> Void = {}
  ) async throws -> [Int] {
    let renderer = JobRenderer(.gpu, .software, budget: budget, concurrency: 2)
    let job = Job(id: "i", batch: "b", source: "pattern:smpte,size=64x48", words: words, to: "{view}.png")
    var reserved: [Int] = []
    try await renderer.render(
      job, try job.options(), as: .png, permissions(mostOfJob: mostOfJob)
    ) { picture, view in
      #expect(view == reserved.count && !picture.bytes.isEmpty)
      reserved.append(budget.reserved)
      try await deliver()
    }
    return reserved
  }

  private static func views(_ count: Int, _ size: String) -> [String] {
    (0..<count).flatMap { ["--view", "v\($0):size=\(size),mode=stretch"] }
  }

  @Test("a job with five 9-megapixel views reserves less than 60 MB and is never refused memory")
  func manyViews() async throws {
    // Samples and file of one: 2 * 4 * 9 megapixels, beside the device's own of 4 * 9.
    let budget = MemoryBudget(capacity: 130_000_000)

    let reserved = try await Self.render(Self.views(5, "3000x3000"), within: budget)

    #expect(reserved.count == 5)
    #expect(budget.refusals == 0)
    // Of encoded pictures there is hardly anything, and the device keeps its target.
    #expect(reserved.allSatisfy { $0 < 60_000_000 }, "\(reserved)")
  }

  @Test("a job larger than the whole memory budget fails permanently, and the error names --memory")
  func tooLarge() async throws {
    let error = await #expect(throws: JobFailure.self) {
      try await Self.render(Self.views(2, "3000x3000"), within: MemoryBudget(capacity: 40_000_000))
    }

    #expect(error?.isTemporary == false)
    #expect(error?.description.contains("--memory") == true)
  }

  @Test("a job above the total pixel limit fails permanently before a picture is delivered")
  func tooMany() async throws {
    let error = await #expect(throws: JobFailure.self) {
      try await Self.render(
        Self.views(3, "100x100"), within: MemoryBudget(capacity: 100 << 20), mostOfJob: 29_999,
        deliver: { Issue.record("a picture is delivered") })
    }

    #expect(error?.isTemporary == false)
    #expect(error?.description.contains("--max-job-megapixels") == true)
  }

  @Test("a cancelled job throws CancellationError and delivers no further picture")
  func cancelled() async throws {
    let delivered = Mutex(0)
    let task = Task {
      try await Self.render(
        Self.views(3, "3000x3000"), within: MemoryBudget(capacity: 1 << 30),
        deliver: {
          delivered.withLock { $0 += 1 }
          await until { Task.isCancelled }
        })
    }
    await until { delivered.withLock { $0 } > 0 }
    task.cancel()

    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(delivered.withLock { $0 } == 1)
  }
}
