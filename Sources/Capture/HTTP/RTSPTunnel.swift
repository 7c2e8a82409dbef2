// Carries a camera's RTSP over a TLS connection whose certificate is verified here. FFmpeg, which does not
// verify certificates for RTSP, reads it from a loopback port.
internal import NIOCore
internal import NIOPosix
internal import Synchronization

/// One tunnel, with a thread of its own.
package final class RTSPTunnel: Sendable {
  /// The time limit for FFmpeg's last requests to the camera.
  private static let closingTimeout = Duration.milliseconds(100)

  private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
  private let state = Mutex(State())

  private struct State: Sendable {
    /// The connection to the camera, from the start of the connection attempt.
    var camera: (any Channel)?
    /// The connections to the loopback end, until one of them is known to be FFmpeg's.
    var guests: [any Channel] = []
    var isClosed = false
  }

  /// Opens a tunnel to the server of an `rtsps://` address. The camera's certificate has been verified when
  /// this returns.
  ///
  /// - Throws: `SourceError`, `CancellationError`.
  package static func open(_ text: String, _ name: String, _ options: SourceOptions) async throws
    -> StreamTunnel
  {
    let address: RTSPSAddress
    do throws(ParameterError) { address = try RTSPSAddress(text) } catch {
      throw SourceError(.badRequest, path: name, reason: error.description)
    }
    let tunnel = RTSPTunnel()
    do {
      let side = try await withTaskCancellationHandler {
        try await tunnel.connect(to: address, options)
      } onCancel: {
        tunnel.closeCamera()
      }
      let local = try await tunnel.listen(for: side, address)
      return StreamTunnel(address: local) { await tunnel.end() }
    } catch {
      await tunnel.end()
      try Task.checkCancellation()
      throw SourceError.http(error, name: name)
    }
  }

  // MARK: To the camera

  private typealias Side = NIOLoopBound<RelayHandler>

  /// Connects to the first address that responds, with the first certificate rule that accepts the camera's
  /// certificate.
  private func connect(to address: RTSPSAddress, _ options: SourceOptions) async throws -> Side {
    let rules = try await TLSVerification.rules(for: options.certificate ?? .system)
    let addresses = try await HostLookup.addresses(of: address.host)
    let limit = TimeAmount.nanoseconds(
      Int64(options.live.connectsWithin / addresses.count / .nanoseconds(1)))
    for (index, numeric) in addresses.enumerated() {
      do {
        return try await connect(to: address, at: numeric, within: limit, rules)
      } catch {
        try Task.checkCancellation()
        if error is CertificateFailure || index == addresses.count - 1 { throw error }
      }
    }
    throw HTTPConnectionClosed()
  }

  private func connect(
    to address: RTSPSAddress, at numeric: String, within limit: TimeAmount, _ rules: [TLSVerification]
  ) async throws -> Side {
    for (index, rule) in rules.enumerated() {
      do {
        return try await connect(
          Dialling(host: address.host, address: numeric, port: address.port, tls: rule, limit: limit))
      } catch {
        guard error is CertificateFailure, index < rules.count - 1 else { throw error }
      }
    }
    throw HTTPConnectionClosed()
  }

  private func connect(_ dialling: Dialling) async throws -> Side {
    let loop = group.next()
    return try await loop.flatSubmit { [self] in
      dialling.connect(on: loop) { channel in
        self.began(channel)
      } addHandlers: { channel in
        try channel.pipeline.syncOperations.addHandler(RelayHandler())
      }.flatMapThrowing { channel in
        NIOLoopBound(try channel.pipeline.syncOperations.handler(type: RelayHandler.self), eventLoop: loop)
      }
    }.get()
  }

  // MARK: To FFmpeg

  /// Listens on a loopback port. Returns the address for FFmpeg, which contains a secret. The first
  /// connection that sends this secret gets the camera, and all others are closed.
  private func listen(for camera: Side, _ address: RTSPSAddress) async throws -> String {
    let secret = (0..<4).map { _ in UInt32.random(in: 0...UInt32.max).digits(8, radix: 16) }.joined()
    let listener = try await ServerBootstrap(group: group)
      .childChannelInitializer { [self] channel in
        channel.eventLoop.makeCompletedFuture {
          let port = channel.localAddress?.port ?? 0
          let rewriter = RTSPRequestRewriter(from: "rtsp://127.0.0.1:\(port)/\(secret)", to: address)
          let relay = RelayHandler()
          let pipeline = channel.pipeline.syncOperations
          try pipeline.addHandler(RequestHandler(rewriter) { camera.value.pair(with: relay) })
          try pipeline.addHandler(relay)
          state.withLock { $0.guests.append(channel) }
        }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    try await listener.eventLoop.submit { [self] in
      camera.value.onPairing = { taker in
        listener.close(promise: nil)
        for guest in self.takeGuests() where guest !== taker { guest.close(promise: nil) }
      }
    }.get()
    return address.local(port: listener.localAddress?.port ?? 0, secret: secret)
  }

  private func takeGuests() -> [any Channel] {
    state.withLock { state in
      defer { state.guests = [] }
      return state.guests
    }
  }

  // MARK: The end

  private func began(_ channel: any Channel) {
    let isClosed = state.withLock { state in
      state.camera = channel
      return state.isClosed
    }
    if isClosed { channel.eventLoop.execute { Dialling.close(channel) } }
  }

  private func closeCamera() {
    let channel = state.withLock { state in
      state.isClosed = true
      return state.camera
    }
    channel?.eventLoop.execute { if let channel { Dialling.close(channel) } }
  }

  /// Ends the tunnel. If FFmpeg was connected, it has sent its last request by now, which is forwarded first.
  private func end() async {
    if let channel = state.withLock({ $0.camera }), channel.isActive {
      await waitAtMost(Self.closingTimeout) {
        try? await channel.eventLoop.submit {
          try channel.pipeline.syncOperations.handler(type: RelayHandler.self).endIfAlone()
        }.get()
        try? await channel.closeFuture.get()
      }
    }
    closeCamera()
    try? await group.shutdownGracefully()
  }
}

/// Has FFmpeg's requests rewritten, and pairs the tunnel with the first client that knows the secret.
private final class RequestHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer

  private var rewriter: RTSPRequestRewriter
  private var takeTunnel: (() -> Bool)?

  init(_ rewriter: RTSPRequestRewriter, takeTunnel: @escaping () -> Bool) {
    self.rewriter = rewriter
    self.takeTunnel = takeTunnel
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard let bytes = rewriter.take(unwrapInboundIn(data).readableBytesView) else {
      return context.close(promise: nil)
    }
    guard !bytes.isEmpty else { return }
    if let takeTunnel {
      self.takeTunnel = nil
      guard takeTunnel() else { return context.close(promise: nil) }
    }
    context.fireChannelRead(wrapInboundOut(ByteBuffer(bytes: bytes)))
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}

/// One of two ends. Each writes what the other one reads, and reads no faster than the other one can write.
private final class RelayHandler: ChannelDuplexHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  /// Called with the other end as soon as there is one.
  var onPairing: ((any Channel) -> Void)?
  private var other: RelayHandler?
  private var context: ChannelHandlerContext?
  private var wantsRead = false

  /// Pairs the two ends; returns false if this end is already paired or closed.
  func pair(with other: RelayHandler) -> Bool {
    guard self.other == nil, context != nil, let there = other.context else { return false }
    self.other = other
    other.other = self
    onPairing?(there.channel)
    onPairing = nil
    return true
  }

  /// Closes an end whose other end never existed or is gone.
  func endIfAlone() { if other == nil, let context { Dialling.close(context.channel) } }

  func handlerAdded(context: ChannelHandlerContext) { self.context = context }

  func handlerRemoved(context: ChannelHandlerContext) {
    self.context = nil
    onPairing = nil
    other?.finish()
    other = nil
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    // A camera sends nothing without a request.
    guard let there = other?.context else { return Dialling.close(context.channel) }
    there.write(data, promise: nil)
  }

  func channelReadComplete(context: ChannelHandlerContext) { other?.context?.flush() }

  func channelInactive(context: ChannelHandlerContext) {
    other?.finish()
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { Dialling.close(context.channel) }

  func read(context: ChannelHandlerContext) {
    if other?.context?.channel.isWritable ?? true { context.read() } else { wantsRead = true }
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    if context.channel.isWritable { other?.readOn() }
    context.fireChannelWritabilityChanged()
  }

  private func readOn() {
    guard wantsRead else { return }
    wantsRead = false
    context?.read()
  }

  /// Closes the end after everything is written.
  private func finish() {
    other = nil
    guard let context else { return }
    let channel = context.channel
    context.writeAndFlush(wrapOutboundOut(ByteBuffer())).whenComplete { _ in Dialling.close(channel) }
  }
}
