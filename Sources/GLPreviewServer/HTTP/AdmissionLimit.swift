// Limits expensive concurrent work, in total and per client. Requests above a limit are rejected, not queued.
internal import HTTPTypes
internal import Synchronization

/// The sender of a request, for counting shares: its address and the secret that it used.
struct RequestClient: Sendable, Hashable {
  let address: ClientGroup
  /// A hash of the token, password or cookie; nil if none was sent or required.
  var secret: Int?

  /// The client of the request that the current task answers; nil outside requests.
  @TaskLocal static var current: RequestClient?

  /// Whether it stands for many clients that can't be distinguished: a proxy at a local socket.
  var isShared: Bool { address.isLocal && secret == nil }
}

/// A counting gate with a limit and a share per client.
final class AdmissionLimit: Sendable {
  /// The most requests inside.
  let capacity: Int
  /// The most requests of one client inside.
  let share: Int
  private let subject: String
  private let retryAfter: Int
  private let inside = Mutex(Inside())

  private struct Inside {
    var count = 0
    var clients: [RequestClient: Int] = [:]
  }

  /// `subject` is what is limited, for error messages; a rejected client may retry after so many seconds.
  init(capacity: Int, subject: String = "views drawn for a URL", retryAfter: Int = 1) {
    self.capacity = capacity
    self.subject = subject
    self.retryAfter = retryAfter
    share = Self.share(of: capacity)
  }

  /// A quarter of the places; if there are few, half.
  static func share(of capacity: Int) -> Int { max(capacity / 4, min(8, (capacity + 1) / 2)) }

  var count: Int { inside.withLock { $0.count } }

  /// Enters for the client of the current request.
  ///
  /// - Returns: a permit that gives the place back when it is released.
  /// - Throws: a `Problem`: 503 if the gate is full, 429 if the client has its share.
  func enter() throws(Problem) -> AdmissionPermit {
    let client = RequestClient.current.flatMap { $0.isShared ? nil : $0 }
    try inside.withLock { inside throws(Problem) in
      guard inside.count < capacity else {
        throw .busy(
          .serviceUnavailable, "too many \(subject): at most \(capacity) at a time", retryAfter: retryAfter)
      }
      inside.count += 1
      guard let client else { return }
      let held = inside.clients[client] ?? 0
      guard held < share else {
        inside.count -= 1
        throw .busy(
          .tooManyRequests, "too many \(subject) for this client: at most \(held) at a time",
          retryAfter: retryAfter)
      }
      inside.clients[client] = held + 1
    }
    return AdmissionPermit(self, client)
  }

  fileprivate func leave(_ client: RequestClient?) {
    inside.withLock { inside in
      inside.count -= 1
      guard let client, let held = inside.clients[client] else { return }
      inside.clients[client] = held > 1 ? held - 1 : nil
    }
  }
}

/// A place inside a gate, occupied while this object is held.
final class AdmissionPermit: Sendable {
  private let gate: AdmissionLimit
  private let client: RequestClient?

  fileprivate init(_ gate: AdmissionLimit, _ client: RequestClient?) {
    self.gate = gate
    self.client = client
  }

  deinit { gate.leave(client) }
}
