// Lets pages of configured origins read answers (CORS). By default no other origin may.
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore

/// Cross-origin resource sharing (Fetch Standard, 3.2), for fully named origins.
///
/// Preflight requests (OPTIONS) are answered before authentication, because they carry no credentials. Cookies are
/// never allowed: pages of other origins use a token.
struct CrossOriginMiddleware: RouterMiddleware {
  typealias Context = ServiceContext

  let control: AccessControl

  func handle(
    _ request: Request, context: ServiceContext, next: (Request, ServiceContext) async throws -> Response
  ) async throws -> Response {
    let allowed = control.configuration.allowedOrigins
    guard !allowed.isEmpty, let origin = request.headers[.origin] else {
      return try await next(request, context)
    }
    let known = RequestOrigin(origin)
    guard known.isIn(allowed) else { return varied(try await next(request, context)) }
    let isQuestion = request.method == .options && request.headers[.accessControlRequestMethod] != nil
    var response =
      isQuestion ? Self.answer(mayChange: known.isNamed(in: allowed)) : try await next(request, context)
    response.headers[.accessControlAllowOrigin] = allowed.contains("*") ? "*" : origin
    response.headers[.accessControlExposeHeaders] = "*"
    return varied(response)
  }

  private static func answer(mayChange: Bool) -> Response {
    var fields = HTTPFields()
    fields[.accessControlAllowMethods] = "GET, HEAD" + (mayChange ? ", POST, PUT, PATCH, DELETE" : "")
    fields[.accessControlAllowHeaders] =
      "Authorization, Content-Type, If-None-Match, Last-Event-ID, X-Requested-With"
    fields[.accessControlMaxAge] = "600"
    return Response(status: .noContent, headers: fields)
  }

  /// Caches must store an answer separately per origin.
  private func varied(_ response: Response) -> Response {
    var response = response
    response.headers.append(HTTPField(name: .vary, value: "Origin"))
    return response
  }
}
