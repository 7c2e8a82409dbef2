// Refuses requests that go to another name than ours, and changes that pages of others ask for.
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore

/// Lets through what is meant for this service, from where it may come.
///
/// Also reads are checked for their host: with a name of its own on our address (DNS rebinding), a page of somebody
/// else's could read every picture.
struct HostMiddleware: RouterMiddleware {
  typealias Context = ServiceContext

  let control: AccessControl
  let rule: HostRule

  func handle(
    _ request: Request, context: ServiceContext, next: (Request, ServiceContext) async throws -> Response
  ) async throws -> Response {
    let configuration = control.configuration
    // Only HTTP/1.0 has no Host, and no browser speaks that; of two Hosts the second is left among the fields.
    if let host = request.head.authority {
      guard let name = HostName(host), request.headers[named: "Host"] == nil else {
        throw Problem(.badRequest, "a request has one field Host, and that is HOST or HOST:PORT")
      }
      guard rule.allows(name, or: configuration.allowedHosts) else {
        throw Problem(
          .misdirectedRequest,
          "this service is not called '\(name.text)': access.hosts of its configuration can name it")
      }
    }
    if request.method.changesSomething { try checkOrigin(request, configuration.allowedOrigins) }
    return try await next(request, context)
  }

  private func checkOrigin(_ request: Request, _ allowed: [String]) throws(Problem) {
    let origin = request.headers[.origin].map { RequestOrigin($0) }
    // `*` is for those who read: a browser would send its user's password along with a change.
    if let origin, origin.isNamed(in: allowed) { return }
    let isOwn = origin.map { $0.isAt(request.head.authority ?? "") } ?? true
    // Browsers that send this say by it who asked, whatever became of the origin.
    guard isOwn, request.headers[named: "Sec-Fetch-Site"] != "cross-site" else {
      throw Problem(
        .forbidden,
        "pages of another origin may change nothing here: access.origins of the configuration can name it"
      )
    }
  }
}

extension HTTPRequest.Method {
  /// Whether it is one of those that may change something.
  var changesSomething: Bool { self != .get && self != .head && self != .options }
}
