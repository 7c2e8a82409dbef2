// Two services with a broker between them, for tests. Which node has the camera is said by the test, and by no lease.
import GLPreview
import Logging
import NATS
import TestSupport
import Testing

@testable import Cluster
@testable import GLPreviewServer
@testable import ServiceCore
@testable import ServiceFoundation

extension ServerConfiguration {
  /// The same, as a node `name` with the broker `server`.
  func sharing(as name: String, _ server: NATSServer, user: String? = nil) -> ServerConfiguration {
    var copy = self
    copy.cluster.name = name
    var broker = NATSClusterConfiguration(servers: ["nats://127.0.0.1:\(server.port)"])
    (broker.user, broker.password) = (user, user)
    copy.cluster.broker = broker
    return copy
  }
}

/// An address at which nobody answers.
let nowhere = "http://127.0.0.1:1"

/// Runs `work` with a service `owner` of the camera `camera`, and a service `edge` that knows it; both have the broker
/// `server`. The owner's epoch is 5.
func withBroker(
  _ server: NATSServer, _ owner: ServerConfiguration,
  _ change: @escaping @Sendable (inout ServerConfiguration) -> Void = { _ in },
  makeSource: @escaping CameraRegistry.SourceMaker = SessionSource.init,
  logger: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
  _ work: @escaping @Sendable (_ owner: RunningService, _ edge: RunningService) async throws -> Void
) async throws {
  var edge = ServerConfiguration(cameras: []).sharing(as: "edge", server)
  change(&edge)
  try await withService(owner.sharing(as: "owner", server), makeSource: makeSource) { [edge] owner in
    try await withService(edge, logger: logger) { edge in
      for service in [owner, edge] { await until { service.inside.broker?.isConnected == true } }
      owner.inside.responder?.serve(["camera": 5])
      edge.inside.peers.apply(owner.asOwner())
      // Its subscriptions have arrived with this.
      try await owner.inside.broker?.client.flush(timeout: allTheTimeThereIs)
      try await work(owner, edge)
    }
  }
}

/// Runs `work` with a client of `server` that is no node.
func withClient(
  of server: NATSServer, _ work: (NATSClient) async throws -> Void
) async throws {
  var configuration = NATSConfiguration(servers: [NATSServerAddress(host: "127.0.0.1", port: server.port)])
  (configuration.requestTimeout, configuration.connectTimeout) = (allTheTimeThereIs, allTheTimeThereIs)
  let client = try await NATSClient.connect(
    configuration, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
  do { try await work(client) } catch {
    await client.close()
    throw error
  }
  await client.close()
}

extension RunningService {
  /// What another node knows if this one has the camera `camera`.
  func asOwner() -> LeaseView {
    var view = LeaseView.of(["owner": base], owner: "owner", epoch: 5)
    view.owners = ["camera": .init(node: "owner", epoch: 5, isFixed: true)]
    return view
  }

  /// How many requests it has answered by the broker, by result.
  func answered(_ result: String) async throws -> Int {
    let line = "glpreview_broker_requests_total{result=\"\(result)\"} "
    let text = try await get("/metrics").text
    return text.split(separator: "\n").first { $0.hasPrefix(line) }.flatMap { Int($0.dropFirst(line.count)) }
      ?? 0
  }
}
