// Tells other nodes of this node's events by the broker, and clients here of theirs.
internal import Logging
internal import NATS
internal import ServiceLifecycle

final class BrokerEvents: Service, CustomStringConvertible {
  private let broker: ClusterBroker
  private let log: EventLog
  private let metrics: ServiceMetrics
  private let name: @Sendable () -> String

  /// `name` is this node's.
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
        group.addTask { await self.tell(client) }
        group.addTask { await self.hear(client) }
      }
    }
    // A service that returns ends all others.
    try? await gracefulShutdown()
  }

  /// The header fields with a node's name, and with the event's id in its log.
  private static let node = "Node"
  private static let id = "Id"

  /// The name as a word of a subject.
  static func word(_ name: String) -> String {
    String(name.map { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") ? $0 : "_" })
  }

  private func tell(_ client: NATSClient) async {
    for await event in log.own() {
      // After a time without the broker, old news is of no use.
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

  private func hear(_ client: NATSClient) async {
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
        guard rates.allows(node, at: CaptureClock.now) else {
          metrics.count(.relayed(.dropped))
          continue
        }
        metrics.count(.relayed(log.relay(event, id, from: node) ? .done : .dropped))
      }
    } catch { return }
  }

  /// Nil unless it is an event of the node and of the kind that its subject says: servers let nodes publish by subject.
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
