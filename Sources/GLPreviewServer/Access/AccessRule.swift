// What a request needs its sender to be.
internal import HTTPTypes
internal import HummingbirdCore

/// Who may send a request.
enum AccessRule: Sendable, Hashable {
  /// Everybody: what shows nothing of a camera.
  case everybody
  /// Who has this role, or more.
  case role(Role)

  private static let openPages = Set(WebFile.all.map(\.path).filter { $0 != "/" })
    .union(["/favicon.ico", "/healthz", "/health", "/readyz"])
  private static let openCalls: Set<String> = ["/api/login", "/api/logout"]

  /// What `method` at `uri` needs. What is not known to be harmless needs a role.
  static func of(_ method: HTTPRequest.Method, _ uri: URI) -> AccessRule {
    switch method {
    case .get, .head, .options:
      // `/` with a query may be mjpg-streamer's, and then it is a picture.
      let isPage = uri.path == "/" && (uri.query ?? "").isEmpty
      return isPage || openPages.contains(uri.path) ? .everybody : .role(.read)
    case .post where openCalls.contains(uri.path): return .everybody
    default: return .role(.control)
    }
  }
}

extension Role {
  /// Whether who has it may do what needs `other`.
  func includes(_ other: Role) -> Bool { self == .control || other == .read }
}
