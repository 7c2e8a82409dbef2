// The service: cameras, streams, snapshots and the routes to them, put together.
internal import GLPreview
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
package import Logging
internal import NIOCore
internal import NIOPosix
internal import ServiceLifecycle
internal import UnixSignals

/// Serves cameras over HTTP, until it is told to end.
///
/// ```swift
/// let configuration = ServerConfiguration(cameras: [CameraConfiguration(name: "door", source: "/dev/video0")])
/// try await PreviewServer(ValidatedConfiguration(configuration), logger: Logger(label: "door")).run()
/// ```
package struct PreviewServer: Sendable {
  private let configuration: ValidatedConfiguration
  private let logger: Logger
  private let reload: (@Sendable () async throws -> ValidatedConfiguration)?
  private let onRunning: @Sendable (Int?) async -> Void

  /// As `/api/cameras` and the command tell it.
  package static let version = "0.1.0"

  /// How long cameras and their commands may take when the service ends.
  private static let closesWithin = Duration.seconds(1)

  /// A service; nothing is opened yet.
  ///
  /// - Parameters:
  ///   - configuration: what it is told.
  ///   - logger: what it says.
  ///   - reload: another configuration, asked for at SIGHUP; nil takes none.
  ///   - onRunning: told once it listens, with its port; nil of a local socket.
  package init(
    _ configuration: ValidatedConfiguration, logger: Logger,
    reload: (@Sendable () async throws -> ValidatedConfiguration)? = nil,
    onRunning: @escaping @Sendable (Int?) async -> Void = { _ in }
  ) {
    self.configuration = configuration
    self.logger = logger
    self.reload = reload
    self.onRunning = onRunning
  }

  /// Serves until SIGTERM, SIGINT, or the task's graceful shutdown or cancellation; then streams end, and it returns
  /// within five seconds.
  ///
  /// - Throws: `DeviceError` where hardware is required and there is none; what opening files and the address throws.
  package func run() async throws {
    try await run(ServiceParts(configuration, logger: logger))
  }

  func run(_ parts: ServiceParts) async throws {
    if configuration.requiresHardware {
      let device = try await parts.registry.session.device
      guard !device.isSoftware else { throw SoftwareRendererRefused(device: device) }
    }
    let connections = OpenFileLimit.makeRoom(for: configuration.limits.connections)
    if connections < configuration.limits.connections {
      logger.warning(
        "the system's limit of open files allows fewer connections than limits.connections",
        metadata: ["connections": "\(connections)"])
    }
    let application = Application(
      router: parts.router(),
      server: try parts.server(),
      configuration: ApplicationConfiguration(
        address: configuration.bind.address, serverName: "glpreview", backlog: 1024,
        availableConnectionsDelegate: .maximum(connections, logger: logger)),
      onServerRunning: { [onRunning] channel in
        await onRunning(channel.localAddress?.port)
        SystemdNotifier().ready()
      },
      logger: logger)
    let watchdog = SystemdWatchdog(SystemdNotifier()) { [registry = parts.registry] in
      // What hangs does not answer, and then systemd is not told that all is well.
      await registry.isAnswering()
    }
    // They end one after another, the last one first: the server waits for those who follow events.
    let services: [any Service] =
      parts.services + [ReloadService(parts, reload), application, parts.events.log, watchdog]
    var group = ServiceGroupConfiguration(
      services: services.map { .init(service: $0) },
      gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
    group.maximumGracefulShutdownDuration = configuration.patience.shutdown
    do {
      try await ServiceGroup(configuration: group).run()
    } catch let error {
      await close(parts.registry.session)
      // Whoever was still being answered when the time was over: that is an end as told, unless we were cancelled ourselves.
      guard error is CancellationError, !Task.isCancelled else { throw error }
      return
    }
    await close(parts.registry.session)
  }

  /// Gives cameras back, and ends commands that stand for them; what hangs is not waited for.
  private func close(_ session: PreviewSession) async {
    await waitAtMost(Self.closesWithin) { await session.close() }
  }
}

extension BindAddress {
  /// As Hummingbird has it.
  var address: HummingbirdCore.BindAddress {
    switch self {
    case .host(let name, let port): .hostname(name, port: port)
    case .unix(let path): .unixDomainSocket(path: path)
    }
  }
}
