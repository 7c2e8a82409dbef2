// Equal work at the same time is done once, and what was done last is kept for a while, as far as there is room.
internal import Synchronization

/// Values by key: made once for all who want one at the same time; of those that are made, the newest are kept.
final class SharedWork<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private let state = Mutex(State())
  private let capacity: Int
  private let cost: @Sendable (Value) -> Int

  private struct State {
    var tasks: [Key: Task<Value, any Error>] = [:]
    /// What is made and kept, the oldest first.
    var kept: [(key: Key, bytes: Int)] = []
    var bytes = 0
  }

  /// What a value costs beside its bytes.
  private static var overhead: Int { 1024 }

  /// - Parameters:
  ///   - capacity: how many bytes of values are kept.
  ///   - cost: how many a value has.
  init(capacity: Int, cost: @escaping @Sendable (Value) -> Int) {
    self.capacity = capacity
    self.cost = cost
  }

  /// The value of `key`, which `make` makes where it is neither there nor being made. What fails is not kept.
  ///
  /// - Parameters:
  ///   - key: what makes values equal.
  ///   - admission: asked before something is made; its pass is held until that is done.
  ///   - make: makes it.
  /// - Returns: the value that was made, now or before.
  /// - Throws: what `admission` and `make` throw.
  func value(
    _ key: Key, _ admission: () throws -> AdHocPass, _ make: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    let task = try state.withLock { state in
      if let task = state.tasks[key] { return task }
      let pass = try admission()
      // Not the task of whoever asks first: he may go while others wait.
      let task = Task {
        defer { withExtendedLifetime(pass) {} }
        do {
          let value = try await make()
          keep(key, cost(value) + Self.overhead)
          return value
        } catch {
          self.state.withLock { $0.tasks[key] = nil }
          throw error
        }
      }
      state.tasks[key] = task
      return task
    }
    return try await task.value
  }

  private func keep(_ key: Key, _ bytes: Int) {
    state.withLock { state in
      state.kept.append((key, bytes))
      state.bytes += bytes
      while state.bytes > capacity {
        let oldest = state.kept.removeFirst()
        state.bytes -= oldest.bytes
        state.tasks[oldest.key] = nil
      }
    }
  }

  /// How many bytes are kept.
  var byteCount: Int { state.withLock { $0.bytes } }
}
