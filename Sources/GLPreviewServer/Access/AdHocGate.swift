// How many may have something done at a time that costs: no more, and nobody waits in line.
internal import HTTPTypes
internal import Synchronization

/// A gate that counts who is inside.
final class AdHocGate: Sendable {
  /// How many may be inside.
  let capacity: Int
  private let subject: String
  private let inside = Mutex(0)

  /// - Parameters:
  ///   - capacity: how many may be inside.
  ///   - subject: what they have done there, for who is refused.
  init(capacity: Int, subject: String = "views that are asked for in a URL") {
    self.capacity = capacity
    self.subject = subject
  }

  /// How many are inside.
  var count: Int { inside.withLock { $0 } }

  /// Goes in.
  ///
  /// - Returns: what gives the place back when it is let go of.
  /// - Throws: a `Problem` of status 503 where it is full.
  func enter() throws(Problem) -> AdHocPass {
    let isIn = inside.withLock { inside in
      guard inside < capacity else { return false }
      inside += 1
      return true
    }
    guard isIn else {
      throw .busy(.serviceUnavailable, "\(capacity) \(subject) are drawn already", retryAfter: 1)
    }
    return AdHocPass(self)
  }

  fileprivate func leave() { inside.withLock { $0 -= 1 } }
}

/// A place behind a gate, for as long as it is held.
final class AdHocPass: Sendable {
  private let gate: AdHocGate

  fileprivate init(_ gate: AdHocGate) { self.gate = gate }

  deinit { gate.leave() }
}
