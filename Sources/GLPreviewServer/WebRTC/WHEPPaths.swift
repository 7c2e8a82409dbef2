// The addresses of a WebRTC client. Pictures go to one that has answered a connection check.
internal import NIOCore

/// One client's addresses; it has no clock of its own.
///
/// A client that knows the password of a session can send a check with another machine's address as its
/// sender. So an address gets only checks, and answers to its own, until it answers one (RFC 8445, 7.3.1.4).
/// The one in use must continue to answer (RFC 7675).
struct WHEPPaths {
  private struct Known {
    let path: DatagramPath
    var request: Request?
    var answeredAt: CaptureInstant?
  }

  /// The last check that this side has sent to an address.
  private struct Request {
    let transaction = (0..<12).map { _ in UInt8.random(in: .min ... .max) }
    var sentAt: CaptureInstant
    var count = 1
  }

  /// A check to be sent.
  struct Check {
    let message: STUNMessage
    let path: DatagramPath
  }

  /// The address for pictures and keys; nil until an address has answered.
  private(set) var path: DatagramPath?
  /// The newest last.
  private var known: [Known] = []
  /// The address that the client has nominated.
  private var nominated: SocketAddress?
  private let username: [UInt8]
  private let password: [UInt8]
  private let tieBreaker = UInt64.random(in: .min ... .max)
  private let consent: Duration

  private static let mostAddresses = 8
  /// An address that does not answer is checked at once and after 0.1, 0.3, 0.7 and 1.5 s, and again if it
  /// sends a check at least 5 s later.
  private static let repeatsAfter = Duration.milliseconds(100)
  private static let mostRequests = 5
  /// How often the address in use is checked (RFC 7675, 5.1).
  private static let checkInterval = Duration.seconds(5)
  /// 110 is for an address that was learnt from a check (RFC 8445, 5.1.2).
  private static let priority: UInt32 = 110 << 24 | 65535 << 8 | 255

  /// `consent` is how long an answer is valid.
  init(_ terms: WHEPSession.Terms, consent: Duration) {
    username = Array("\(terms.offer.fragment):\(terms.fragment)".utf8)
    password = Array(terms.offer.password.utf8)
    self.consent = consent
  }

  /// The addresses that have proved the session's password.
  var addresses: [SocketAddress] { known.map(\.path.address) }

  /// Takes a check from an address that has proved the session's password, and returns the path back to it.
  mutating func checked(from address: SocketAddress, nominates: Bool, at now: CaptureInstant) -> DatagramPath
  {
    let old = known.firstIndex { $0.path.address == address }.map { known.remove(at: $0) }
    var entry = old ?? Known(path: DatagramPath(address))
    // An address that has not answered is checked again.
    if let request = entry.request, request.count >= Self.mostRequests,
      now - request.sentAt >= Self.checkInterval
    {
      entry.request = nil
    }
    known.append(entry)
    if known.count > Self.mostAddresses,
      let oldest = known.firstIndex(where: { $0.path.address != path?.address })
    {
      known.remove(at: oldest)
    }
    if nominates { nominated = address }
    choose(entry, at: now)
    return entry.path
  }

  /// Takes an answer to a check of this side. Other answers are ignored.
  mutating func answered(_ message: STUNMessage, from address: SocketAddress, at now: CaptureInstant) {
    guard message.kind == .bindingSuccess,
      let index = known.firstIndex(where: { $0.path.address == address }),
      let request = known[index].request, request.transaction == message.transaction,
      message.isSealed(with: password)
    else { return }
    known[index].answeredAt = now
    choose(known[index], at: now)
  }

  /// The client nominates an address. Until then, any address that answers is used.
  private mutating func choose(_ entry: Known, at now: CaptureInstant) {
    guard isGood(entry, at: now), entry.path.address != path?.address else { return }
    if nominated == nil || nominated == entry.path.address { path = entry.path }
  }

  private func isGood(_ entry: Known, at now: CaptureInstant) -> Bool {
    entry.answeredAt.map { now - $0 <= consent } ?? false
  }

  /// The checks that are due. Call it after each check of the client, and a few times a second.
  mutating func due(at now: CaptureInstant) -> [Check] {
    var checks: [Check] = []
    for index in known.indices {
      let entry = known[index]
      let isInUse = entry.path.address == path?.address
      if isInUse, !isGood(entry, at: now) { (path, nominated) = (nil, nil) }
      guard isDue(entry, isInUse: isInUse, at: now) else { continue }
      if !isGood(entry, at: now), known[index].request != nil {
        known[index].request?.sentAt = now
        known[index].request?.count += 1
      } else {
        known[index].request = Request(sentAt: now)
      }
      guard let request = known[index].request else { continue }
      var message = STUNMessage(.bindingRequest, transaction: request.transaction)
      (message.username, message.priority, message.controlled) = (username, Self.priority, tieBreaker)
      checks.append(Check(message: message, path: entry.path))
    }
    return checks
  }

  private func isDue(_ entry: Known, isInUse: Bool, at now: CaptureInstant) -> Bool {
    guard let request = entry.request else { return true }
    if isGood(entry, at: now) { return isInUse && now - request.sentAt >= Self.checkInterval }
    return request.count < Self.mostRequests
      && now - request.sentAt >= Self.repeatsAfter * (1 << (request.count - 1))
  }
}
