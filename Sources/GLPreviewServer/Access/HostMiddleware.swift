// Rejects requests for other host names, and changes requested by pages of other origins.
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore

/// Admits requests that are meant for this service and come from allowed pages.
///
/// Reads are checked too: with a host name that resolves to our address (DNS rebinding), a foreign page could read
/// every picture.
struct HostMiddleware: RouterMiddleware {
  typealias Context = ServiceContext

  let control: AccessControl
  let rule: HostRule

  func handle(
    _ request: Request, context: ServiceContext, next: (Request, ServiceContext) async throws -> Response
  ) async throws -> Response {
    let configuration = control.configuration
    // Only HTTP/1.0 requests lack a Host, and no browser sends those. A second Host stays among the fields.
    if let host = request.head.authority {
      guard let name = HostName(host), request.headers[named: "Host"] == nil else {
        throw Problem(.badRequest, "a request must have exactly one Host field, HOST or HOST:PORT")
      }
      guard rule.allows(name, or: configuration.allowedHosts) else {
        throw Problem(
          .misdirectedRequest,
          "host '\(name.text)' is not allowed: add it to access.hosts in the configuration")
      }
    }
    if request.method.changesSomething { try checkOrigin(request, configuration.allowedOrigins) }
    return try await next(request, context)
  }

  private func checkOrigin(_ request: Request, _ allowed: [String]) throws(Problem) {
    let origin = request.headers[.origin].map { RequestOrigin($0) }
    // `*` only allows reading: with a change, a browser would also send its user's password.
    if let origin, origin.isNamed(in: allowed) { return }
    let isOwn = origin.map { $0.isAt(request.head.authority ?? "") } ?? true
    // This field tells which site made the request, even if the request has no Origin field.
    guard isOwn, request.headers[named: "Sec-Fetch-Site"] != "cross-site" else {
      throw Problem(
        .forbidden,
        "pages of other origins may not change anything: add the origin to access.origins in the configuration"
      )
    }
  }
}

extension HTTPRequest.Method {
  /// Whether the method may change something.
  var changesSomething: Bool { self != .get && self != .head && self != .options }
}
