// Who has logged in by the dashboard: a cookie of 256 random bits each, kept by its digest, for some days.
internal import Crypto
internal import GLPreview
internal import Synchronization

/// The logins that hold, in memory alone: they end with the process.
final class LoginSessions: Sendable {
  /// For how long a login holds.
  static let lifetime = Duration.seconds(7 * 24 * 3600)

  private struct Login {
    let role: Role
    let expiry: Duration
  }

  // By digest: who could read this memory has no cookie, and how long a look-up takes says nothing of one.
  private let logins = Mutex<[SHA256Digest: Login]>([:])
  private let capacity: Int
  private let now: @Sendable () -> Duration

  /// - Parameters:
  ///   - capacity: logins at a time; beyond that the one that would end first ends.
  ///   - now: the clock.
  init(capacity: Int = 1024, now: @escaping @Sendable () -> Duration = { CaptureClock.now }) {
    self.capacity = capacity
    self.now = now
  }

  /// Logs somebody in.
  ///
  /// - Returns: the cookie's value, 64 hexadecimal digits.
  func begin(_ role: Role) -> String {
    let key = SymmetricKey(size: .bits256)
    let cookie = Hexadecimal.text(of: unsafe key.withUnsafeBytes { unsafe Array($0) })
    let time = now()
    logins.withLock { logins in
      if logins.count >= capacity { logins = logins.filter { $0.value.expiry > time } }
      if logins.count >= capacity, let first = logins.min(by: { $0.value.expiry < $1.value.expiry }) {
        logins[first.key] = nil
      }
      logins[Self.digest(cookie)] = Login(role: role, expiry: time + Self.lifetime)
    }
    return cookie
  }

  /// What the one with this cookie may do; nil where it is none of ours, or no longer.
  func role(cookie: String) -> Role? {
    let time = now()
    return logins.withLock { logins in
      guard let login = logins[Self.digest(cookie)], login.expiry > time else { return nil }
      return login.role
    }
  }

  /// Logs the one with this cookie out.
  func end(cookie: String) { logins.withLock { _ = $0.removeValue(forKey: Self.digest(cookie)) } }

  /// Logs all out.
  func endAll() { logins.withLock { $0 = [:] } }

  private static func digest(_ cookie: String) -> SHA256Digest { SHA256.hash(data: Array(cookie.utf8)) }
}
