// The API of the client. NATSClient+Connection manages its connections, NATSClient+Requests its requests.
package import Logging
internal import NIOCore
internal import NIOPosix
internal import NIOSSL
internal import Synchronization

/// A client of a cluster of NATS servers. It reconnects whenever the connection is lost.
///
///     let configuration = NATSConfiguration(servers: [try NATSServerAddress("nats://10.0.0.1")])
///     let client = try await NATSClient.connect(configuration)
///     let doors = try client.subscribe("events.door.*")
///     try client.publish("events.door.front", Array("open".utf8))
///     for try await message in doors { print(message.subject) }
///
/// Delivery is at most once: messages in transit when the connection breaks are lost. Messages published
/// while disconnected are sent on the next connection, up to `NATSConfiguration.maximumPendingBytes`.
///
/// A client runs until `close` or `drain`, even if it is no longer referenced.
package final class NATSClient: Sendable {
  /// The state of a client.
  package enum State: Sendable, Equatable {
    case connected(NATSServerAddress)
    /// Not connected. The client keeps trying.
    case disconnected
    /// Closed permanently, for this reason.
    case closed(NATSError)
  }

  /// Counters since the client was created.
  package struct Statistics: Sendable, Equatable {
    /// Messages published, including those waiting to be sent.
    package internal(set) var published = 0
    /// Messages received.
    package internal(set) var received = 0
    /// Messages dropped because readers were too slow.
    package internal(set) var dropped = 0
    /// Connections after the first.
    package internal(set) var reconnects = 0
    var connections = 0
  }

  /// The function that the client sleeps with. Tests replace it.
  package typealias Sleep = @Sendable (Duration) async throws -> Void

  let configuration: NATSConfiguration
  let tls: NIOSSLContext?
  let group: any EventLoopGroup
  let logger: Logger
  let sleep: Sleep
  /// The prefix of the reply subjects of all of this user's clients: `_INBOX.` and the user's name. It allows
  /// servers to prevent users from receiving each other's replies.
  let inboxes: String
  let inbox: String
  let state: Mutex<ClientState>
  let broadcast = EventBroadcast()

  /// Creates a client that does not connect yet.
  ///
  /// - Throws: `NATSError.invalidConfiguration`.
  package init(
    _ configuration: NATSConfiguration, logger: Logger,
    sleep: @escaping Sleep = { try await Task.sleep(for: $0) }
  ) throws(NATSError) {
    guard !configuration.servers.isEmpty else {
      throw .invalidConfiguration("no NATS server is configured")
    }
    self.configuration = configuration
    self.logger = logger
    self.sleep = sleep
    group = MultiThreadedEventLoopGroup.singleton
    let secure = configuration.servers.contains(where: \.requiresTLS) ? NATSConfiguration.TLS() : nil
    tls = try (configuration.tls ?? secure)?.context()
    let own = configuration.authentication.name.map { "_INBOX.\($0)." } ?? "_INBOX."
    (inboxes, inbox) = (own, own + Self.randomToken())
    let servers = configuration.order == .given ? configuration.servers : configuration.servers.shuffled()
    state = Mutex(
      ClientState(
        ServerPool(
          servers, backoff: configuration.backoff,
          authenticationAttempts: configuration.authenticationAttempts)))
  }

  /// Connects, or starts connecting in the background (`NATSConfiguration.firstConnection`).
  ///
  /// - Throws: `NATSError.invalidConfiguration`, or the error of the last server that was tried.
  package static func connect(
    _ configuration: NATSConfiguration, logger: Logger = Logger(label: "nats")
  ) async throws(NATSError) -> NATSClient {
    let client = try NATSClient(configuration, logger: logger)
    try await client.start()
    return client
  }

  /// The state of the client.
  package var currentState: State {
    state.withLock { state in
      if let end = state.end { return .closed(end) }
      return state.link.map { .connected($0.server) } ?? .disconnected
    }
  }

  /// Returns the events from now on.
  package func events() -> AsyncStream<NATSEvent> { broadcast.stream() }

  /// Counters since the client was created.
  package var statistics: Statistics { state.withLock { $0.statistics } }

  /// The maximum size of a message with its headers, in bytes, as announced by the last server.
  package var maximumPayload: Int { state.withLock { $0.maximumPayload } }

  var eventLoop: any EventLoop { group.any() }

  /// Returns 15 random letters and digits (89 bits).
  static func randomToken() -> String {
    let letters = Array("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ".utf8)
    return String(decoding: (0..<15).map { _ in letters.randomElement() ?? letters[0] }, as: UTF8.self)
  }

  // MARK: Messages

  /// Publishes a message, with `reply` as the subject for replies. Returns immediately; `flush` waits until
  /// the server has the message.
  ///
  /// - Throws: `NATSError.invalidSubject`, `.invalidHeader`, `.payloadTooLarge`, `.bufferFull` or `.closed`.
  ///   The message was not accepted then.
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

  /// Replies to a request.
  ///
  /// - Throws: the errors of `publish`; `NATSError.invalidSubject` if the message expects no reply.
  package func respond(
    to message: NATSMessage, _ payload: [UInt8] = [], headers: NATSHeaders = NATSHeaders()
  ) throws(NATSError) {
    try publish(message.reply ?? "", payload, headers: headers)
  }

  /// Subscribes to a pattern. Of all subscribers with the same `queue`, only one gets each message. `buffer`
  /// limits the messages that wait for the reader.
  ///
  /// - Throws: `NATSError.invalidSubject` or `.closed`.
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

  /// Unsubscribes from the server. Messages in transit still arrive.
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

  // MARK: Flushing and closing

  /// Waits until the server has received everything published before.
  ///
  /// - Throws: `NATSError.disconnected`, also if there is no connection; `.timeout`, `.cancelled` or
  ///   `.closed`.
  package func flush(timeout: Duration? = nil) async throws(NATSError) {
    let link = try state.withLock { (state) throws(NATSError) in
      try state.checkOpen()
      guard let link = state.link else { throw NATSError.disconnected }
      return link
    }
    try await link.ping(timeout: timeout ?? configuration.requestTimeout)
  }

  /// Closes the client without losing messages: ends all subscriptions, waits until their buffered messages
  /// have been read and processed (`NATSSubscription.Iterator`) and everything published has reached the
  /// server, and closes. After `timeout`, it closes regardless. Without a connection, it waits only for the
  /// readers.
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

  /// Closes the client immediately. Subscriptions end, requests fail, and unsent messages are lost.
  package func close() async { await finish(.closed) }
}
