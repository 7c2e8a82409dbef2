// Requests to one address of one server, on a thread of its own: a server that floods it delays nobody else.
#if HTTP
  internal import NIOCore
  internal import NIOHTTP1
  internal import NIOHTTPCompression
  internal import NIOPosix
  internal import NIOSSL
  internal import NIOTLS
  internal import PreviewCore
  internal import Synchronization

  /// One connection, made when it is needed. Requests are sent one at a time.
  final class HTTPSession: Sendable {
    /// Compressed bodies that expand to more than this many times their size are refused.
    private static let compressionLimit = 50

    private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    private let server: HTTPAddress.Server
    private let address: String
    private let tls: NIOSSLContext?
    private let connectsWithin: TimeAmount
    /// The connection, from the moment that it starts to connect.
    private let connection = Mutex<(any Channel)?>(nil)

    /// Does not connect yet. `address` is a numeric one of the server's host; without `tls` it is plain HTTP. The limit
    /// includes TLS's handshake.
    init(
      to server: HTTPAddress.Server, at address: String, tls: NIOSSLContext?, connectsWithin limit: Duration
    ) {
      (self.server, self.address, self.tls) = (server, address, tls)
      connectsWithin = .nanoseconds(Int64(limit / .nanoseconds(1)))
    }

    /// Requests `address`; the response reports all errors. An unfinished previous one is dropped with its connection.
    func get(_ address: HTTPAddress, _ headers: HTTPHeaders) -> HTTPAnswer {
      let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: address.target, headers: headers)
      let answer = HTTPAnswer()
      let loop = group.next()
      loop.execute { [self] in
        connected(on: loop).flatMap { $0.writeAndFlush(AnswerReader.Request(head: head, answer: answer)) }
          .whenFailure { answer.end(.failure($0)) }
      }
      return answer
    }

    /// Closes the connection, also one that is being made, and ends the thread. Called once.
    func end() async {
      // Closed on this side: a peer that does not answer TLS's close_notify is not waited for.
      if let channel = connection.withLock({ $0 }) {
        try? await channel.eventLoop.submit { Self.close(channel) }.get()
      }
      try? await group.shutdownGracefully()
    }

    private static func close(_ channel: any Channel) {
      let context = try? channel.pipeline.syncOperations.context(handlerType: NIOSSLClientHandler.self)
      if let context { context.close(promise: nil) } else { channel.close(promise: nil) }
    }

    /// The current connection if it can take a request, otherwise a new one.
    private func connected(on loop: any EventLoop) -> EventLoopFuture<any Channel> {
      if let channel = connection.withLock({ $0 }) {
        let reader = try? channel.pipeline.syncOperations.handler(type: AnswerReader.self)
        if channel.isActive, reader?.isIdle == true { return loop.makeSucceededFuture(channel) }
        Self.close(channel)
      }
      let socketAddress: SocketAddress
      do { socketAddress = try SocketAddress(ipAddress: address, port: server.port) } catch {
        return loop.makeFailedFuture(error)
      }
      let ready = loop.makePromise(of: Void.self)
      let deadline = loop.scheduleTask(in: connectsWithin) {
        ready.fail(ChannelError.connectTimeout(self.connectsWithin))
      }
      let connecting = ClientBootstrap(group: loop).connectTimeout(connectsWithin)
        .channelInitializer { channel in
          self.connection.withLock { $0 = channel }
          return loop.makeCompletedFuture { try self.addHandlers(to: channel, ready) }
        }
        .connect(to: socketAddress)
      connecting.whenFailure { ready.fail($0) }
      if tls == nil { connecting.whenSuccess { _ in ready.succeed() } }
      return ready.futureResult.flatMap { connecting }.always { [self] result in
        deadline.cancel()
        if case .failure = result, let channel = connection.withLock({ $0 }) { Self.close(channel) }
      }
    }

    private func addHandlers(to channel: any Channel, _ ready: EventLoopPromise<Void>) throws {
      let pipeline = channel.pipeline.syncOperations
      if let tls {
        let name = server.host == address ? nil : server.host
        try pipeline.addHandler(try NIOSSLClientHandler(context: tls, serverHostname: name))
        try pipeline.addHandler(HandshakeWatch(ready))
      }
      try pipeline.addHandler(HTTPRequestEncoder())
      try pipeline.addHandler(NIOHTTPRequestHeadersValidator())
      try pipeline.addHandler(HTTPResponseReader())
      try pipeline.addHandler(NIOHTTPResponseDecompressor(limit: .ratio(Self.compressionLimit)))
      try pipeline.addHandler(AnswerReader())
    }
  }

  /// The server closed the connection before the response was complete.
  struct HTTPConnectionClosed: Error {}

  /// Sends requests, and passes on responses as fast as they are read.
  private final class AnswerReader: ChannelDuplexHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundIn = Request
    typealias OutboundOut = HTTPClientRequestPart

    struct Request: Sendable {
      let head: HTTPRequestHead
      let answer: HTTPAnswer
    }

    private var answer: HTTPAnswer?
    private var isKeptAlive = true
    private var isFull = false
    private var wantsRead = false

    var isIdle: Bool { answer == nil && isKeptAlive }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
      let request = unwrapOutboundIn(data)
      answer = request.answer
      context.write(wrapOutboundOut(.head(request.head)), promise: nil)
      context.write(wrapOutboundOut(.end(nil)), promise: promise)
    }

    func read(context: ChannelHandlerContext) {
      if isFull { wantsRead = true } else { context.read() }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      switch unwrapInboundIn(data) {
      case .head(let head):
        // Nothing was asked: what this answers is not known, and neither is what the next response will.
        guard let answer else { return context.close(promise: nil) }
        isKeptAlive = head.isKeepAlive
        answer.begin(head)
      case .body(let bytes):
        let loop = context.eventLoop
        let bound = NIOLoopBound((reader: self, context: context), eventLoop: loop)
        let hasRoom = answer?.add(bytes) {
          loop.execute { bound.value.reader.resume(bound.value.context) }
        }
        isFull = hasRoom == false
      case .end:
        answer?.end(.success(()))
        answer = nil
        if !isKeptAlive { context.close(promise: nil) }
      }
    }

    private func resume(_ context: ChannelHandlerContext) {
      isFull = false
      guard wantsRead else { return }
      wantsRead = false
      context.read()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      // The compressed bytes end early, or others follow them: what came before is what there is.
      if error is NIOHTTPDecompression.ExtraDecompressionError { answer?.end(.success(())) }
      fail(error)
      context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
      fail(HTTPConnectionClosed())
      context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { fail(HTTPConnectionClosed()) }

    private func fail(_ error: any Error) {
      answer?.end(.failure(error))
      answer = nil
      isKeptAlive = false
    }
  }

  /// Waits for TLS's handshake. It follows the TLS handler in the pipeline.
  private final class HandshakeWatch: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let ready: EventLoopPromise<Void>

    init(_ ready: EventLoopPromise<Void>) { self.ready = ready }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
      if let event = event as? TLSUserEvent, case .handshakeCompleted = event { ready.succeed() }
      context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      ready.fail(error)
      context.fireErrorCaught(error)
    }

    func channelInactive(context: ChannelHandlerContext) {
      ready.fail(HTTPConnectionClosed())
      context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { ready.fail(HTTPConnectionClosed()) }
  }
#endif
