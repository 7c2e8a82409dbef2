// The service: cameras, streams, snapshots and the routes to them, put together.
public import GLPreview
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
public import Logging
internal import NIOCore
internal import NIOPosix
internal import ServiceLifecycle
internal import UnixSignals

/// Serves cameras over HTTP, until it is told to end.
///
/// ```swift
/// var configuration = ServerConfiguration(cameras: [CameraConfiguration(name: "door", source: "/dev/video0")])
/// try await PreviewServer(configuration, logger: Logger(label: "door")).run()
/// ```
public struct PreviewServer: Sendable {
  private let configuration: ServerConfiguration
  private let logger: Logger
  private let reload: (@Sendable () async throws -> ServerConfiguration)?
  private let onRunning: @Sendable (Int?) async -> Void

  /// As `/api/cameras` tells it.
  public static let version = "0.1.0"

  /// How long those who are being answered may take when the service ends.
  private static let shutdownWithin = Duration.seconds(4)

  /// A service; nothing is opened yet.
  ///
  /// - Parameters:
  ///   - configuration: what it is told.
  ///   - logger: what it says.
  ///   - reload: another configuration, asked for at SIGHUP; nil takes none.
  ///   - onRunning: told once it listens, with its port; nil of a local socket.
  public init(
    _ configuration: ServerConfiguration, logger: Logger,
    reload: (@Sendable () async throws -> ServerConfiguration)? = nil,
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
  public func run() async throws {
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
    var group = ServiceGroupConfiguration(
      services: (parts.services + [ReloadService(parts, reload), watchdog, application]).map {
        .init(service: $0)
      },
      gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
    group.maximumGracefulShutdownDuration = Self.shutdownWithin
    defer { Task { await parts.registry.session.close() } }
    try await ServiceGroup(configuration: group).run()
  }
}

/// A software renderer where hardware is required.
public struct SoftwareRendererRefused: Error, CustomStringConvertible {
  /// What would have been taken.
  public let device: GPUDevice

  /// What to do.
  public var description: String {
    "hardware is required, and \(device.driver?.renderer ?? "what there is") is software; "
      + "`glpreview devices` tells why"
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
