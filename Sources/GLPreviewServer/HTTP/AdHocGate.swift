// How many may have something done at a time that costs: no more, no client more than its share, and nobody waits in line.
internal import HTTPTypes
internal import Synchronization

/// Who sends a request, as far as shares are counted: an address, with the secret that it showed.
struct RequestClient: Sendable, Hashable {
  let address: ClientGroup
  /// A hash of the token, the password or the cookie; nil where none was shown, or asked for.
  var secret: Int?

  /// Of the request that the task answers; nil outside requests.
  @TaskLocal static var current: RequestClient?

  /// Whether it stands for many that we can't tell apart: a proxy at a local socket.
  var isShared: Bool { address.isLocal && secret == nil }
}

/// A gate that counts who is inside.
final class AdHocGate: Sendable {
  /// How many may be inside.
  let capacity: Int
  /// How many of one client's.
  let share: Int
  private let subject: String
  private let retryAfter: Int
  private let inside = Mutex(Inside())

  private struct Inside {
    var count = 0
    var clients: [RequestClient: Int] = [:]
  }

  /// - Parameters:
  ///   - capacity: how many may be inside.
  ///   - subject: what they have done there, for the client that is refused.
  ///   - retryAfter: when that client may come again, in seconds.
  init(
    capacity: Int, subject: String = "views that are asked for in a URL are drawn", retryAfter: Int = 1
  ) {
    self.capacity = capacity
    self.subject = subject
    self.retryAfter = retryAfter
    share = Self.share(of: capacity)
  }

  /// A quarter of the places; of few places half.
  static func share(of capacity: Int) -> Int { max(capacity / 4, min(8, (capacity + 1) / 2)) }

  /// How many are inside.
  var count: Int { inside.withLock { $0.count } }

  /// Goes in, for the client of the request that the task answers.
  ///
  /// - Returns: what gives the place back when it is let go of.
  /// - Throws: a `Problem`: 503 where it is full, 429 where the client has its share.
  func enter() throws(Problem) -> AdHocPass {
    let client = RequestClient.current.flatMap { $0.isShared ? nil : $0 }
    try inside.withLock { inside throws(Problem) in
      guard inside.count < capacity else {
        throw .busy(.serviceUnavailable, "\(capacity) \(subject) already", retryAfter: retryAfter)
      }
      inside.count += 1
      guard let client else { return }
      let held = inside.clients[client] ?? 0
      guard held < share else {
        inside.count -= 1
        throw .busy(
          .tooManyRequests, "\(held) \(subject) already for this client, which is its share",
          retryAfter: retryAfter)
      }
      inside.clients[client] = held + 1
    }
    return AdHocPass(self, client)
  }

  fileprivate func leave(_ client: RequestClient?) {
    inside.withLock { inside in
      inside.count -= 1
      guard let client, let held = inside.clients[client] else { return }
      inside.clients[client] = held > 1 ? held - 1 : nil
    }
  }
}

/// A place behind a gate, for as long as it is held.
final class AdHocPass: Sendable {
  private let gate: AdHocGate
  private let client: RequestClient?

  fileprivate init(_ gate: AdHocGate, _ client: RequestClient?) {
    self.gate = gate
    self.client = client
  }

  deinit { gate.leave(client) }
}
