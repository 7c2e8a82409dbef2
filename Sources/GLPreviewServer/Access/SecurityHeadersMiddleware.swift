// What browsers are told of all answers: what a page of ours may do, and what others may do with them.
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore

/// Writes the fields that keep browsers from being used against us.
///
/// Pages and data are for our own origin. Pictures and streams may stand in any page's `<img>` or frame, as people have
/// them in theirs: home automation, printers' front ends. They have no `Cross-Origin-Resource-Policy` at all: `same-origin`
/// would break those pages, and `cross-origin` would let them into the memory of pages that are isolated in order to
/// measure time exactly, where a picture can be read that only may be looked at.
struct SecurityHeadersMiddleware: RouterMiddleware {
  typealias Context = ServiceContext

  /// The dashboard's: its own files, its own pictures, and nothing of anybody else's.
  private static let pagePolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; "
    + "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
  private static let dataPolicy = "default-src 'none'; frame-ancestors 'none'"

  /// Whether it speaks TLS itself.
  let isSecure: Bool

  func handle(
    _ request: Request, context: ServiceContext, next: (Request, ServiceContext) async throws -> Response
  ) async throws -> Response {
    var response = try await next(request, context)
    response.headers[.xContentTypeOptions] = "nosniff"
    response.headers[named: "Referrer-Policy"] = "no-referrer"
    if isSecure { response.headers[.strictTransportSecurity] = "max-age=31536000" }
    // A browser writes the fields of a 304 over those of what it kept: the page would have the policy of data from then on.
    guard response.status != .notModified else { return response }
    let type = response.headers[.contentType] ?? ""
    guard !type.hasPrefix("image/"), !type.hasPrefix("multipart/x-mixed-replace") else { return response }
    let isPage = type.hasPrefix("text/html")
    response.headers[.contentSecurityPolicy] = isPage ? Self.pagePolicy : Self.dataPolicy
    response.headers[.crossOriginResourcePolicy] = "same-origin"
    if isPage { response.headers[named: "Cross-Origin-Opener-Policy"] = "same-origin" }
    return response
  }
}
