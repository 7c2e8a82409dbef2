// Decides what a client may do: from the configured secrets, the current logins, and the count of failed attempts.
internal import HTTPTypes
internal import Logging
internal import ServiceLifecycle
internal import Synchronization

/// The access state of a service, shared by all that let clients in. Grants of secrets, origins and host names that are no longer valid
/// are revoked when that changes; while the service runs, also those of logins that expire.
package final class AccessControl: Service, CustomStringConvertible {
  private struct State {
    var configuration: AccessConfiguration
    var credentials: Credentials
  }

  /// A password that was right, as a digest, and the client that sent it.
  private struct AcceptedPassword: Hashable {
    let client: ClientGroup
    let digest: SecretDigest
  }

  private static let mostAcceptedPasswords = 4096

  private static let looksEvery = Duration.milliseconds(500)

  let sessions: LoginSessions
  package let grants: Grants<ClientRight>
  let hosts: HostRule
  private let failures: FailedAttempts
  private let accepted = Mutex<Set<AcceptedPassword>>([])
  private let state: Watched<State>
  private let logger: Logger

  init(
    _ configuration: AccessConfiguration, at hosts: HostRule = HostRule(.loopback),
    logger: Logger = Logger(label: "access") { _ in SwiftLogNoOpLogHandler() },
    now: @escaping @Sendable () -> CaptureInstant = { CaptureClock.now }
  ) {
    let sessions = LoginSessions(now: now)
    let state = Watched(State(configuration: configuration, credentials: Credentials(configuration)))
    (self.sessions, self.state, self.hosts, self.logger) = (sessions, state, hosts, logger)
    failures = FailedAttempts(now: now)
    grants = Grants { right throws(Problem) in
      let (configuration, credentials) = state.withLock { ($0.configuration, $0.credentials) }
      let role = Self.role(of: right.credential, configuration, credentials, sessions)
      try right.check(has: role, isAllowed: hosts.allows(right.site, by: configuration))
    }
  }

  private static func role(
    of credential: Credential, _ configuration: AccessConfiguration, _ credentials: Credentials,
    _ sessions: LoginSessions
  ) -> Role? {
    switch credential {
    case .notRequired: configuration.asksForCredentials ? nil : .control
    case .login: sessions.role(of: credential)
    case .token, .user: credentials.role(of: credential)
    }
  }

  /// Replaces the secrets, origins and host names. Logins, answers and sessions end whose secret is not among the new ones, or has a
  /// role too low, or that an origin or a host name allowed which is not listed any more.
  package func update(_ configuration: AccessConfiguration) {
    let credentials = Credentials(configuration)
    state.withLock { $0 = State(configuration: configuration, credentials: credentials) }
    sessions.endLost { credentials.role(of: $0) }
    revokeLost()
  }

  /// Starts a login, and returns the cookie's value.
  func logIn(_ role: Role, by credential: Credential) -> String {
    let cookie = sessions.begin(role, by: credential)
    // The secrets may have been replaced since this one was checked.
    let credentials = state.withLock { $0.credentials }
    sessions.endLost { credentials.role(of: $0) }
    return cookie
  }

  /// Ends the answers and sessions that nothing allows any more.
  func revokeLost() {
    let lost = grants.revokeLost()
    guard !lost.isEmpty else { return }
    let (configuration, credentials) = state.withLock { ($0.configuration, $0.credentials) }
    let reasons = lost.map { right in
      let role = Self.role(of: right.credential, configuration, credentials, sessions)
      return right.loss(hasRole: role?.includes(right.role) == true)
    }
    for (reason, count) in Dictionary(reasons.map { ($0, 1) }, uniquingKeysWith: +) {
      logger.notice("clients cut off", metadata: ["reason": "\(reason)", "answers": "\(count)"])
    }
  }

  package func run() async throws {
    try? await cancelWhenGracefulShutdown { [self] in
      while true {
        try await Task.sleep(for: Self.looksEvery)
        revokeLost()
      }
    }
    // A service that returns ends all others.
    try? await gracefulShutdown()
  }

  package var asksForCredentials: Bool { configuration.asksForCredentials }

  package var configuration: AccessConfiguration { state.withLock { $0.configuration } }

  /// The role that a secret grants. Wrong ones are counted; after too many, no password from that client is tried for
  /// a while.
  ///
  /// Clients that share an address with an attacker are not locked out: a right token is always accepted, because
  /// tokens can't be guessed, and so is a password that was right from this address before.
  ///
  /// - Throws: a `Problem` of status 429 after too many wrong secrets.
  package func role(for client: ClientGroup, _ presented: PresentedCredentials) throws(Problem) -> Role? {
    let role = state.withLock { $0.credentials }.role(of: presented.credential)
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

  private func accept(_ password: AcceptedPassword) {
    accepted.withLock { accepted in
      if accepted.count >= Self.mostAcceptedPasswords { accepted = [] }
      accepted.insert(password)
    }
  }
}

/// Recent wrong secrets, by client. After ten within a minute, none is checked until the minute is over.
final class FailedAttempts: Sendable {
  private struct Attempts {
    var count: Int
    let end: CaptureInstant
  }

  /// Wrong secrets that are checked per period.
  static let allowed = 10
  /// How long attempts are remembered, from the first.
  static let period = Duration.seconds(60)

  private let attempts: Mutex<LRUCache<ClientGroup, Attempts>>
  private let now: @Sendable () -> CaptureInstant

  /// Remembers at most `capacity` clients; the one idle longest is forgotten first.
  init(capacity: Int = 4096, now: @escaping @Sendable () -> CaptureInstant = { CaptureClock.now }) {
    attempts = Mutex(LRUCache(capacity: capacity))
    self.now = now
  }

  /// The seconds until secrets of `client` are checked again; nil if they are now.
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
