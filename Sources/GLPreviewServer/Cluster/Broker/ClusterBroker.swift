// This node's connection to the NATS servers, for as long as the service runs.
internal import Logging
internal import NATS
internal import ServiceLifecycle

final class ClusterBroker: Service, CustomStringConvertible {
  let client: NATSClient
  /// The bucket's name, and the first token of all subjects.
  let prefix: String
  let replicas: Int
  private let logger: Logger
  private let state = Watched(State())

  private struct State {
    /// Nil until the first attempt to connect has ended.
    var isConnected: Bool?
    /// Subjects that the servers do not let this node publish to. Each is logged once.
    var refused: Set<String> = []
  }

  private static let closesWithin = Duration.seconds(1)
  private static let mostRefused = 256

  /// Connects when it runs.
  ///
  /// - Throws: `NATSError` for files that can't be read.
  init(_ configuration: NATSClusterConfiguration, name: String, _ timeouts: ServiceTimeouts, logger: Logger)
    throws
  {
    client = try NATSClient(configuration.natsConfiguration(name: name, timeouts), logger: logger)
    (prefix, replicas) = (configuration.prefix, configuration.replicas)
    self.logger = logger
  }

  var isConnected: Bool { if case .connected = client.currentState { true } else { false } }

  func run() async throws {
    let events = client.events()
    try await client.start()
    await withDiscardingTaskGroup { group in
      group.addTask { for await event in events { self.handle(event) } }
      try? await gracefulShutdown()
      await waitAtMost(Self.closesWithin) { await self.client.drain(timeout: Self.closesWithin) }
      await client.close()
      group.cancelAll()
    }
  }

  // MARK: Events

  private func handle(_ event: NATSEvent) {
    switch event {
    case .connected(let server): connected(to: server)
    case .disconnected(let reason), .attemptFailed(_, let reason): lost(reason)
    case .permissionViolation(let text): refused(text)
    case .serverError(let text):
      logger.warning("NATS server refused a message", metadata: ["reason": "\(text)"])
    case .slowConsumer(let pattern, let dropped):
      logger.warning(
        "NATS messages dropped: this node is too slow",
        metadata: ["subject": "\(pattern)", "count": "\(dropped)"])
    case .reconnecting, .lameDuck, .unreadableMessage, .closed: break
    }
  }

  private func connected(to server: NATSServerAddress) {
    let isChange = state.update { state in
      defer { (state.isConnected, state.refused) = (true, []) }
      return state.isConnected != true
    }
    if isChange { logger.notice("NATS server connected", metadata: ["server": "\(server)"]) }
  }

  /// Logs a warning once. Further failed attempts are not logged.
  private func lost(_ reason: NATSError) {
    let isChange = state.update { state in
      defer { state.isConnected = false }
      return state.isConnected != false
    }
    if isChange {
      logger.warning("NATS server lost", metadata: ["reason": "\(Redaction.message("\(reason)"))"])
    }
  }

  /// Logs a refusal, such as `Permissions Violation for Publish to "glp.cmd.door"`, once for each subject.
  private func refused(_ text: String) {
    let words = text.split(separator: "\"", omittingEmptySubsequences: false)
    let isChange = state.withLock { state in
      guard words.count == 3, words[0].lowercased().contains("publish") else { return true }
      return state.refused.count < Self.mostRefused && state.refused.insert(String(words[1])).inserted
    }
    if isChange { logger.warning("NATS server refused a message", metadata: ["reason": "\(text)"]) }
  }

  /// Reports 1 while a server is connected.
  var metricFamilies: [MetricFamily] {
    [MetricFamily("glpreview_broker_connected", value: isConnected ? 1 : 0)]
  }
}
