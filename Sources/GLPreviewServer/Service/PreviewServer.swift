// The service, assembled from cameras, streams, snapshots and routes.
internal import Glibc
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
package import Logging
internal import NIOCore
internal import NIOPosix
internal import Schedules
internal import ServiceLifecycle
internal import UnixSignals

/// Serves cameras over HTTP until it is stopped.
///
/// ```swift
/// let camera = CameraConfiguration(name: "door", source: "/dev/video0")
/// let configuration = ServerConfiguration(cameras: [camera])
/// try await PreviewServer(ValidatedConfiguration(configuration), logger: Logger(label: "door")).run()
/// ```
package struct PreviewServer: Sendable {
  private let configuration: ValidatedConfiguration
  private let logger: Logger
  private let reload: ConfigurationReload?
  private let onRunning: @Sendable (Int?) async -> Void

  /// The version in `/api/cameras` and `glpreview --version`.
  package static let version = "0.2.0"

  /// How long closing cameras and their commands may take at shutdown.
  private static let closesWithin = Duration.seconds(1)

  /// Creates a service without opening anything. Without `reload`, the program handles SIGHUP itself.
  /// `onRunning` is called when the service listens, with its port; nil for a Unix socket.
  package init(
    _ configuration: ValidatedConfiguration, logger: Logger, reload: ConfigurationReload? = nil,
    onRunning: @escaping @Sendable (Int?) async -> Void = { _ in }
  ) {
    self.configuration = configuration
    self.logger = logger
    self.reload = reload
    self.onRunning = onRunning
  }

  /// Sets the process's time zone to the configured one, before other threads ask for it.
  package func adoptTimeZone() {
    if let zone = configuration.timeZone { unsafe setenv("TZ", ":\(zone)", 1) }
  }

  /// Serves until SIGTERM, SIGINT, or the graceful shutdown or cancellation of the task. Then streams end,
  /// and the function returns within five seconds.
  ///
  /// - Throws: `DeviceError`; `SoftwareRendererRefused` if hardware is required but missing; errors of
  ///   opening files and the listen address.
  package func run() async throws {
    if configuration.jpeg != .automatic { JPEGProcessor.chosen = configuration.jpeg }
    var options = PreviewSession.Options()
    options.primesPrograms = true
    try await run(ServiceParts(configuration, logger: logger, options: options))
  }

  func run(_ parts: ServiceParts) async throws {
    if configuration.requiresHardware {
      let device = try await parts.registry.session.device
      guard !device.isSoftware else { throw SoftwareRendererRefused(device: device) }
    }
    let connections = OpenFileLimit.makeRoom(for: configuration.limits.connections)
    if connections < configuration.limits.connections {
      logger.warning(
        "connections limited by the system's limit of open files, below limits.connections",
        metadata: ["connections": "\(connections)"])
    }
    let router = parts.router()
    let routes = router.buildResponder()
    parts.answer(with: routes)
    let application = Application(
      router: router,
      server: try parts.server(),
      configuration: ApplicationConfiguration(
        address: configuration.bind.address, serverName: "glpreview", backlog: 1024,
        availableConnectionsDelegate: .maximum(connections, logger: logger)),
      onServerRunning: { [onRunning] channel in
        for feature in parts.features { feature.didStart(at: channel.localAddress?.port) }
        await onRunning(channel.localAddress?.port)
        SystemdNotifier().ready()
      },
      logger: logger)
    let watchdog = SystemdWatchdog(notifier: SystemdNotifier()) { [registry = parts.registry] in
      // If a part of the session hangs, this call hangs too, and systemd's watchdog is not notified.
      for camera in registry.cameras { _ = await registry.session[camera.source]?.status }
      return true
    }
    // Services stop in reverse order, because the server waits for clients that read events.
    let reloads = [reload].compactMap { $0 }.map { ReloadService(parts: parts, reload: $0) }
    var services = parts.core.services + parts.features.flatMap(\.services)
    services += reloads as [any Service]
    services += [application, parts.events.log, watchdog]
    services += parts.features.reversed().flatMap(\.servicesEndingFirst)
    var group = ServiceGroupConfiguration(
      services: services.map { .init(service: $0) },
      gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
    group.maximumGracefulShutdownDuration = configuration.timeouts.shutdown
    do {
      try await ServiceGroup(configuration: group).run()
    } catch let error {
      await close(parts.registry.session)
      // A client was still being served at the deadline. That is a normal shutdown, unless this task itself
      // was cancelled.
      guard error is CancellationError, !Task.isCancelled else { throw error }
      return
    }
    await close(parts.registry.session)
  }

  /// Closes cameras and ends their commands, without waiting for those that hang.
  private func close(_ session: PreviewSession) async {
    await waitAtMost(Self.closesWithin) { await session.close() }
  }
}

extension ListenAddress {
  /// The address as Hummingbird's type.
  var address: BindAddress {
    switch self {
    case .host(let name, let port): .hostname(name, port: port)
    case .unix(let path): .unixDomainSocket(path: path)
    }
  }
}
