// Equal work at the same time is done once, and what was done last is kept for a while.
internal import Synchronization

/// Values by key: made once for all who want one at the same time; the last few are kept.
final class SharedWork<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private let state: Mutex<State>
  private let capacity: Int

  private struct State {
    var tasks: [Key: Task<Value, any Error>] = [:]
    /// In the order in which they were begun.
    var order: [Key] = []
  }

  /// - Parameter capacity: how many values are kept.
  init(capacity: Int) {
    self.capacity = capacity
    state = Mutex(State())
  }

  /// The value of `key`, which `make` makes where it is neither there nor being made. What fails is not kept.
  func value(_ key: Key, _ make: @escaping @Sendable () async throws -> Value) async throws -> Value {
    let task = state.withLock { state in
      if let task = state.tasks[key] { return task }
      // Not the task of whoever asks first: he may go while others wait.
      let task = Task { try await make() }
      state.tasks[key] = task
      state.order.append(key)
      while state.order.count > capacity { state.tasks[state.order.removeFirst()] = nil }
      return task
    }
    do {
      return try await task.value
    } catch {
      state.withLock { state in
        guard state.tasks[key] == task else { return }
        state.tasks[key] = nil
        state.order.removeAll { $0 == key }
      }
      throw error
    }
  }

  /// Whether a value is there, or is being made.
  func has(_ key: Key) -> Bool { state.withLock { $0.tasks[key] != nil } }
}
