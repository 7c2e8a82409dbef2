// The first handler of a connection: closes connections above the limit per client before reading anything.
internal import NIOCore
internal import NIOHTTPTypes
internal import NIOHTTPTypesHTTP1

/// Counts a new connection and closes it if the client has too many. Also inserts the handlers that must stand before
/// Hummingbird's.
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
