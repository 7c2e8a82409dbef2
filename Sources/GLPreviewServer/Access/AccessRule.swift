// The role that a request needs.
internal import HTTPTypes
internal import HummingbirdCore

/// Who may send a request.
enum AccessRule: Sendable, Hashable {
  /// Anyone: it shows nothing of a camera.
  case everybody
  /// Clients with this role or a higher one.
  case role(Role)

  private static let openPages = Set(WebFile.all.map(\.path).filter { $0 != "/" })
    .union(["/favicon.ico", "/healthz", "/health", "/readyz"])
  private static let openCalls: Set<String> = ["/api/login", "/api/logout"]

  /// The rule for `method` at `uri`. Everything that is not known to be harmless needs a role.
  static func of(_ method: HTTPRequest.Method, _ uri: URI) -> AccessRule {
    switch method {
    case .get, .head, .options:
      // `/` with a query may be mjpg-streamer's, which returns a picture.
      let isPage = uri.path == "/" && (uri.query ?? "").isEmpty
      return isPage || openPages.contains(uri.path) ? .everybody : .role(.read)
    case .post where openCalls.contains(uri.path): return .everybody
    default: return .role(.control)
    }
  }
}

extension Role {
  /// Whether this role may do what needs `other`.
  func includes(_ other: Role) -> Bool { self == .control || other == .read }
}
