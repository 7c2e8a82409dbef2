// Common handling of all answers: errors become problems, and header fields restrict what pages may do.
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import Logging

/// Converts every error to `application/problem+json`.
struct ProblemMiddleware: ServiceMiddleware {
  func handle(_ request: Request, context: ServiceContext, next: Next) async throws -> Response {
    do {
      return try await next(request, context)
    } catch let error as CancellationError {
      throw error
    } catch {
      if let problem = Problem(error) {
        context.logger.debug("request refused", metadata: metadata(of: request, problem))
        return try answer(problem, request, context)
      }
      if let error = error as? any HTTPResponseError {
        return try error.response(from: request, context: context)
      }
      // Only the log contains the error, because it may name files and addresses.
      context.logger.error(
        "request failed", metadata: metadata(of: request, Redaction.message("\(error)")))
      return try answer(
        Problem(.internalServerError, "internal error: see the log of the service"), request,
        context)
    }
  }

  private func metadata(of request: Request, _ error: some CustomStringConvertible) -> Logger.Metadata {
    ["request": "\(request.method) \(URLToken.redacted(request.uri.string))", "error": "\(error)"]
  }

  private func answer(_ problem: Problem, _ request: Request, _ context: ServiceContext) throws -> Response {
    var response = try problem.response(from: request, context: context)
    // A client would take a body after a HEAD answer for the next answer.
    if request.method == .head {
      response.headers[.contentLength] = response.body.contentLength.map(String.init)
      response.body = ResponseBody()
    }
    return response
  }
}

/// Adds the header fields that protect against browser-based attacks.
///
/// Pages and data are restricted to the service's own origin. Pictures and streams may be embedded in any
/// page's `<img>` or frame, as users do in home automation and printer front ends. They have no
/// `Cross-Origin-Resource-Policy`: `same-origin` would break those pages. `cross-origin` would admit pictures
/// to cross-origin isolated pages, whose exact timers could be used to read pictures that they may only show.
struct SecurityHeadersMiddleware: ServiceMiddleware {
  /// The dashboard's policy: its own files and pictures, nothing from other origins.
  private static let pagePolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; media-src 'self' blob:; "
    + "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
  private static let dataPolicy = "default-src 'none'; frame-ancestors 'none'"

  /// Whether the service itself uses TLS.
  let isSecure: Bool

  func handle(_ request: Request, context: ServiceContext, next: Next) async throws -> Response {
    var response = try await next(request, context)
    response.headers[.xContentTypeOptions] = "nosniff"
    response.headers[named: "Referrer-Policy"] = "no-referrer"
    if isSecure { response.headers[.strictTransportSecurity] = "max-age=31536000" }
    // Browsers replace cached fields by those of a 304, which would give the page the data policy.
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
