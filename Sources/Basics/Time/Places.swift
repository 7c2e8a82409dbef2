// Limits the number of concurrent operations.
internal import Synchronization

/// A counting semaphore. Free places go to the task that has waited longest (FIFO).
package final class Places: Sendable {
  private let count: Int
  private let state: Mutex<State>

  private struct State {
    var free: Int
    var waiting: [(wanted: Int, continuation: CheckedContinuation<Void, Never>)] = []

    /// Assigns free places to the tasks that have waited longest.
    mutating func admit() -> [CheckedContinuation<Void, Never>] {
      var admitted: [CheckedContinuation<Void, Never>] = []
      while let first = waiting.first, first.wanted <= free {
        free -= first.wanted
        admitted.append(waiting.removeFirst().continuation)
      }
      return admitted
    }
  }

  /// Places that are occupied until this object is released.
  package final class Held: Sendable {
    private let places: Places
    private let count: Int

    /// Whether these are all places, so that nothing else is in progress.
    package var isAlone: Bool { count == places.count }

    fileprivate init(_ places: Places, _ count: Int) { (self.places, self.count) = (places, count) }

    deinit { places.leave(count) }
  }

  package init(_ count: Int) {
    self.count = count
    state = Mutex(State(free: count))
  }

  /// Waits for a place; for all of them if `alone`.
  package func take(alone: Bool = false) async -> Held {
    let wanted = alone ? count : 1
    await withCheckedContinuation { continuation in
      let admitted = state.withLock { state in
        state.waiting.append((wanted, continuation))
        return state.admit()
      }
      for continuation in admitted { continuation.resume() }
    }
    return Held(self, wanted)
  }

  /// Runs `work` once a place is free.
  package func occupied<Output: Sendable>(_ work: @Sendable () async throws -> Output) async throws -> Output
  {
    let held = await take()
    defer { withExtendedLifetime(held) {} }
    return try await work()
  }

  private func leave(_ count: Int) {
    let admitted = state.withLock { state in
      state.free += count
      return state.admit()
    }
    for continuation in admitted { continuation.resume() }
  }
}
