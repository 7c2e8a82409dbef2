// The client: what programs call. Everything that waits for the network is in NATSClient+Connection.
package import Logging
internal import NIOCore
internal import NIOPosix
internal import NIOSSL
internal import Synchronization

/// A connection to a cluster of NATS servers that comes back when it is lost.
///
///     let client = try await NATSClient.connect(NATSConfiguration(servers: [try NATSServerAddress("nats://10.0.0.1")]))
///     let doors = try client.subscribe("events.door.*")
///     try client.publish("events.door.front", Array("open".utf8))
///     for try await message in doors { print(message.subject) }
///
/// Messages are delivered at most once: what is sent or published while a connection is being lost may be lost with it. What
/// is published while there is no connection waits for the next one, up to `NATSConfiguration.maximumPendingBytes`.
///
/// A client goes on until `close` or `drain`, also when nobody refers to it.
package final class NATSClient: Sendable {
  /// Where a client stands.
  package enum State: Sendable, Equatable {
    case connected(NATSServerAddress)
    /// There is no connection, and the client goes on trying.
    case disconnected
    /// For good, and for what reason.
    case closed(NATSError)
  }

  /// Counts since the beginning.
  package struct Statistics: Sendable, Equatable {
    /// Messages published, also those that still wait.
    package internal(set) var published = 0
    /// Messages that came.
    package internal(set) var received = 0
    /// Messages lost because their readers were too slow.
    package internal(set) var dropped = 0
    /// Connections made after the first.
    package internal(set) var reconnects = 0
    var connections = 0
  }

  /// How a pause is made: tests have none.
  typealias Sleep = @Sendable (Duration) async throws -> Void

  let configuration: NATSConfiguration
  let tls: NIOSSLContext?
  let group: any EventLoopGroup
  let logger: Logger
  let sleep: Sleep
  let inbox: String
  let state: Mutex<ClientState>
  let broadcast = EventBroadcast()

  init(
    _ configuration: NATSConfiguration, logger: Logger,
    sleep: @escaping Sleep = { try await Task.sleep(for: $0) }
  ) throws(NATSError) {
    guard !configuration.servers.isEmpty else {
      throw .invalidConfiguration("there is no NATS server to connect to")
    }
    self.configuration = configuration
    self.logger = logger
    self.sleep = sleep
    group = MultiThreadedEventLoopGroup.singleton
    let secure = configuration.tls ?? NATSConfiguration.TLS()
    tls = try secure.context()
    inbox = "_INBOX." + Self.randomToken()
    let servers = configuration.order == .given ? configuration.servers : configuration.servers.shuffled()
    state = Mutex(
      ClientState(
        ServerPool(
          servers, backoff: configuration.backoff,
          authenticationAttempts: configuration.authenticationAttempts)))
  }

  /// Connects, or begins to (`NATSConfiguration.firstConnection`).
  ///
  /// - Throws: `NATSError.invalidConfiguration`, or the error of the last server that was tried.
  package static func connect(
    _ configuration: NATSConfiguration, logger: Logger = Logger(label: "nats")
  ) async throws(NATSError) -> NATSClient {
    let client = try NATSClient(configuration, logger: logger)
    try await client.start()
    return client
  }

  /// Where the client stands.
  package var currentState: State {
    state.withLock { state in
      if let end = state.end { return .closed(end) }
      return state.link.map { .connected($0.server) } ?? .disconnected
    }
  }

  /// What happens from now on.
  package func events() -> AsyncStream<NATSEvent> { broadcast.stream() }

  /// Counts since the beginning.
  package var statistics: Statistics { state.withLock { $0.statistics } }

  /// The most bytes of a message with its headers, as the last server said.
  package var maximumPayload: Int { state.withLock { $0.maximumPayload } }

  var eventLoop: any EventLoop { group.any() }

  /// 88 random bits, as letters and digits.
  static func randomToken() -> String {
    let letters = Array("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ".utf8)
    return String(decoding: (0..<15).map { _ in letters.randomElement() ?? letters[0] }, as: UTF8.self)
  }

  // MARK: Messages

  /// Publishes a message; answers to it are expected at `reply`. It returns at once; `flush` waits until the server has it.
  ///
  /// - Throws: `NATSError.invalidSubject`, `.invalidHeader`, `.payloadTooLarge`, `.bufferFull`, `.closed`. The message was not
  ///   taken then.
  package func publish(
    _ subject: String, _ payload: [UInt8] = [], headers: NATSHeaders = NATSHeaders(), reply: String? = nil
  ) throws(NATSError) {
    try publish(NATSMessage(subject, reply: reply, headers: headers, payload: payload))
  }

  func publish(_ message: NATSMessage) throws(NATSError) {
    let count = message.payload.count + message.headers.encodedCount
    let limit = configuration.maximumPendingBytes
    let link = try state.withLock { (state) throws(NATSError) in
      try state.checkOpen()
      guard count <= state.maximumPayload else {
        throw NATSError.payloadTooLarge(count, limit: state.maximumPayload)
      }
      let link = try state.enqueue(.publish(message), limit: limit)
      state.statistics.published += 1
      return link
    }
    link?.flush()
  }

  /// Answers a request.
  ///
  /// - Throws: As `publish`; `NATSError.invalidSubject` where the message wants no answer.
  package func respond(
    to message: NATSMessage, _ payload: [UInt8] = [], headers: NATSHeaders = NATSHeaders()
  ) throws(NATSError) {
    try publish(message.reply ?? "", payload, headers: headers)
  }

  /// Subscribes to a pattern. Of all subscribers with the same `queue` one gets each message. `buffer` says how much may wait
  /// for the reader.
  ///
  /// - Throws: `NATSError.invalidSubject`, `.closed`.
  package func subscribe(
    _ pattern: String, queue: String? = nil, buffer limit: NATSBufferLimit = NATSBufferLimit()
  ) throws(NATSError) -> NATSSubscription {
    let buffer = SubscriptionBuffer(limit)
    let (id, link) = try state.withLock { (state) throws(NATSError) in
      if state.isDraining { throw NATSError.closed }
      return try state.subscribe(pattern, queue, .buffer(buffer))
    }
    link?.flush()
    return NATSSubscription(pattern, id: id, buffer, of: self)
  }

  /// Tells the server that nothing more is wanted; what is on its way still comes.
  func stopDelivery(_ id: UInt64) {
    let link = state.withLock { state -> NATSLink? in
      guard state.subscriptions[id] != nil, state.link != nil else { return nil }
      return try? state.enqueue(.unsubscribe(id))
    }
    link?.flush()
  }

  func unsubscribe(_ id: UInt64) {
    stopDelivery(id)
    let subscription = state.withLock { $0.subscriptions.removeValue(forKey: id) }
    if case .buffer(let buffer)? = subscription?.sink { buffer.finish() }
  }

  // MARK: Ends

  /// Returns when the server has seen all that was published before.
  ///
  /// - Throws: `NATSError.disconnected`, `.timeout`, `.cancelled`, `.closed`.
  package func flush(timeout: Duration? = nil) async throws(NATSError) {
    let link = try state.withLock { (state) throws(NATSError) in
      try state.checkOpen()
      guard let link = state.link else { throw NATSError.disconnected }
      return link
    }
    try await link.ping(timeout: timeout ?? configuration.requestTimeout)
  }

  /// Ends the client without losing anything: takes no more subscriptions, waits until the messages that have come are read
  /// and what was published has reached the server, and closes.
  ///
  /// - Parameter timeout: What has not happened by then is given up.
  package func drain(timeout: Duration = .seconds(30)) async {
    let subscriptions = state.withLock { state in
      state.isDraining = true
      return state.subscriptions
    }
    let buffers = subscriptions.compactMap { id, subscription in
      if case .buffer(let buffer) = subscription.sink { (id, buffer) } else { nil }
    }
    let timer = eventLoop.scheduleTask(in: timeout.timeAmount) {
      for (_, buffer) in buffers { buffer.abandon() }
    }
    for (id, _) in buffers { stopDelivery(id) }
    try? await flush(timeout: timeout)
    for (id, _) in buffers { unsubscribe(id) }
    for (_, buffer) in buffers { await buffer.isReadToEnd() }
    timer.cancel()
    try? await flush(timeout: timeout)
    await close()
  }

  /// Ends the client at once. Subscriptions end, requests fail, and what was not sent is lost.
  package func close() async { await finish(.closed) }
}
