// Coalesces equal concurrent work, and caches the latest results within a limit.
internal import NIOCore
internal import Synchronization

/// A cache in which each value is made once for all concurrent requests; the newest values are kept until
/// no task has asked for them for a while.
package final class SingleFlightCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private let state = Mutex(State())
  private let capacity: Int
  private let cost: @Sendable (Value) -> Int
  private let lifetime: Duration

  private struct State {
    var flights: [Key: Flight] = [:]
    var values: [Key: Entry] = [:]
    var order = CircularBuffer<Key>()
    var bytes = 0
    /// Whether a task removes values that have not been requested for long.
    var isExpiring = false
  }

  private struct Entry {
    let value: Value
    let bytes: Int
    var lastUse: CaptureInstant
  }

  /// A value that is being made. Only the value is kept afterwards, because a finished task would hold more
  /// memory.
  private struct Flight {
    let result: Outcome
    let task: Task<Void, Never>
    var waiters = 1
  }

  private typealias Outcome = Watched<Result<Value, any Error>?>

  private enum Found {
    case value(Value)
    case outcome(Outcome)
  }

  /// The cost of a value besides its bytes.
  private static var overhead: Int { 1024 }

  /// Caches `capacity` bytes of values; `cost` returns the bytes of a value. A value that is not requested for
  /// `lifetime` is removed within as long again.
  package init(
    capacity: Int, lifetime: Duration = .seconds(10), cost: @escaping @Sendable (Value) -> Int
  ) {
    self.capacity = capacity
    self.lifetime = lifetime
    self.cost = cost
  }

  /// Returns the value of `key`: from the cache, from a call in progress, or from `make`, which holds the
  /// permit of `admission`, if there is one. Failures are not cached. If all waiting tasks are cancelled,
  /// `make` is cancelled too.
  package func value(
    _ key: Key, _ admission: () throws -> AdmissionPermit?,
    _ make: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    let found = try state.withLock { state -> Found in
      if let known = state.values[key]?.value {
        state.values[key]?.lastUse = CaptureClock.now
        return .value(known)
      }
      if let flight = state.flights[key] {
        state.flights[key]?.waiters += 1
        return .outcome(flight.result)
      }
      let permit = Watched(try admission())
      let result = Outcome(nil)
      // A task of its own, because the first client may disconnect while others wait.
      let task = Task {
        let made: Result<Value, any Error>
        do { made = .success(try await make()) } catch { made = .failure(error) }
        // Released before the result is published, because a client that gets it may request another value at
        // once.
        permit.withLock { $0 = nil }
        land(made, of: key, result)
      }
      state.flights[key] = Flight(result: result, task: task)
      return .outcome(result)
    }
    switch found {
    case .value(let value): return value
    case .outcome(let result):
      guard let made = try? await result.first({ $0 }) else {
        leave(key, result)
        throw CancellationError()
      }
      return try made.get()
    }
  }

  private func leave(_ key: Key, _ result: Outcome) {
    let task = state.withLock { state -> Task<Void, Never>? in
      guard var flight = state.flights[key], flight.result === result else { return nil }
      flight.waiters -= 1
      state.flights[key] = flight.waiters > 0 ? flight : nil
      return flight.waiters > 0 ? nil : flight.task
    }
    task?.cancel()
  }

  private func land(_ made: Result<Value, any Error>, of key: Key, _ result: Outcome) {
    state.withLock { state in
      // No task waits for this result any more.
      guard state.flights[key]?.result === result else { return }
      state.flights[key] = nil
      if case .success(let value) = made { keep(value, of: key, in: &state) }
    }
    result.update { $0 = made }
  }

  private func keep(_ value: Value, of key: Key, in state: inout State) {
    let bytes = cost(value) + Self.overhead
    state.values[key] = Entry(value: value, bytes: bytes, lastUse: CaptureClock.now)
    state.order.append(key)
    state.bytes += bytes
    while state.bytes > capacity, let oldest = state.order.popFirst() {
      state.bytes -= state.values.removeValue(forKey: oldest)?.bytes ?? 0
    }
    guard !state.values.isEmpty, !state.isExpiring else { return }
    state.isExpiring = true
    Task { [weak self, lifetime] in
      repeat { await CaptureClock.sleep(untilMultipleOf: lifetime) } while self?.expire() ?? false
    }
  }

  /// Removes the values that have not been requested for `lifetime`. Returns whether any is left.
  private func expire() -> Bool {
    state.withLock { state in
      let now = CaptureClock.now
      state.values = state.values.filter { now - $0.value.lastUse < lifetime }
      state.order = CircularBuffer(state.order.filter { state.values[$0] != nil })
      state.bytes = state.values.values.reduce(0) { $0 + $1.bytes }
      state.isExpiring = !state.values.isEmpty
      return state.isExpiring
    }
  }

  /// Returns how many tasks wait for the value of `key`.
  func waiters(for key: Key) -> Int { state.withLock { $0.flights[key]?.waiters ?? 0 } }

  var byteCount: Int { state.withLock { $0.bytes } }
}
