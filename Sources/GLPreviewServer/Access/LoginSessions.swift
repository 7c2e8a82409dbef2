// Logins of the dashboard: cookies of 256 random bits, stored as digests, valid for a week.
internal import Crypto
internal import GLPreview
internal import Synchronization

/// The current logins, in memory only: they end with the process.
final class LoginSessions: Sendable {
  /// How long a login is valid.
  static let lifetime = Duration.seconds(7 * 24 * 3600)

  private struct Login {
    let role: Role
    let expiry: CaptureInstant
  }

  // By digest: reading this memory reveals no cookie, and look-up times reveal nothing about one.
  private let logins: Mutex<LRUCache<SHA256Digest, Login>>
  private let now: @Sendable () -> CaptureInstant

  /// - Parameters:
  ///   - capacity: the most logins at a time; a further one ends the least recently used.
  ///   - now: the clock.
  init(capacity: Int = 1024, now: @escaping @Sendable () -> CaptureInstant = { CaptureClock.now }) {
    logins = Mutex(LRUCache(capacity: capacity))
    self.now = now
  }

  /// Starts a login.
  ///
  /// - Returns: the cookie's value, 64 hexadecimal digits.
  func begin(_ role: Role) -> String {
    let key = SymmetricKey(size: .bits256)
    let cookie = Hexadecimal.text(of: unsafe key.withUnsafeBytes { unsafe Array($0) })
    let login = Login(role: role, expiry: now() + Self.lifetime)
    logins.withLock { $0.insert(login, for: Self.digest(cookie)) }
    return cookie
  }

  /// The role of a cookie; nil if it is unknown or expired.
  func role(cookie: String) -> Role? {
    let time = now()
    return logins.withLock { logins in
      guard let login = logins[Self.digest(cookie)], login.expiry > time else { return nil }
      return login.role
    }
  }

  /// Ends the login of this cookie.
  func end(cookie: String) { logins.withLock { $0.removeValue(for: Self.digest(cookie)) } }

  /// Ends all logins.
  func endAll() { logins.withLock { $0.removeAll() } }

  private static func digest(_ cookie: String) -> SHA256Digest { SHA256.hash(data: Array(cookie.utf8)) }
}
