// The node's connection to the NATS servers, which all that it shares with other nodes by them goes through.
internal import GLPreview
internal import Logging
internal import NATS
internal import ServiceLifecycle

/// The broker, for as long as the service runs. Without a configuration there is none.
final class ClusterBroker: Service, CustomStringConvertible {
  /// The name in logs, without the content.
  var description: String { "ClusterBroker" }

  /// The first word of all subjects.
  let prefix: String
  private let configuration: NATSConfiguration?
  private let logger: Logger
  private let state = Watched(State())

  private struct State {
    var client: NATSClient?
    /// Nil until the first attempt to connect has ended.
    var isConnected: Bool?
    /// The subjects that the servers do not let this node publish to.
    var refused: Set<String> = []
  }

  private static let endsWithin = Duration.seconds(1)
  private static let mostRefused = 256

  /// `name` is this node's.
  ///
  /// - Throws: `NATSError` for addresses and credentials that are none.
  init(_ broker: BrokerConfiguration?, name: String, logger: Logger) throws(NATSError) {
    prefix = broker?.prefix ?? ""
    var configuration = try broker?.natsConfiguration(name: name)
    // Credentials may be mended at the servers, without a restart here.
    configuration?.authenticationAttempts = .max
    (self.configuration, self.logger) = (configuration, logger)
  }

  var isConfigured: Bool { configuration != nil }

  /// The connection; nil without a configuration, before the start and after the end.
  var client: NATSClient? { state.withLock { $0.client } }

  var isConnected: Bool { state.withLock { $0.isConnected == true } }

  /// The connection as soon as the service has started; it may not be connected.
  ///
  /// - Throws: `CancellationError`, also at shutdown.
  func started() async throws -> NATSClient {
    let client = try await cancelWhenGracefulShutdown { [state] in try await state.first { $0.client } }
    guard let client else { throw CancellationError() }
    return client
  }

  /// Whether the servers have refused a message to this subject since they were connected.
  func isRefused(_ subject: String) -> Bool { state.withLock { $0.refused.contains(subject) } }

  func run() async throws {
    guard let configuration else { return try await gracefulShutdown() }
    let client = try await NATSClient.connect(configuration, logger: logger)
    let events = client.events()
    state.update { $0.client = client }
    if case .connected(let server) = client.currentState { connected(to: server) }
    await cancelWhenGracefulShutdown { for await event in events { self.heard(event) } }
    try? await gracefulShutdown()
    state.update { state in (state.client, state.isConnected) = (nil, false) }
    await waitAtMost(Self.endsWithin) { await client.drain(timeout: Self.endsWithin) }
    await client.close()
  }

  // MARK: Hearing

  private func heard(_ event: NATSEvent) {
    switch event {
    case .connected(let server): connected(to: server)
    case .disconnected(let error), .attemptFailed(_, let error), .closed(let error): lost(error)
    case .permissionViolation(let text): refused(text)
    case .slowConsumer(let pattern, let dropped):
      logger.warning("broker's messages dropped", metadata: ["subject": "\(pattern)", "count": "\(dropped)"])
    case .reconnecting, .lameDuck, .serverError, .unreadableMessage: break
    }
  }

  private func connected(to server: NATSServerAddress) {
    let isNews = state.update { state in
      defer { (state.isConnected, state.refused) = (true, []) }
      return state.isConnected != true
    }
    if isNews { logger.notice("broker connected", metadata: ["server": "\(server)"]) }
  }

  private func lost(_ error: NATSError) {
    let isNews = state.update { state in
      defer { state.isConnected = false }
      return state.isConnected != false
    }
    if isNews {
      logger.warning("broker lost", metadata: ["reason": "\(Redaction.message("\(error)"))"])
    }
  }

  /// `Permissions Violation for Publish to "glp.cmd.door"`.
  private func refused(_ text: String) {
    let words = text.split(separator: "\"", omittingEmptySubsequences: false)
    guard words.count == 3, words[0].lowercased().contains("publish") else { return }
    let subject = String(words[1])
    let isNews = state.withLock { state in
      state.refused.count < Self.mostRefused && state.refused.insert(subject).inserted
    }
    if isNews { logger.warning("broker refuses messages", metadata: ["subject": "\(subject)"]) }
  }

  /// 1 while the servers are connected; nothing without a configuration.
  var metricFamilies: [MetricFamily] {
    isConfigured ? [MetricFamily("glpreview_broker_connected", value: isConnected ? 1 : 0)] : []
  }
}
