// What a service is made of, each part made once and given to those that need it.
internal import GLPreview
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import Logging
internal import NIOCore
internal import NIOHTTPTypes
internal import ServiceLifecycle

/// The parts of a service.
struct ServiceParts: Sendable {
  let configuration: ServerConfiguration
  let logger: Logger
  let registry: CameraRegistry
  let watch: CameraWatch
  let streams: StreamDesk
  let snapshots: SnapshotDesk

  init(_ configuration: ServerConfiguration, logger: Logger) async throws {
    self.configuration = configuration
    self.logger = logger
    let measured: @Sendable (ServiceStage, Duration) -> Void = { _, _ in }
    registry = try await CameraRegistry(configuration, logger: logger) { measured(.render, $0) }
    watch = CameraWatch(registry, logger: logger) { _, _ in }
    streams = StreamDesk(
      registry, gate: AdHocGate(capacity: configuration.limits.adHocViews),
      counting: StreamCounters(measuring: measured), logger: logger)
    snapshots = SnapshotDesk(
      registry.session, gate: AdHocGate(capacity: configuration.limits.adHocViews), measuring: measured)
  }

  /// What runs beside the server.
  var services: [any Service] { [watch] }

  /// How connections are set up.
  func server() throws -> HTTPServerBuilder {
    let (limits, counters) = (configuration.limits, streams.counters)
    return .http1(
      configuration: HTTP1Channel.Configuration(
        additionalChannelHandlers: [StreamConnection(cutOffAfter: limits.stalledClient, counting: counters)],
        idleTimeout: .nanoseconds(Int64(limits.idleConnection / .nanoseconds(1))),
        httpDecoderConfiguration: .init(
          maxHeaderFieldSize: 16 << 10, maxHeaderListSize: 32 << 10, maxHeaderFieldCount: 100)))
  }

  /// All routes.
  func router() -> Router<ServiceContext> {
    let router = Router(context: ServiceContext.self, options: [.autoGenerateHeadEndpoints])
    let group = router.group("")
    group.add(middleware: ProblemMiddleware())
    let streamRoutes = StreamRoutes(registry: registry, streams: streams, limits: configuration.limits)
    let snapshotRoutes = SnapshotRoutes(
      registry: registry, snapshots: snapshots, streams: streamRoutes, limits: configuration.limits)
    let borrowed = BorrowedRoutes(
      registry: registry, watch: watch, snapshots: snapshotRoutes, streams: streamRoutes, desk: streams)
    let cameras = CameraRoutes(
      registry: registry, watch: watch, streams: streams, version: PreviewServer.version
    ) { _, _ in }
    streamRoutes.add(to: group)
    snapshotRoutes.add(to: group)
    borrowed.add(to: group)
    cameras.add(to: group)
    HealthRoutes(watch: watch).add(to: group)
    DashboardRoutes { try await borrowed.action($0, $1) }.add(to: group)
    return router
  }
}
