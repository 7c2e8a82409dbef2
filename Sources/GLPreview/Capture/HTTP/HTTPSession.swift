// A client for one address of one server, on a thread of its own. The client alone can't stop what has begun to connect;
// its thread's loop can, so that whatever a session is doing, all of it ends at once.
#if HTTP
  internal import AsyncHTTPClient
  internal import NIOCore
  internal import NIOHTTP1
  internal import NIOHTTPCompression
  internal import NIOPosix
  internal import NIOSSL
  internal import NIOTLS
  internal import PreviewCore
  internal import Synchronization

  /// Requests to one server.
  final class HTTPSession: Sendable {
    /// Compressed bodies that unfold to more than so many times their size are refused.
    private static let compressionLimit = 50
    /// What the client is given to end in good order.
    private static let patience = Duration.milliseconds(100)

    private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    private let client: HTTPClient
    private let channels: OpenChannels

    /// Connects to nothing yet. `tls` is nil for plain HTTP; `address` is numeric.
    init(
      to server: HTTPAddress.Server, at address: String, tls: NIOSSLContext?, connectsWithin limit: Duration
    ) {
      let channels = OpenChannels()
      var configuration = HTTPClient.Configuration()
      configuration.redirectConfiguration = .disallow
      configuration.timeout = .init(connect: .nanoseconds(Int64(limit / .nanoseconds(1))))
      configuration.connectionPool.retryConnectionEstablishment = false
      configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 2
      configuration.httpVersion = .http1Only
      configuration.decompression = .enabled(limit: .ratio(Self.compressionLimit))
      configuration.dnsOverride = [server.host: address]
      let name = server.host == address ? nil : server.host
      configuration.http1_1ConnectionDebugInitializer = { channel in channels.add(channel, tls, name: name) }
      self.channels = channels
      client = HTTPClient(eventLoopGroupProvider: .shared(group), configuration: configuration)
    }

    /// Asks for `address`; what goes wrong later the answer tells.
    func get(_ address: HTTPAddress, _ headers: HTTPHeaders) throws -> HTTPAnswer {
      let request = try HTTPClient.Request(url: address.plainURL, method: .GET, headers: headers)
      let answer = HTTPAnswer()
      _ = client.execute(request: request, delegate: answer)
      return answer
    }

    /// Ends all requests and connections, also those that are being made, and the thread. Called once.
    func end() async {
      channels.closeAll()
      // The client waits for what is connecting, and that may take long: it ends with its loop, and the client then too.
      await waitAtMost(Self.patience) { [client] in try? await client.shutdown() }
      try? await group.shutdownGracefully()
    }
  }

  /// The connections that a session has, so that they can be closed without asking their peers.
  private final class OpenChannels: Sendable {
    private let channels = Mutex<[any Channel]>([])

    /// Takes care of a new connection; what is returned is kept when it can be used. Called on its loop.
    func add(_ channel: any Channel, _ tls: NIOSSLContext?, name: String?) -> EventLoopFuture<Void> {
      channels.withLock { $0.append(channel) }
      channel.closeFuture.whenComplete { [weak self] _ in self?.remove(channel) }
      guard let tls else { return channel.eventLoop.makeSucceededVoidFuture() }
      let promise = channel.eventLoop.makePromise(of: Void.self)
      do {
        let handler = try NIOSSLClientHandler(context: tls, serverHostname: name)
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandler(HandshakeWatch(promise), position: .first)
        try pipeline.addHandler(handler, position: .first)
      } catch {
        promise.fail(error)
        channel.close(promise: nil)
      }
      return promise.futureResult
    }

    private func remove(_ channel: any Channel) {
      channels.withLock { $0.removeAll { ObjectIdentifier($0) == ObjectIdentifier(channel) } }
    }

    /// Closes all. A peer that does not answer TLS's goodbye is not waited for.
    func closeAll() {
      for channel in channels.withLock({ $0 }) {
        channel.eventLoop.execute {
          let context = try? channel.pipeline.syncOperations.context(handlerType: NIOSSLClientHandler.self)
          if let context { context.close(promise: nil) } else { channel.close(promise: nil) }
        }
      }
    }
  }

  /// Waits for TLS's handshake. Stands behind its handler.
  private final class HandshakeWatch: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private var promise: EventLoopPromise<Void>?

    init(_ promise: EventLoopPromise<Void>) { self.promise = promise }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
      if let event = event as? TLSUserEvent, case .handshakeCompleted = event {
        promise?.succeed()
        promise = nil
      }
      context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      guard let promise else { return context.fireErrorCaught(error) }
      self.promise = nil
      promise.fail(error)
      context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
      promise?.fail(HTTPClientError.remoteConnectionClosed)
      promise = nil
      context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
      promise?.fail(HTTPClientError.remoteConnectionClosed)
      promise = nil
    }
  }
#endif
