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
  let events: ServiceEvents
  let access: AccessControl

  init(_ configuration: ServerConfiguration, logger: Logger) async throws {
    self.configuration = configuration
    self.logger = logger
    let measured: @Sendable (ServiceStage, Duration) -> Void = { _, _ in }
    registry = try await CameraRegistry(configuration, logger: logger) { measured(.render, $0) }
    let events = ServiceEvents(logger: logger)
    self.events = events
    watch = CameraWatch(registry, logger: logger) { events.cameraChanged($0, $1) }
    let adHocViews = configuration.limits.adHocViews
    streams = StreamDesk(
      registry, gate: AdHocGate(capacity: adHocViews), counting: StreamCounters(measuring: measured),
      logger: logger)
    snapshots = SnapshotDesk(registry.session, gate: AdHocGate(capacity: adHocViews), measuring: measured)
    access = AccessControl(configuration.access)
  }

  /// What runs beside the server.
  var services: [any Service] { [watch, events.log] }

  /// Takes another configuration over, as far as that goes while it runs.
  func apply(_ new: ServerConfiguration) async throws {
    try await registry.apply(new)
    access.update(new.access)
    if new.bind != configuration.bind || new.tls != configuration.tls || new.gpu != configuration.gpu
      || new.limits != configuration.limits || new.snapshots != configuration.snapshots
    {
      logger.warning("address, TLS, GPU, limits and destinations of snapshots change with the next start")
    }
  }

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
    router.add(middleware: ProblemMiddleware())
    router.add(middleware: AccessMiddleware(control: access))
    let group = router.group("")
    let limits = configuration.limits
    let streamRoutes = StreamRoutes(registry: registry, streams: streams, limits: limits)
    let snapshotRoutes = SnapshotRoutes(
      registry: registry, snapshots: snapshots, streams: streamRoutes, limits: limits)
    let borrowed = BorrowedRoutes(
      registry: registry, watch: watch, snapshots: snapshotRoutes, streams: streamRoutes, desk: streams)
    streamRoutes.add(to: group)
    snapshotRoutes.add(to: group)
    borrowed.add(to: group)
    CameraRoutes(
      registry: registry, watch: watch, streams: streams, limits: limits, version: PreviewServer.version
    ) { [events] in events.viewChanged($0, $1) }.add(to: group)
    CaptureRoutes(registry: registry, publish: { [events] in events.took($0) }, gate: AdHocGate(capacity: 4))
      .add(to: group)
    EventRoutes(log: events.log).add(to: group)
    HealthRoutes(watch: watch).add(to: group)
    LoginRoutes(control: access, isSecure: configuration.tls != nil).add(to: group)
    DashboardRoutes { try await borrowed.action($0, $1) }.add(to: group)
    return router
  }
}
