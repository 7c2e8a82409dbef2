// Reports the status of a source: each change once and in order, and none is missed when a watcher starts.
internal import Synchronization

/// Holds the monitor of a source, and reports each change to any number of watchers.
final class WatchedMonitor: Sendable {
  private let state: Mutex<State>

  private struct State: Sendable {
    var monitor: SourceMonitor
    var changes = Broadcast<SourceStatus>()
  }

  init(_ monitor: SourceMonitor) { state = Mutex(State(monitor: monitor)) }

  /// The current status.
  var status: SourceStatus { state.withLock { $0.monitor.status } }

  /// Changes the monitor, and notifies watchers if the state or the mode has changed.
  func change<Result: Sendable>(_ body: (inout SourceMonitor) -> Result) -> Result {
    state.withLock { state in
      let before = state.monitor.status
      let result = body(&state.monitor)
      let after = state.monitor.status
      if before.state != after.state || before.mode != after.mode { state.changes.send(after) }
      return result
    }
  }

  /// The current status, then all changes.
  func stream() -> AsyncStream<SourceStatus> {
    state.withLock { state in state.changes.stream(after: state.monitor.status) }
  }

  /// Ends all streams: no more changes follow.
  func finish() { state.withLock { $0.changes.finish() } }
}
