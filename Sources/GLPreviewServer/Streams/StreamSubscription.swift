// A client's membership in a stream.
internal import GLPreview
internal import Synchronization

/// Keeps a client in a stream while this object exists.
final class StreamSubscription: Sendable {
  let hub: StreamHub
  let id: Int
  let since = CaptureClock.now
  /// Parts sent to the client in the last whole second.
  let framesPerSecond = Atomic(0)
  private let names = Mutex<(address: String, key: String?)>(("", nil))

  init(_ hub: StreamHub, _ id: Int) {
    self.hub = hub
    self.id = id
  }

  deinit { hub.leave(id) }

  /// Sets the client's address and its name for itself.
  func name(address: String, key: String?) { names.withLock { $0 = (address, key) } }

  var address: String { names.withLock { $0.address } }
  var key: String? { names.withLock { $0.key } }
}

/// A weak reference to a subscription.
struct WeakSubscription: Sendable {
  weak var subscription: StreamSubscription?
}
