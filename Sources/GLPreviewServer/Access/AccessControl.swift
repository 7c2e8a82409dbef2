// Decides what a client may do: from the configured secrets, the current logins, and the count of failed attempts.
internal import GLPreview
internal import HTTPTypes
internal import Synchronization

/// The access state of a service, shared by `AccessMiddleware` and `LoginRoutes`.
final class AccessControl: Sendable {
  private struct State {
    var configuration: AccessConfiguration
    var credentials: Credentials
  }

  let sessions: LoginSessions
  private let failures: FailedAttempts
  private let trusted = AcceptedCredentials()
  private let state: Mutex<State>

  /// - Parameters:
  ///   - configuration: the secrets.
  ///   - now: the clock.
  init(
    _ configuration: AccessConfiguration,
    now: @escaping @Sendable () -> CaptureInstant = { CaptureClock.now }
  ) {
    sessions = LoginSessions(now: now)
    failures = FailedAttempts(now: now)
    state = Mutex(State(configuration: configuration, credentials: Credentials(configuration)))
  }

  /// Replaces the secrets. Logins made with the previous ones end.
  func update(_ configuration: AccessConfiguration) {
    let isOther = state.withLock { state in
      let known = state.configuration
      state = State(configuration: configuration, credentials: Credentials(configuration))
      return known.tokens != configuration.tokens || known.users != configuration.users
    }
    if isOther { sessions.endAll() }
  }

  /// Whether clients must authenticate.
  var asksForCredentials: Bool { configuration.asksForCredentials }

  /// The current configuration.
  var configuration: AccessConfiguration { state.withLock { $0.configuration } }

  /// The role that a secret grants. Wrong ones are counted; after too many, no password from that client is tried for
  /// a while.
  ///
  /// Clients that share an address with an attacker are not locked out: a right token is always accepted, because
  /// tokens can't be guessed, and so is a password that was right from this address before.
  ///
  /// - Throws: a `Problem` of status 429 after too many wrong secrets.
  func role(for client: ClientGroup, _ presented: PresentedCredentials) throws(Problem) -> Role? {
    let role = state.withLock { $0.credentials }.role(of: presented)
    let isTrusted = role != nil && trusted.isTrusted(presented, from: client)
    if !isTrusted, let seconds = failures.secondsToWait(client) {
      throw .busy(
        .tooManyRequests, "too many wrong passwords or tokens from this address", retryAfter: seconds)
    }
    if role != nil { trusted.trust(presented, from: client) } else { failures.add(client) }
    return role
  }
}
