// Sends an event per snapshot or motion event to a server, one at a time, and retries.
internal import AsyncHTTPClient
internal import Cryptography
internal import FoundationEssentials
internal import Logging
internal import NIOCore
internal import NIOHTTP1
internal import ServiceLifecycle

/// A queue of messages to one server.
///
/// Messages are sent in order, each until it is accepted or has used up its attempts. If more than `capacity`
/// are waiting, the oldest is dropped and counted. Redirects are not followed. When the service ends, each
/// remaining message gets one attempt, within two seconds in total.
final class WebhookSender: Service {
  private struct Message: Sendable {
    let type: String
    let body: [UInt8]
    /// Does not change between attempts, so that a receiver can detect duplicates.
    let id = UUID().uuidString.lowercased()
  }

  private struct State {
    var messages: [Message] = []
    var isEnding = false
  }

  private enum Attempt {
    case done
    case failed(String)
    case again(String, retryAfter: Duration?)
  }

  /// The timeouts of a connection, of an answer, and of remaining messages at shutdown.
  struct Times: Sendable {
    var connects = Duration.seconds(5)
    var answers = Duration.seconds(10)
    var ends = Duration.seconds(2)
  }

  private let configuration: WebhookConfiguration
  private let metrics: ServiceMetrics
  private let logger: Logger
  private let schedule: RetrySchedule
  private let times: Times
  private let state = Watched(State())

  init(
    _ configuration: WebhookConfiguration, metrics: ServiceMetrics, logger: Logger,
    schedule: RetrySchedule = RetrySchedule(), times: Times = Times()
  ) {
    self.times = times
    self.configuration = configuration
    self.metrics = metrics
    self.logger = logger
    self.schedule = schedule
  }

  var maximumEventBytes: Int { configuration.maximumEventBytes }

  func send(_ event: Snapshot.Event) { send(type: event.type, body: event.json) }

  /// Queues JSON for sending; returns at once. `type` is the value of `X-GLPreview-Event`.
  func send(type: String, body: [UInt8]) {
    let dropped = state.update { state in
      state.messages.append(Message(type: type, body: body))
      let excess = max(0, state.messages.count - max(1, configuration.capacity))
      state.messages.removeFirst(excess)
      return excess
    }
    if dropped > 0 { metrics.count(.webhook(.dropped), by: dropped) }
  }

  func run() async throws {
    var options = HTTPClient.Configuration()
    options.redirectConfiguration = .disallow
    options.timeout = .init(connect: TimeAmount(times.connects), read: TimeAmount(times.answers))
    options.connectionPool.retryConnectionEstablishment = false
    let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: options)
    await withTaskGroup { group in
      group.addTask { [self] in await sendAll(by: client) }
      group.addTask { [self] in
        try? await gracefulShutdown()
        state.update { $0.isEnding = true }
        try? await Task.sleep(for: times.ends)
      }
      await group.next()
      group.cancelAll()
    }
    let left = state.withLock { $0.messages.count }
    if left > 0 {
      metrics.count(.webhook(.dropped), by: left)
      logger.warning("webhook events not sent before shutdown", metadata: ["count": "\(left)"])
    }
    try await client.shutdown()
  }

  private func sendAll(by client: HTTPClient) async {
    while !Task.isCancelled {
      // Empty once the service ends and all messages are sent.
      let messages = try? await state.first { state -> [Message]? in
        guard let message = state.messages.first else { return state.isEnding ? [] : nil }
        state.messages.removeFirst()
        return [message]
      }
      guard let message = messages?.first else { return }
      await deliver(message, by: client)
    }
  }

  private func deliver(_ message: Message, by client: HTTPClient) async {
    var number = 1
    while true {
      switch await attempt(message, by: client) {
      case .done:
        metrics.count(.webhook(.done))
        return
      case .failed(let reason):
        return fail(message, reason, number)
      case .again(let reason, let retryAfter):
        guard number < configuration.attempts, !Task.isCancelled, !state.withLock({ $0.isEnding }) else {
          return fail(message, reason, number)
        }
        logger.debug("webhook: \(reason)", metadata: ["delivery": "\(message.id)"])
        metrics.count(.webhookRetry)
        let wait = schedule.wait(after: number, retryAfter: retryAfter)
        // At shutdown, the wait ends and one more attempt follows.
        try? await cancelWhenGracefulShutdown { try await Task.sleep(for: wait) }
        number += 1
      }
    }
  }

  private func fail(_ message: Message, _ reason: String, _ attempts: Int) {
    metrics.count(.webhook(.failed))
    logger.warning(
      "webhook event not delivered",
      metadata: ["delivery": "\(message.id)", "reason": "\(reason)", "attempts": "\(attempts)"])
  }

  private func attempt(_ message: Message, by client: HTTPClient) async -> Attempt {
    do {
      let response = try await client.execute(try request(message), timeout: TimeAmount(times.answers))
      // The content is ignored, but a connection can be reused only if its answer is read to the end. A
      // deadline is needed, because the answer may arrive very slowly.
      _ = try? await withDeadline(times.answers) { try await response.body.collect(upTo: 64 << 10) }
      let status = response.status.code
      if (200...299).contains(status) { return .done }
      guard RetrySchedule.isWorthRetrying(status) else { return .failed("the server answered \(status)") }
      let retryAfter = response.headers.first(name: "Retry-After").flatMap { RetrySchedule.retryAfter($0) }
      return .again("the server answered \(status)", retryAfter: retryAfter)
    } catch {
      return .again(Redaction.message("\(error)"), retryAfter: nil)
    }
  }

  private func request(_ message: Message) throws(CryptographyError) -> HTTPClientRequest {
    var request = HTTPClientRequest(url: configuration.url)
    request.method = .POST
    let timestamp = "\(WallTime.now.sinceEpoch.components.seconds)"
    request.headers.add(name: "Content-Type", value: "application/json")
    request.headers.add(name: "User-Agent", value: "glpreview")
    request.headers.add(name: "X-GLPreview-Event", value: message.type)
    request.headers.add(name: "X-GLPreview-Delivery", value: message.id)
    request.headers.add(name: "X-GLPreview-Timestamp", value: timestamp)
    if let secret = configuration.secret {
      let signature = try WebhookSignature.text(of: message.body, timestamp: timestamp, secret: secret)
      request.headers.add(name: "X-GLPreview-Signature", value: signature)
    }
    request.body = .bytes(ByteBuffer(bytes: message.body))
    return request
  }
}

/// `X-GLPreview-Signature`, by which a receiver can verify a message's origin and time: HMAC-SHA256 with the
/// shared secret over the timestamp, a dot and the body. The timestamp is signed too, to prevent replays of
/// old messages.
enum WebhookSignature {
  /// Returns `sha256=` and 64 hexadecimal digits.
  static func text(
    of body: [UInt8], timestamp: String, secret: String
  ) throws(CryptographyError) -> String {
    let code = try HashFunction.sha256.authenticationCode(
      of: Array("\(timestamp).".utf8) + body, key: Array(secret.utf8))
    return "sha256=" + Hexadecimal.text(of: code)
  }
}
