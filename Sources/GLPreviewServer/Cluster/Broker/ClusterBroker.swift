// This node's connection to the NATS servers, for as long as the service runs.
internal import GLPreview
internal import Logging
internal import NATS
internal import ServiceLifecycle

final class ClusterBroker: Service, CustomStringConvertible {
  /// The name in logs, without the content.
  var description: String { "ClusterBroker" }

  let client: NATSClient
  let prefix: String
  let replicas: Int
  private let logger: Logger

  private static let closesWithin = Duration.seconds(1)

  /// Connects when it runs.
  ///
  /// - Throws: `NATSError` for files that can't be read.
  init(_ configuration: BrokerConfiguration, name: String, logger: Logger) throws {
    client = try NATSClient(configuration.natsConfiguration(name: name), logger: logger)
    (prefix, replicas) = (configuration.prefix, configuration.replicas)
    self.logger = logger
  }

  var isConnected: Bool { if case .connected = client.currentState { true } else { false } }

  func run() async throws {
    let events = client.events()
    try await client.start()
    await withDiscardingTaskGroup { group in
      group.addTask { await self.tell(events) }
      try? await gracefulShutdown()
      await waitAtMost(Self.closesWithin) { await self.client.drain(timeout: Self.closesWithin) }
      group.cancelAll()
    }
  }

  private func tell(_ events: AsyncStream<NATSEvent>) async {
    var failures = 0
    for await event in events {
      switch event {
      case .connected(let server):
        failures = 0
        logger.notice("broker connected", metadata: ["server": "\(server)"])
      case .disconnected(let reason): logger.warning("broker lost", metadata: ["reason": "\(reason)"])
      case .attemptFailed(let server, let reason):
        failures += 1
        // Then it goes on trying in silence.
        if failures == 1 {
          logger.warning("broker not reached", metadata: ["server": "\(server)", "reason": "\(reason)"])
        }
      case .permissionViolation(let text), .serverError(let text):
        logger.warning("broker refuses", metadata: ["reason": "\(text)"])
      case .slowConsumer(let pattern, let dropped):
        logger.warning(
          "messages of the broker dropped: this node is too slow",
          metadata: ["subject": "\(pattern)", "count": "\(dropped)"])
      default: break
      }
    }
  }
}

extension ServerConfiguration {
  /// What the node of this configuration is to others.
  func identity(of peers: PeerCatalogue, url: String?) -> LeaseState.Identity {
    let name = peers.cluster.name
    return LeaseState.Identity(
      node: name, instance: peers.instance, url: url ?? "", slots: cluster.slots, movable: leasedCameras,
      fixed: cluster.broker == nil ? [] : fixedCameras(at: name, hasLeases: true))
  }
}
