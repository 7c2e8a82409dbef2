// Limits how much is in progress.
internal import Synchronization

/// A number of places. FIFO hand-off: free places go to the longest waiter.
package final class Places: Sendable {
  private let count: Int
  private let state: Mutex<State>

  private struct State {
    var free: Int
    var waiting: [(wanted: Int, continuation: CheckedContinuation<Void, Never>)] = []

    /// Gives free places to those who have waited longest.
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

    /// Whether nothing else is in progress.
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

  /// Works once there is a place.
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
