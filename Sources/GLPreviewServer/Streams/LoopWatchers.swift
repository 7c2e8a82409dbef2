// Groups a stream's connections by event loop, so that each picture is passed to a loop only once.
internal import GLPreview
internal import NIOCore

/// The connections of one event loop that receive a stream's parts.
final class LoopWatchers: Sendable {
  private let loop: any EventLoop
  private let watchers: NIOLoopBoundBox<[StreamWatcher]>

  /// Must be called on the loop.
  init(_ loop: any EventLoop) {
    self.loop = loop
    watchers = NIOLoopBoundBox([], eventLoop: loop)
  }

  func add(_ watcher: StreamWatcher) { watchers.value.append(watcher) }

  func remove(_ watcher: StreamWatcher) { watchers.value.removeAll { $0 === watcher } }

  /// Tells all connections that the stream has ended.
  func end() {
    loop.execute {
      for watcher in self.watchers.value { watcher.end() }
      self.watchers.value = []
    }
  }

  /// Passes a part to all connections, in one step on their loop.
  func offer(_ part: StreamPart, _ metrics: ServiceMetrics) {
    loop.execute {
      let now = CaptureClock.now
      var (sent, skipped) = (0, 0)
      for watcher in self.watchers.value {
        switch watcher.offer(part, at: now) {
        case .sent: sent += 1
        case .replaced: skipped += 1
        case .kept, .notDue: break
        }
      }
      metrics.countParts(sent: sent, skipped: skipped, bytes: sent * part.bytes.readableBytes)
    }
  }
}
