// Who may do what: the secrets of the configuration, who has logged in, and who guesses.
internal import GLPreview
internal import HTTPTypes
internal import Synchronization

/// What decides about requests; one for a service, shared by `AccessMiddleware` and `LoginRoutes`.
final class AccessControl: Sendable {
  private struct State {
    var configuration: AccessConfiguration
    var credentials: Credentials
  }

  let sessions: LoginSessions
  private let failures: FailedAttempts
  private let trusted = TrustedProofs()
  private let state: Mutex<State>

  /// - Parameters:
  ///   - configuration: the secrets.
  ///   - now: the clock.
  init(
    _ configuration: AccessConfiguration, now: @escaping @Sendable () -> Duration = { CaptureClock.now }
  ) {
    sessions = LoginSessions(now: now)
    failures = FailedAttempts(now: now)
    state = Mutex(State(configuration: configuration, credentials: Credentials(configuration)))
  }

  /// Takes other secrets. Who has logged in by those before has to do so again.
  func update(_ configuration: AccessConfiguration) {
    let isOther = state.withLock { state in
      let known = state.configuration
      state = State(configuration: configuration, credentials: Credentials(configuration))
      return known.tokens != configuration.tokens || known.users != configuration.users
    }
    if isOther { sessions.endAll() }
  }

  /// Whether somebody has to say who he is.
  var asksForCredentials: Bool { configuration.asksForCredentials }

  /// What holds now.
  var configuration: AccessConfiguration { state.withLock { $0.configuration } }

  /// What a secret proves. Wrong ones are counted, and after too many no password is tried from there for a while.
  ///
  /// Who shares an address with somebody who guesses is not locked out: a right token always opens, as nobody guesses one,
  /// and so does a password that was right from this address before.
  ///
  /// - Throws: a `Problem` of status 429 where too many were wrong.
  func role(for client: ClientGroup, _ proof: Proof) throws(Problem) -> Role? {
    let role = state.withLock { $0.credentials }.role(of: proof)
    let isTrusted = role != nil && trusted.isTrusted(proof, from: client)
    if !isTrusted, let seconds = failures.secondsToWait(client) {
      throw .busy(
        .tooManyRequests, "too many wrong passwords or tokens came from this address", retryAfter: seconds)
    }
    if role != nil { trusted.trust(proof, from: client) } else { failures.add(client) }
    return role
  }
}
