// Coalesces equal concurrent work, and caches the latest results as far as there is room.
internal import NIOCore
internal import Synchronization

/// Values by key. Each is made once for all concurrent requests; the newest are cached.
final class SingleFlightCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private let state = Mutex(State())
  private let capacity: Int
  private let cost: @Sendable (Value) -> Int

  private struct State {
    /// The values being made. A finished task would hold more memory than its value.
    var tasks: [Key: Task<Value, any Error>] = [:]
    var values: [Key: (value: Value, bytes: Int)] = [:]
    var order = CircularBuffer<Key>()
    var bytes = 0
  }

  private enum Found {
    case value(Value)
    case task(Task<Value, any Error>)
  }

  /// The cost of a value besides its bytes.
  private static var overhead: Int { 1024 }

  /// Caches `capacity` bytes of values, each of which takes `cost` bytes.
  init(capacity: Int, cost: @escaping @Sendable (Value) -> Int) {
    self.capacity = capacity
    self.cost = cost
  }

  /// The value of `key`: cached, being made, or made now by `make`, while the permit of `admission` is held. Failures are
  /// not cached.
  func value(
    _ key: Key, _ admission: () throws -> AdmissionPermit,
    _ make: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    let found = try state.withLock { state -> Found in
      if let known = state.values[key] { return .value(known.value) }
      if let task = state.tasks[key] { return .task(task) }
      let permit = try admission()
      // Not the task of the first client: it may disconnect while others wait.
      let task = Task {
        defer { withExtendedLifetime(permit) {} }
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

  var byteCount: Int { state.withLock { $0.bytes } }
}
