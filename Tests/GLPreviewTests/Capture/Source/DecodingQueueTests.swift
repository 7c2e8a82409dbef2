// The threads that decode and encode, beside Swift's own.
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import GLPreview

@Suite("DecodingQueue", .timeLimit(.minutes(15)))
struct DecodingQueueTests {
  private final class Jobs: Sendable {
    let running = Atomic(0)
    let areOver = Atomic(false)
  }

  @Test("jobs that use all decoding threads do not block other tasks")
  func others() async {
    let jobs = Jobs()
    let count = ProcessInfo.processInfo.activeProcessorCount

    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<4 * count {
        group.addTask(executorPreference: DecodingQueue.shared) {
          jobs.running.add(1, ordering: .relaxed)
          while !jobs.areOver.load(ordering: .relaxed) {}
        }
      }
      await until { jobs.running.load(ordering: .relaxed) >= count }

      for _ in 0..<100 { await Task.detached {}.value }
      jobs.areOver.store(true, ordering: .relaxed)
    }

    #expect(jobs.running.load(ordering: .relaxed) == 4 * count)
  }
}
