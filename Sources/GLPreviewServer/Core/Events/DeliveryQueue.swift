// Sends messages to one server by HTTP, and again if it does not accept them.
internal import AsyncHTTPClient
package import Logging
internal import NIOCore
internal import NIOHTTP1
internal import ServiceLifecycle

/// A queue of messages to one server.
///
/// Each message is sent until it is accepted, has used up its attempts, or may not be sent any more. If more than
/// `capacity` are waiting, or they hold more than `mostBytes`, the oldest is dropped. Drops are counted, and the first
/// of several is logged. Redirects are not followed. When the service ends, each remaining message gets one attempt,
/// within two seconds in total.
package final class DeliveryQueue: Service {
  /// The server, and the bounds of the queue.
  package struct Target: Sendable {
    /// The server's name in log lines, such as `webhook`.
    package let name: String
    /// A message in log lines, such as `webhook event`, and several.
    package let message, messages: String
    package let attempts, capacity: Int
    /// The most memory that waiting messages hold, in bytes. A single message may be larger.
    package let mostBytes: Int
    /// How many messages are sent at a time.
    package let concurrency: Int
    /// Whether each failed message is logged, or only the first of several with equal reasons.
    package let logsEach: Bool
    let result: @Sendable (ServiceMetrics.Outcome) -> ServiceMetrics.Event
    let retry: ServiceMetrics.Event

    package init(
      name: String, message: String, messages: String, attempts: Int, capacity: Int,
      mostBytes: Int = .max, concurrency: Int = 1, logsEach: Bool = true, retry: ServiceMetrics.Event,
      result: @escaping @Sendable (ServiceMetrics.Outcome) -> ServiceMetrics.Event
    ) {
      (self.name, self.message, self.messages) = (name, message, messages)
      (self.attempts, self.capacity, self.mostBytes) = (attempts, max(1, capacity), mostBytes)
      (self.concurrency, self.logsEach, self.retry, self.result) = (concurrency, logsEach, retry, result)
    }
  }

  /// The timeouts of a connection, of an answer, and of remaining messages at shutdown.
  package struct Times: Sendable {
    var connects = Duration.seconds(5)
    var answers = Duration.seconds(10)
    var ends = Duration.seconds(2)

    package init(
      connects: Duration = .seconds(5), answers: Duration = .seconds(10), ends: Duration = .seconds(2)
    ) { (self.connects, self.answers, self.ends) = (connects, answers, ends) }
  }

  /// The results so far.
  package struct Status: Sendable, Equatable {
    package var waiting = 0
    package var sent = 0
    package var failed = 0
    package var dropped = 0
    /// The reason of the last failed attempt; nil after a successful one.
    package var problem: String?
  }

  private struct State {
    var waiting = WaitingDeliveries()
    var isEnding = false
    var status = Status()
    /// The reason of a failure that was logged last.
    var logged: String?
  }

  private enum Attempt {
    case done
    case failed(String)
    case again(String, retryAfter: Duration?)
  }

  private let target: Target
  private let metrics: ServiceMetrics
  private let logger: Logger
  private let schedule: RetrySchedule
  private let times: Times
  private let drops: DropLog
  private let state = Watched(State())

  package init(
    _ target: Target, metrics: ServiceMetrics, logger: Logger, schedule: RetrySchedule = RetrySchedule(),
    times: Times = Times()
  ) {
    (self.target, self.metrics, self.logger) = (target, metrics, logger)
    (self.schedule, self.times) = (schedule, times)
    drops = DropLog(of: target.messages, logger: logger)
  }

  package var status: Status {
    state.withLock { state in
      var status = state.status
      status.waiting = state.waiting.count
      return status
    }
  }

  /// Queues a message for sending; returns at once.
  package func send(_ delivery: Delivery) {
    let dropped = state.update {
      $0.waiting.add(delivery, capacity: target.capacity, mostBytes: target.mostBytes)
    }
    if dropped > 0 { drop(.tooMany, count: dropped) }
  }

  /// Counts messages that are not sent, and logs the first of a series.
  package func drop(_ reason: DropReason, count: Int = 1) {
    state.withLock { $0.status.dropped += count }
    drops.dropped(reason)
    metrics.count(target.result(.dropped), by: count)
  }

  package func run() async throws {
    var options = HTTPClient.Configuration()
    options.redirectConfiguration = .disallow
    options.timeout = .init(connect: TimeAmount(times.connects), read: TimeAmount(times.answers))
    options.connectionPool.retryConnectionEstablishment = false
    let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: options)
    await withTaskGroup { group in
      group.addTask { [self] in
        await withTaskGroup { workers in
          for _ in 0..<target.concurrency { workers.addTask { await self.sendAll(by: client) } }
        }
      }
      group.addTask { [self] in
        try? await gracefulShutdown()
        state.update { $0.isEnding = true }
        try? await Task.sleep(for: times.ends)
      }
      await group.next()
      group.cancelAll()
    }
    let left = state.update { state in
      let left = state.waiting.removeAll()
      state.status.dropped += left
      return left
    }
    if left > 0 {
      metrics.count(target.result(.dropped), by: left)
      logger.warning("\(target.messages) not sent before shutdown", metadata: ["count": "\(left)"])
    }
    try await client.shutdown()
  }

  /// Sends one message after another.
  private func sendAll(by client: HTTPClient) async {
    while !Task.isCancelled {
      // Empty once the service ends and no message waits.
      let deliveries = try? await state.first { state -> [Delivery]? in
        if let delivery = state.waiting.take() { return [delivery] }
        return state.isEnding && state.waiting.count == 0 ? [] : nil
      }
      guard let delivery = deliveries?.first else { return }
      await deliver(delivery, by: client)
      state.update { $0.waiting.finish(delivery) }
    }
  }

  private func deliver(_ delivery: Delivery, by client: HTTPClient) async {
    var number = 1
    while true {
      guard delivery.mayBeSent() else { return drop(.notShown) }
      if number > 1 { metrics.count(target.retry) }
      switch await attempt(delivery, by: client) {
      case .done: return succeeded()
      case .failed(let reason): return fail(delivery, reason, number)
      case .again(let reason, let retryAfter):
        let isEnding = state.update { state in
          state.status.problem = reason
          return state.isEnding
        }
        guard number < target.attempts, !Task.isCancelled, !isEnding else {
          return fail(delivery, reason, number)
        }
        logger.debug("\(target.name): \(reason)", metadata: ["delivery": "\(delivery.id)"])
        let wait = schedule.wait(after: number, retryAfter: retryAfter)
        // At shutdown, the wait ends and one more attempt follows.
        try? await cancelWhenGracefulShutdown { try await Task.sleep(for: wait) }
        number += 1
      }
    }
  }

  private func succeeded() {
    let (hadFailed, isIdle) = state.update { state in
      state.status.sent += 1
      state.status.problem = nil
      defer { state.logged = nil }
      return (state.logged != nil, state.waiting.count == 0)
    }
    // A server that is too slow accepts messages between drops.
    if isIdle { drops.recovered() }
    if hadFailed, !target.logsEach { logger.notice("\(target.messages) delivered again") }
    metrics.count(target.result(.done))
  }

  private func fail(_ delivery: Delivery, _ reason: String, _ attempts: Int) {
    defer { metrics.count(target.result(.failed)) }
    let isKnown = state.update { state in
      state.status.failed += 1
      state.status.problem = reason
      defer { state.logged = reason }
      return state.logged == reason
    }
    guard target.logsEach || !isKnown else { return }
    logger.warning(
      "\(target.message) not delivered",
      metadata: ["delivery": "\(delivery.id)", "reason": "\(reason)", "attempts": "\(attempts)"])
  }

  private func attempt(_ delivery: Delivery, by client: HTTPClient) async -> Attempt {
    do {
      let response = try await client.execute(try delivery.request(), timeout: TimeAmount(times.answers))
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
}
