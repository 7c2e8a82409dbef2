// Events of a client, to which its owner can react.
internal import Synchronization

/// An event of a client.
package enum NATSEvent: Sendable, Equatable {
  /// Connected. All subscriptions are active again.
  case connected(NATSServerAddress)
  /// The connection was lost for this reason. The client reconnects.
  case disconnected(NATSError)
  /// The client will try this server after a pause.
  case reconnecting(NATSServerAddress, after: Duration)
  /// An attempt failed.
  case attemptFailed(NATSServerAddress, NATSError)
  /// The server is shutting down. The client moves to another server if it knows one.
  case lameDuck(NATSServerAddress)
  /// A subscription started to drop messages because its reader is too slow. `dropped` is the total since it
  /// was subscribed.
  case slowConsumer(pattern: String, dropped: Int)
  /// The server refused a message or a subscription, with its error text. The connection continues.
  case permissionViolation(String)
  /// Another error of the server, with its text.
  case serverError(String)
  /// A message for this pattern had an invalid subject or invalid headers, and was dropped.
  case unreadableMessage(pattern: String)
  /// The last event: the client was closed, or gave up for this reason.
  case closed(NATSError)
}

/// Passes events to any number of streams. A slow reader receives only the newest 64.
///
/// It has its own lock, which no cancellation handler takes, because sending resumes tasks under the lock.
final class EventBroadcast: Sendable {
  private struct State {
    var readers: [AsyncStream<NATSEvent>.Continuation] = []
    var isOver = false
  }

  private let state = Mutex(State())

  func stream() -> AsyncStream<NATSEvent> {
    let (stream, reader) = AsyncStream.makeStream(of: NATSEvent.self, bufferingPolicy: .bufferingNewest(64))
    state.withLock { state in
      if state.isOver { reader.finish() } else { state.readers.append(reader) }
    }
    return stream
  }

  func send(_ event: NATSEvent) {
    state.withLock { state in
      state.readers.removeAll { reader in
        if case .terminated = reader.yield(event) { true } else { false }
      }
    }
  }

  /// Sends the last event.
  func finish(_ event: NATSEvent) {
    state.withLock { state in
      for reader in state.readers where !state.isOver {
        reader.yield(event)
        reader.finish()
      }
      state = State(readers: [], isOver: true)
    }
  }
}
