// The cookie of a login: what it is called, and what a browser is told of it.
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore

/// A cookie that scripts can't read and other sites can't send.
///
/// Browsers send a host's cookies to all its ports: the port is in the name, so that two services on one machine do not log
/// each other's users out. Where the browser speaks TLS the cookie is `Secure`, and its name begins with `__Host-`: then no
/// other host and no page without TLS can set it.
enum LoginCookie {
  private static let prefix = "glpreview-"
  private static let securePrefix = "__Host-glpreview-"

  /// The values that `request` has with it, the one of TLS first.
  static func values(in request: Request) -> [String] {
    let port = port(of: request)
    return [securePrefix + port, prefix + port].compactMap { request.cookies[$0]?.value }
  }

  /// The field `Set-Cookie` of an answer to `request`.
  ///
  /// - Parameters:
  ///   - value: empty to take the cookie away.
  ///   - seconds: how long it lasts.
  ///   - request: what is answered.
  ///   - speaksTLS: whether the service does so itself.
  /// - Returns: the field's value.
  static func field(_ value: String, seconds: Int, for request: Request, speaksTLS: Bool) -> String {
    let isSecure = speaksTLS || isSecureBefore(us: request)
    let name = (isSecure ? securePrefix : prefix) + port(of: request)
    return
      "\(name)=\(value); HttpOnly; SameSite=Strict; Path=/; Max-Age=\(seconds)\(isSecure ? "; Secure" : "")"
  }

  /// Whether a proxy says that it was asked by TLS. It is believed without proof: whoever says so of himself has a cookie that
  /// his own browser does not send.
  private static func isSecureBefore(us request: Request) -> Bool {
    let first = request.headers[named: "X-Forwarded-Proto"]?.prefix { $0 != "," }
    if let first { return first.lowercased() == "https" }
    let hop = request.headers[named: "Forwarded"]?.prefix { $0 != "," }.lowercased()
    return hop?.contains("proto=https") == true
  }

  /// The port that the browser asked for, as far as it says one.
  private static func port(of request: Request) -> String {
    let host = request.head.authority ?? ""
    guard let colon = host.lastIndex(of: ":"), !host[colon...].contains("]") else { return "0" }
    let port = host[host.index(after: colon)...]
    return port.isEmpty ? "0" : String(port)
  }
}
