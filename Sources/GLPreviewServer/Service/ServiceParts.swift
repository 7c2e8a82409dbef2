// The assembly: the core and the only list of its features, with their services and routes.
internal import Cluster
internal import HLS
internal import Hummingbird
internal import HummingbirdCore
internal import HummingbirdTLS
internal import Logging
internal import MQTT
internal import Motion
internal import NIOCore
internal import RTSP
internal import Recordings
internal import Schedules
internal import ServiceLifecycle
internal import WebRTC

@dynamicMemberLookup
struct ServiceParts: Sendable {
  let core: ServiceCore
  let features: [any ServiceFeature]
  private let routes: AllRoutes
  private let connections: ConnectionLimiter
  private let tls: TLSSetup?

  subscript<Value>(dynamicMember path: KeyPath<ServiceCore, Value>) -> Value { core[keyPath: path] }

  /// - Throws: errors of certificates, source names and fallback pictures.
  init(
    _ configuration: ValidatedConfiguration, logger: Logger,
    options: PreviewSession.Options = PreviewSession.Options(),
    makeSource: @escaping CameraRegistry.SourceMaker = SessionSource.init
  ) async throws {
    tls = try configuration.tls.map { files throws(TLSError) in try TLSSetup(files) }
    connections = ConnectionLimiter(connectionsPerClient: configuration.limits.connectionsPerClient)
    let core = try await ServiceCore(
      configuration, version: PreviewServer.version, logger: logger, options: options, makeSource: makeSource)
    self.core = core
    let webRTC = WebRTCFeature(core)
    let views = ViewRoutes(core, offers: webRTC.routes)
    let cluster = try ClusterFeature(core, views)
    let recordings = RecordingFeature(core, cluster.forwarder)
    // Features that others depend on come first, and end last.
    features = [
      cluster, webRTC, RTSPServer(core), HLSFeature(views.videos), recordings,
      MotionFeature(core) { recordings.recorders?.motionChanged($0, $1) }, try MQTTFeature(core),
      ScheduleFeature(core),
    ]
    routes = AllRoutes(core, views, features)
    for warning in tls?.warnings ?? [] { logger.warning("\(warning)") }
    if !configuration.access.linkKeys.isEmpty, !configuration.access.asksForCredentials {
      logger.warning(
        "links protect nothing: without access.tokens and access.users, everyone may see everything")
    }
  }

  /// Applies a new configuration as far as possible without a restart.
  ///
  /// - Throws: `ConfigurationError` if `new` is not valid at the current address; `SourceError`. Nothing is
  ///   changed then.
  func apply(_ new: ValidatedConfiguration) async throws {
    // The listen address does not change, so a reload that moves to loopback must not drop the credentials
    // that the address needs.
    var atThisAddress = new.configuration
    atThisAddress.bind = core.configuration.bind
    atThisAddress.sections.keepAddresses(of: core.configuration.sections)
    _ = try ValidatedConfiguration(atThisAddress)
    let before = core.registry.served
    try await core.assignment.apply(new.configuration, name: new.nodeName) {
      core.access.update(new.access)
    }
    for feature in features { feature.apply(new, replacing: before) }
    let isOther =
      before.cameras.map(\.configuration) != new.cameras
      || before.scenes.map(\.configuration) != new.scenes
    if isOther { core.events.configurationChanged() }
    let waiting = ConfigurationSchema.all.waitingForRestart(core.configuration, new)
    if !waiting.isEmpty {
      core.logger.warning(
        "restart needed: some changed keys take effect at the next start only",
        metadata: ["keys": "\(waiting.joined(separator: ", "))"])
    }
  }

  func server() throws -> HTTPServerBuilder {
    let (limits, metrics, connections) = (core.configuration.limits, core.metrics, connections)
    let (closing, halfClosed) = (core.configuration.timeouts.closing, core.configuration.timeouts.halfClosed)
    let http = HTTPServerBuilder { responder in
      ServiceConnection(responder: responder, idleTimeout: limits.idleConnection) {
        [
          ConnectionHandler(connections), DisconnectHandler(lingers: halfClosed), BodyDeadlineHandler(),
          WriteTimeoutHandler(
            cutOffAfter: limits.stalledClient, atShutdownAfter: closing, counting: metrics),
          StreamConnection(cutOffAfter: limits.stalledClient, counting: metrics),
        ]
      }
    }
    return try tls.map { try .tls(http, tlsConfiguration: $0.configuration) } ?? http
  }

  func router() -> Router<ServiceContext> {
    let router = Router(context: ServiceContext.self, options: [.autoGenerateHeadEndpoints])
    let group = ServiceRoutes(router)
    router.add(middleware: RequestCountMiddleware(metrics: core.metrics))
    AccessMiddlewares(
      configuration: core.configuration.configuration, control: core.access, limiter: core.limiter,
      metrics: core.metrics
    ).add(to: router, group)
    group.add(middleware: ReloadMiddleware(registry: core.registry))
    routes.add(to: group)
    return router
  }

  /// From now on, the service with its features answers by these routes.
  func answer(with responder: any HTTPResponder<ServiceContext>) { routes.answer(with: responder) }
}
