// Connecting, reconnecting, and handling what arrives on the connection.
internal import Logging
internal import NIOCore
internal import Synchronization

extension NATSClient {
  // MARK: Attempts

  /// Makes the first connection if one is required, and starts the task that keeps the client connected.
  package func start() async throws(NATSError) {
    if configuration.firstConnection == .required {
      let count = state.withLock { $0.servers.servers.count }
      for attempt in 1...max(count, 1) {
        do throws(NATSError) {
          try await tryNext()
          break
        } catch {
          guard attempt == count || Task.isCancelled else { continue }
          await finish(error)
          throw error
        }
      }
    }
    let work = Task { await self.run() }
    state.withLock { $0.work = work }
    // The client was closed in the meantime.
    if case .closed = currentState { work.cancel() }
  }

  /// Keeps the client connected until it is closed.
  private func run() async {
    while !Task.isCancelled {
      if let link = state.withLock({ $0.link }) {
        let begin = ContinuousClock.now
        let reason = (try? await link.end.get()) ?? .closed
        state.withLock { $0.servers.lost(after: ContinuousClock.now - begin) }
        lose(because: reason)
      }
      do throws(NATSError) {
        try await tryNext()
      } catch {
        // Either no server is left to try, or the client was closed.
        let isOver = state.withLock { $0.servers.servers.isEmpty || $0.end != nil }
        if isOver { return await finish(error) }
      }
    }
  }

  /// Pauses, and tries the next server.
  private func tryNext() async throws(NATSError) {
    let next = try state.withLock { (state) throws(NATSError) in
      try state.checkOpen()
      return state.servers.next(jitter: .random(in: 0...1))
    }
    guard let (server, pause) = next else { throw .closed }
    broadcast.send(.reconnecting(server, after: pause))
    if pause > .zero {
      do { try await sleep(pause) } catch { throw .cancelled }
    }
    do throws(NATSError) {
      try adopt(await NATSLink.open(to: server, configuration, tls, on: group, for: self))
    } catch {
      let isRefused = if case .authentication = error { true } else { false }
      state.withLock { $0.servers.failed(server, isRefused ? .credentials : .other) }
      logger.info("NATS server not connected", metadata: ["server": "\(server)", "reason": "\(error)"])
      broadcast.send(.attemptFailed(server, error))
      throw error
    }
  }

  private func adopt(_ link: NATSLink) throws(NATSError) {
    let isTaken = state.withLock { state in
      guard state.end == nil else { return false }
      state.adopt(link)
      state.servers.connected(to: link.server)
      state.servers.learn(ordered(link.info.connectURLs), from: link.server)
      state.statistics.connections += 1
      state.statistics.reconnects = state.statistics.connections - 1
      return true
    }
    guard isTaken else {
      link.close(.closed)
      throw .closed
    }
    link.flush()
    logger.info("NATS connected", metadata: ["server": "\(link.server)", "version": "\(link.info.version)"])
    broadcast.send(.connected(link.server))
  }

  private func lose(because reason: NATSError) {
    let (requests, isOpen) = state.withLock { ($0.lose(), $0.end == nil) }
    for request in requests { request.resume(returning: .failure(isOpen ? .disconnected : .closed)) }
    guard isOpen else { return }
    logger.info("NATS connection lost", metadata: ["reason": "\(reason)"])
    broadcast.send(.disconnected(reason))
  }

  /// Ends the client. Later reasons are ignored.
  func finish(_ reason: NATSError) async {
    let (link, work, subscriptions) = state.withLock { state in
      defer { state.subscriptions = [:] }
      state.end = state.end ?? reason
      return (state.link, state.work, state.subscriptions)
    }
    work?.cancel()
    link?.close(.closed)
    _ = try? await link?.end.get()
    lose(because: .closed)
    for case .buffer(let buffer) in subscriptions.values.map(\.sink) { buffer.finish() }
    broadcast.finish(.closed(reason))
  }

  // MARK: From a link, on its event loop

  func takeOutgoing(for channel: any Channel) -> ByteBuffer? {
    state.withLock { $0.takeOutgoing(for: channel) }
  }

  func receive(_ operation: NATSParser.Operation, from server: NATSServerAddress) {
    switch operation {
    case .message(let message, let id): deliver(message, id)
    case .unreadable(let id):
      let pattern = state.withLock { $0.subscriptions[id]?.pattern }
      if let pattern { broadcast.send(.unreadableMessage(pattern: pattern)) }
    case .info(let info): learn(info, from: server)
    case .error(let text): report(text)
    case .ok, .ping, .pong: break
    }
  }

  private func deliver(_ message: NATSMessage, _ id: UInt64) {
    let subscription = state.withLock { state in
      state.statistics.received += 1
      return state.subscriptions[id]
    }
    switch subscription?.sink {
    case .requests?:
      let token = message.subject.split(separator: ".").last.map(String.init) ?? ""
      answer(token, .success(message))
    case .buffer(let buffer)?:
      let before = buffer.dropped
      let lost = buffer.push(message)
      let count = buffer.dropped - before
      if count > 0 { state.withLock { $0.statistics.dropped += count } }
      if let lost { broadcast.send(.slowConsumer(pattern: subscription?.pattern ?? "", dropped: lost)) }
    case nil: break
    }
  }

  /// Servers report the same order to all their clients, so it is shuffled to spread the load.
  private func ordered(_ urls: [String]) -> [String] {
    configuration.order == .given ? urls : urls.shuffled()
  }

  private func learn(_ info: ServerInfo, from server: NATSServerAddress) {
    let link = state.withLock { state -> NATSLink? in
      state.servers.learn(ordered(info.connectURLs), from: server)
      state.maximumPayload = info.maximumPayload
      return info.isLameDuck && state.servers.servers.count > 1 ? state.link : nil
    }
    guard info.isLameDuck else { return }
    broadcast.send(.lameDuck(server))
    guard let link else { return }
    Task {
      // Ensures that this server has received everything published.
      try? await link.ping(timeout: configuration.requestTimeout)
      link.close(.lameDuck)
    }
  }

  /// Handles an error of the server. After a fatal error, the server closes the connection.
  private func report(_ text: String) {
    logger.warning("NATS server error", metadata: ["text": "\(text)"])
    guard text.lowercased().hasPrefix("permissions violation") else {
      return broadcast.send(.serverError(text))
    }
    broadcast.send(.permissionViolation(text))
    let (refused, requests) = state.withLock { $0.refuse { text.contains("Subscription to \"\($0)\"") } }
    for buffer in refused { buffer.finish(.permission(text)) }
    for request in requests { request.resume(returning: .failure(.permission(text))) }
  }

  /// Returns the error for a refused connection.
  static func refusal(_ text: String) -> NATSError {
    let words = text.lowercased()
    return words.contains("authorization") || words.contains("authentication")
      ? .authentication(text) : .server(text)
  }
}
