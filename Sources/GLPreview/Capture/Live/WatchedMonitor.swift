// Reports the status of a source: each change once and in order, and none is missed when a watcher starts.
internal import Synchronization

/// Holds the monitor of a source, and reports each change to any number of watchers.
///
/// Watchers are notified under the lock, so that all get the changes in one order. Code that runs when a watcher's task
/// is cancelled must not take that lock: the runtime calls it with the task locked, and a notification wakes, and so
/// locks, the task.
final class WatchedMonitor: Sendable {
  private let state: Mutex<State>

  private struct State: Sendable {
    var monitor: SourceMonitor
    var isOver = false
    var nextID = 0
    var watchers: [Int: AsyncStream<SourceStatus>.Continuation] = [:]
  }

  /// The number of changes that are kept for a watcher that does not read.
  private static let capacity = 16

  init(_ monitor: SourceMonitor) { state = Mutex(State(monitor: monitor)) }

  /// The current status.
  var status: SourceStatus { state.withLock { $0.monitor.status } }

  /// Changes the monitor, and notifies watchers if the state or the mode has changed.
  func change<Result: Sendable>(_ body: (inout SourceMonitor) -> Result) -> Result {
    state.withLock { state in
      let before = state.monitor.status
      let result = body(&state.monitor)
      let after = state.monitor.status
      if before.state != after.state || before.mode != after.mode {
        for (id, watcher) in state.watchers {
          if case .terminated = watcher.yield(after) { state.watchers[id] = nil }
        }
      }
      return result
    }
  }

  /// The current status, then all changes.
  func stream() -> AsyncStream<SourceStatus> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: SourceStatus.self, bufferingPolicy: .bufferingNewest(Self.capacity))
    let isOver = state.withLock { state in
      continuation.yield(state.monitor.status)
      guard !state.isOver else { return true }
      state.nextID += 1
      state.watchers[state.nextID] = continuation
      return false
    }
    if isOver { continuation.finish() }
    return stream
  }

  /// Ends all streams: no more changes follow.
  func finish() {
    let watchers = state.withLock { state in
      defer { state.watchers = [:] }
      state.isOver = true
      return Array(state.watchers.values)
    }
    for watcher in watchers { watcher.finish() }
  }
}
