// Limits request bodies in type and size, and sends `100 Continue` to clients that wait for it.
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import NIOCore
internal import NIOHTTPTypes

/// Rejects bodies that are too large, and bodies of changing requests unless their format is JSON or one of
/// the route's formats. A body that can't be read completely is a client error.
///
/// Pages of other sites can send text and forms without a CORS preflight, but none of these formats.
struct BodyMiddleware: ServiceMiddleware {
  let maximumBytes: Int

  func handle(_ request: Request, context: ServiceContext, next: Next) async throws -> Response {
    guard request.method.changesSomething else { return try await next(request, context) }
    let length = request.headers[.contentLength].map { Int($0) ?? Int.max }
    guard length ?? 0 <= maximumBytes else { throw Self.tooLarge(maximumBytes) }
    var (request, context) = (request, context)
    context.maxUploadSize = maximumBytes
    let isChunked = request.headers[.transferEncoding] != nil
    guard isChunked || length ?? 0 > 0 else { return try await next(request, context) }
    guard let type = request.headers[.contentType], Self.accepts(type, context.rule) else {
      let types = ["application/json"] + context.rule.bodyTypes.prefix(1)
      throw Problem(.unsupportedMediaType, "the request body must be \(types.joined(separator: " or "))")
    }
    request.body = RequestBody(asyncSequence: BoundedBody(body: request.body, maximumBytes: maximumBytes))
    return try await next(request, context)
  }

  private static func accepts(_ type: String, _ rule: RouteRule) -> Bool {
    let name = type.prefix { $0 != ";" && $0 != " " }.lowercased()
    return name == "application/json" || name.hasPrefix("application/") && name.hasSuffix("+json")
      || rule.bodyTypes.contains(name)
  }

  fileprivate static func tooLarge(_ maximumBytes: Int) -> Problem {
    Problem(.contentTooLarge, "the request body may have at most \(maximumBytes) bytes")
  }
}

/// The body while it is read: limited in size, and either complete or an error.
private struct BoundedBody: AsyncSequence, Sendable {
  let body: RequestBody
  let maximumBytes: Int

  struct AsyncIterator: AsyncIteratorProtocol {
    var body: RequestBody.AsyncIterator
    let maximumBytes: Int
    var bytes = 0

    mutating func next() async throws -> ByteBuffer? {
      guard let part = try await nextPart() else { return nil }
      bytes += part.readableBytes
      guard bytes <= maximumBytes else { throw BodyMiddleware.tooLarge(maximumBytes) }
      return part
    }

    /// Reads a part. Errors come from an invalid chunk, or from a client that has disconnected.
    private mutating func nextPart() async throws -> ByteBuffer? {
      do {
        return try await body.next()
      } catch let error as CancellationError {
        throw error
      } catch {
        throw Problem(.badRequest, "the request body is incomplete or does not match its header fields")
      }
    }
  }

  func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(body: body.makeAsyncIterator(), maximumBytes: maximumBytes)
  }
}

/// Sends `100 Continue`, for which curl and other clients otherwise wait one second.
///
/// This is the last middleware, so that rejected requests are never asked for their body. It is not a channel
/// handler, because that sees a request while earlier ones are still being answered.
struct ContinueMiddleware: ServiceMiddleware {
  func handle(_ request: Request, context: ServiceContext, next: Next) async throws -> Response {
    if request.headers[.expect]?.lowercased() == "100-continue" {
      try await context.channel?.writeAndFlush(HTTPResponsePart.head(HTTPResponse(status: .continue)))
    }
    return try await next(request, context)
  }
}
