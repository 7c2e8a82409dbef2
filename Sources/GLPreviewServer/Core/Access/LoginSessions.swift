// Logins of the dashboard: cookies of 256 random bits, stored as digests, valid for a week.
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import Synchronization

/// The current logins, in memory only: they end with the process.
final class LoginSessions: Sendable {
  /// How long a login is valid.
  static let lifetime = Duration.seconds(7 * 24 * 3600)

  private struct Login {
    let role: Role
    /// The secret that was used for the login.
    let credential: Credential
    let expiry: CaptureInstant
  }

  // Keyed by digest: reading this memory reveals no cookie, and lookup times reveal nothing about one.
  private let logins: Mutex<LRUCache<Credential, Login>>
  private let now: @Sendable () -> CaptureInstant

  /// Keeps at most `capacity` logins; one more ends the least recently used login.
  init(capacity: Int = 1024, now: @escaping @Sendable () -> CaptureInstant = { CaptureClock.now }) {
    logins = Mutex(LRUCache(capacity: capacity))
    self.now = now
  }

  /// Starts a login by a secret, and returns the cookie's value: 64 hexadecimal digits.
  func begin(_ role: Role, by credential: Credential) -> String {
    let cookie = Hexadecimal.text(of: (0..<32).map { _ in .random(in: .min ... .max) })
    let login = Login(role: role, credential: credential, expiry: now() + Self.lifetime)
    logins.withLock { $0.insert(login, for: Credential(cookie: cookie)) }
    return cookie
  }

  /// Returns the role of a cookie; nil if it is unknown or expired.
  func role(cookie: String) -> Role? { role(of: Credential(cookie: cookie)) }

  func role(of credential: Credential) -> Role? {
    let time = now()
    return logins.withLock { logins in
      guard let login = logins[credential], login.expiry > time else { return nil }
      return login.role
    }
  }

  func end(cookie: String) { logins.withLock { $0.removeValue(for: Credential(cookie: cookie)) } }

  /// Ends the logins whose secret no longer grants the same role.
  func endLost(_ roleOf: @Sendable (Credential) -> Role?) {
    logins.withLock { logins in logins.removeAll { roleOf($0.credential) != $0.role } }
  }
}

/// A cookie that scripts can't read and other sites can't send.
///
/// Browsers send a host's cookies to all of its ports, so the name contains the port: two services on one
/// machine do not end each other's logins. Over TLS the cookie is `Secure`, and its name begins with
/// `__Host-`, so that no other host and no page without TLS can set it.
enum LoginCookie {
  private static let prefix = "glpreview-"
  private static let securePrefix = "__Host-glpreview-"

  /// Returns the values of the cookie in `request`, the one for TLS first.
  static func values(in request: Request) -> [String] {
    let port = port(of: request)
    return [securePrefix + port, prefix + port].compactMap { request.cookies[$0]?.value }
  }

  /// Returns the `Set-Cookie` field of an answer to `request`. An empty value deletes the cookie.
  static func field(_ value: String, seconds: Int, for request: Request, usesTLS: Bool) -> String {
    let isSecure = usesTLS || isSecureBefore(us: request)
    let name = (isSecure ? securePrefix : prefix) + port(of: request)
    return
      "\(name)=\(value); HttpOnly; SameSite=Strict; Path=/; Max-Age=\(seconds)\(isSecure ? "; Secure" : "")"
  }

  /// Returns whether a proxy reports that the client used TLS. The report is not verified: a client that
  /// forges it only gets a cookie that its own browser does not send.
  private static func isSecureBefore(us request: Request) -> Bool {
    let first = request.headers[named: "X-Forwarded-Proto"]?.prefix { $0 != "," }
    if let first { return first.lowercased() == "https" }
    let hop = request.headers[named: "Forwarded"]?.prefix { $0 != "," }.lowercased()
    return hop?.contains("proto=https") == true
  }

  /// Returns the port in the browser's request; `0` if it contains none.
  private static func port(of request: Request) -> String {
    let host = request.head.authority ?? ""
    guard let colon = host.lastIndex(of: ":"), !host[colon...].contains("]") else { return "0" }
    let port = host[host.index(after: colon)...]
    return port.isEmpty ? "0" : String(port)
  }
}
