// One connection to one server: TCP, INFO, TLS and CONNECT, then both directions until it ends.
internal import NIOCore
internal import NIOPosix
internal import NIOSSL

/// An open connection.
struct NATSLink: Sendable {
  let server: NATSServerAddress
  let info: ServerInfo
  let channel: any Channel
  /// The reason for its end.
  let end: EventLoopFuture<NATSError>

  /// Requests to the link's channel handler.
  enum Request: Sendable {
    /// Send what the client has queued.
    case flush
    /// Send what the client has queued, and then PING. PONG fulfils the promise.
    case ping(EventLoopPromise<Void>)
    case close(NATSError)
  }

  /// Connects. Returns when the server has accepted the credentials.
  static func open(
    to server: NATSServerAddress, _ configuration: NATSConfiguration, _ context: NIOSSLContext?,
    on group: any EventLoopGroup, for owner: NATSClient
  ) async throws(NATSError) -> NATSLink {
    do {
      let (channel, ready, end) = try await ClientBootstrap(group: group)
        .connectTimeout(configuration.connectTimeout.timeAmount)
        .channelOption(.tcpOption(.tcp_nodelay), value: 1)
        .connect(host: server.host, port: server.port) { channel in
          channel.eventLoop.makeCompletedFuture {
            let ready = channel.eventLoop.makePromise(of: ServerInfo.self)
            let end = channel.eventLoop.makePromise(of: NATSError.self)
            let handler = NATSLinkHandler(
              server, configuration, context, owner, ready: ready, end: end, on: channel)
            try channel.pipeline.syncOperations.addHandler(handler)
            return (channel, ready.futureResult, end.futureResult)
          }
        }
      let info = try await withTaskCancellationHandler {
        try await ready.get()
      } onCancel: {
        channel.pipeline.triggerUserOutboundEvent(Request.close(.cancelled), promise: nil)
      }
      return NATSLink(server: server, info: info, channel: channel, end: end)
    } catch let error as NATSError {
      throw error
    } catch ChannelError.connectTimeout {
      throw .timeout
    } catch {
      throw .connection("\(server): \(error)")
    }
  }

  func flush() { channel.pipeline.triggerUserOutboundEvent(Request.flush, promise: nil) }

  /// Closes the connection. `end` reports the reason.
  func close(_ reason: NATSError) {
    channel.pipeline.triggerUserOutboundEvent(Request.close(reason), promise: nil)
  }

  /// Waits until the server has processed everything sent before.
  func ping(timeout: Duration) async throws(NATSError) {
    let promise = channel.eventLoop.makePromise(of: Void.self)
    let timer = channel.eventLoop.scheduleTask(in: timeout.timeAmount) { promise.fail(NATSError.timeout) }
    channel.pipeline.triggerUserOutboundEvent(Request.ping(promise), promise: nil)
    defer { timer.cancel() }
    do {
      try await withTaskCancellationHandler {
        try await promise.futureResult.get()
      } onCancel: {
        promise.fail(NATSError.cancelled)
      }
    } catch {
      throw error as? NATSError ?? .disconnected
    }
  }
}

/// The channel handler of a link.
final class NATSLinkHandler: ChannelInboundHandler, ChannelOutboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private enum Phase {
    case greeting
    /// CONNECT and PING have been sent.
    case introduced(ServerInfo)
    case open
    case closed
  }

  private let server: NATSServerAddress
  private let configuration: NATSConfiguration
  private let context: NIOSSLContext?
  private let owner: NATSClient
  private let ready: EventLoopPromise<ServerInfo>
  private let end: EventLoopPromise<NATSError>
  private let channel: any Channel
  private var phase = Phase.greeting
  private var parser = NATSParser()
  private var keepAlive: KeepAlive
  /// Whether the client has adopted the link. Before that, INFO messages are held back, because the INFO of
  /// the greeting would overwrite them.
  private var isAdopted = false
  private var pendingInfo: ServerInfo?
  private var timer: Scheduled<Void>?
  /// The last error that the server reported.
  private var lastError: NATSError?
  /// The promises of the PINGs that were sent, in order; nil for keep-alive PINGs.
  private var pings = CircularBuffer<EventLoopPromise<Void>?>()
  /// The writes that wait until the socket is writable.
  private var isFlushWanted = false
  private var isPongWanted = false
  private var waitingPings: [EventLoopPromise<Void>] = []

  init(
    _ server: NATSServerAddress, _ configuration: NATSConfiguration, _ context: NIOSSLContext?,
    _ owner: NATSClient, ready: EventLoopPromise<ServerInfo>, end: EventLoopPromise<NATSError>,
    on channel: any Channel
  ) {
    (self.server, self.configuration, self.context, self.owner) = (server, configuration, context, owner)
    (self.ready, self.end, self.channel) = (ready, end, channel)
    keepAlive = KeepAlive(allowed: configuration.missedPongs)
  }

  func handlerAdded(context: ChannelHandlerContext) {
    timer = schedule(configuration.connectTimeout) { handler in handler.fail(.timeout) }
  }

  private func schedule(
    _ delay: Duration, _ body: @escaping (NATSLinkHandler) -> Void
  ) -> Scheduled<Void> {
    channel.eventLoop.assumeIsolated().scheduleTask(in: delay.timeAmount) { [weak self] in
      if let self { body(self) }
    }
  }

  // MARK: From the server

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    parser.append(unwrapInboundIn(data))
    keepAlive.received()
    do throws(NATSProtocolError) {
      while let operation = try parser.next() {
        receive(operation)
        if case .closed = phase { return }
      }
    } catch {
      fail(.protocolViolation(error))
    }
  }

  private func receive(_ operation: NATSParser.Operation) {
    switch (phase, operation) {
    case (.greeting, .info(let info)):
      do throws(NATSError) { try introduce(info) } catch { fail(error) }
    case (.greeting, _): fail(.protocolViolation(.noGreeting))
    case (_, .ping): pong()
    case (.introduced, .info(let info)): phase = .introduced(info)
    case (.introduced(let info), .pong): open(info)
    case (.introduced, .error(let text)): fail(NATSClient.refusal(text))
    case (.open, .pong): pings.popFirst()??.succeed()
    case (.open, .info(let info)):
      parser.limits.payload = min(info.maximumPayload, configuration.maximumPayload)
      if isAdopted { owner.receive(operation, from: server) } else { pendingInfo = info }
    case (.open, .error(let text)):
      lastError = text.lowercased().hasPrefix("permissions") ? lastError : .server(text)
      owner.receive(operation, from: server)
    case (.open, _): owner.receive(operation, from: server)
    case (.introduced, _), (.closed, _): break
    }
  }

  /// Responds to INFO with CONNECT, after starting TLS if it is configured or required.
  private func introduce(_ info: ServerInfo) throws(NATSError) {
    parser.limits.payload = min(info.maximumPayload, configuration.maximumPayload)
    let isWanted = configuration.tls != nil || server.requiresTLS
    guard info.offersTLS || !isWanted else { throw .tls("\(server) does not offer it") }
    let isEncrypted = info.requiresTLS || isWanted
    if isEncrypted { try encrypt() }
    let options = try ConnectOptions(
      configuration.authentication, name: configuration.name, isEncrypted: isEncrypted, nonce: info.nonce)
    let json = try options.json
    phase = .introduced(info)
    send { (bytes) throws(NATSError) in
      try NATSCommand.connect(json).write(into: &bytes)
      try NATSCommand.ping.write(into: &bytes)
    }
  }

  /// Starts TLS. The TLS handler holds back writes until the handshake is complete.
  private func encrypt() throws(NATSError) {
    guard parser.bufferedBytes == 0 else { throw .protocolViolation(.bytesBeforeTLS) }
    guard let context else { throw .tls("\(server) requires it, and it is not configured") }
    let isAddress = { (name: String) in (try? SocketAddress(ipAddress: name, port: 0)) != nil }
    var name = configuration.tls?.serverName ?? server.host
    if isAddress(name), let certified = server.certificateName { name = certified }
    do {
      // Without a name, the certificate must be valid for the IP address.
      let handler = try NIOSSLClientHandler(context: context, serverHostname: isAddress(name) ? nil : name)
      try channel.pipeline.syncOperations.addHandler(handler, position: .first)
    } catch {
      throw .tls("\(error)")
    }
  }

  private func open(_ info: ServerInfo) {
    phase = .open
    timer?.cancel()
    scheduleKeepAlive()
    ready.succeed(info)
  }

  private func scheduleKeepAlive() {
    guard configuration.pingInterval > .zero else { return }
    timer = schedule(configuration.pingInterval) { handler in
      guard handler.keepAlive.intervalPassed() else { return handler.fail(.stale) }
      handler.ping(nil)
      handler.scheduleKeepAlive()
    }
  }

  func channelInactive(context: ChannelHandlerContext) {
    fail(lastError ?? .connection("\(server) closed the connection"))
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    let isTLS = error is NIOSSLError || error is BoringSSLError || error is NIOSSLExtraError
    fail(isTLS ? .tls("\(error)") : .connection("\(server): \(error)"))
  }

  /// Ends the connection. Later reasons are ignored.
  private func fail(_ error: NATSError) {
    if case .closed = phase { return }
    phase = .closed
    timer?.cancel()
    channel.close(promise: nil)
    ready.fail(error)
    for promise in pings { promise?.fail(NATSError.disconnected) }
    for promise in waitingPings { promise.fail(NATSError.disconnected) }
    (pings, waitingPings) = ([], [])
    end.succeed(error)
  }

  /// Called even if the channel was never connected.
  func handlerRemoved(context: ChannelHandlerContext) { fail(.connection("\(server) is not connected")) }

  // MARK: To the server

  func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?)
  {
    switch event as? NATSLink.Request {
    case .flush?: flush()
    case .ping(let promise)?: ping(promise)
    case .close(let reason)?: fail(reason)
    case nil: context.triggerUserOutboundEvent(event, promise: promise)
    }
  }

  /// Sends the bytes that the client has queued. While the socket is not writable, they stay with the client,
  /// which limits them. The first flush follows the adoption.
  private func flush() {
    guard case .open = phase else { return }
    isAdopted = true
    if let info = pendingInfo {
      pendingInfo = nil
      owner.receive(.info(info), from: server)
    }
    isFlushWanted = !channel.isWritable
    guard !isFlushWanted, let bytes = owner.takeOutgoing(for: channel), bytes.readableBytes > 0 else {
      return
    }
    channel.writeAndFlush(bytes, promise: nil)
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    if channel.isWritable {
      if isPongWanted { pong() }
      let waiting = waitingPings
      waitingPings = []
      for promise in waiting { ping(promise) }
      if isFlushWanted { flush() }
    }
    context.fireChannelWritabilityChanged()
  }

  private func pong() {
    isPongWanted = !channel.isWritable
    if !isPongWanted { send { (bytes) throws(NATSError) in try NATSCommand.pong.write(into: &bytes) } }
  }

  /// Sends PING. While the socket is not writable, a keep-alive PING is skipped and counts as unanswered.
  private func ping(_ promise: EventLoopPromise<Void>?) {
    guard case .open = phase else { return promise?.fail(NATSError.disconnected) ?? () }
    guard channel.isWritable else { return promise.map { waitingPings.append($0) } ?? () }
    flush()
    pings.append(promise)
    send { (bytes) throws(NATSError) in try NATSCommand.ping.write(into: &bytes) }
  }

  private func send(_ write: (inout ByteBuffer) throws(NATSError) -> Void) {
    var bytes = ByteBuffer()
    do throws(NATSError) {
      try write(&bytes)
      channel.writeAndFlush(bytes, promise: nil)
    } catch {
      fail(error)
    }
  }
}
