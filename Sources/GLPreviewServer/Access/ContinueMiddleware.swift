// Answers clients that ask before sending a body (RFC 9110, 10.1.1).
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import NIOCore
internal import NIOHTTPTypes

/// Sends `100 Continue`, for which curl and others otherwise wait one second.
///
/// It is the last middleware, so that rejected requests are never asked for their body. It is not a handler of the
/// connection, because that sees a request while earlier ones are still being answered.
struct ContinueMiddleware: RouterMiddleware {
  typealias Context = ServiceContext

  func handle(
    _ request: Request, context: ServiceContext, next: (Request, ServiceContext) async throws -> Response
  ) async throws -> Response {
    if request.headers[.expect]?.lowercased() == "100-continue" {
      try await context.channel.writeAndFlush(HTTPResponsePart.head(HTTPResponse(status: .continue)))
    }
    return try await next(request, context)
  }
}
