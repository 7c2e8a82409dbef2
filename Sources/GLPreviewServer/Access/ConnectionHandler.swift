// The first of a connection's handlers: too many from one address are closed before they say a word.
internal import NIOCore
internal import NIOHTTPTypes

/// Counts a connection where it begins, and closes one that is too many.
final class ConnectionHandler: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPRequestPart

  private let limiter: ConnectionLimiter

  init(_ limiter: ConnectionLimiter) { self.limiter = limiter }

  func handlerAdded(context: ChannelHandlerContext) {
    if !limiter.admits(context.channel) { context.close(promise: nil) }
  }
}
