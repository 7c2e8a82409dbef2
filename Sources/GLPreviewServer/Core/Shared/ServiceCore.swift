// The core of the service, which its features share.
package import Logging
package import ServiceLifecycle

/// The parts that all features of the service share: cameras, streams, snapshots, events, and access control.
package struct ServiceCore: Sendable {
  /// The configuration at the start.
  package let configuration: ValidatedConfiguration
  /// The version of the service.
  package let version: String
  package let logger: Logger
  package let metrics = ServiceMetrics()
  package let registry: CameraRegistry
  package let assignment: CameraAssignment
  package let watch: CameraWatch
  package let renderer: RendererWatch
  let streams: StreamRegistry
  package let videos: VideoStreams
  let clips = ClipGates()
  /// Counts the moves and jumps of each view.
  let moves = MoveLimiter()
  package let snapshots: Snapshots
  package let events: ServiceEvents
  /// The cameras of other nodes, and streams from them.
  package let peers: PeerCatalogue
  package let peerStreams: PeerStreams
  /// Finds views for all protocols, on any node.
  package let directory: ViewDirectory
  package let access: AccessControl
  /// Counts all requests by HTTP and RTSP.
  package let limiter: RateLimiter

  /// - Throws: errors of source names, fallback pictures and certificates.
  package init(
    _ configuration: ValidatedConfiguration, version: String, logger: Logger, options: PreviewSession.Options,
    makeSource: @escaping CameraRegistry.SourceMaker
  ) async throws {
    (self.configuration, self.version, self.logger) = (configuration, version, logger)
    let (limits, metrics, name) = (configuration.limits, metrics, configuration.nodeName)
    var options = options
    options.onRender = { metrics.measured(.render, $0) }
    options.onEncode = { metrics.measured(.encode, $0) }
    // Movable cameras are added with their leases.
    let registry = try await CameraRegistry(
      configuration.configuration.served(at: name, holding: []), logger: logger, options: options,
      makeSource: makeSource)
    self.registry = registry
    let assignment = CameraAssignment(configuration.configuration, name: name, registry, logger: logger)
    self.assignment = assignment
    access = AccessControl(configuration.access, at: HostRule(configuration.bind), logger: logger)
    let peers = try PeerCatalogue(
      configuration.cluster, name: name, timeouts: configuration.timeouts, logger: logger
    ) { registry.served.names }
    self.peers = peers
    let links = EventLinks(access: access) { registry.served[camera: $0]?.configuration.replay != nil }
    let events = ServiceEvents(
      configuration.snapshots, links, metrics: metrics, logger: logger,
      folderBytes: registry.budget.capacity / 16
    ) { registry.served.allows($0) ?? peers.allows($0, as: assignment) }
    self.events = events
    watch = CameraWatch(registry, logger: logger) { events.cameraChanged($0, $1) }
    renderer = RendererWatch(
      requiresHardware: configuration.requiresHardware, logger: logger,
      device: { try await registry.session.device },
      deviceFailure: { await registry.session.deviceFailure }, isNeeded: { registry.needsRenderer },
      onChange: { events.rendererChanged($0) })
    let views = AdmissionLimit(capacity: limits.adHocViews)
    streams = StreamRegistry(registry, gate: views, counting: metrics, logger: logger)
    videos = VideoStreams(
      registry, gate: views, counting: VideoCounters { logger.warning("\($0)") }, logger: logger)
    snapshots = Snapshots(
      registry, events, gate: AdmissionLimit(capacity: limits.adHocViews), counting: metrics)
    peerStreams = PeerStreams(
      registry, streams, videos, peers, certificates: configuration.cluster.certificates)
    directory = ViewDirectory(registry: registry, catalogue: peers, peers: peerStreams)
    limiter = RateLimiter(requestsPerSecond: limits.requestsPerSecond)
  }

  /// The services that run until the server has ended.
  package var services: [any Service] {
    events.services + [access, watch, renderer, videos, MemoryMonitor(budget: registry.budget)]
  }
}

extension ServiceCore {
  /// Whether the configuration has a camera or scene of this name, whichever node serves it.
  package func isConfigured(_ name: String) -> Bool {
    registry.served.names.contains(name) || assignment.camera(name) != nil || assignment.scene(name) != nil
  }
}

extension PeerCatalogue {
  /// Whether a picture may be shown whose camera this node does not serve: its masks are unchanged in the configuration
  /// of this node, if that has the camera, and the node that serves the camera shows the view to all who may see the
  /// camera. If there is no such node, because the camera moves, the configuration decides alone. A picture of a scene
  /// needs the same tiles and the masks of all its cameras.
  fileprivate func allows(_ right: PictureRight, as assignment: CameraAssignment) -> Bool {
    let masked = right.cameras.compactMap { assignment.camera($0) }
    guard masked.allSatisfy({ right.allows(masksOf: $0) }) else { return false }
    let scene = assignment.scene(right.camera)
    guard let route = cluster[camera: right.camera] else {
      if let scene { return right.allows(scene) && masked.count == right.cameras.count }
      return assignment.camera(right.camera).map { right.allows($0) } ?? false
    }
    // Also false for a picture of a scene that the configuration no longer has.
    guard right.shows(scene) else { return false }
    return route.camera.views.contains { $0.name == right.view && $0.isEnabled && !$0.isLocked }
  }
}

extension ValidatedConfiguration {
  /// The name of this node in the cluster.
  package var nodeName: String {
    if let name = configuration.cluster.name { return name }
    let machine = HostRule.machineName ?? ""
    return (try? ViewConfiguration.check(name: machine)).map { machine } ?? "glpreview"
  }
}
