// The connections of a stream, grouped by event loop, so that each picture is passed to a loop only once.
// Each has a slot for one part, and the requested pace.
internal import NIOCore
internal import Synchronization

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

  /// Notifies all connections that the stream has ended.
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

/// A client's subscription to a stream, and its continuation.
struct JoinedStream: Sendable {
  let subscription: StreamSubscription
  var interval = Duration.zero
  /// Joins the stream with which the client continues when this one has ended; nil if there is none.
  var next: Next?

  typealias Next = @Sendable () async -> JoinedStream?
}

/// A stream as one connection receives it. It belongs to the connection's event loop.
///
/// A connection with several streams has several of these.
final class StreamWatcher {
  /// The result of offering a part.
  enum Outcome {
    case sent
    /// The part waits until the connection accepts more.
    case kept
    /// The part waits, and replaces an older one that was never sent.
    case replaced
    /// The part came too early for the requested pace.
    case notDue
  }

  private let subscription: StreamSubscription
  private let interval: Duration
  /// The continuation, from `JoinedStream`.
  let next: JoinedStream.Next?
  /// Weak, because a hub may keep its watchers a little longer than their connections live.
  private weak let connection: StreamConnection?
  /// The time of the next part; nil before the first one, which is never too early.
  private var nextDue: CaptureInstant?
  /// The current second, and the number of parts sent in it.
  private var second = Int64.min
  private var countInSecond = 0
  /// The part waiting to be sent.
  private(set) var slot: StreamPart?

  var hub: StreamHub { subscription.hub }
  /// The time when its client joined.
  var since: CaptureInstant { subscription.since }

  init(
    _ subscription: StreamSubscription, every interval: Duration, of connection: StreamConnection,
    next: JoinedStream.Next? = nil
  ) {
    self.subscription = subscription
    self.interval = interval
    self.connection = connection
    self.next = next
  }

  @discardableResult
  func offer(_ part: StreamPart, at now: CaptureInstant) -> Outcome {
    if interval > .zero {
      // Frames arrive slightly early or late; the pace is kept on average.
      let due = nextDue ?? now
      guard now >= due - interval / 8 else { return .notDue }
      nextDue = max(due + interval, now)
    }
    guard let connection else { return .notDue }
    if connection.takesPart(at: now) {
      connection.write(part)
      count(at: now)
      return .sent
    }
    defer { slot = part }
    return slot == nil ? .kept : .replaced
  }

  /// Reports the end of the stream to the connection.
  func end() { connection?.ended(self) }

  /// Returns the waiting part and frees the slot. The caller writes the part.
  func takeSlot(at now: CaptureInstant) -> StreamPart? {
    guard let part = slot else { return nil }
    slot = nil
    count(at: now)
    return part
  }

  private func count(at now: CaptureInstant) {
    let current = now.sinceStart.components.seconds
    if current != second {
      let isNext = current == second &+ 1
      subscription.framesPerSecond.store(isNext ? countInSecond : 0, ordering: .relaxed)
      (second, countInSecond) = (current, 0)
    }
    countInSecond += 1
  }
}
