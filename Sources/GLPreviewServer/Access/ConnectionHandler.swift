// The first of a connection's handlers: too many from one address are closed before they say a word.
internal import NIOCore
internal import NIOHTTPTypes
internal import NIOHTTPTypesHTTP1

/// Counts a connection where it begins, and closes one that is too many. Puts before Hummingbird's handlers what has to
/// stand there.
final class ConnectionHandler: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPRequestPart

  private let limiter: ConnectionLimiter

  init(_ limiter: ConnectionLimiter) { self.limiter = limiter }

  func handlerAdded(context: ChannelHandlerContext) {
    let pipeline = context.pipeline.syncOperations
    if let codec = try? pipeline.handler(type: HTTP1ToHTTPServerCodec.self) {
      try? pipeline.addHandler(HostFieldHandler(), position: .before(codec))
    }
    if !limiter.admits(context.channel) { context.close(promise: nil) }
  }
}
