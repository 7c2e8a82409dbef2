// Who asks whether a body is welcome before he sends it (RFC 9110, 10.1.1) is told that it is.
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import NIOCore
internal import NIOHTTPTypes

/// Sends `100 Continue`; without it curl, and others, wait for a second first.
///
/// The last of the middlewares: what one before it refuses is never asked for its body. Not a handler of the connection, which
/// sees a request while those before it are still being answered.
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
