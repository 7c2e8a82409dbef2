// Messages that wait to be sent to one server by HTTP, and are sent again if it does not accept them.
package import AsyncHTTPClient
package import Logging
internal import NIOCore
internal import NIOHTTP1
internal import ServiceLifecycle

/// A message to a server.
package struct Delivery: Sendable {
  /// Its name in log lines. It does not change between attempts.
  package let id: String
  /// Messages with the same `order` are sent one after another, others may be sent at the same time.
  let order: String
  /// The memory of its body; nil if it is not counted.
  let lease: MemoryLease?
  /// Makes the request of an attempt.
  let request: @Sendable () throws -> HTTPClientRequest

  package init(
    id: String, order: String = "", holding lease: MemoryLease? = nil,
    _ request: @escaping @Sendable () throws -> HTTPClientRequest
  ) { (self.id, self.order, self.lease, self.request) = (id, order, lease, request) }
}

/// A queue of messages to one server.
///
/// Each message is sent until it is accepted or has used up its attempts. If more than `capacity` are waiting,
/// the oldest is dropped and counted. Redirects are not followed. When the service ends, each remaining message
/// gets one attempt, within two seconds in total.
package final class DeliveryQueue: Service {
  /// The server, and the bounds of the queue.
  package struct Target: Sendable {
    /// The server's name in log lines, such as `webhook`.
    package let name: String
    /// A message in log lines, such as `webhook event`, and several.
    package let message, messages: String
    package let attempts, capacity: Int
    /// How many messages are sent at a time.
    package let lanes: Int
    /// Whether each failed message is logged, or only the first of several with equal reasons.
    package let logsEach: Bool
    let result: @Sendable (ServiceMetrics.Outcome) -> ServiceMetrics.Event
    let retry: ServiceMetrics.Event

    package init(
      name: String, message: String, messages: String, attempts: Int, capacity: Int, lanes: Int = 1,
      logsEach: Bool = true,
      retry: ServiceMetrics.Event,
      result: @escaping @Sendable (ServiceMetrics.Outcome) -> ServiceMetrics.Event
    ) {
      (self.name, self.message, self.messages) = (name, message, messages)
      (self.attempts, self.capacity) = (attempts, max(1, capacity))
      (self.lanes, self.logsEach, self.retry, self.result) = (lanes, logsEach, retry, result)
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
    var messages: [(lane: Int, delivery: Delivery)] = []
    var isEnding = false
    var status = Status()
    /// The reason that was logged last.
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
  private let state = Watched(State())

  package init(
    _ target: Target, metrics: ServiceMetrics, logger: Logger, schedule: RetrySchedule = RetrySchedule(),
    times: Times = Times()
  ) {
    (self.target, self.metrics, self.logger) = (target, metrics, logger)
    (self.schedule, self.times) = (schedule, times)
  }

  package var status: Status {
    state.withLock { state in
      var status = state.status
      status.waiting = state.messages.count
      return status
    }
  }

  /// Queues a message for sending; returns at once.
  package func send(_ delivery: Delivery) {
    let lane = Int(UInt(bitPattern: delivery.order.hashValue) % UInt(target.lanes))
    let dropped = state.update { state in
      state.messages.append((lane, delivery))
      let excess = max(0, state.messages.count - target.capacity)
      state.messages.removeFirst(excess)
      state.status.dropped += excess
      return excess
    }
    if dropped > 0 { metrics.count(target.result(.dropped), by: dropped) }
  }

  /// Counts a message that could not be queued.
  package func drop() {
    state.update { $0.status.dropped += 1 }
    metrics.count(target.result(.dropped))
  }

  package func run() async throws {
    var options = HTTPClient.Configuration()
    options.redirectConfiguration = .disallow
    options.timeout = .init(connect: TimeAmount(times.connects), read: TimeAmount(times.answers))
    options.connectionPool.retryConnectionEstablishment = false
    let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: options)
    await withTaskGroup { group in
      group.addTask { [self] in
        await withTaskGroup { lanes in
          for lane in 0..<target.lanes { lanes.addTask { await self.sendAll(of: lane, by: client) } }
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
    let left = state.withLock { $0.messages.count }
    if left > 0 {
      metrics.count(target.result(.dropped), by: left)
      logger.warning("\(target.messages) not sent before shutdown", metadata: ["count": "\(left)"])
    }
    try await client.shutdown()
  }

  private func sendAll(of lane: Int, by client: HTTPClient) async {
    while !Task.isCancelled {
      // Empty once the service ends and all messages are sent.
      let deliveries = try? await state.first { state -> [Delivery]? in
        guard let index = state.messages.firstIndex(where: { $0.lane == lane }) else {
          return state.isEnding ? [] : nil
        }
        return [state.messages.remove(at: index).delivery]
      }
      guard let delivery = deliveries?.first else { return }
      await deliver(delivery, by: client)
    }
  }

  private func deliver(_ delivery: Delivery, by client: HTTPClient) async {
    var number = 1
    while true {
      let attempt = await attempt(delivery, by: client)
      switch attempt {
      case .done: return succeeded()
      case .failed(let reason): return fail(delivery, reason, number)
      case .again(let reason, let retryAfter):
        state.update { $0.status.problem = reason }
        guard number < target.attempts, !Task.isCancelled, !state.withLock({ $0.isEnding }) else {
          return fail(delivery, reason, number)
        }
        logger.debug("\(target.name): \(reason)", metadata: ["delivery": "\(delivery.id)"])
        metrics.count(target.retry)
        let wait = schedule.wait(after: number, retryAfter: retryAfter)
        // At shutdown, the wait ends and one more attempt follows.
        try? await cancelWhenGracefulShutdown { try await Task.sleep(for: wait) }
        number += 1
      }
    }
  }

  private func succeeded() {
    metrics.count(target.result(.done))
    let hadFailed = state.update { state in
      state.status.sent += 1
      state.status.problem = nil
      defer { state.logged = nil }
      return state.logged != nil
    }
    if hadFailed, !target.logsEach { logger.notice("\(target.messages) delivered again") }
  }

  private func fail(_ delivery: Delivery, _ reason: String, _ attempts: Int) {
    metrics.count(target.result(.failed))
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
