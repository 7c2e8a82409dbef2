// A connection of the HTTP server: the handlers between the socket and Hummingbird, in the order of requests.
internal import Hummingbird
package import HummingbirdCore
package import Logging
package import NIOCore
internal import NIOHTTP1
package import NIOHTTPTypes
internal import NIOHTTPTypesHTTP1

/// Hummingbird's `HTTP1Channel`, with handlers that see requests while the HTTP version is still known, and
/// with a decoder that forwards the bytes after an upgrade request.
package struct ServiceConnection: HTTPChannelHandler {
  package let responder: Responder
  /// The time after which an idle connection is closed.
  package let idleTimeout: Duration
  /// The service's own handlers, after the codec.
  let handlers: @Sendable () -> [any ChannelHandler]

  package init(
    responder: @escaping Responder, idleTimeout: Duration,
    handlers: @escaping @Sendable () -> [any ChannelHandler]
  ) {
    (self.responder, self.idleTimeout, self.handlers) = (responder, idleTimeout, handlers)
  }

  /// The most bytes that a client may send after an upgrade request before that is answered.
  private static let mostEarlyBytes = 1 << 20

  package func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<
    NIOAsyncChannel<HTTPRequestPart, HTTPResponsePart>
  > {
    channel.eventLoop.makeCompletedFuture {
      var limits = NIOHTTPDecoderLimitConfiguration()
      limits.maxHeaderFieldSize = 16 << 10
      limits.maxHeaderListSize = 32 << 10
      limits.maxHeaderFieldCount = 100
      let decoder = HTTPRequestDecoder(leftOverBytesStrategy: .forwardBytes, limitConfiguration: limits)
      let pipeline = channel.pipeline.syncOperations
      try pipeline.addHandlers([
        HTTPResponseEncoder(), ByteToMessageHandler(decoder, maximumBufferSize: Self.mostEarlyBytes),
        HostFieldHandler(), UpgradeHandler(), HTTP1ToHTTPServerCodec(secure: false),
      ])
      try pipeline.addHandlers(handlers())
      try pipeline.addHandler(HTTPConnectionStateHandler(idleTimeout: idleTimeout, logger: logger))
      return try NIOAsyncChannel(
        wrappingChannelSynchronously: channel, configuration: .init(isOutboundHalfClosureEnabled: true))
    }
  }

  package func handle(value channel: NIOAsyncChannel<HTTPRequestPart, HTTPResponsePart>, logger: Logger) async
  {
    await handleHTTP(asyncChannel: channel, logger: logger)
  }
}

/// Adds an empty Host to an HTTP/1.1 request without one; `HostMiddleware` then rejects it (RFC 9112, 3.2).
/// The host of a request target in absolute form replaces the Host (3.2.2). This runs here because the
/// version is not available later.
final class HostFieldHandler: ChannelInboundHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias InboundOut = HTTPServerRequestPart

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard case .head(var head) = unwrapInboundIn(data) else { return context.fireChannelRead(data) }
    if head.version == .http1_1, !head.headers.contains(name: "host") {
      head.headers.add(name: "Host", value: "")
    } else if let (host, path) = Self.parts(ofAbsolute: head.uri), head.headers["host"].count < 2 {
      head.uri = path
      head.headers.replaceOrAdd(name: "Host", value: host)
    }
    context.fireChannelRead(wrapInboundOut(.head(head)))
  }

  /// Splits `scheme://host/path`; nil for a target that is a path.
  private static func parts(ofAbsolute target: String) -> (host: String, path: String)? {
    guard !target.hasPrefix("/"), let mark = target.firstRange(of: "://") else { return nil }
    let rest = target[mark.upperBound...]
    let host = rest.prefix { !"/?#".contains($0) }
    let path = rest[host.endIndex...]
    return (String(host), path.hasPrefix("/") ? String(path) : "/" + path)
  }
}

/// Closes the connection after an upgrade request that was not answered with 101, because the decoder reads
/// nothing after it. Removes Upgrade from HTTP/1.0 requests, where it must be ignored (RFC 9110, 7.8).
final class UpgradeHandler: ChannelDuplexHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias InboundOut = HTTPServerRequestPart
  typealias OutboundIn = HTTPServerResponsePart
  typealias OutboundOut = HTTPServerResponsePart

  /// The number of requests that are not fully answered; with pipelining there may be several.
  private var unanswered = 0
  /// The number of answers up to that of the upgrade request; nil if there is none.
  private var answersLeft: Int?

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard case .head(var head) = unwrapInboundIn(data) else { return context.fireChannelRead(data) }
    unanswered += 1
    if head.isDecodedAsUpgrade { answersLeft = unanswered }
    if head.version != .http1_1 { head.headers.remove(name: "Upgrade") }
    context.fireChannelRead(wrapInboundOut(.head(head)))
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    switch unwrapOutboundIn(data) {
    case .head(var head) where answersLeft == 1 && head.status != .switchingProtocols:
      head.headers.add(name: "Connection", value: "close")
      context.write(wrapOutboundOut(.head(head)), promise: promise)
    case .end:
      unanswered -= 1
      answersLeft = answersLeft.map { $0 - 1 }
      guard answersLeft == 0 else { return context.write(data, promise: promise) }
      let written = promise ?? context.eventLoop.makePromise()
      context.writeAndFlush(data, promise: written)
      let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
      written.futureResult.whenComplete { _ in bound.value.close(promise: nil) }
    default: context.write(data, promise: promise)
    }
  }
}

extension HTTPRequestHead {
  /// Whether NIO's decoder treats it as the last request of its connection (llhttp's `upgrade`).
  fileprivate var isDecodedAsUpgrade: Bool {
    method == .CONNECT
      || headers.contains(name: "Upgrade")
        && headers[canonicalForm: "Connection"].contains { $0.lowercased() == "upgrade" }
  }
}

/// Receives the bytes that the HTTP decoder holds but did not decode.
final class EarlyBytes: ChannelInboundHandler, RemovableChannelHandler {
  // No parts of HTTP requests follow an upgrade request.
  typealias InboundIn = ByteBuffer

  private var bytes: ByteBuffer?

  func channelRead(context: ChannelHandlerContext, data: NIOAny) { bytes = unwrapInboundIn(data) }

  /// Removes the HTTP decoder from a connection after an upgrade request. Returns the bytes that came after
  /// the request; nil if there are none. Must be called on the event loop.
  static func take(from channel: any Channel) -> EventLoopFuture<ByteBuffer?> {
    let early = EarlyBytes()
    do {
      let pipeline = channel.pipeline.syncOperations
      let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
      try pipeline.addHandler(early, position: .after(decoder))
      let bound = NIOLoopBound(early, eventLoop: channel.eventLoop)
      return pipeline.removeHandler(decoder).flatMap {
        let early = bound.value
        return channel.pipeline.syncOperations.removeHandler(early).map { bound.value.bytes }
      }
    } catch {
      return channel.eventLoop.makeFailedFuture(error)
    }
  }
}
