// The cluster as a feature of the service: cameras of other nodes, and cameras that move between nodes by
// leases.
package import Hummingbird
internal import Logging
internal import NATS
package import ServiceLifecycle

package struct ClusterFeature: ServiceFeature {
  private let core: ServiceCore
  private let views: ViewRoutes
  /// This node's part in the leases; nil without NATS.
  let node: ClusterNode?
  let broker: ClusterBroker?
  /// Answers requests of programs over NATS.
  let responder: BrokerResponder?
  private let brokerEvents: BrokerEvents?
  private let peerEvents: PeerEvents
  package let forwarder: PeerForwarder

  /// - Throws: errors of the certificates.
  package init(_ core: ServiceCore, _ views: ViewRoutes) throws {
    (self.core, self.views) = (core, views)
    let (configuration, peers) = (core.configuration, core.peers)
    let (metrics, timeouts, logger) = (core.metrics, configuration.timeouts, core.logger)
    peerEvents = PeerEvents(
      peers, core.events.log, counting: metrics, limit: timeouts.peerAnswer, logger: logger)
    broker = try configuration.cluster.broker.map {
      try ClusterBroker($0, name: configuration.nodeName, timeouts, logger: logger)
    }
    forwarder = PeerForwarder(
      peers, counting: metrics, within: core.registry.budget, limit: timeouts.peerAnswer,
      logger: logger
    )
    responder = broker.map {
      BrokerResponder($0, counting: metrics, mostBytes: configuration.limits.requestBytes, logger: logger)
    }
    brokerEvents = broker.map {
      BrokerEvents($0, core.events.log, counting: metrics) { peers.cluster.name }
    }
    node = broker.map { [responder] broker in
      ClusterNode(
        broker, configuration.configuration.identity(of: configuration.nodeName, peers.instance),
        Self.follower(core, responder), times: timeouts.leases, logger: logger)
    }
    configurePeers(configuration)
  }

  private static func follower(_ core: ServiceCore, _ responder: BrokerResponder?) -> LeaseFollower {
    let peers = core.peers
    return LeaseFollower(
      hold: { cameras in
        await core.assignment.hold(cameras)
        core.events.configurationChanged()
      },
      ownersChanged: { view in
        responder?.serve(view.epochs(of: core.registry.served.names, at: peers.cluster.name))
        peers.apply(view)
      },
      isServed: { camera, node in
        guard let route = peers.cluster[camera: camera] else { return false }
        return route.node == node && !route.camera.state.isTrouble
      })
  }

  // MARK: Running

  /// `broker` comes before the services that use it, so that it shuts down after them.
  package var services: [any Service] {
    [core.peers, core.peerStreams, peerEvents]
      + [broker as (any Service)?, responder, brokerEvents].compactMap(\.self)
  }

  /// The node releases its cameras first, while it still serves them.
  package var servicesEndingFirst: [any Service] { node.map { [$0] } ?? [] }

  /// Adds the middleware that runs before all routes that are added later.
  package func addRoutes(to group: ServiceRoutes) {
    group.add(
      middleware: PeerMiddleware(
        catalogue: core.peers, forwarder: forwarder, remoteViews: core.peerStreams, streams: views.streams,
        videos: views.videos, sockets: views.sockets, borrowed: views.compatibility,
        epoch: { [node] in node?.epoch(of: $0) }))
  }

  package func answer(
    with routes: any HTTPResponder<ServiceContext>,
    listing cameras: @escaping @Sendable () -> [[String: JSONValue]]
  ) {
    responder?.answer(with: routes)
    node?.list { [core] in
      [
        "node": Self.name(core.peers), "version": .string(core.version),
        "cameras": .array(cameras().map(JSONValue.object)),
      ]
    }
  }

  /// Announces this node to the others, now that it listens.
  package func didStart(at port: Int?) {
    guard let node else { return }
    let configuration = core.configuration
    var bind = configuration.bind
    if case .host(let name, _) = bind, let port { bind = .host(name, port: port) }
    let url = configuration.cluster.url ?? bind.url(isSecure: configuration.tls != nil)
    if let reason = configuration.unreachableNode {
      core.logger.warning("other nodes may be unable to reach this node", metadata: ["reason": "\(reason)"])
    }
    node.start(at: url ?? "")
    answerByBroker()
  }

  /// Answers requests over NATS for the cameras that are served now.
  private func answerByBroker() {
    responder?.serve(
      Dictionary(uniqueKeysWithValues: core.registry.served.names.map { ($0, node?.epoch(of: $0)) }))
  }

  package func apply(_ new: ValidatedConfiguration, replacing old: ServedState) {
    core.peers.apply(new.cluster, name: new.nodeName)
    configurePeers(new)
    node?.updateIdentity(new.configuration.identity(of: new.nodeName, core.peers.instance))
    answerByBroker()
  }

  private func configurePeers(_ configuration: ValidatedConfiguration) {
    core.peers.configure(
      homes: configuration.configuration.homes, movable: configuration.configuration.leasedCameras)
  }

  // MARK: Listings

  private static func name(_ peers: PeerCatalogue) -> JSONValue {
    let cluster = peers.cluster
    return ["name": .string(cluster.name), "instance": .string(cluster.instance)]
  }

  package func members(of camera: ServedCamera) -> [String: JSONValue] {
    guard let node, let epoch = node.epoch(of: camera.configuration.name) else { return [:] }
    var members: [String: JSONValue] = ["epoch": .integer(Int(clamping: epoch))]
    members["lease_store"] = node.store.map(JSONValue.string)
    return members
  }

  package var cameraMembers: [JSONMember] {
    [
      .optional("epoch", .integer, "the epoch of its node's lease"),
      .optional("lease_store", .text),
      .optional("node", .text, "the node that serves it"), .optional("node_url", .text),
    ]
  }

  package var listingMembers: [JSONMember] {
    let peer = JSONSchema.object([
      .init("name", .text), .init("state", .text), .init("since", .time), .init("cameras", .integer),
      .optional("url", .text), .optional("reason", .text), .optional("conflicts", .list(of: .text)),
    ])
    return [
      .optional("node", .object([.init("name", .text), .init("instance", .text)])),
      .optional("peers", .list(of: .named("Peer", peer))),
    ]
  }

  package func lastingMembers(of camera: ServedCamera) -> [String: JSONValue] { members(of: camera) }

  /// Adds this node's name, and for clients the peers and their cameras. Another node gets only this node's
  /// own cameras and name.
  package func extend(_ listing: inout CameraListing, for request: Request, _ role: Role?) {
    let peers = core.peers
    if request.isFromPeer || peers.isShared { listing.members["node"] = Self.name(peers) }
    guard peers.isShared, !request.isFromPeer else { return }
    for index in listing.cameras.indices { listing.cameras[index]["node"] = .string(peers.cluster.name) }
    listing.cameras += peers.cameras.map { $0.json(for: role) }
    listing.members["peers"] = .array(peers.json(for: role))
  }

  package var metricFamilies: [MetricFamily] {
    core.peers.metricFamilies + (node?.metricFamilies ?? []) + (broker?.metricFamilies ?? [])
      + [
        MetricFamily(
          "glpreview_peer_streams", value: Double(core.peerStreams.count),
          help: "Streams received from peers.")
      ]
  }
}

extension ServerConfiguration {
  /// Why other nodes that share cameras by NATS may not reach this node; nil if no reason is known.
  var unreachableNode: String? {
    guard let broker = cluster.broker, cluster.url == nil, bind.isLocal else { return nil }
    let hosts = broker.servers.compactMap { try? NATSServerAddress($0).host }
    guard let far = hosts.first(where: { !ListenAddress.host($0, port: 0).isLocal }) else { return nil }
    return "it listens on \(bind), which only this machine can reach, but the NATS server '\(far)' may be "
      + "on another machine: set bind or cluster.url"
  }
}
