// Decides what a client may do, by the configured secrets, the current logins, and the number of failed
// attempts.
internal import HTTPTypes
internal import Logging
internal import ServiceLifecycle
internal import Synchronization

/// The access state of a service, shared by all protocols that admit clients. Grants are revoked when their
/// secret, origin or host name is removed; while the service runs, also when their login expires.
package final class AccessControl: Service, CustomStringConvertible {
  private struct State {
    var configuration: AccessConfiguration
    var credentials: Credentials
  }

  /// A password that was accepted, as a digest, and the client that sent it.
  private struct AcceptedPassword: Hashable {
    let client: ClientGroup
    let digest: SecretDigest
  }

  private static let mostAcceptedPasswords = 4096

  private static let pollInterval = Duration.milliseconds(500)

  let sessions: LoginSessions
  package let grants: Grants<ClientRight>
  let hosts: HostRule
  private let failures: FailedAttempts
  private let accepted = Mutex<Set<AcceptedPassword>>([])
  private let state: Watched<State>
  private let wallClock: @Sendable () -> WallTime
  private let logger: Logger

  init(
    _ configuration: AccessConfiguration, at hosts: HostRule = HostRule(.loopback),
    logger: Logger = Logger(label: "access") { _ in SwiftLogNoOpLogHandler() },
    now: @escaping @Sendable () -> CaptureInstant = { CaptureClock.now },
    wallClock: @escaping @Sendable () -> WallTime = { .now }
  ) {
    let sessions = LoginSessions(now: now)
    let state = Watched(State(configuration: configuration, credentials: Credentials(configuration)))
    (self.sessions, self.state, self.hosts, self.logger) = (sessions, state, hosts, logger)
    self.wallClock = wallClock
    failures = FailedAttempts(now: now)
    grants = Grants { right throws(Problem) in
      let (configuration, credentials) = state.withLock { ($0.configuration, $0.credentials) }
      let role = Self.role(of: right.credential, configuration, credentials, sessions, at: wallClock())
      try right.check(has: role, isAllowed: hosts.allows(right.site, by: configuration))
    }
  }

  private static func role(
    of credential: Credential, _ configuration: AccessConfiguration, _ credentials: Credentials,
    _ sessions: LoginSessions, at now: WallTime
  ) -> Role? {
    switch credential {
    case .notRequired: configuration.asksForCredentials ? nil : .control
    case .login: sessions.role(of: credential)
    case .token, .user, .link: credentials.role(of: credential, at: now)
    }
  }

  /// Replaces the secrets, origins and host names. Ends logins, answers and sessions whose secret was removed
  /// or now has a lower role, and those whose origin or host name is no longer listed.
  package func update(_ configuration: AccessConfiguration) {
    let (credentials, now) = (Credentials(configuration), wallClock())
    state.withLock { $0 = State(configuration: configuration, credentials: credentials) }
    sessions.endLost { credentials.role(of: $0, at: now) }
    revokeLost()
  }

  /// Starts a login, and returns the cookie's value.
  func logIn(_ role: Role, by credential: Credential) -> String {
    let cookie = sessions.begin(role, by: credential)
    // The secrets may have been replaced after this one was checked.
    let (credentials, now) = (state.withLock { $0.credentials }, wallClock())
    sessions.endLost { credentials.role(of: $0, at: now) }
    return cookie
  }

  /// Ends the answers and sessions that are no longer allowed.
  func revokeLost() {
    let lost = grants.revokeLost()
    guard !lost.isEmpty else { return }
    let (configuration, credentials) = state.withLock { ($0.configuration, $0.credentials) }
    let reasons = lost.map { right in
      let role = Self.role(of: right.credential, configuration, credentials, sessions, at: wallClock())
      return right.loss(hasRole: role?.includes(right.role) == true)
    }
    for (reason, count) in Dictionary(reasons.map { ($0, 1) }, uniquingKeysWith: +) {
      logger.notice("clients disconnected", metadata: ["reason": "\(reason)", "answers": "\(count)"])
    }
  }

  package func run() async throws {
    try? await cancelWhenGracefulShutdown { [self] in
      while true {
        try await Task.sleep(for: Self.pollInterval)
        revokeLost()
      }
    }
    // When one service returns, ServiceLifecycle ends all others.
    try? await gracefulShutdown()
  }

  package var asksForCredentials: Bool { configuration.asksForCredentials }

  package var configuration: AccessConfiguration { state.withLock { $0.configuration } }

  /// Returns the role that a secret grants. Wrong secrets are counted; after too many, no new password from
  /// that client is checked for a while.
  ///
  /// Clients that share an address with an attacker are not locked out: a valid token is always accepted,
  /// because tokens can't be guessed, and so is a password that was accepted from this address before.
  ///
  /// - Throws: a `Problem` with status 429 after too many wrong secrets.
  package func role(for client: ClientGroup, _ presented: PresentedCredentials) throws(Problem) -> Role? {
    let role = state.withLock { $0.credentials }.role(of: presented.credential, at: wallClock())
    var password: AcceptedPassword?
    if role != nil, case .user(let name, let secret) = presented {
      password = AcceptedPassword(client: client, digest: SecretDigest(of: name, password: secret))
    }
    let isTrusted = password.map { known in accepted.withLock { $0.contains(known) } } ?? (role != nil)
    if !isTrusted, let seconds = failures.secondsToWait(client) {
      throw .busy(
        .tooManyRequests, "too many wrong passwords or tokens from this address", retryAfter: seconds)
    }
    if role == nil { failures.add(client) }
    if let password, !isTrusted { accept(password) }
    return role
  }

  /// Returns what a link allows. Wrong signatures count as wrong secrets, but the client is not refused other links:
  /// signatures can't be guessed.
  ///
  /// - Throws: a `Problem` with status 403.
  func right(of link: SignedLink, to camera: String?, for client: ClientGroup) throws(Problem) -> (
    key: LinkKey, right: LinkRight
  ) {
    let keys = state.withLock { $0.credentials }.linkKeys
    // Links of a key that is gone are still opened for a while, and nothing is guessed by them.
    guard let (key, digest) = keys.first(where: { $0.key.name == link.keyName }) else { throw .wrongLink }
    guard let camera, link.isSigned(by: key) else {
      failures.add(client)
      throw .wrongLink
    }
    let right = LinkRight(key: digest, camera: camera, expiry: link.expiry)
    guard key.includes(camera: camera) else {
      throw Problem(.forbidden, "links by the key '\(key.name)' may not show '\(camera)'")
    }
    guard link.expiry != nil || link.end == nil && key.allowsForever else {
      throw Problem(.forbidden, "this link has no valid end: 'expires' must be seconds since 1970")
    }
    guard !right.isOver(at: wallClock()) else { throw Problem(.forbidden, "this link has expired") }
    return (key, right)
  }

  /// Returns the name of the configured key that a link names; empty if there is none.
  func name(ofKeyOf link: SignedLink) -> String {
    state.withLock { $0.credentials }.linkKeys.first { $0.key.name == link.keyName }?.key.name ?? ""
  }

  /// Signs a link, as `LinkSigner` does.
  package func sign(
    _ url: String, by name: String? = nil, for duration: Duration?
  ) throws -> (path: String, key: String, expiry: Int?) {
    try LinkSigner(configuration.linkKeys).sign(url, by: name, for: duration, at: wallClock())
  }

  private func accept(_ password: AcceptedPassword) {
    accepted.withLock { accepted in
      if accepted.count >= Self.mostAcceptedPasswords { accepted = [] }
      accepted.insert(password)
    }
  }
}

/// Recent wrong secrets, by client. After ten within a minute, no secret is checked until the minute is over.
final class FailedAttempts: Sendable {
  private struct Attempts {
    var count: Int
    let end: CaptureInstant
  }

  /// The number of wrong secrets that are checked per period.
  static let allowed = 10
  /// How long attempts count, from the first one on.
  static let period = Duration.seconds(60)

  private let attempts: Mutex<LRUCache<ClientGroup, Attempts>>
  private let now: @Sendable () -> CaptureInstant

  /// Tracks at most `capacity` clients; the least recently used one is forgotten first.
  init(capacity: Int = 4096, now: @escaping @Sendable () -> CaptureInstant = { CaptureClock.now }) {
    attempts = Mutex(LRUCache(capacity: capacity))
    self.now = now
  }

  /// Returns the seconds until secrets of `client` are checked again; nil if they are checked now.
  func secondsToWait(_ client: ClientGroup) -> Int? {
    let time = now()
    return attempts.withLock { attempts in
      guard let known = attempts[client], known.end > time, known.count >= Self.allowed else { return nil }
      return max(1, Int((known.end - time) / .seconds(1) + 0.999))
    }
  }

  /// Records a wrong secret.
  func add(_ client: ClientGroup) {
    let time = now()
    attempts.withLock { attempts in
      var known = attempts[client] ?? Attempts(count: 0, end: time + Self.period)
      if known.end <= time { known = Attempts(count: 0, end: time + Self.period) }
      known.count += 1
      attempts.insert(known, for: client)
    }
  }
}
