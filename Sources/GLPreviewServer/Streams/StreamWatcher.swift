// One connection that watches one stream: a slot of one part, and the pace that it wants.
internal import GLPreview
internal import NIOCore
internal import Synchronization

/// A stream as one connection takes it. It belongs to the connection's event loop.
///
/// A connection that watches several streams has several of these.
final class StreamWatcher {
  /// What became of a part.
  enum Outcome {
    /// It was written.
    case sent
    /// It waits until the connection takes more.
    case kept
    /// It waits in place of one that was never sent.
    case replaced
    /// It comes too early for the pace that was asked for.
    case notDue
  }

  private let ticket: StreamTicket
  private let interval: Duration
  /// A stream that ends knows its watchers a little longer than their connections last.
  private weak let connection: StreamConnection?
  /// Nil before the first part, which is never too early.
  private var nextDue: Duration?
  /// The second that is being counted, and how many parts went in it.
  private var second = Int64.min
  private var countInSecond = 0
  /// What waits to be sent.
  private(set) var slot: StreamPart?

  var hub: StreamHub { ticket.hub }

  init(_ ticket: StreamTicket, every interval: Duration, of connection: StreamConnection) {
    self.ticket = ticket
    self.interval = interval
    self.connection = connection
  }

  @discardableResult
  func offer(_ part: StreamPart, at now: Duration) -> Outcome {
    if interval > .zero {
      // Frames come a little early and a little late; the pace is kept over many.
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

  /// No more comes of this stream.
  func end() { connection?.ended(self) }

  /// What waits, once; it is going to be written.
  func takeSlot(at now: Duration) -> StreamPart? {
    guard let part = slot else { return nil }
    slot = nil
    count(at: now)
    return part
  }

  private func count(at now: Duration) {
    if now.components.seconds != second {
      let isNext = now.components.seconds == second &+ 1
      ticket.framesPerSecond.store(isNext ? countInSecond : 0, ordering: .relaxed)
      (second, countInSecond) = (now.components.seconds, 0)
    }
    countInSecond += 1
  }
}
