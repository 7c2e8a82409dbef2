// Who watches a stream, for as long as he does.
internal import GLPreview
internal import Synchronization

/// Somebody watches a stream, for as long as this is there.
final class StreamTicket: Sendable {
  let hub: StreamHub
  let id: Int
  let since = CaptureClock.now
  /// Parts that went to him in the last whole second.
  let framesPerSecond = Atomic(0)
  private let names = Mutex<(address: String, key: String?)>(("", nil))

  init(_ hub: StreamHub, _ id: Int) {
    self.hub = hub
    self.id = id
  }

  deinit { hub.leave(id) }

  /// Where he is, and what he calls himself.
  func name(address: String, key: String?) { names.withLock { $0 = (address, key) } }

  var address: String { names.withLock { $0.address } }
  var key: String? { names.withLock { $0.key } }
}

/// A ticket that somebody else holds.
struct WeakTicket: Sendable {
  weak var ticket: StreamTicket?
}
