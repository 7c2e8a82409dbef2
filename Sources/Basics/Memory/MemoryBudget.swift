// Limits the total memory of pictures: bytes are reserved before allocation and returned when the lease is
// released.
internal import Synchronization

/// A number of bytes that one or more sessions share.
///
/// Every step that decodes, draws, encodes or caches reserves its bytes before it allocates them. A
/// reservation beyond `capacity` is refused; existing ones are unaffected.
///
/// ```swift
/// var options = PreviewSession.Options()
/// options.budget = MemoryBudget(capacity: 512 << 20)
/// ```
public final class MemoryBudget: Sendable {
  /// The most bytes that can be reserved at a time.
  public let capacity: Int
  private let state = Mutex(State())

  private struct State {
    var reserved = 0
    var overhead = 0
    var peak = 0
    var refusals = 0
  }

  /// Creates a budget of `capacity` bytes; a negative capacity counts as 0.
  public init(capacity: Int) { self.capacity = max(capacity, 0) }

  /// The bytes currently reserved.
  public var reserved: Int { state.withLock { $0.reserved } }
  /// The most bytes that were reserved at a time.
  public var peak: Int { state.withLock { $0.peak } }
  /// Bytes that no lease accounts for, such as the driver's own memory. They can't be reserved.
  package var overhead: Int {
    get { state.withLock { $0.overhead } }
    set { state.withLock { $0.overhead = max(newValue, 0) } }
  }
  /// The number of refused reservations.
  public var refusals: Int { state.withLock { $0.refusals } }

  /// Reserves bytes until the lease is released.
  ///
  /// - Throws: `Exceeded` if too few bytes are left.
  package func reserve(_ byteCount: Int) throws(Exceeded) -> MemoryLease {
    try take(byteCount)
    return MemoryLease(of: self, byteCount)
  }

  fileprivate func take(_ byteCount: Int) throws(Exceeded) {
    let isRoom = state.withLock { state in
      guard byteCount <= max(capacity - state.overhead - state.reserved, 0) else {
        state.refusals += 1
        return false
      }
      state.reserved += byteCount
      state.peak = max(state.peak, state.reserved)
      return true
    }
    guard isRoom else { throw Exceeded() }
  }

  fileprivate func giveBack(_ byteCount: Int) { state.withLock { $0.reserved -= byteCount } }
}

extension MemoryBudget {
  /// The error for a full memory budget. A retry may succeed after other users have returned memory.
  public struct Exceeded: Error, Hashable, CustomStringConvertible {
    /// The message, in one line.
    public let description = "the memory budget is used up"

    package init() {}
  }
}

/// An error that may be caused by an exhausted memory budget alone.
package protocol MemoryShortage: Error {
  var isOutOfMemory: Bool { get }
}

extension MemoryBudget.Exceeded: MemoryShortage {
  package var isOutOfMemory: Bool { true }
}

extension Error {
  /// Whether only an exhausted memory budget caused the error, so that a retry may succeed.
  package var isOutOfMemory: Bool { (self as? any MemoryShortage)?.isOutOfMemory ?? false }
}

extension MemoryBudget: Hashable {
  /// Returns whether both are the same budget.
  public static func == (a: MemoryBudget, b: MemoryBudget) -> Bool { a === b }

  /// Hashes the object's identity.
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// Reserved bytes of a budget, returned when this object is released.
package final class MemoryLease: Sendable {
  private let budget: MemoryBudget
  private let count: Mutex<Int>

  fileprivate init(of budget: MemoryBudget, _ byteCount: Int) {
    self.budget = budget
    count = Mutex(byteCount)
  }

  deinit { budget.giveBack(byteCount) }

  package var byteCount: Int { count.withLock { $0 } }

  /// Changes the number of reserved bytes.
  ///
  /// - Throws: `MemoryBudget.Exceeded` if too few bytes are left; the reservation is then unchanged.
  package func resize(to byteCount: Int) throws(MemoryBudget.Exceeded) {
    try count.withLock { count throws(MemoryBudget.Exceeded) in
      if byteCount > count { try budget.take(byteCount - count) } else { budget.giveBack(count - byteCount) }
      count = byteCount
    }
  }
}
