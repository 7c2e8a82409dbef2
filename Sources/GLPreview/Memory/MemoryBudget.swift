// How much memory pictures may take in all: bytes are reserved before they are taken, and given back with the lease.
internal import Synchronization

/// A number of bytes that many share.
///
/// What is decoded, drawn, encoded or kept reserves its bytes before it takes them. Beyond `capacity` the newest
/// reservation is refused, and all that are there stay as they are.
///
/// ```swift
/// let budget = MemoryBudget(capacity: 512 << 20)
/// let lease = try budget.reserve(4 << 20)
/// ```
public final class MemoryBudget: Sendable {
  /// The most bytes that are reserved at a time.
  public let capacity: Int
  private let state = Mutex(State())

  private struct State {
    var reserved = 0
    var peak = 0
    var refusals = 0
  }

  /// A budget of `capacity` bytes.
  public init(capacity: Int) { self.capacity = max(capacity, 0) }

  /// How many bytes are reserved.
  public var reserved: Int { state.withLock { $0.reserved } }
  /// The most bytes that were reserved at a time.
  public var peak: Int { state.withLock { $0.peak } }
  /// How many reservations were refused.
  public var refusals: Int { state.withLock { $0.refusals } }

  /// Reserves bytes.
  ///
  /// - Returns: what gives them back when it is let go of.
  /// - Throws: `MemoryBudgetExceeded` where there is no room.
  public func reserve(_ byteCount: Int) throws(MemoryBudgetExceeded) -> MemoryLease {
    try take(byteCount)
    return MemoryLease(of: self, byteCount)
  }

  fileprivate func take(_ byteCount: Int) throws(MemoryBudgetExceeded) {
    let isRoom = state.withLock { state in
      guard byteCount <= capacity - state.reserved else {
        state.refusals += 1
        return false
      }
      state.reserved += byteCount
      state.peak = max(state.peak, state.reserved)
      return true
    }
    guard isRoom else { throw MemoryBudgetExceeded() }
  }

  fileprivate func giveBack(_ byteCount: Int) { state.withLock { $0.reserved -= byteCount } }
}

extension MemoryBudget: Hashable {
  /// A budget is equal to itself alone.
  public static func == (a: MemoryBudget, b: MemoryBudget) -> Bool { a === b }

  /// By identity.
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// Bytes of a budget, for as long as this is held.
public final class MemoryLease: Sendable {
  private let budget: MemoryBudget
  private let count: Mutex<Int>

  fileprivate init(of budget: MemoryBudget, _ byteCount: Int) {
    self.budget = budget
    count = Mutex(byteCount)
  }

  deinit { budget.giveBack(byteCount) }

  /// How many bytes it holds.
  public var byteCount: Int { count.withLock { $0 } }

  /// Holds another number of bytes from now on.
  ///
  /// - Throws: `MemoryBudgetExceeded` where there is no room; it then holds what it held.
  public func resize(to byteCount: Int) throws(MemoryBudgetExceeded) {
    try count.withLock { count throws(MemoryBudgetExceeded) in
      if byteCount > count { try budget.take(byteCount - count) } else { budget.giveBack(count - byteCount) }
      count = byteCount
    }
  }
}

/// The budget has no room. The same may succeed when others have given memory back.
public struct MemoryBudgetExceeded: Error, Hashable, CustomStringConvertible {
  /// One line.
  public let description = "the memory budget is used up"

  init() {}
}
