// Creates the service's parts and connects them.
internal import GLPreview
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import HummingbirdTLS
internal import Logging
internal import NIOCore
internal import NIOHTTPTypes
internal import ServiceLifecycle

struct ServiceParts: Sendable {
  let configuration: ValidatedConfiguration
  let logger: Logger
  let registry: CameraRegistry
  let watch: CameraWatch
  let motion: MotionWatch
  let renderer: RendererWatch
  let streams: StreamRegistry
  let videos: VideoStreams
  let clips = ClipGates()
  let snapshots: SnapshotProvider
  let events: ServiceEvents
  /// Nil where nothing is recorded.
  let recorders: Recorders?
  let webRTC: WHEPSessions
  let rtsp: RTSPServer
  let access: AccessControl
  /// Of all requests, by HTTP and RTSP.
  private let limiter: RateLimiter
  let peers: PeerCatalogue
  let peerStreams: PeerStreams
  private let assignment: CameraAssignment
  /// This node among those that share cameras by leases; nil without.
  let node: ClusterNode?
  let broker: ClusterBroker?
  /// Answers other nodes by the broker.
  let responder: BrokerResponder?
  private let brokerEvents: BrokerEvents?
  private let peerEvents: PeerEvents
  private let forwarder: PeerForwarder
  /// Tells an MQTT server of the cameras.
  let mqtt: MQTTPublisher?

  let metrics: ServiceMetrics
  private let connections: ConnectionLimiter
  private let tls: TLSSetup?

  /// - Throws: errors of certificates, source names and fallback pictures.
  init(
    _ configuration: ValidatedConfiguration, logger: Logger,
    options: PreviewSession.Options = PreviewSession.Options(),
    makeSource: @escaping CameraRegistry.SourceMaker = SessionSource.init
  ) async throws {
    self.configuration = configuration
    self.logger = logger
    let limits = configuration.limits
    tls = try configuration.tls.map { files throws(TLSError) in try TLSSetup(files) }
    let metrics = ServiceMetrics()
    self.metrics = metrics
    var options = options
    options.onRender = { metrics.measured(.render, $0) }
    options.onEncode = { metrics.measured(.encode, $0) }
    let name = configuration.nodeName
    // Cameras that move come with their leases.
    registry = try await CameraRegistry(
      configuration.configuration.served(at: name, holding: []), logger: logger, options: options,
      makeSource: makeSource)
    assignment = CameraAssignment(configuration.configuration, name: name, registry, logger: logger)
    // More than these are not waited for by MQTT.
    let (taken, take) = AsyncStream.makeStream(of: TakenSnapshot.self, bufferingPolicy: .bufferingNewest(4))
    let events = ServiceEvents(
      configuration.snapshots, alsoTo: configuration.mqtt == nil ? nil : take, metrics: metrics,
      logger: logger
    )
    self.events = events
    watch = CameraWatch(registry, logger: logger) { events.cameraChanged($0, $1) }
    renderer = RendererWatch(
      requiresHardware: configuration.requiresHardware, logger: logger,
      device: { [registry] in try await registry.session.device },
      isNeeded: { [registry] in registry.needsRenderer },
      onChange: { events.rendererChanged($0) })
    let views = AdmissionLimit(capacity: limits.adHocViews)
    streams = StreamRegistry(registry, gate: views, counting: metrics, logger: logger)
    videos = VideoStreams(
      registry, gate: views, counting: VideoCounters { logger.warning("\($0)") }, logger: logger)
    recorders = configuration.recordings.map { [registry, videos] in
      Recorders(
        registry, videos, RecordingFolder($0, metrics: metrics, logger: logger), events, logger: logger)
    }
    motion = MotionWatch(registry, logger: logger) { [registry, recorders] in
      events.motionChanged($0, $1, showsAll: registry.served[camera: $0]?.showsAll ?? false)
      recorders?.motionChanged($0, $1)
    }
    snapshots = SnapshotProvider(
      gate: AdmissionLimit(capacity: limits.adHocViews), within: registry.budget, counting: metrics)
    access = AccessControl(configuration.access, at: HostRule(configuration.bind), logger: logger)
    limiter = RateLimiter(requestsPerSecond: limits.requestsPerSecond)
    peers = try PeerCatalogue(
      configuration.cluster, name: name, patience: configuration.patience, logger: logger
    ) { [registry] in registry.served.names }
    let webRTC = WHEPSessions(
      registry, configuration.webRTC, at: configuration.bind,
      elsewhere: .init(
        moves: { [peers] in peers.moves($0) }, offers: { [peers] in peers.offers($0, of: $1) }),
      capacity: limits.webRTCSessions, logger: logger)
    self.webRTC = webRTC
    let peerStreams = PeerStreams(
      registry, streams, videos, peers, certificates: configuration.cluster.certificates,
      onFollow: { webRTC.followViews() })
    self.peerStreams = peerStreams
    rtsp = RTSPServer(
      registry, videos, access, limiter, configuration,
      guests: { try peerStreams.view($0, of: $1, as: .video) }, logger: logger)
    peerEvents = PeerEvents(
      peers, events.log, counting: metrics, limit: configuration.patience.peerAnswer, logger: logger)
    broker = try configuration.cluster.broker.map {
      try ClusterBroker($0, name: name, configuration.patience, logger: logger)
    }
    forwarder = PeerForwarder(
      peers, broker, counting: metrics, within: registry.budget, limit: configuration.patience.peerAnswer,
      logger: logger)
    responder = broker.map {
      BrokerResponder($0, counting: metrics, mostBytes: limits.requestBytes, logger: logger)
    }
    brokerEvents = broker.map { [peers] broker in
      BrokerEvents(broker, events.log, counting: metrics) { peers.cluster.name }
    }
    node = broker.map {
      [assignment, registry, peers, peerStreams, streams, videos, webRTC, responder] broker in
      ClusterNode(
        broker, configuration.configuration.identity(of: name, peers.instance),
        LeaseFollower(
          hold: { cameras in
            await assignment.hold(cameras)
            peerStreams.followPeers()
            streams.followViews()
            videos.followViews()
            webRTC.followViews()
            events.configurationChanged()
          },
          ownersChanged: { view in
            responder?.serve(view.epochs(of: registry.served.names, at: peers.cluster.name))
            responder?.know(Set(view.nodes.map(\.name)))
            peers.apply(view)
            peerStreams.followPeers()
          },
          isServed: { camera, node in
            guard let route = peers.cluster[camera: camera] else { return false }
            return route.node == node && !route.camera.state.isTrouble
          }), times: configuration.patience.leases, logger: logger)
    }
    peers.expect(homes: configuration.configuration.homes, movable: configuration.configuration.leasedCameras)
    mqtt = try configuration.mqtt.map { [registry, watch, snapshots, peers] mqtt in
      try MQTTPublisher(
        mqtt, node: name, version: PreviewServer.version, registry, watch, snapshots, events.log,
        taken: taken,
        isElsewhere: { peers.moves($0) || peers.cluster[camera: $0] != nil }, counting: metrics,
        logger: logger
      )
    }
    connections = ConnectionLimiter(connectionsPerClient: limits.connectionsPerClient)
    for warning in tls?.warnings ?? [] { logger.warning("\(warning)") }
  }

  /// The services that run beside the server until it has ended.
  var services: [any Service] {
    events.services
      + [
        access, watch, renderer, videos, webRTC, rtsp, peers, peerStreams, peerEvents,
        MemoryMonitor(budget: registry.budget),
      ]
      + (recorders.map { [$0.folder, $0] } ?? [] as [any Service])
      // The broker ends last of these.
      + [broker as (any Service)?, responder, brokerEvents, mqtt].compactMap(\.self)
  }

  /// The service listens, at `port` unless it is at a local socket. Only now other nodes may hear of this one.
  func listens(at port: Int?) {
    guard let node else { return }
    var bind = configuration.bind
    if case .host(let name, _) = bind, let port { bind = .host(name, port: port) }
    let url = configuration.cluster.url ?? bind.url(isSecure: configuration.tls != nil)
    node.start(at: url ?? "")
    answerByBroker()
  }

  /// Answers other nodes for what is served now.
  private func answerByBroker() {
    responder?.serve(
      Dictionary(uniqueKeysWithValues: registry.served.names.map { ($0, node?.epoch(of: $0)) }))
  }

  /// Applies a new configuration as far as possible without a restart.
  ///
  /// - Throws: `ConfigurationError` if `new` is not valid at the current address; `SourceError`. Nothing is changed
  ///   then.
  func apply(_ new: ValidatedConfiguration) async throws {
    // The address stays, so a reload that moves to loopback must not drop the credentials that the address needs.
    var atThisAddress = new.configuration
    atThisAddress.bind = configuration.bind
    atThisAddress.rtsp = configuration.rtsp
    _ = try ValidatedConfiguration(atThisAddress)
    let before = registry.served
    let token = peers.client.token
    let name = new.nodeName
    try await assignment.apply(new.configuration, name: name) { access.update(new.access) }
    peers.apply(new.cluster, name: name)
    peers.expect(homes: new.configuration.homes, movable: new.configuration.leasedCameras)
    node?.become(new.configuration.identity(of: name, peers.instance))
    peerStreams.followPeers(isTokenOther: token != new.cluster.token)
    streams.followViews()
    videos.followViews()
    webRTC.followViews()
    webRTC.apply(new.webRTC)
    let isOther =
      before.cameras.map(\.configuration) != new.cameras
      || before.scenes.map(\.configuration) != new.scenes
    if isOther { events.configurationChanged() }
    recorders?.masksChanged(from: before.cameras.map(\.configuration), to: new.cameras)
    answerByBroker()
    if new.bind != configuration.bind || new.tls != configuration.tls || new.gpu != configuration.gpu
      || new.recordings != configuration.recordings
      || new.limits != configuration.limits || new.snapshots != configuration.snapshots
      || new.rtsp != configuration.rtsp || new.mqtt != configuration.mqtt
      || new.cluster.certificates != configuration.cluster.certificates
      || new.cluster.broker != configuration.cluster.broker || new.cluster.url != configuration.cluster.url
    {
      logger.warning(
        "restart needed: addresses, TLS, GPU, limits and snapshot destinations change only at the next start")
    }
  }

  func server() throws -> HTTPServerBuilder {
    let (limits, metrics, connections) = (configuration.limits, metrics, connections)
    let (closing, halfClosed) = (configuration.patience.closing, configuration.patience.halfClosed)
    let http = HTTPServerBuilder { responder in
      ServiceConnection(responder: responder, idleTimeout: limits.idleConnection) {
        [
          ConnectionHandler(connections), DepartureHandler(lingers: halfClosed), BodyDeadlineHandler(),
          WriteTimeoutHandler(
            cutOffAfter: limits.stalledClient, atShutdownAfter: closing, counting: metrics),
          StreamConnection(cutOffAfter: limits.stalledClient, counting: metrics),
        ]
      }
    }
    return try tls.map { try .tls(http, tlsConfiguration: $0.configuration) } ?? http
  }

  private var cameraRoutes: CameraRoutes {
    CameraRoutes(
      registry: registry, watch: watch, motion: motion, renderer: renderer, streams: streams, videos: videos,
      webRTC: webRTC, events: events, peers: peers, epoch: { [node] in node?.epoch(of: $0) },
      leaseStore: { [node] in node?.store },
      isRecording: { [recorders] in recorders?.isRecording($0) ?? false },
      version: PreviewServer.version)
  }

  func router() -> Router<ServiceContext> {
    node?.list { [cameraRoutes] in cameraRoutes.listing() }
    let router = Router(context: ServiceContext.self, options: [.autoGenerateHeadEndpoints])
    router.add(middleware: RequestCountMiddleware(metrics: metrics))
    AccessMiddlewares(configuration: configuration.configuration, control: access, limiter: limiter).add(
      to: router)
    let group = router.group("").add(middleware: ReloadMiddleware(registry: registry))
    group.add(middleware: QueryMiddleware())
    let moves = { @Sendable [peers] (camera: String) in peers.moves(camera) }
    let streamRoutes = StreamRoutes(
      registry: registry, streams: streams,
      guests: { [peerStreams] in try peerStreams.view($0, of: $1, $2) }, moves: moves)
    let videoRoutes = VideoRoutes(
      registry: registry, streams: videos, clips: clips,
      guests: { [peerStreams] in try peerStreams.view($0, of: $1, as: .video, $2) }, moves: moves)
    let offers = WHEPRoutes(registry: registry, sessions: webRTC, videos: videos) { [peerStreams] in
      try peerStreams.view($0, of: $1, as: .video, words: PeerStreams.frequentKeys)
    }
    let sockets = WebSocketRoutes(
      registry: registry, streams: streams, videos: videoRoutes, offers: offers,
      stalledAfter: configuration.limits.stalledClient, metrics: metrics)
    let snapshotRoutes = SnapshotRoutes(
      registry: registry, snapshots: snapshots, streams: streamRoutes, videos: videoRoutes, metrics: metrics)
    let borrowed = CompatibilityRoutes(
      registry: registry, watch: watch, snapshots: snapshotRoutes, streams: streamRoutes, videos: videoRoutes,
      registeredStreams: streams)
    group.add(
      middleware: PeerMiddleware(
        catalogue: peers, forwarder: forwarder, guests: peerStreams, streams: streamRoutes,
        videos: videoRoutes, sockets: sockets, borrowed: borrowed))
    streamRoutes.add(to: group)
    snapshotRoutes.add(to: group)
    borrowed.add(to: group)
    cameraRoutes.add(to: group)
    let captures = AdmissionLimit(capacity: 4, subject: "snapshots being taken")
    CaptureRoutes(
      registry: registry, snapshots: snapshots, events: events, gate: captures, metrics: metrics
    ).add(to: group)
    ControlRoutes(registry: registry, logger: logger).add(to: group)
    MotionRoutes(registry: registry, motion: motion, watch: watch).add(to: group)
    offers.add(to: group)
    sockets.add(to: group)
    RecordingRoutes(
      registry: registry, recorders: recorders,
      others: PeerRecordings(catalogue: peers, forwarder: forwarder)
    ).add(to: group)
    EventRoutes(log: events.log).add(to: group)
    HealthRoutes(watch: watch, renderer: renderer).add(to: group)
    MetricsRoutes { metricFamilies }.add(to: group)
    DashboardRoutes { try await borrowed.action($0, $1) }.add(to: group)
    return router
  }
}

extension ValidatedConfiguration {
  /// What other nodes call this one.
  fileprivate var nodeName: String {
    if let name = configuration.cluster.name { return name }
    let machine = HostRule.machineName ?? ""
    return (try? ViewConfiguration.check(name: machine)).map { machine } ?? "glpreview"
  }
}
