// One connection that watches one stream: a slot of one part, and the pace that it wants.
internal import GLPreview
internal import NIOCore

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
  private unowned let connection: StreamConnection
  private var nextDue = Duration.zero
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
      guard now >= nextDue - interval / 8 else { return .notDue }
      nextDue = max(nextDue + interval, now)
    }
    if connection.takesPart(at: now) {
      connection.write(part)
      return .sent
    }
    defer { slot = part }
    return slot == nil ? .kept : .replaced
  }

  /// What waits, once.
  func takeSlot() -> StreamPart? {
    defer { slot = nil }
    return slot
  }
}
