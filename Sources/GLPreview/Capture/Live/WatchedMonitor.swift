// How a source is, for who wants to know: each change is told once, in order, and none is missed on the way in.
internal import Synchronization

/// Holds the monitor of a source, and tells any number of watchers of each change.
///
/// Watchers are told under the lock, so that all hear the changes in one order. Whatever runs when a watcher's task is
/// cancelled must not take that lock: the runtime calls it with the task locked, and telling wakes, that is locks, the task.
final class WatchedMonitor: Sendable {
  private let state: Mutex<State>

  private struct State: Sendable {
    var monitor: SourceMonitor
    var isOver = false
    var nextID = 0
    var watchers: [Int: AsyncStream<SourceStatus>.Continuation] = [:]
  }

  /// What a watcher that does not look may miss beyond.
  private static let capacity = 16

  init(_ monitor: SourceMonitor) { state = Mutex(State(monitor: monitor)) }

  /// How the source is now.
  var status: SourceStatus { state.withLock { $0.monitor.status } }

  /// Changes the monitor, and tells where that made it another state or mode.
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

  /// The status now, and all changes from now on.
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

  /// No more changes come.
  func finish() {
    let watchers = state.withLock { state in
      defer { state.watchers = [:] }
      state.isOver = true
      return Array(state.watchers.values)
    }
    for watcher in watchers { watcher.finish() }
  }
}
