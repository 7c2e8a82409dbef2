// What a client tells its owner, who decides what that means.
internal import Synchronization

/// Something that happened to a client.
package enum NATSEvent: Sendable, Equatable {
  /// A server took the connection. Subscriptions are made again on it.
  case connected(NATSServerAddress)
  /// The connection was lost, and for what reason. The client goes on trying.
  case disconnected(NATSError)
  /// An attempt begins after this pause.
  case reconnecting(NATSServerAddress, after: Duration)
  /// An attempt failed.
  case attemptFailed(NATSServerAddress, NATSError)
  /// The server is about to shut down. The client leaves it if it knows another one.
  case lameDuck(NATSServerAddress)
  /// A subscription's reader began to lose messages; how many it has lost since the beginning.
  case slowConsumer(pattern: String, dropped: Int)
  /// The server refuses what was published or subscribed, in its own words. The connection goes on.
  case permissionViolation(String)
  /// Another error of the server, in its own words.
  case serverError(String)
  /// A message for this pattern had a subject or headers that make no sense, and was left out.
  case unreadableMessage(pattern: String)
  /// The last event: the client was closed, or gave up for a reason.
  case closed(NATSError)
}

/// Passes events to any number of streams. A slow reader keeps only the newest 64.
///
/// It has a lock of its own, which no cancellation handler takes: sending wakes tasks, and so locks them.
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
