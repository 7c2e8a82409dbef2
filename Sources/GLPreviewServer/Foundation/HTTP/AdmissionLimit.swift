// Limits expensive concurrent work, in total and per client. `enter()` rejects requests above a limit;
// `enter(within:)` queues them.
internal import HTTPTypes

/// The sender of a request, for counting shares: its address and the secret that it used.
package struct RequestClient: Sendable, Hashable {
  package let address: ClientGroup
  /// A hash of the token, password or cookie; nil if none was sent or required.
  package var secret: Int?

  package init(address: ClientGroup, secret: Int? = nil) {
    (self.address, self.secret) = (address, secret)
  }

  /// The client of the request that the current task answers; nil outside a request.
  @TaskLocal package static var current: RequestClient?

  /// Whether it represents many clients that can't be distinguished: a proxy at a Unix socket.
  var isShared: Bool { address.isLocal && secret == nil }
}

/// A counting gate with a limit in total, per client, and per secret over all addresses that use it.
package final class AdmissionLimit: Sendable {
  /// The limit of a client's, or a secret's, share while others are inside.
  package enum Sharing: Sendable {
    /// The full share: two clients may fill a small gate.
    case fixed
    /// At most as much as is free: of 16 places the first client can take 8, the second 4, the third 2.
    /// Clients that stay long leave places for new ones.
    case ofFreePlaces
  }

  /// The most requests inside.
  let capacity: Int
  /// The most requests of one client inside.
  package let share: Int
  /// The most requests of one secret inside, over all addresses. The rest, at least one client's share, is
  /// left to others.
  let secretShare: Int
  private let sharing: Sharing
  private let subject: String
  private let retryAfter: Int
  private let inside = Watched(Inside())

  private struct Inside: Sendable {
    var count = 0
    var held = Holdings()
    /// The number of requests that wait for a place.
    var waiting = 0
    var waitingHeld = Holdings()
  }

  /// The number of places of each client and each secret.
  private struct Holdings: Sendable {
    private var clients: [RequestClient: Int] = [:]
    private var secrets: [Int: Int] = [:]

    /// Returns the number of places that a client, or its secret, holds if that reaches its share; otherwise
    /// nil.
    func excess(of client: RequestClient?, share: Int, secretShare: Int) -> Int? {
      guard let client else { return nil }
      if let held = clients[client], held >= share { return held }
      guard let held = client.secret.flatMap({ secrets[$0] }), held >= secretShare else { return nil }
      return held
    }

    mutating func add(_ client: RequestClient?, _ count: Int) {
      guard let client else { return }
      Self.add(count, to: &clients[client])
      if let secret = client.secret { Self.add(count, to: &secrets[secret]) }
    }

    private static func add(_ count: Int, to held: inout Int?) {
      let sum = (held ?? 0) + count
      held = sum > 0 ? sum : nil
    }
  }

  /// The most waiting requests per place.
  private static let mostWaiting = 32

  /// `subject` names the limited work in error messages; a rejected client may retry after `retryAfter`
  /// seconds.
  package init(
    capacity: Int, sharing: Sharing = .fixed, subject: String = "views rendered for a URL",
    retryAfter: Int = 1
  ) {
    self.capacity = capacity
    self.sharing = sharing
    self.subject = subject
    self.retryAfter = retryAfter
    share = Self.share(of: capacity)
    secretShare = max(capacity - share, share)
  }

  /// Returns a quarter of the places, but at least 8, or half of fewer than 16 places.
  static func share(of capacity: Int) -> Int { max(capacity / 4, min(8, (capacity + 1) / 2)) }

  package var count: Int { inside.withLock { $0.count } }

  /// The number of requests that wait for a place.
  var waiting: Int { inside.withLock { $0.waiting } }

  /// Takes a place for the client of the current request.
  ///
  /// - Returns: a permit that frees the place when it is released.
  /// - Throws: a `Problem`: 503 if the gate is full, 429 if the client has used up its share.
  package func enter() throws(Problem) -> AdmissionPermit {
    let client = currentClient
    try inside.withLock { inside throws(Problem) in
      if let problem = refusal(of: client, inside) { throw problem }
      admit(client, &inside)
    }
    return AdmissionPermit(self, client)
  }

  /// Waits for a place for the client of the current request, for at most `limit`.
  ///
  /// - Throws: a `Problem` as `enter()` does, after `limit`, or at once if too many requests wait already, or
  ///   half as many of this client; `CancellationError`.
  package func enter(within limit: Duration) async throws -> AdmissionPermit {
    let client = currentClient
    let isIn = try inside.withLock { inside throws(Problem) -> Bool in
      guard let problem = refusal(of: client, inside) else {
        admit(client, &inside)
        return true
      }
      let most = capacity * Self.mostWaiting
      let isTooMany = inside.waitingHeld.excess(of: client, share: most / 2, secretShare: most / 2) != nil
      guard inside.waiting < most, !isTooMany else { throw problem }
      inside.waitingHeld.add(client, 1)
      inside.waiting += 1
      return false
    }
    if isIn { return AdmissionPermit(self, client) }
    defer {
      inside.withLock { inside in
        inside.waiting -= 1
        inside.waitingHeld.add(client, -1)
      }
    }
    let entered = try await inside.first(until: CaptureClock.now + limit) { inside -> Bool? in
      guard refusal(of: client, inside) == nil else { return nil }
      admit(client, &inside)
      return true
    }
    guard entered == nil else { return AdmissionPermit(self, client) }
    throw inside.withLock { refusal(of: client, $0) } ?? full
  }

  private var currentClient: RequestClient? { RequestClient.current.flatMap { $0.isShared ? nil : $0 } }

  private var full: Problem {
    .busy(.serviceUnavailable, "too many \(subject): at most \(capacity) at a time", retryAfter: retryAfter)
  }

  /// Returns the reason why a client can't enter now; nil if it can.
  private func refusal(of client: RequestClient?, _ inside: Inside) -> Problem? {
    let free = capacity - inside.count
    guard free > 0 else { return full }
    let most = sharing == .fixed ? capacity : free
    let held = inside.held.excess(of: client, share: min(share, most), secretShare: min(secretShare, most))
    guard let held else { return nil }
    return .busy(
      .tooManyRequests, "too many \(subject) for this client: at most \(held) at a time",
      retryAfter: retryAfter)
  }

  private func admit(_ client: RequestClient?, _ inside: inout Inside) {
    inside.count += 1
    inside.held.add(client, 1)
  }

  fileprivate func leave(_ client: RequestClient?) {
    inside.update { inside in
      inside.count -= 1
      inside.held.add(client, -1)
    }
  }
}

/// A place inside a gate, occupied while this object is held.
package final class AdmissionPermit: Sendable {
  private let gate: AdmissionLimit
  private let client: RequestClient?

  fileprivate init(_ gate: AdmissionLimit, _ client: RequestClient?) {
    self.gate = gate
    self.client = client
  }

  deinit { gate.leave(client) }
}
