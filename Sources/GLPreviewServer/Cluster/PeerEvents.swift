// Relays the events of peers to clients here: follows `GET /api/events` of each peer that does not publish
// them over NATS.
internal import AsyncHTTPClient
internal import Logging
internal import NIOCore
internal import NIOHTTP1
internal import ServiceLifecycle
internal import Synchronization

final class PeerEvents: Service, CustomStringConvertible {
  private let catalogue: PeerCatalogue
  private let log: EventLog
  private let metrics: ServiceMetrics
  private let limit: Duration
  private let logger: Logger
  /// The id after which each peer's log is resumed, by URL. It outlives a reload.
  private let places = Mutex<[String: String]>([:])

  private static let path = "/api/events"
  private static let longestPause = Duration.seconds(10)
  /// More than a peer's events need. Reading is throttled to this rate, so that a flood stays with the peer.
  private static let mostBytesPerSecond = 2.0 * 1_048_576

  /// `limit` is the timeout for the head of an answer.
  init(
    _ catalogue: PeerCatalogue, _ log: EventLog, counting metrics: ServiceMetrics, limit: Duration,
    logger: Logger
  ) {
    (self.catalogue, self.log, self.metrics) = (catalogue, log, metrics)
    (self.limit, self.logger) = (limit, logger)
  }

  func run() async throws {
    await cancelWhenGracefulShutdown { [self] in
      while !Task.isCancelled {
        let urls = catalogue.cluster.urls
        places.withLock { places in places = places.filter { urls.contains($0.key) } }
        await withDiscardingTaskGroup { group in
          for url in urls { group.addTask { await self.follow(url) } }
          _ = try? await catalogue.first { $0.urls == urls ? nil : true }
          group.cancelAll()
        }
      }
    }
  }

  private func follow(_ url: String) async {
    var rates = EventRates()
    var backoff = Backoff(longest: Self.longestPause)
    while (try? await catalogue.first { $0.eventSource(url) }) != nil, !Task.isCancelled {
      do {
        try await read(url, &rates) { backoff.reset() }
      } catch {
        logger.debug("events of a peer not received", metadata: ["url": "\(url)", "error": "\(error)"])
      }
      try? await Task.sleep(for: backoff.nextPause(jitter: .random(in: 0...1)))
    }
  }

  /// Relays events until the peer stops answering or is no longer a source of events.
  private func read(_ url: String, _ rates: inout EventRates, onAnswer: () -> Void) async throws {
    var parser = EventStreamParser(after: places.withLock { $0[url] })
    var call = PeerClient.Call(peer: url, target: Self.path)
    if let lastID = parser.lastID { call.headers.add(name: "Last-Event-ID", value: lastID) }
    guard let response = try await catalogue.client.send(call, within: limit) else {
      throw PeerFailure("did not answer in time")
    }
    guard response.status == .ok,
      response.headers.first(name: "Content-Type")?.hasPrefix("text/event-stream") == true
    else { throw PeerFailure("answered \(response.status.code)") }
    onAnswer()
    for try await bytes in response.body {
      let known = parser.droppedCount
      let messages = parser.read(bytes.readableBytesView)
      // Saves the id to resume after before the first event, in case the peer is lost by then.
      if messages.isEmpty { places.withLock { $0[url] = parser.lastID } }
      guard let peer = catalogue.cluster.eventSource(url) else { return }
      metrics.count(.peerEvent(.failed), by: parser.droppedCount - known)
      let events = messages.filter { $0.type != "lost" }.compactMap { message in
        event(message, of: peer, &rates).map { (message.id, $0) }
      }
      // Clients request the cameras after an event, so the peer's list must show the change by then.
      if events.contains(where: { $1.type != "snapshot" }) { await catalogue.refresh(url) }
      for (id, event) in events {
        metrics.count(.peerEvent(log.relay(event, id, from: peer.name) ? .done : .dropped))
      }
      places.withLock { $0[url] = parser.lastID }
      try await Task.sleep(for: .seconds(Double(bytes.readableBytes) / Self.mostBytesPerSecond))
    }
  }

  /// Nil if the message is not an event of this service, is about a camera of another node, or exceeds the
  /// rate limit.
  private func event(
    _ message: EventStreamParser.Message, of peer: KnownPeer, _ rates: inout EventRates
  ) -> RelayedEvent? {
    guard let event = RelayedEvent(json: message.data), event.type == message.type,
      event.camera.map({ catalogue.mayBe($0, of: peer) }) ?? true
    else {
      metrics.count(.peerEvent(.failed))
      return nil
    }
    guard rates.allows(event.rateKey(of: peer.url), at: CaptureClock.now) else {
      metrics.count(.peerEvent(.dropped))
      return nil
    }
    return event
  }
}
