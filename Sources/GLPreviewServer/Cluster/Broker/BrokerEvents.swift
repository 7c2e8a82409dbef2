// Publishes this node's events over NATS, and relays those of other nodes to the clients here.
internal import Logging
internal import NATS
internal import ServiceLifecycle

final class BrokerEvents: Service, CustomStringConvertible {
  private let broker: ClusterBroker
  private let log: EventLog
  private let metrics: ServiceMetrics
  private let name: @Sendable () -> String

  /// `name` returns this node's name.
  init(
    _ broker: ClusterBroker, _ log: EventLog, counting metrics: ServiceMetrics,
    name: @escaping @Sendable () -> String
  ) {
    (self.broker, self.log, self.metrics, self.name) = (broker, log, metrics, name)
  }

  func run() async throws {
    let client = broker.client
    await cancelWhenGracefulShutdown { [self] in
      await withDiscardingTaskGroup { group in
        group.addTask { await self.publishEvents(to: client) }
        group.addTask { await self.relayEvents(from: client) }
      }
    }
    // A service that returns ends all others.
    try? await gracefulShutdown()
  }

  /// The header fields with the node's name, and with the event's id in that node's log.
  private static let node = "Node"
  private static let id = "Id"

  /// Returns the name as a token of a subject.
  static func word(_ name: String) -> String {
    String(name.map { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") ? $0 : "_" })
  }

  private func publishEvents(to client: NATSClient) async {
    for await event in log.own() {
      // Events from a time without a connection are dropped: they would arrive too late to be useful.
      guard broker.isConnected, event.data.count <= RelayedEvent.longest else {
        metrics.count(.relayed(.dropped))
        continue
      }
      let name = name()
      let subject = "\(broker.prefix).ev.\(Self.word(name)).\(event.type)"
      do throws(NATSError) {
        try client.publish(subject, event.data, headers: [Self.node: name, Self.id: "\(event.id)"])
      } catch {
        metrics.count(.relayed(.failed))
      }
    }
  }

  private func relayEvents(from client: NATSClient) async {
    var rates = EventRates()
    let pattern = "\(broker.prefix).ev.>"
    guard let subscription = try? client.subscribe(pattern, buffer: .init(messages: 4096, bytes: 8 << 20))
    else {
      return
    }
    do {
      for try await message in subscription {
        guard let (node, id, event) = read(message) else {
          metrics.count(.relayed(.failed))
          continue
        }
        guard Self.word(node) != Self.word(name()) else { continue }
        guard rates.allows(event.rateKey(of: node), at: CaptureClock.now) else {
          metrics.count(.relayed(.dropped))
          continue
        }
        metrics.count(.relayed(log.relay(event, id, from: node) ? .done : .dropped))
      }
    } catch { return }
  }

  /// Nil unless the event matches the node and the type in its subject: servers decide by subject what a node
  /// may publish.
  private func read(_ message: NATSMessage) -> (node: String, EventID?, RelayedEvent)? {
    let words = message.subject.split(separator: ".")
    guard words.count == 4, let event = RelayedEvent(json: message.payload), event.type == words[3] else {
      return nil
    }
    let node = message.headers[Self.node] ?? String(words[2])
    guard Self.word(node) == words[2], (try? ViewConfiguration.check(name: node)) != nil else { return nil }
    return (node, message.headers[Self.id].flatMap { EventID($0) }, event)
  }
}
