// A client of one MQTT server: it connects, and connects again, for as long as it runs.
//
// Why not libmosquitto, which Debian has: version 2.0 allocates as many bytes for a packet as the server
// announces, up to 256 MB (measured: 200 MB, where this client grows by 60 kB), stores unsent messages
// without a limit, and needs a thread and a TLS library of its own. The part of MQTT that is needed here is a
// few hundred lines on SwiftNIO, which the service uses anyway; they are bounded, and a fuzz target.
internal import Logging
internal import NIOCore
internal import NIOPosix
internal import NIOSSL

final class MQTTClient: Sendable {
  private struct State {
    var outbox = MQTTOutbox()
    var isOpen = false
    var isSubscribeDue = false
    var isPingDue = false
    /// The number of packets received.
    var packetCount = 0
    /// Set at the end: waiting messages are still sent.
    var isEnding = false
    /// The state that was logged last: an error, or an inner nil for a connection.
    var lastLogged: MQTTError??
    /// The version to use. If the server wants another, the other one is tried next.
    var version = MQTTVersion.v3_1_1

    enum Step: Sendable {
      case send(MQTTCommand)
      case end
    }

    /// The next step; nil if there is nothing to send.
    mutating func step(subscribing patterns: [String]) -> Step? {
      guard isOpen else { return nil }
      if isSubscribeDue {
        isSubscribeDue = false
        return .send(.subscribe(patterns))
      }
      if isPingDue {
        isPingDue = false
        return .send(.ping)
      }
      if let (id, message) = outbox.next() { return .send(.publish(message, id: id)) }
      return isEnding && outbox.isEmpty ? .end : nil
    }
  }

  /// Messages on the subscribed topics. If they are not read, the newest are dropped.
  let messages: AsyncStream<MQTTMessage>
  private let received: AsyncStream<MQTTMessage>.Continuation
  private let server: MQTTConfiguration.Server
  private let introduction: MQTTIntroduction
  private let patterns: [String]
  private let times: MQTTTimes
  private let tls: NIOSSLContext?
  private let metrics: ServiceMetrics
  private let logger: Logger
  private let state = Watched(State())

  private typealias Connection = NIOAsyncChannel<MQTTPacket, ByteBuffer>

  private static let mostReceived = 16

  /// The server publishes `will` when this client is lost. `version` is tried first.
  ///
  /// - Throws: `ConfigurationError` for certificates that can't be read.
  init(
    _ configuration: MQTTConfiguration, id: String, will: MQTTMessage, subscribingTo patterns: [String],
    times: MQTTTimes, version: MQTTVersion = .v3_1_1, counting metrics: ServiceMetrics, logger: Logger
  ) throws(ConfigurationError) {
    server = configuration.server
    introduction = MQTTIntroduction(
      id: id, user: configuration.user, password: configuration.password, will: will,
      // A packet is sent at least twice in this time.
      keepAlive: times.silence * 2)
    tls = try configuration.server.isSecure ? Self.context(configuration) : nil
    (self.patterns, self.times, self.metrics, self.logger) = (patterns, times, metrics, logger)
    state.withLock { $0.version = version }
    (messages, received) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(Self.mostReceived))
  }

  private static func context(_ files: MQTTConfiguration) throws(ConfigurationError) -> NIOSSLContext {
    do {
      var configuration = TLSConfiguration.makeClientConfiguration()
      if let file = files.authorities { configuration.trustRoots = .file(file) }
      if let file = files.certificate {
        configuration.certificateChain = try NIOSSLCertificate.fromPEMFile(file).map { .certificate($0) }
      }
      if let file = files.key {
        configuration.privateKey = .privateKey(try NIOSSLPrivateKey(file: file, format: .pem))
      }
      return try NIOSSLContext(configuration: configuration)
    } catch {
      throw ConfigurationError(at: "mqtt", "can't set up TLS with these files: \(error)")
    }
  }

  var isConnected: Bool { state.withLock { $0.isOpen } }

  /// The topics that the server should retain.
  var topics: [String] { state.withLock { $0.outbox.topics } }

  /// Changes the messages to be sent.
  func update<Result: Sendable>(_ change: (inout MQTTOutbox) -> Result) -> Result {
    state.update { change(&$0.outbox) }
  }

  /// Returns once there is a connection.
  func connected() async throws { _ = try await state.first { $0.isOpen ? true : nil } }

  /// Sends what waits, and then ends the connection.
  func end() { state.update { $0.isEnding = true } }

  // MARK: Connecting

  /// Connects again and again, until `end()` or the task is cancelled.
  func run() async {
    var backoff = Backoff(longest: times.longestPause)
    while !Task.isCancelled, !state.withLock({ $0.isEnding }) {
      let start = CaptureClock.now
      let reason: MQTTError
      do { reason = try await connection() } catch { reason = Self.reason(error) }
      lost(reason)
      // A connection that is lost at once does not count as a success.
      if CaptureClock.now - start > times.longestPause { backoff.reset() }
      let pause = backoff.nextPause(jitter: .random(in: 0...1))
      _ = try? await state.first(until: CaptureClock.now + pause) { $0.isEnding ? true : nil }
    }
    received.finish()
  }

  /// Runs one connection. Returns when it has ended in an orderly way.
  private func connection() async throws -> MQTTError {
    let version = state.withLock { $0.version }
    let connection = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .connectTimeout(.seconds(10))
      .channelOption(.tcpOption(.tcp_nodelay), value: 1)
      .connect(host: server.host, port: server.port) { [tls, server] channel in
        channel.eventLoop.makeCompletedFuture {
          let pipeline = channel.pipeline.syncOperations
          if let tls {
            // For a numeric address, without a server name, the certificate must be valid for that address.
            let isAddress = (try? SocketAddress(ipAddress: server.host, port: 0)) != nil
            let handler = try NIOSSLClientHandler(
              context: tls, serverHostname: isAddress ? nil : server.host)
            try pipeline.addHandler(handler)
          }
          try pipeline.addHandler(ByteToMessageHandler(MQTTDecoder(parser: MQTTParser(version))))
          return try Connection(wrappingChannelSynchronously: channel)
        }
      }
    return try await connection.executeThenClose { inbound, outbound in
      try await withThrowingTaskGroup(of: MQTTError.self) { group in
        group.addTask { try await self.read(inbound) }
        group.addTask { try await self.write(outbound, version) }
        group.addTask { try await self.watch() }
        defer { group.cancelAll() }
        return try await group.next() ?? .closed(nil)
      }
    }
  }

  private func read(_ inbound: NIOAsyncChannelInboundStream<MQTTPacket>) async throws -> MQTTError {
    var isSubscribed = false
    for try await packet in inbound {
      state.withLock { $0.packetCount += 1 }
      switch packet {
      case .answeredConnect(0): opened()
      case .answeredConnect(let code): throw MQTTError.refused(code)
      case .answeredPublish(let id, let code):
        if state.update({ $0.outbox.confirmed(id) }) { metrics.count(.mqtt(code < 0x80 ? .done : .failed)) }
      case .answeredSubscribe where isSubscribed:
        throw MQTTError.violation("a SUBACK without a subscription")
      case .answeredSubscribe(let codes):
        isSubscribed = true
        guard codes.contains(where: { $0 >= 0x80 }) else { continue }
        logger.warning(
          "MQTT subscription refused: snapshots can't be requested by MQTT",
          metadata: ["topics": "\(patterns.joined(separator: ", "))"])
      case .message(let message):
        if case .dropped = received.yield(message) { metrics.count(.mqttCommand(.dropped)) }
      case .answeredPing: break
      case .disconnected(let code): throw MQTTError.closed(code)
      }
    }
    return .closed(nil)
  }

  private func write(_ outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>, _ version: MQTTVersion)
    async throws -> MQTTError
  {
    try await outbound.write(MQTTCommand.connect(introduction).bytes(version))
    // This waits while the server reads nothing. The outbox bounds the messages that wait.
    while let step = try await state.first({ $0.step(subscribing: patterns) }) {
      guard case .send(let command) = step else { break }
      try await outbound.write(command.bytes(version))
    }
    try await outbound.write(MQTTCommand.disconnect.bytes(version))
    return .closed(nil)
  }

  /// Ends a connection that is not opened in time, or on which no packet is received for too long. Answers to
  /// pings count.
  private func watch() async throws -> MQTTError {
    let isOpen = try await state.first(until: CaptureClock.now + times.answer) { $0.isOpen ? true : nil }
    guard isOpen != nil else { throw MQTTError.silent }
    var count = 0
    while true {
      try await Task.sleep(for: times.silence)
      let now = state.update { state in
        state.isPingDue = true
        return state.packetCount
      }
      guard now != count else { throw MQTTError.silent }
      count = now
    }
  }

  // MARK: Changes of the connection

  private func opened() {
    let isChange = state.update { state in
      guard !state.isOpen else { return false }
      state.outbox.connected()
      (state.isOpen, state.isPingDue, state.isSubscribeDue) = (true, false, !patterns.isEmpty)
      defer { state.lastLogged = .some(nil) }
      return state.lastLogged != .some(nil)
    }
    if isChange { logger.notice("MQTT server connected", metadata: ["server": "\(server)"]) }
  }

  /// Logs a reason once until it changes.
  private func lost(_ reason: MQTTError) {
    let (isChange, events) = state.update { state in
      let events = state.outbox.disconnected()
      (state.isOpen, state.packetCount) = (false, 0)
      if reason.isOfVersion { state.version = state.version == .v5 ? .v3_1_1 : .v5 }
      defer { state.lastLogged = reason }
      return (state.lastLogged != reason && !state.isEnding, events)
    }
    if events > 0 { metrics.count(.mqtt(.dropped), by: events) }
    guard isChange else { return }
    logger.warning(
      "MQTT server lost", metadata: ["server": "\(server)", "reason": "\(Redaction.message("\(reason)"))"])
  }

  private static func reason(_ error: any Error) -> MQTTError {
    switch error {
    case let error as MQTTError: error
    case is CancellationError: .closed(nil)
    case let error as NIOConnectionError:
      .connection(
        error.connectionErrors.first.map { "\($0.error)" } ?? error.dnsAError.map { "\($0)" } ?? "\(error)")
    case is NIOSSLError, is BoringSSLError, is NIOSSLExtraError: .tls("\(error)")
    default: .connection("\(error)")
    }
  }
}

/// The parser as a channel handler.
private struct MQTTDecoder: ByteToMessageDecoder {
  typealias InboundOut = MQTTPacket

  var parser: MQTTParser

  mutating func decode(context: ChannelHandlerContext, buffer: inout ByteBuffer) throws -> DecodingState {
    guard let packet = try parser.next(in: &buffer) else { return .needMoreData }
    context.fireChannelRead(wrapInboundOut(packet))
    return .continue
  }
}
