// Connects to one address of a server: without TLS, or with TLS, whose handshake is complete before anything
// is sent.
internal import NIOCore
internal import NIOPosix
internal import NIOSSL
internal import NIOTLS

struct Dialling: Sendable {
  /// The host as the user named it, for TLS and its errors.
  let host: String
  /// A numeric address of the host.
  let address: String
  let port: Int
  /// The TLS settings; nil for no TLS.
  let tls: TLSVerification?
  /// The time limit, including TLS's handshake.
  let limit: TimeAmount

  /// Connects on `loop`. `began` gets the connection as soon as it starts to connect, and `addHandlers` adds
  /// the handlers that read from it. A connection that fails is closed.
  ///
  /// The future fails with `CertificateFailure` if the server's certificate is refused.
  func connect(
    on loop: any EventLoop, began: @escaping @Sendable (any Channel) -> Void,
    addHandlers: @escaping @Sendable (any Channel) throws -> Void
  ) -> EventLoopFuture<any Channel> {
    let socketAddress: SocketAddress
    do { socketAddress = try SocketAddress(ipAddress: address, port: port) } catch {
      return loop.makeFailedFuture(error)
    }
    let ready = loop.makePromise(of: Void.self)
    let deadline = loop.scheduleTask(in: limit) { ready.fail(ChannelError.connectTimeout(limit)) }
    let connecting = ClientBootstrap(group: loop).connectTimeout(limit)
      .channelInitializer { channel in
        began(channel)
        ready.futureResult.whenFailure { _ in Self.close(channel) }
        return loop.makeCompletedFuture {
          try addTLS(to: channel, ready)
          try addHandlers(channel)
        }
      }
      .connect(to: socketAddress)
    connecting.whenFailure { ready.fail($0) }
    if tls == nil { connecting.whenSuccess { _ in ready.succeed() } }
    return ready.futureResult.flatMap { connecting }.always { _ in deadline.cancel() }
  }

  private func addTLS(to channel: any Channel, _ ready: EventLoopPromise<Void>) throws {
    guard let tls else { return }
    let pipeline = channel.pipeline.syncOperations
    try pipeline.addHandler(try tls.handler(for: host == address ? nil : host))
    try pipeline.addHandler(HandshakeWatch(ready, tls, host))
  }

  /// Closes a connection on its event loop, without waiting for a peer that does not answer TLS's
  /// close_notify.
  static func close(_ channel: any Channel) {
    let context = try? channel.pipeline.syncOperations.context(handlerType: NIOSSLClientHandler.self)
    if let context { context.close(promise: nil) } else { channel.close(promise: nil) }
  }
}

/// The error of a server that closed the connection before the response was complete.
struct HTTPConnectionClosed: Error {}

/// Waits for TLS's handshake. It follows the TLS handler in the pipeline.
private final class HandshakeWatch: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  private let ready: EventLoopPromise<Void>
  private let tls: TLSVerification
  private let host: String

  init(_ ready: EventLoopPromise<Void>, _ tls: TLSVerification, _ host: String) {
    (self.ready, self.tls, self.host) = (ready, tls, host)
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if let event = event as? TLSUserEvent, case .handshakeCompleted = event { ready.succeed() }
    context.fireUserInboundEventTriggered(event)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    let handler = try? context.pipeline.syncOperations.handler(type: NIOSSLClientHandler.self)
    ready.fail(tls.failure(error, showing: handler?.peerCertificate, by: host) ?? error)
    context.fireErrorCaught(error)
  }

  func channelInactive(context: ChannelHandlerContext) {
    ready.fail(HTTPConnectionClosed())
    context.fireChannelInactive()
  }

  func handlerRemoved(context: ChannelHandlerContext) { ready.fail(HTTPConnectionClosed()) }
}
