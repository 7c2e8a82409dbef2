// A value that changes, and tasks that wait until it is what they need.
internal import Synchronization

/// A value behind a lock, with a way to wait for its changes.
///
/// ```swift
/// let log = Watched<[String]>([])
/// log.update { $0.append("door opened") }
/// let first = try await log.first { $0.first }
/// ```
package final class Watched<Value: Sendable>: Sendable {
  private struct State {
    var value: Value
    /// Counts updates.
    var version = 0
    var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
    var lastID = 0
  }

  private let state: Mutex<State>

  package init(_ value: Value) { state = Mutex(State(value: value)) }

  /// The value now.
  package var value: Value { state.withLock { $0.value } }

  /// How many tasks wait.
  package var waitingCount: Int { state.withLock { $0.waiting.count } }

  /// Reads the value, or changes what no task waits for.
  package func withLock<Result: Sendable, Failure: Error>(
    _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try state.withLock { state throws(Failure) in try body(&state.value) }
  }

  /// Changes the value; every waiting task then looks at it again.
  package func update<Result: Sendable, Failure: Error>(
    _ change: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
    // Tasks are resumed outside the lock: resuming locks the task, and a task that is cancelled locks this.
    defer { for continuation in waiting.values { continuation.resume() } }
    return try state.withLock { state throws(Failure) in
      defer {
        state.version += 1
        swap(&waiting, &state.waiting)
      }
      return try change(&state.value)
    }
  }

  /// Waits until `look` returns something. It runs under the lock, at once and after each update, and may change the value: what
  /// it takes is taken once, and no task waits for that.
  ///
  /// - Parameters:
  ///   - deadline: by `CaptureClock`; nil waits without a limit.
  ///   - look: what is waited for; nil where it is not there yet.
  /// - Returns: what `look` returned; nil after `deadline`.
  /// - Throws: what `look` throws; `CancellationError` where the task is cancelled before there is something.
  package func first<Result: Sendable>(
    until deadline: Duration? = nil, _ look: (inout Value) throws -> Result?
  ) async throws -> Result? {
    var timer: Task<Void, Never>?
    defer { timer?.cancel() }
    let id = state.withLock { state in
      state.lastID += 1
      return state.lastID
    }
    while true {
      let (result, version) = try state.withLock { (try look(&$0.value), $0.version) }
      if let result { return result }
      try Task.checkCancellation()
      if let deadline {
        guard CaptureClock.now < deadline else { return nil }
        timer = timer ?? Task { await self.wake(id, at: deadline) }
      }
      await waitForUpdate(after: version, id, until: deadline)
    }
  }

  private func waitForUpdate(after version: Int, _ id: Int, until deadline: Duration?) async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isOver = state.withLock { state in
          let isLate = deadline.map { $0 <= CaptureClock.now } ?? false
          guard state.version == version, !isLate, !Task.isCancelled else { return true }
          state.waiting[id] = continuation
          return false
        }
        if isOver { continuation.resume() }
      }
    } onCancel: {
      wake(id)
    }
  }

  private func wake(_ id: Int) { state.withLock { $0.waiting.removeValue(forKey: id) }?.resume() }

  private func wake(_ id: Int, at deadline: Duration) async {
    while CaptureClock.now < deadline {
      do { try await pause(deadline - CaptureClock.now) } catch { return }
    }
    wake(id)
  }
}
