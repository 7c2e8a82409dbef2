// The handler of the UDP port: gives datagrams to their sessions and pictures to the sessions that show them,
// and sends the packets that result.
internal import Logging
internal import NIOCore

/// The sessions of a port; used on its event loop.
final class WHEPExchange: ChannelInboundHandler {
  typealias InboundIn = AddressedEnvelope<ByteBuffer>

  private struct Entry {
    let session: WHEPSession
    let pictures: WHEPFeed.Pictures
  }

  private let counters: WebRTCCounters
  private let logger: Logger
  private var loop: (any EventLoop)?
  private var outbox: DatagramOutbox?
  private var sessions: [String: Entry] = [:]
  /// Session names by the ICE fragments of this side, which a first datagram contains.
  private var fragments: [String: String] = [:]
  /// Session names by the addresses that have proved their passwords.
  private var addresses: [SocketAddress: String] = [:]
  private var feeds: [WHEPFeed.Key: WHEPFeed] = [:]
  /// Sessions that have packets to send, in the order in which they were queued.
  private var queue: [WHEPSession] = []
  /// When queued sessions are served again.
  private var next: Scheduled<Void>?
  private var timer: RepeatedTask?

  private static let ticksEvery = TimeAmount.milliseconds(100)

  init(counting counters: WebRTCCounters, logger: Logger) {
    (self.counters, self.logger) = (counters, logger)
  }

  func handlerAdded(context: ChannelHandlerContext) {
    loop = context.eventLoop
    outbox = try? context.pipeline.syncOperations.withUnsafeTransportIfAvailable(of: CInt.self) {
      DatagramOutbox($0)
    }
  }

  func channelInactive(context: ChannelHandlerContext) {
    close("the port is closed")
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    logger.debug("WebRTC port", metadata: ["reason": "\(error)"])
  }

  /// Ends all sessions, and releases the socket.
  func close(_ reason: String) {
    end { _ in reason }
    outbox = nil
    loop = nil
  }

  // MARK: Sessions

  func add(_ session: WHEPSession, _ pictures: @escaping WHEPFeed.Pictures) {
    let entry = Entry(session: session, pictures: pictures)
    sessions[session.terms.id] = entry
    fragments[session.terms.fragment] = session.terms.id
    counters.countSession(1)
    // The camera and the encoder are opened while the client connects.
    read(entry, at: CaptureClock.now)
    guard timer == nil, let loop else { return }
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
      settle(entry, at: CaptureClock.now)
    }
    send()
  }

  private func tick() {
    let now = CaptureClock.now
    for entry in Array(sessions.values) {
      let session = entry.session
      session.tick(at: now)
      // A session that has recovered shares the pictures of the others again.
      if let feed = session.feed, feed.key.session != nil, !feed.isReduced, !session.isStruggling(at: now) {
        read(entry, at: now)
      }
      settle(entry, at: now)
    }
    send()
  }

  private func remove(_ session: WHEPSession) {
    guard sessions.removeValue(forKey: session.terms.id) != nil else { return }
    leave(session)
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
      settle(entry, at: now)
    case 128...191:
      // RTP from clients is ignored. RTCP is recognised by its packet type (RFC 5761, 4).
      guard bytes.count > 1, (192...223).contains(bytes[1]), let entry = entry(at: address) else { return }
      entry.session.receive(rtcp: bytes, from: address, at: now)
      settle(entry, at: now)
    default: break
    }
  }

  func channelReadComplete(context: ChannelHandlerContext) { send() }

  private func entry(at address: SocketAddress) -> Entry? { addresses[address].flatMap { sessions[$0] } }

  private func check(_ bytes: [UInt8], from address: SocketAddress, at now: CaptureInstant) {
    guard let message = STUNMessage(bytes) else { return }
    if message.kind == .bindingSuccess, let entry = entry(at: address) {
      entry.session.receive(answer: message, from: address, at: now)
      return settle(entry, at: now)
    }
    guard let name = message.username,
      let id = fragments[String(decoding: name.prefix { $0 != UInt8(ascii: ":") }, as: UTF8.self)],
      let entry = sessions[id]
    else { return }
    let before = entry.session.addresses
    guard entry.session.check(message, from: address, at: now) else { return }
    for gone in before where !entry.session.addresses.contains(gone) { forget(gone, of: id) }
    addresses[address] = id
    settle(entry, at: now)
  }

  private func forget(_ address: SocketAddress, of id: String) {
    if addresses[address] == id { addresses[address] = nil }
  }

  /// Does what a session needs: sends its answers, requests a keyframe, or removes it.
  private func settle(_ entry: Entry, at now: CaptureInstant) {
    let session = entry.session
    for datagram in session.takeOutbox() { outbox?.add(datagram.bytes, to: datagram.path) }
    if session.end != nil { return remove(session) }
    if session.wantsKey, session.isConnected {
      session.wantsKey = false
      let before = session.feed
      // Its needs must not lower the bit rate of the other sessions, and theirs must not keep it from a
      // smaller picture.
      let isStruggling = session.isStruggling(at: now)
      if before == nil || isStruggling { read(entry, alone: isStruggling, at: now) }
      if let feed = session.feed, feed === before { feed.requestKeyframe(for: session, at: now) }
    }
    enqueue(session)
  }

  // MARK: Pictures

  /// Gives a session its view's pictures: from the shared feed, or from a feed of its own.
  private func read(_ entry: Entry, alone: Bool = false, at now: CaptureInstant) {
    let session = entry.session
    let key = WHEPFeed.Key(session.target, for: alone ? session.terms.id : nil)
    guard let loop, session.feed?.key != key else { return }
    leave(session)
    if let feed = feeds[key] { return feed.add(session, at: now) }
    let feed = WHEPFeed(key)
    feeds[key] = feed
    feed.add(session, at: now)
    let (exchange, reader) = (NIOLoopBound(self, eventLoop: loop), ObjectIdentifier(feed))
    feed.run(entry.pictures, logger: logger) { event in
      try await loop.submit { exchange.value.deliver(event, to: key, by: reader) }.get()
    }
  }

  private func leave(_ session: WHEPSession) {
    guard let feed = session.feed else { return }
    feed.remove(session)
    guard feed.sessions.isEmpty else { return }
    feeds[feed.key] = nil
    feed.end()
  }

  private func deliver(_ event: WHEPFeed.Event, to key: WHEPFeed.Key, by reader: ObjectIdentifier) {
    // Another feed may have replaced it, whose pictures are not from this reader.
    guard let feed = feeds[key], ObjectIdentifier(feed) == reader else { return }
    let now = CaptureClock.now
    feed.deliver(event, at: now)
    for session in feed.sessions {
      if session.wantsKey || session.end != nil, let entry = sessions[session.terms.id] {
        settle(entry, at: now)
      }
      enqueue(session)
      if !session.isConnected, !session.isPreparing { leave(session) }
    }
    send()
  }

  // MARK: Sending

  private func enqueue(_ session: WHEPSession) {
    guard !session.isQueued, session.hasPackets else { return }
    session.isQueued = true
    queue.append(session)
  }

  /// Sends what may be sent, and schedules the rest: packets that wait for their time, or for room in the
  /// socket.
  private func send() {
    guard let outbox, let loop else { return queue = [] }
    let now = CaptureClock.now
    queue = queue.filter { session in
      session.write(into: outbox, at: now)
      session.isQueued = session.hasPackets
      return session.isQueued
    }
    outbox.flush()
    guard next == nil, !queue.isEmpty || outbox.isBlocked else { return }
    let exchange = NIOLoopBound(self, eventLoop: loop)
    next = loop.scheduleTask(in: .nanoseconds(Int64(PacketPace.step / .nanoseconds(1)))) {
      exchange.value.next = nil
      exchange.value.send()
    }
  }
}
