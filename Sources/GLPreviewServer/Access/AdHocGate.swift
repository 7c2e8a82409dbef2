// Room for a few that want something drawn that is not drawn anyway; whoever comes when it is full is sent away.
internal import HTTPTypes
internal import Synchronization

/// Counts what is under way.
final class AdHocGate: Sendable {
  private let capacity: Int
  private let count = Mutex(0)

  /// - Parameter capacity: how many may be under way at a time.
  init(capacity: Int) { self.capacity = capacity }

  /// A place, given back when the pass goes.
  ///
  /// - Throws: `Problem` 503 where there is none; nobody waits.
  func enter() throws(Problem) -> AdHocPass {
    let isAllowed = count.withLock { count in
      guard count < capacity else { return false }
      count += 1
      return true
    }
    guard isAllowed else {
      throw .busy(
        .serviceUnavailable, "\(capacity) views of others' own making are drawn already; come again",
        retryAfter: 1)
    }
    return AdHocPass(self)
  }

  fileprivate func leave() { count.withLock { $0 -= 1 } }
}

/// A place at a gate.
final class AdHocPass: Sendable {
  private let gate: AdHocGate

  fileprivate init(_ gate: AdHocGate) { self.gate = gate }

  deinit { gate.leave() }
}
