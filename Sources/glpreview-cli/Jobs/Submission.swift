// Submits a batch and follows its results.
import FoundationEssentials
import GLPreview
import NATS
import Synchronization

struct Submission: Sendable {
  let queue: JobQueue
  let batch: String
  let isQuiet: Bool
  let reportsJobs: Bool

  /// The number of concurrent requests.
  private static let width = 32

  static func count(_ jobs: Int) -> String { jobs == 1 ? "1 job" : "\(jobs) jobs" }

  /// Queues the jobs.
  func submit(_ jobs: [Job]) async throws {
    let next = Mutex(jobs.makeIterator())
    try await orderedMap(width: Self.width) {
      next.withLock { $0.next() }
    } _: { job in
      try await queue.submit(job)
    } to: { _ in
    }
    guard !jobs.isEmpty else { return }
    let record = Array(try BatchRecord(jobs: jobs.count).jsonLine().utf8)
    _ = try await queue.retrying { try await queue.results.put(BatchRecord.key(batch), record) }
  }

  /// Queues the jobs, and returns when all are done. Without jobs, follows the existing jobs of the batch.
  ///
  /// - Throws: `BatchError` if jobs failed.
  func submitAndFollow(_ jobs: [Job]) async throws {
    guard !jobs.isEmpty else { return try await follow(nil) }
    try await withThrowingTaskGroup { group in
      group.addTask { try await submit(jobs) }
      group.addTask { try await follow(Set(jobs.map(\.id))) }
      do {
        for try await _ in group {}
      } catch {
        group.cancelAll()
        throw error
      }
    }
  }

  /// The results of a batch so far.
  private struct Tally {
    /// The ids to wait for; nil to wait for all jobs of the batch.
    let wanted: Set<String>?
    var seen: Set<String> = []
    var failed = 0
    var missing = 0
    /// The number of jobs to wait for; nil until it is known.
    var total: Int?

    init(_ wanted: Set<String>?) { (self.wanted, total) = (wanted, wanted?.count) }

    var isComplete: Bool { total.map { seen.count >= $0 } ?? false }

    mutating func add(_ result: JobResult) -> Bool {
      guard wanted?.contains(result.id) ?? true, seen.insert(result.id).inserted else { return false }
      if result.state == .failed {
        failed += 1
        if result.status == ExitStatus.noInput { missing += 1 }
      }
      return true
    }
  }

  private func follow(_ wanted: Set<String>?) async throws {
    var tally = Tally(wanted)
    var progress = Progress(isQuiet: isQuiet, expectsManyFrames: tally.total != 1, "job")
    let watch = try queue.results.watch("\(batch).*")
    for try await element in watch {
      if case .current = element, wanted == nil, tally.total == nil {
        throw UsageError("no such batch: \(batch) (batches are kept for 7 days)")
      }
      if case .entry(let entry) = element {
        if entry.key == BatchRecord.key(batch) {
          let record = try? JSONDecoder().decode(BatchRecord.self, from: Data(entry.value))
          if wanted == nil, let record { tally.total = record.jobs }
        } else if let result = try? JSONDecoder().decode(JobResult.self, from: Data(entry.value)),
          tally.add(result)
        {
          try report(result)
          progress.frameDone(of: tally.total)
        }
      }
      if tally.isComplete { break }
    }
    try Task.checkCancellation()
    progress.end(of: tally.total)
    guard tally.isComplete else { throw NATSError.closed }
    guard tally.failed == 0 else {
      throw BatchError(
        failedJobs: tally.failed, of: tally.seen.count, areMissing: tally.failed == tally.missing)
    }
    if !isQuiet { StandardError.print("glpreview: \(Self.count(tally.seen.count)) done") }
  }

  private func report(_ result: JobResult) throws {
    if reportsJobs { try StandardOutput.print(try result.jsonLine()) }
    guard result.state == .failed, !reportsJobs || !isQuiet else { return }
    let reason = result.reason ?? "failed"
    let name = reason.hasPrefix(result.source) ? "" : "\(result.source): "
    StandardError.print("glpreview: \(name)\(reason)".onOneLine)
  }
}
