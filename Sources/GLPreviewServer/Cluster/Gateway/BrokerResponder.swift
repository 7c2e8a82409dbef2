// Answers requests over NATS for the cameras that this node holds. It uses the routes that answer over HTTP,
// so freshness, masks, locks, conditions and counters are the same.
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import Logging
internal import NATS
internal import NIOCore
internal import ServiceLifecycle

final class BrokerResponder: Service, CustomStringConvertible {
  private let broker: ClusterBroker
  private let metrics: ServiceMetrics
  private let mostBytes: Int
  private let logger: Logger
  private let state = Watched(State())
  private let arrived: AsyncStream<Arrived>
  private let arrivals: AsyncStream<Arrived>.Continuation
  /// The number of requests that are being answered.
  private let running = Watched(0)

  private struct State {
    /// The cameras that are held, with their epochs if known.
    var cameras: [String: UInt64?] = [:]
    /// A limit for each camera, so that a slow one does not take the places of others.
    var gates: [String: AdmissionLimit] = [:]
    var routes: (any HTTPResponder<ServiceContext>)?
  }

  /// A message that waits for an answer.
  private struct Arrived: Sendable {
    let message: NATSMessage
    let kind: BrokerRequest.Kind
    let camera: String
    let time: CaptureInstant
  }

  private static let mostWaiting = 256
  private static let mostRunning = 128
  private static let mostOfOneCamera = 32

  /// `mostBytes` is the largest body of a request.
  init(_ broker: ClusterBroker, counting metrics: ServiceMetrics, mostBytes: Int, logger: Logger) {
    (self.broker, self.metrics, self.mostBytes, self.logger) = (broker, metrics, mostBytes, logger)
    (arrived, arrivals) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(Self.mostWaiting))
  }

  /// Answers for these cameras and no others from now on. A camera whose name can't be a token of a subject
  /// is served over HTTP only.
  func serve(_ cameras: [String: UInt64?]) {
    state.update { state in
      state.cameras = cameras.filter { NATSSubject.isToken($0.key) }
      state.gates = state.gates.filter { state.cameras[$0.key] != nil }
    }
  }

  /// Answers with these routes.
  func answer(with routes: any HTTPResponder<ServiceContext>) { state.update { $0.routes = routes } }

  func run() async throws {
    let client = broker.client
    try? await cancelWhenGracefulShutdown { [self] in
      try await withThrowingDiscardingTaskGroup { group in
        group.addTask { await self.answerAll(client) }
        try await follow(client, in: &group)
      }
    }
    // A service that returns ends all others.
    try? await gracefulShutdown()
  }

  /// Subscribes to the subjects of the cameras that are held.
  private func follow(_ client: NATSClient, in group: inout ThrowingDiscardingTaskGroup<any Error>)
    async throws
  {
    var subscribed: [String: [NATSSubscription]] = [:]
    while true {
      let known = Set(subscribed.keys)
      let wanted = try await state.first { state -> Set<String>? in
        let wanted = state.routes == nil ? [] : Set(state.cameras.keys)
        return wanted == known ? nil : wanted
      }
      guard let wanted else { return }
      for camera in known.subtracting(wanted) {
        // Messages that the server has already sent are still answered.
        for subscription in subscribed.removeValue(forKey: camera) ?? [] {
          group.addTask { try? await subscription.drain() }
        }
      }
      for camera in wanted.subtracting(known) {
        for kind in [BrokerRequest.Kind.read, .command] {
          let subject = "\(broker.prefix).\(kind.rawValue).\(camera)"
          let subscription = try client.subscribe(subject, buffer: .init(messages: 64, bytes: 2 << 20))
          subscribed[camera, default: []].append(subscription)
          group.addTask { await self.read(subscription, kind, camera) }
        }
      }
    }
  }

  private func read(_ subscription: NATSSubscription, _ kind: BrokerRequest.Kind, _ camera: String) async {
    do throws(NATSError) {
      while let message = try await subscription.next() {
        // Answers are published to inboxes only, so a requester can't choose another subject.
        guard message.reply?.hasPrefix("_INBOX.") == true, message.payload.count <= mostBytes else {
          metrics.count(.answered(.refused))
          continue
        }
        let new = Arrived(message: message, kind: kind, camera: camera, time: CaptureClock.now)
        if case .dropped = arrivals.yield(new) { metrics.count(.answered(.dropped)) }
      }
    } catch {
      guard case .permission = error else { return }
      logger.warning("NATS subscription refused", metadata: ["subject": "\(subscription.pattern)"])
    }
  }

  // MARK: Answering

  private func answerAll(_ client: NATSClient) async {
    await withDiscardingTaskGroup { group in
      for await message in arrived {
        let isFree: Bool? = try? await running.first { count in
          guard count < Self.mostRunning else { return nil }
          count += 1
          return true
        }
        guard isFree == true else { return }
        group.addTask {
          await self.answer(message, by: client)
          self.running.update { $0 -= 1 }
        }
      }
    }
  }

  private func answer(_ arrived: Arrived, by client: NATSClient) async {
    let (camera, message) = (arrived.camera, arrived.message)
    let (routes, epoch, gate) = state.withLock { state in
      let gate =
        state.gates[camera]
        ?? AdmissionLimit(capacity: Self.mostOfOneCamera, subject: "requests to this camera")
      if state.cameras[camera] != nil { state.gates[camera] = gate }
      return (state.routes, state.cameras[camera], gate)
    }
    var context = ServiceContext(granting: .read, logger: logger)
    var answered = Request(
      head: HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/"),
      body: .init(buffer: ByteBuffer()))
    do {
      let asked = try BrokerRequest(message, arrived.kind, of: camera, mostBytes: mostBytes)
      (context, answered) = (
        ServiceContext(granting: asked.role, logger: logger), asked.request
      )
      let rest = asked.limit - (CaptureClock.now - arrived.time)
      guard rest > .zero else { return metrics.count(.answered(.dropped)) }
      guard let routes, let epoch, asked.epoch == nil || epoch == nil || asked.epoch == epoch else {
        throw Problem(
          .conflict, "the lease of camera '\(camera)' has changed: retry",
          headers: ["Retry-After": "1", PeerField.elsewhere: "1"])
      }
      let permit = try gate.enter()
      defer { withExtendedLifetime(permit) {} }
      let limit = client.maximumPayload
      let answer = try await withDeadline(rest) { [context] in
        let response = try await routes.respond(to: asked.request, context: context)
        return try await BrokerAnswer(response, for: asked.request.method, atMost: limit)
      }
      if let answer { return send(answer, to: message, by: client) }
      // A sender that has set a deadline does not wait any longer.
      guard !asked.setsLimit else { return metrics.count(.answered(.dropped)) }
      throw Problem(
        .gatewayTimeout, "camera '\(camera)' did not answer within \(asked.limit.components.seconds) s")
    } catch let error as Problem {
      send(await BrokerAnswer(error, to: answered, context), to: message, by: client)
    } catch is CancellationError {
      let problem = Problem.busy(.serviceUnavailable, "the node is shutting down", retryAfter: 1)
      send(await BrokerAnswer(problem, to: answered, context), to: message, by: client)
    } catch {
      logger.error("request by NATS failed", metadata: ["error": "\(Redaction.message("\(error)"))"])
      let problem = Problem(.internalServerError, "internal error: see the log of the node")
      send(await BrokerAnswer(problem, to: answered, context), to: message, by: client)
    }
  }

  private func send(_ answer: BrokerAnswer, to message: NATSMessage, by client: NATSClient) {
    do throws(NATSError) {
      try client.respond(to: message, answer.payload, headers: answer.headers)
      metrics.count(.answered(answer.result))
    } catch {
      // With its header fields, the answer is larger than a message may be.
      if case .payloadTooLarge = error, answer.status != BrokerAnswer.tooLarge.status {
        return send(.tooLarge, to: message, by: client)
      }
      metrics.count(.answered(.failed))
    }
  }
}

extension BrokerAnswer {
  fileprivate var result: ServiceMetrics.AnswerResult {
    switch status {
    case Self.tooLarge.status: .large
    case ..<400: .done
    case ..<500: .refused
    default: .failed
    }
  }
}
