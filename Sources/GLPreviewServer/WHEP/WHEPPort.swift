// The UDP port of all WebRTC sessions: it tells datagrams apart, and hands them to their sessions.
internal import GLPreview
internal import Logging
internal import NIOCore
internal import NIOPosix

/// An open port.
final class WHEPPort: Sendable {
  /// Where it listens.
  let address: SocketAddress
  let identity: WebRTCIdentity
  private let channel: any Channel
  private let exchange: NIOLoopBound<WHEPExchange>

  private init(
    _ channel: any Channel, _ address: SocketAddress, _ identity: WebRTCIdentity,
    _ exchange: NIOLoopBound<WHEPExchange>
  ) {
    (self.channel, self.address, self.identity, self.exchange) = (channel, address, identity, exchange)
  }

  /// Datagrams are no larger than Ethernet's.
  private static let datagramBytes = 2048
  private static let datagramsAtATime = 32
  /// A key picture for a hundred clients.
  private static let socketBytes = 4 << 20

  /// - Throws: `WebRTCError` without libraries; errors of binding.
  static func open(
    host: String, port: Int, counting counters: WebRTCCounters, logger: Logger
  ) async throws -> WHEPPort {
    let identity = try WebRTCIdentity()
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    let exchange = try await loop.submit {
      NIOLoopBound(WHEPExchange(counting: counters, logger: logger), eventLoop: loop)
    }.get()
    let allocator = FixedSizeRecvByteBufferAllocator(capacity: datagramBytes * datagramsAtATime)
    let channel = try await DatagramBootstrap(group: loop)
      .channelOption(.datagramVectorReadMessageCount, value: datagramsAtATime)
      .channelOption(.recvAllocator, value: allocator)
      .channelOption(.writeBufferWaterMark, value: .init(low: 1 << 20, high: 4 << 20))
      .channelOption(.socketOption(.so_sndbuf), value: socketBytes)
      .channelOption(.socketOption(.so_rcvbuf), value: socketBytes)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(exchange.value)
        }
      }
      .bind(host: host, port: port).get()
    guard let address = channel.localAddress else { throw ChannelError.unknownLocalAddress }
    return WHEPPort(channel, address, identity, exchange)
  }

  var isOpen: Bool { channel.isActive }

  /// Adds a session, which is made on the port's event loop. `pictures` are its view's, from a key picture on.
  func add(
    _ make: @escaping @Sendable () -> WHEPSession, pictures: @escaping @Sendable () throws -> VideoStream
  ) async throws {
    try await channel.eventLoop.submit { [exchange, channel] in
      guard channel.isActive else { throw ChannelError.ioOnClosedChannel }
      exchange.value.add(make(), pictures)
    }.get()
  }

  /// The sessions' terms and clients, for those who ask for one.
  func find<Result: Sendable>(
    _ id: String, _ take: @escaping @Sendable (WHEPSession) -> Result
  ) async throws -> Result? {
    try await channel.eventLoop.submit { [exchange] in exchange.value.session(id).map(take) }.get()
  }

  /// Ends the sessions that `reason` gives a reason for.
  func end(_ reason: @escaping @Sendable (WHEPSession) -> String?) {
    channel.eventLoop.execute { [exchange] in exchange.value.end(reason) }
  }

  func close() async {
    try? await channel.eventLoop.submit { [exchange] in exchange.value.end { _ in "the service ends" } }.get()
    try? await channel.close()
  }
}

/// What is behind the port; used on its event loop.
final class WHEPExchange: ChannelInboundHandler {
  typealias InboundIn = AddressedEnvelope<ByteBuffer>
  typealias OutboundOut = AddressedEnvelope<ByteBuffer>

  private struct Entry {
    let session: WHEPSession
    let pictures: @Sendable () throws -> VideoStream
  }

  private let counters: WebRTCCounters
  private let logger: Logger
  private var context: ChannelHandlerContext?
  private var sessions: [String: Entry] = [:]
  /// By the fragments of their own side, which a first datagram names.
  private var fragments: [String: String] = [:]
  /// By the addresses that they have proved.
  private var addresses: [SocketAddress: String] = [:]
  private var timer: RepeatedTask?

  private static let ticksEvery = TimeAmount.milliseconds(100)

  init(counting counters: WebRTCCounters, logger: Logger) {
    (self.counters, self.logger) = (counters, logger)
  }

  func handlerAdded(context: ChannelHandlerContext) { self.context = context }

  func channelInactive(context: ChannelHandlerContext) {
    end { _ in "the port is closed" }
    self.context = nil
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    logger.debug("WebRTC port", metadata: ["reason": "\(error)"])
  }

  // MARK: Sessions

  func add(_ session: WHEPSession, _ pictures: @escaping @Sendable () throws -> VideoStream) {
    sessions[session.terms.id] = Entry(session: session, pictures: pictures)
    fragments[session.terms.fragment] = session.terms.id
    counters.countSession(1)
    // The camera and the encoder are opened while the client connects.
    if let entry = sessions[session.terms.id] { read(entry) }
    guard timer == nil, let loop = context?.eventLoop else { return }
    let exchange = NIOLoopBound(self, eventLoop: loop)
    timer = loop.scheduleRepeatedTask(initialDelay: Self.ticksEvery, delay: Self.ticksEvery) { _ in
      exchange.value.tick()
    }
  }

  func session(_ id: String) -> WHEPSession? { sessions[id]?.session }

  func end(_ reason: (WHEPSession) -> String?) {
    for entry in Array(sessions.values) {
      guard let reason = reason(entry.session) else { continue }
      entry.session.close(reason)
      settle(entry)
    }
    context?.flush()
  }

  private func tick() {
    let now = CaptureClock.now
    for entry in Array(sessions.values) {
      entry.session.tick(at: now)
      settle(entry)
    }
    context?.flush()
  }

  // MARK: Datagrams

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let envelope = unwrapInboundIn(data)
    let bytes = Array(envelope.data.readableBytesView)
    guard let first = bytes.first else { return }
    let (address, now) = (envelope.remoteAddress, CaptureClock.now)
    // RFC 7983, 7.
    switch first {
    case 0...3: check(bytes, from: address, at: now)
    case 20...63:
      guard let entry = entry(at: address) else { return }
      entry.session.receive(dtls: bytes, from: address, at: now)
      settle(entry)
    case 128...191:
      // RTP of clients is nothing to us; RTCP is told from it by its packet type (RFC 5761, 4).
      guard bytes.count > 1, (192...223).contains(bytes[1]), let entry = entry(at: address) else { return }
      entry.session.receive(rtcp: bytes, from: address, at: now)
      settle(entry)
    default: break
    }
  }

  func channelReadComplete(context: ChannelHandlerContext) { context.flush() }

  private func entry(at address: SocketAddress) -> Entry? { addresses[address].flatMap { sessions[$0] } }

  private func check(_ bytes: [UInt8], from address: SocketAddress, at now: CaptureInstant) {
    guard let message = STUNMessage(bytes), let name = message.username,
      let id = fragments[String(decoding: name.prefix { $0 != UInt8(ascii: ":") }, as: UTF8.self)],
      let entry = sessions[id]
    else { return }
    let before = entry.session.addresses
    guard entry.session.check(message, from: address, at: now) else { return }
    for gone in before where !entry.session.addresses.contains(gone) { forget(gone, of: id) }
    addresses[address] = id
    settle(entry)
  }

  private func forget(_ address: SocketAddress, of id: String) {
    if addresses[address] == id { addresses[address] = nil }
  }

  /// Does what a session has come to: sends, reads pictures, ends.
  private func settle(_ entry: Entry) {
    let session = entry.session
    if let context {
      for datagram in session.takeOutbox() {
        let envelope = AddressedEnvelope(remoteAddress: datagram.address, data: datagram.bytes)
        context.write(wrapOutboundOut(envelope), promise: nil)
      }
    }
    if session.end != nil { return remove(session) }
    guard session.wantsKey, session.isConnected else { return }
    session.wantsKey = false
    if let stream = session.pump?.stream.value { stream.lost() } else { read(entry) }
  }

  private func remove(_ session: WHEPSession) {
    guard sessions.removeValue(forKey: session.terms.id) != nil else { return }
    session.pump?.task.cancel()
    fragments[session.terms.fragment] = nil
    for address in session.addresses { forget(address, of: session.terms.id) }
    counters.countSession(-1)
    logger.info(
      "WebRTC session ended",
      metadata: [
        "camera": "\(session.target.camera)", "view": "\(session.target.name)",
        "reason": "\(session.end ?? "")",
      ])
    guard sessions.isEmpty else { return }
    timer?.cancel()
    timer = nil
  }

  // MARK: Pictures

  /// Reads the view's pictures anew: whoever joins gets a key picture.
  private func read(_ entry: Entry) {
    guard let loop = context?.eventLoop else { return }
    let (id, pictures, logger) = (entry.session.terms.id, entry.pictures, logger)
    let number = (entry.session.pump?.number ?? 0) + 1
    let current = Watched<VideoStream?>(nil)
    let exchange = NIOLoopBound(self, eventLoop: loop)
    entry.session.pump?.task.cancel()
    let task = Task {
      while !Task.isCancelled {
        do {
          let stream = try pictures()
          current.update { $0 = stream }
          while let sample = try await stream.next() {
            let goesOn = try await loop.submit { exchange.value.send(sample, to: id, number) }.get()
            guard goesOn, !Task.isCancelled else { return }
          }
        } catch is CancellationError {
          return
        } catch {
          logger.warning("WebRTC session has no pictures", metadata: ["reason": "\(error)"])
        }
        // The view may come back; it is looked up where the configuration changes.
        try? await Task.sleep(for: .seconds(1))
      }
    }
    entry.session.pump = (task, number, current)
  }

  /// False if there is nobody to send to, or pictures are read anew.
  private func send(_ sample: VideoSample, to id: String, _ number: Int) -> Bool {
    guard let context, let entry = sessions[id], entry.session.pump?.number == number else { return false }
    // The machine's network takes less than we make: the rest of a picture is of no use then.
    guard context.channel.isWritable else {
      entry.session.wantsKey = true
      return true
    }
    entry.session.send(sample, at: CaptureClock.now)
    settle(entry)
    context.flush()
    let goesOn = entry.session.isConnected || entry.session.isPreparing
    if !goesOn { entry.session.pump?.stream.update { $0 = nil } }
    return goesOn
  }
}
