// Security headers of all answers: what our pages may do, and what other pages may do with our answers.
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore

/// Adds the header fields that protect against browser-based attacks.
///
/// Pages and data are restricted to our own origin. Pictures and streams may be embedded in any page's `<img>` or
/// frame, as users do in home automation and printer front ends. They have no `Cross-Origin-Resource-Policy`:
/// `same-origin` would break those pages, and `cross-origin` would admit them to pages that are isolated to get exact
/// timers, which could read pictures that they may only show.
struct SecurityHeadersMiddleware: RouterMiddleware {
  typealias Context = ServiceContext

  /// The dashboard's policy: its own files and pictures, nothing from other origins.
  private static let pagePolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; "
    + "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
  private static let dataPolicy = "default-src 'none'; frame-ancestors 'none'"

  /// Whether the service itself uses TLS.
  let isSecure: Bool

  func handle(
    _ request: Request, context: ServiceContext, next: (Request, ServiceContext) async throws -> Response
  ) async throws -> Response {
    var response = try await next(request, context)
    response.headers[.xContentTypeOptions] = "nosniff"
    response.headers[named: "Referrer-Policy"] = "no-referrer"
    if isSecure { response.headers[.strictTransportSecurity] = "max-age=31536000" }
    // Browsers replace cached fields with those of a 304: the page would then have the data policy.
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
