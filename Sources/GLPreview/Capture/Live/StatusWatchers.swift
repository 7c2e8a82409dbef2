// Who wants to know how a source is.
internal import Synchronization

/// Tells any number of watchers of each change.
final class StatusWatchers: Sendable {
  private let state = Mutex(
    (isOver: false, nextID: 0, watchers: [Int: AsyncStream<SourceStatus>.Continuation]()))

  /// What a watcher that does not look may miss beyond.
  private static let capacity = 16

  /// All that comes from now on, after `status`.
  func stream(from status: SourceStatus) -> AsyncStream<SourceStatus> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: SourceStatus.self, bufferingPolicy: .bufferingNewest(Self.capacity))
    continuation.yield(status)
    let id = state.withLock { state -> Int? in
      guard !state.isOver else { return nil }
      state.nextID += 1
      state.watchers[state.nextID] = continuation
      return state.nextID
    }
    guard let id else {
      continuation.finish()
      return stream
    }
    continuation.onTermination = { [weak self] _ in self?.remove(id) }
    return stream
  }

  func tell(_ status: SourceStatus) {
    for watcher in state.withLock({ Array($0.watchers.values) }) { watcher.yield(status) }
  }

  func finish() {
    let watchers = state.withLock { state in
      defer { state.watchers = [:] }
      state.isOver = true
      return Array(state.watchers.values)
    }
    for watcher in watchers { watcher.finish() }
  }

  private func remove(_ id: Int) { state.withLock { _ = $0.watchers.removeValue(forKey: id) } }
}
