// Equal work at the same time is done once, and what was done last is kept for a while, as far as there is room.
internal import NIOCore
internal import Synchronization

/// Values by key: made once for all who want one at the same time; of those that are made, the newest are kept.
final class SharedWork<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private let state = Mutex(State())
  private let capacity: Int
  private let cost: @Sendable (Value) -> Int

  private struct State {
    /// What is being made. A task that is done holds more than its value.
    var tasks: [Key: Task<Value, any Error>] = [:]
    /// What is made and kept, and in which order it came.
    var values: [Key: (value: Value, bytes: Int)] = [:]
    var order = CircularBuffer<Key>()
    var bytes = 0
  }

  private enum Found {
    case value(Value)
    case task(Task<Value, any Error>)
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
    let found = try state.withLock { state -> Found in
      if let known = state.values[key] { return .value(known.value) }
      if let task = state.tasks[key] { return .task(task) }
      let pass = try admission()
      // Not the task of whoever asks first: he may go while others wait.
      let task = Task {
        defer { withExtendedLifetime(pass) {} }
        do {
          let value = try await make()
          keep(value, of: key)
          return value
        } catch {
          self.state.withLock { $0.tasks[key] = nil }
          throw error
        }
      }
      state.tasks[key] = task
      return .task(task)
    }
    switch found {
    case .value(let value): return value
    case .task(let task): return try await task.value
    }
  }

  private func keep(_ value: Value, of key: Key) {
    let bytes = cost(value) + Self.overhead
    state.withLock { state in
      state.tasks[key] = nil
      state.values[key] = (value, bytes)
      state.order.append(key)
      state.bytes += bytes
      while state.bytes > capacity, let oldest = state.order.popFirst() {
        state.bytes -= state.values.removeValue(forKey: oldest)?.bytes ?? 0
      }
    }
  }

  /// How many bytes are kept.
  var byteCount: Int { state.withLock { $0.bytes } }
}
