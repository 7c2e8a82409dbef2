// Polls the cameras of every peer, and keeps the answers.
internal import AsyncHTTPClient
internal import Logging
internal import NIOCore
internal import NIOHTTP1
internal import ServiceLifecycle
internal import Synchronization

package final class PeerCatalogue: Service, CustomStringConvertible {
  package let client: PeerClient
  package let timeouts: ServiceTimeouts
  /// The names of this node's own cameras and scenes.
  let localNames: @Sendable () -> Set<String>
  private let logger: Logger
  private let state: Watched<State>
  private let waiting = AdmissionLimit(capacity: 256, subject: "requests that wait for a camera to move")

  private struct State {
    var cluster: ClusterState
    /// The number of changes of the list of peers.
    var generation = 0
    /// The number of changes that may affect routes.
    var changes = 0
    var hasLeases = false
    /// The movable cameras of the configuration.
    var movable: Set<String> = []
    /// The number of immediate polls requested for each peer, and how many of these have been carried out.
    var requestedPolls: [String: Int] = [:]
    var answeredPolls: [String: Int] = [:]
  }

  private static let path = "/api/cameras"

  /// `name` is the name of this node. `localNames` returns those of its own cameras and scenes.
  init(
    _ configuration: ClusterConfiguration, name: String, timeouts: ServiceTimeouts, logger: Logger,
    localNames: @escaping @Sendable () -> Set<String>
  ) throws {
    client = try PeerClient(configuration, timeouts: timeouts)
    self.timeouts = timeouts
    self.localNames = localNames
    self.logger = logger
    let instance = String(UInt64.random(in: .min ... .max), radix: 16)
    state = Watched(
      State(
        cluster: ClusterState(name: name, instance: instance, peers: configuration.peers),
        hasLeases: configuration.broker != nil))
  }

  /// The current state of the cluster.
  package var cluster: ClusterState { state.withLock { $0.cluster } }

  /// Whether there are other nodes, or may be.
  package var isShared: Bool { state.withLock { !$0.cluster.peers.isEmpty || $0.hasLeases } }

  /// Returns the peer that serves a camera; nil for this node's own cameras and for unknown ones.
  package func route(to camera: String) -> PeerRoute? {
    state.withLock { $0.cluster[camera: camera] }.flatMap { localNames().contains(camera) ? nil : $0 }
  }

  /// The ID of this process among all nodes.
  package var instance: String { state.withLock { $0.cluster.instance } }

  /// The cameras of other nodes.
  package var cameras: [PeerRoute] { cluster.cameras(besides: localNames()) }

  /// Switches to other peers, another name and another token.
  package func apply(_ configuration: ClusterConfiguration, name: String) {
    client.update(configuration)
    state.update { state in
      state.changes += 1
      guard state.cluster.name != name || state.cluster.urls != configuration.peers else { return }
      state.cluster = state.cluster.with(name: name, peers: configuration.peers)
      state.generation += 1
    }
    for url in configuration.peers { requestPoll(url) }
  }

  /// Records the state of other nodes according to the leases in the store.
  package func apply(_ view: LeaseView) {
    let local = localNames()
    let notices = state.update { state in
      state.changes += 1
      return state.cluster.apply(view, local: local)
    }
    for notice in notices { log(notice) }
  }

  /// Sets the nodes of cameras that the configuration assigns to a node, and the cameras that any node may
  /// own.
  package func configure(homes: [String: String], movable: Set<String>) {
    state.update { state in
      state.changes += 1
      state.cluster.homes = homes
      state.movable = movable
    }
  }

  /// Whether a camera moves between nodes.
  package func moves(_ camera: String) -> Bool { state.withLock { $0.movable.contains(camera) } }

  /// Whether a camera is configured, but not served by this node.
  package func isExpected(_ camera: String) -> Bool {
    state.withLock { $0.movable.contains(camera) || $0.cluster.homes[camera] != nil }
      && !localNames().contains(camera)
  }

  /// Whether another node offers a view, or may offer it again because the camera currently has no owner, or
  /// its node does not answer.
  func offers(_ view: String, of camera: String) -> Bool {
    guard let route = route(to: camera) else { return isExpected(camera) }
    return route.outage != nil || route.camera.views.contains { $0.name == view && $0.isEnabled }
  }

  /// The next owner of a camera.
  package enum NextOwner: Sendable {
    case thisNode
    case node(PeerRoute)
  }

  /// Waits until the camera of `route` has another owner that can be asked. For requests that are not
  /// repeatable, it also waits until the node of `route` no longer answers: a node that hands a camera over
  /// in order finishes its current requests.
  ///
  /// - Throws: `CancellationError`.
  package func nextOwner(after route: PeerRoute, isRepeatable: Bool) async throws -> NextOwner {
    while true {
      let (changes, isUp) = state.withLock { state in
        let peers = state.cluster.peers
        return (
          state.changes,
          peers.contains { $0.url == route.url && $0.name == route.node && $0.state == .up }
        )
      }
      if isRepeatable || !isUp, let next = knownOwner(after: route) { return next }
      try await change(after: changes)
    }
  }

  /// The number of changes that may affect routes.
  var changes: Int { state.withLock { $0.changes } }

  /// Waits until `changes` differs from `known`.
  ///
  /// - Throws: `CancellationError`.
  func change(after known: Int) async throws {
    _ = try await state.first { $0.changes == known ? nil : true }
  }

  /// Returns another owner of the camera of `route` that can be asked; nil if there is none yet.
  package func knownOwner(after route: PeerRoute) -> NextOwner? {
    let name = route.camera.name
    if localNames().contains(name) { return .thisNode }
    guard let next = state.withLock({ $0.cluster[camera: name] }), next.outage == nil || next.isFixed,
      !next.isSameOwner(as: route)
    else { return nil }
    return .node(next)
  }

  /// Whether a camera moves between nodes, and no node that answers has it.
  func isBetweenNodes(_ camera: String) -> Bool {
    isBetweenNodes(camera, state.withLock { $0.cluster[camera: camera] })
  }

  private func isBetweenNodes(_ camera: String, _ route: PeerRoute?) -> Bool {
    (route.map { $0.moves && $0.outage != nil } ?? moves(camera)) && !localNames().contains(camera)
  }

  /// Waits at most `limit` while no node that answers has a movable camera.
  ///
  /// - Throws: `Problem` 503 and 429 if too many wait; `CancellationError`.
  package func awaitOwner(of camera: String, within limit: Duration) async throws {
    let deadline = CaptureClock.now + limit
    var permit: AdmissionPermit?
    while true {
      let (changes, route) = state.withLock { ($0.changes, $0.cluster[camera: camera]) }
      guard isBetweenNodes(camera, route) else { break }
      if permit == nil { permit = try waiting.enter() }
      guard try await state.first(until: deadline, { $0.changes == changes ? nil : true }) != nil else {
        break
      }
    }
    withExtendedLifetime(permit) {}
  }

  /// Requests an immediate poll of a peer, because something has changed there.
  package func requestPoll(_ url: String) { state.update { $0.requestedPolls[url, default: 0] += 1 } }

  /// Requests an immediate poll of a peer, and waits for its answer, at most `timeouts.peerList`.
  package func refresh(_ url: String) async {
    let number = state.update { state in
      state.requestedPolls[url, default: 0] += 1
      return state.requestedPolls[url] ?? 0
    }
    _ = try? await state.first(until: CaptureClock.now + timeouts.peerList) {
      $0.answeredPolls[url] ?? 0 >= number ? true : nil
    }
  }

  /// Waits until the state of the cluster has a `result`.
  package func first<Result: Sendable>(_ result: @Sendable (ClusterState) -> Result?) async throws -> Result?
  {
    try await state.first { result($0.cluster) }
  }

  /// Whether a peer's events of a camera are accepted: as far as is known, no other node has the camera.
  package func mayBe(_ camera: String, of peer: KnownPeer) -> Bool {
    let known = cluster
    return !localNames().contains(camera) && known.homes[camera].map { $0 == peer.name } ?? true
      && known[camera: camera].map { $0.url == peer.url } ?? true
  }

  // MARK: Polling

  package func run() async throws {
    client.start()
    await cancelWhenGracefulShutdown { [self] in
      while !Task.isCancelled {
        let (generation, urls) = state.withLock { ($0.generation, $0.cluster.urls) }
        await withDiscardingTaskGroup { group in
          for url in urls { group.addTask { await self.follow(url) } }
          _ = try? await state.first { $0.generation == generation ? nil : true }
          group.cancelAll()
        }
      }
    }
    await client.stop()
  }

  private func follow(_ url: String) async {
    var failures = 0
    while !Task.isCancelled {
      let requestedPolls = state.withLock { $0.requestedPolls[url] }
      let answer: Result<PeerListing, PeerFailure>
      do throws(PeerFailure) { answer = .success(try await list(of: url)) } catch { answer = .failure(error) }
      guard !Task.isCancelled else { return }
      if case .success = answer { failures = 0 } else { failures += 1 }
      let local = localNames()
      let notices = state.update { state in
        state.answeredPolls[url] = requestedPolls
        state.changes += 1
        return state.cluster.received(answer, from: url, local: local)
      }
      for notice in notices { log(notice) }
      let pause = min(timeouts.peerPoll * (1 << min(failures, 8)), timeouts.lostPeerPoll)
      let wait = (failures == 0 ? timeouts.peerPoll : pause) * Double.random(in: 0.8...1.2)
      _ = try? await state.first(until: CaptureClock.now + wait) {
        $0.requestedPolls[url] == requestedPolls ? nil : true
      }
    }
  }

  /// Requests a peer's own cameras.
  private func list(of url: String) async throws(PeerFailure) -> PeerListing {
    let bytes: ByteBuffer
    do {
      let (limit, client) = (timeouts.peerList, client)
      // The deadline covers headers and body, so that a slow sender is given up.
      let answer = try await withDeadline(limit) { () -> ByteBuffer? in
        guard let response = try await client.send(.init(peer: url, target: Self.path), within: limit) else {
          return nil
        }
        try Self.check(response.status)
        return try await response.body.collect(upTo: PeerListing.largestAnswer)
      }
      guard let answer, let answer else { throw PeerFailure("did not answer in time") }
      bytes = answer
    } catch {
      logger.debug("peer not reached", metadata: ["url": "\(url)", "error": "\(error)"])
      throw PeerFailure(error)
    }
    return try PeerListing(json: Array(bytes.readableBytesView))
  }

  private static func check(_ status: HTTPResponseStatus) throws(PeerFailure) {
    switch status.code {
    case 200: return
    case 401, 403:
      throw PeerFailure("rejected the token (see cluster.token-file)", .unauthorized)
    case 429: throw PeerFailure("received too many requests", .refused)
    case 421: throw PeerFailure("rejected this host name (see access.hosts there)")
    case 300..<400: throw PeerFailure("redirected to another address")
    default: throw PeerFailure("answered \(status.code)")
    }
  }

  private func log(_ notice: ClusterState.Notice) {
    switch notice {
    case .connected(let node, let url, let cameras):
      logger.notice(
        "peer connected", metadata: ["node": "\(node)", "url": "\(url)", "cameras": "\(cameras)"])
    case .lost(let node, let url, let reason):
      logger.warning("peer lost", metadata: ["node": "\(node)", "url": "\(url)", "reason": "\(reason)"])
    case .isItself(let url):
      logger.notice("peer ignored: it is this node", metadata: ["url": "\(url)"])
    case .isDuplicate(let url, let node):
      logger.notice("peer ignored: it is listed twice", metadata: ["url": "\(url)", "node": "\(node)"])
    case .conflict(let camera, let node, let owner):
      logger.warning(
        "two nodes have a camera with the same name: rename one of them",
        metadata: ["camera": "\(camera)", "served-by": "\(owner)", "hidden-at": "\(node)"])
    case .sameName(let node, let url):
      logger.warning(
        "two nodes have the same name: set cluster.name", metadata: ["node": "\(node)", "url": "\(url)"])
    case .refused(let count, let node):
      logger.warning(
        "cameras of a peer ignored: their names are invalid, or there are too many",
        metadata: ["node": "\(node)", "count": "\(count)"])
    }
  }
}

extension PeerCatalogue {
  /// 1 for each peer that answers, otherwise 0.
  package var metricFamilies: [MetricFamily] {
    let known = cluster
    var names: Set<String> = []
    let others = known.peers.filter { $0.state != .itself && $0.state != .duplicate }
    let samples = others.compactMap { peer -> MetricFamily.Sample? in
      // Two samples may not have the same labels.
      let name = [peer.name, "peer-\(peer.number)"].first { names.insert($0).inserted }
      return name.map { .init(labels: [("peer", $0)], value: peer.state == .up ? 1 : 0) }
    }
    return [
      MetricFamily("glpreview_peer_up", .gauge, samples, help: "1 for a peer that answers, else 0.")
    ]
  }
}
