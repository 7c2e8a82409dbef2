// A value that tasks can wait on.
internal import Synchronization

/// A value protected by a lock, with a way to wait for its changes.
///
/// ```swift
/// let log = Watched<[String]>([])
/// log.update { $0.append("door opened") }
/// let first = try await log.first { $0.first }
/// ```
package final class Watched<Value: Sendable>: Sendable {
  private struct State {
    var value: Value
    /// The number of updates.
    var version = 0
    var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
    var lastID = 0
  }

  private let state: Mutex<State>

  package init(_ value: Value) { state = Mutex(State(value: value)) }

  /// The current value.
  package var value: Value { state.withLock { $0.value } }

  /// The number of waiting tasks.
  package var waitingCount: Int { state.withLock { $0.waiting.count } }

  /// Reads the value, or changes a part that no task waits for.
  package func withLock<Result: Sendable, Failure: Error>(
    _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try state.withLock { state throws(Failure) in try body(&state.value) }
  }

  /// Changes the value and lets every waiting task check it again.
  package func update<Result: Sendable, Failure: Error>(
    _ change: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
    // Resume outside the lock: resuming locks the task, and a cancelled task locks this.
    defer { for continuation in waiting.values { continuation.resume() } }
    return try state.withLock { state throws(Failure) in
      defer {
        state.version += 1
        swap(&waiting, &state.waiting)
      }
      return try change(&state.value)
    }
  }

  /// Waits until `look` returns a result. It runs under the lock, immediately and after each update, and may
  /// change the value, for example to take an element. That does not wake other tasks.
  ///
  /// - Parameters:
  ///   - deadline: the end of the wait; nil for no end.
  ///   - look: returns the result, or nil to keep waiting.
  /// - Returns: the result of `look`; nil after `deadline`.
  /// - Throws: the errors of `look`; `CancellationError` if the task is cancelled before there is a result.
  package func first<Result: Sendable>(
    until deadline: CaptureInstant? = nil, _ look: (inout Value) throws -> Result?
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

  private func waitForUpdate(after version: Int, _ id: Int, until deadline: CaptureInstant?) async {
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

  private func wake(_ id: Int, at deadline: CaptureInstant) async {
    if (try? await CaptureClock().sleep(until: deadline)) != nil { wake(id) }
  }
}
