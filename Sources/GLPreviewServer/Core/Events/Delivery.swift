// A message to a server, and the messages that wait to be sent to it.
package import AsyncHTTPClient

/// A message to a server.
package struct Delivery: Sendable {
  /// Its name in log lines. It does not change between attempts.
  package let id: String
  /// Messages with the same `order` are sent one after another, others may be sent at the same time.
  let order: String
  /// The memory of its body, which several messages may share; nil if it is not counted.
  let lease: MemoryLease?
  /// Returns whether it may still be sent; called before each attempt.
  let mayBeSent: @Sendable () -> Bool
  /// Makes the request of an attempt.
  let request: @Sendable () throws -> HTTPClientRequest

  package init(
    id: String, order: String = "", holding lease: MemoryLease? = nil,
    while mayBeSent: @escaping @Sendable () -> Bool = { true },
    _ request: @escaping @Sendable () throws -> HTTPClientRequest
  ) {
    (self.id, self.order, self.lease) = (id, order, lease)
    (self.mayBeSent, self.request) = (mayBeSent, request)
  }
}

extension Delivery {
  /// Whether it holds a lease that is not the one of `other`.
  fileprivate func holdsOther(than other: Delivery) -> Bool { lease.map { $0 !== other.lease } ?? false }
}

/// The messages of a queue that wait, without I/O or a clock.
struct WaitingDeliveries: Sendable {
  /// The waiting messages that hold a lease, and its size in bytes.
  private struct Share: Sendable {
    var count = 0
    let byteCount: Int
  }

  /// The oldest first.
  private var all: [Delivery] = []
  private var shares: [ObjectIdentifier: Share] = [:]
  /// The orders of the messages that are being sent.
  private var busy: Set<String> = []
  /// The memory that the waiting messages hold, in bytes. A lease that several share counts once.
  private(set) var byteCount = 0

  var count: Int { all.count }

  /// Adds a message. While more than `capacity` wait, or they hold more than `mostBytes`, the oldest is dropped.
  /// The new message itself always stays. For their bytes, so do messages that share its lease.
  ///
  /// - Returns: the number of dropped messages.
  mutating func add(_ delivery: Delivery, capacity: Int, mostBytes: Int) -> Int {
    all.append(delivery)
    hold(delivery)
    let count = all.count
    while all.count > max(capacity, 1) { drop(at: 0) }
    while byteCount > mostBytes, let index = all.firstIndex(where: { $0.holdsOther(than: delivery) }) {
      drop(at: index)
    }
    return count - all.count
  }

  /// Removes the oldest message whose `order` no message has that is being sent; nil if there is none. `finish`
  /// must be called once it has been sent.
  mutating func take() -> Delivery? {
    guard let index = all.firstIndex(where: { !busy.contains($0.order) }) else { return nil }
    let delivery = all.remove(at: index)
    letGo(delivery)
    busy.insert(delivery.order)
    return delivery
  }

  /// Records that a message from `take` is not being sent any more.
  mutating func finish(_ delivery: Delivery) { busy.remove(delivery.order) }

  /// Removes all messages, and returns how many there were.
  mutating func removeAll() -> Int {
    defer { (all, shares, byteCount) = ([], [:], 0) }
    return all.count
  }

  private mutating func drop(at index: Int) {
    let delivery = all.remove(at: index)
    letGo(delivery)
  }

  private mutating func hold(_ delivery: Delivery) {
    guard let lease = delivery.lease else { return }
    var share = shares[ObjectIdentifier(lease)] ?? Share(byteCount: lease.byteCount)
    if share.count == 0 { byteCount += share.byteCount }
    share.count += 1
    shares[ObjectIdentifier(lease)] = share
  }

  private mutating func letGo(_ delivery: Delivery) {
    guard let lease = delivery.lease, var share = shares[ObjectIdentifier(lease)] else { return }
    share.count -= 1
    if share.count == 0 { byteCount -= share.byteCount }
    shares[ObjectIdentifier(lease)] = share.count == 0 ? nil : share
  }
}
