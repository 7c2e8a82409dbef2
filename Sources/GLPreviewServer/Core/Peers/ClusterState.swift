// The known state of the peers, and the routing of cameras to them: values, without network, clock or log.

/// The state of a peer.
package enum PeerState: String, Sendable, Hashable {
  /// It has not been asked for its cameras yet.
  case asking
  case up
  /// The peer does not accept the token.
  case unauthorized
  /// It does not answer with a list of cameras.
  case lost
  /// The peer is this node itself.
  case itself = "self"
  /// Another peer's address reaches the same node.
  case duplicate
}

/// A peer as this node knows it.
package struct KnownPeer: Sendable, Hashable {
  package let url: String
  /// Its position in the list, from 1.
  fileprivate(set) var number: Int
  /// Whether it is known from the store's leases; such peers are not polled.
  var isMember = false
  package fileprivate(set) var state = PeerState.asking
  /// The reason why it is not up; nil if it is up, or was not asked yet.
  package fileprivate(set) var reason: String?
  fileprivate(set) var since: WallTime
  /// Its last answer.
  fileprivate(set) var listing = PeerListing()

  /// Its own name, or `peer-N`.
  package var name: String { listing.name ?? "peer-\(number)" }
}

/// The peer that serves a camera.
package struct PeerRoute: Sendable, Hashable {
  package let url: String
  package let node: String
  package let camera: PeerCamera
  /// The reason why its node does not answer; nil if it answers.
  package let outage: String?
  let since: WallTime
  /// Whether its node is known from the store's leases.
  package var isMember = false
  /// Whether requests are sent to its node even if that does not renew its lease: the camera is fixed to that
  /// node, so that no other one can have it.
  package var isFixed = false
  /// The epoch of the owner's lease.
  package var epoch: UInt64?

  /// The camera's state; a camera of a node that does not answer is lost.
  var state: SourceState { outage == nil ? camera.state : .lost }

  /// Whether another node takes the camera if its node dies.
  package var moves: Bool { isMember && !isFixed && epoch != nil }

  /// Returns whether both routes lead to the same process, as far as is known.
  func isSameOwner(as other: PeerRoute) -> Bool {
    url == other.url && (epoch == other.epoch || epoch == nil || other.epoch == nil)
  }
}

/// The peers in the order of the configuration. The first peer that has a camera serves it.
package struct ClusterState: Sendable {
  /// Changes to report to the operator, some of them only once.
  enum Notice: Sendable, Hashable {
    case connected(node: String, url: String, cameras: Int)
    case lost(node: String, url: String, reason: String)
    case isItself(url: String)
    case isDuplicate(url: String, of: String)
    /// A camera of `node` has a name that is already in use.
    case conflict(camera: String, node: String, by: String)
    case sameName(node: String, url: String)
    case refused(count: Int, node: String)
  }

  package let name: String
  /// The ID of this process among all nodes.
  package let instance: String
  private(set) var peers: [KnownPeer]
  /// The owners of cameras according to the store.
  private(set) var owners: [String: LeaseView.Owner] = [:]
  /// The nodes that this node's configuration names for cameras. No other node is asked for these cameras.
  var homes: [String: String] = [:] { didSet { if homes != oldValue { findRoutes() } } }
  private var routes: [String: PeerRoute] = [:]
  private var reported: Set<Notice> = []

  init(name: String, instance: String, peers urls: [String], at now: WallTime = .now) {
    (self.name, self.instance) = (name, instance)
    peers = urls.enumerated().map { KnownPeer(url: $1, number: $0 + 1, since: now) }
  }

  /// Returns the state with other peers and another name. The state of peers that remain is kept.
  func with(name: String, peers urls: [String], at now: WallTime = .now) -> ClusterState {
    var next = ClusterState(name: name, instance: instance, peers: urls, at: now)
    for index in next.peers.indices {
      guard let known = peers.first(where: { $0.url == next.peers[index].url && !$0.isMember }) else {
        continue
      }
      (next.peers[index].state, next.peers[index].reason) = (known.state, known.reason)
      (next.peers[index].since, next.peers[index].listing) = (known.since, known.listing)
    }
    next.reported = reported
    (next.owners, next.homes) = (owners, homes)
    for var member in peers where member.isMember {
      member.number = next.peers.count + 1
      next.peers.append(member)
    }
    next.findRoutes()
    return next
  }

  /// The addresses in the configuration.
  package var urls: [String] { peers.filter { !$0.isMember }.map(\.url) }

  /// Returns the peer at an address if its events are read from there: it must answer, and its events must
  /// not come through NATS.
  package func eventSource(_ url: String) -> KnownPeer? {
    peers.first { $0.url == url && !$0.isMember && $0.state == .up }.flatMap { peer in
      peers.contains { $0.isMember && $0.state != .lost && $0.listing.instance == peer.listing.instance }
        ? nil : peer
    }
  }

  /// The route to a camera that this node does not have.
  package subscript(camera name: String) -> PeerRoute? { routes[name] }

  /// Returns the cameras of other nodes, in the order of the peers, without those whose names are in `local`.
  func cameras(besides local: Set<String>) -> [PeerRoute] {
    counted.flatMap { peer in
      peer.listing.cameras.compactMap { camera in
        routes[camera.name].flatMap { $0.url == peer.url && !local.contains(camera.name) ? $0 : nil }
      }
    }
  }

  /// Returns the cameras of a peer whose names are in use by this node or an earlier peer.
  func conflicts(of peer: KnownPeer, local: Set<String>) -> [String] {
    guard counted.contains(where: { $0.url == peer.url }) else { return [] }
    return peer.listing.cameras.filter {
      owners[$0.name] == nil && (local.contains($0.name) || isConflict($0, peer))
    }.map(\.name)
  }

  /// Returns whether another peer serves a camera of this name, and it is not the same camera by a lease.
  private func isConflict(_ camera: PeerCamera, _ peer: KnownPeer) -> Bool {
    guard let owner = routes[camera.name] else { return true }
    return owner.url != peer.url && !camera.isSame(as: owner.camera)
  }

  // MARK: Updates

  /// Records a peer's answer, or the reason for its absence. `local` are the names of this node's own cameras
  /// and scenes, which no peer can take.
  mutating func received(
    _ answer: Result<PeerListing, PeerFailure>, from url: String, local: Set<String>, at now: WallTime = .now
  ) -> [Notice] {
    guard let index = peers.firstIndex(where: { $0.url == url && !$0.isMember }) else { return [] }
    let before = peers[index]
    switch answer {
    case .success(let listing):
      peers[index].listing = listing
      set(index, listing.instance == instance ? .itself : .up, nil, now)
    case .failure(let failure):
      guard failure.kind != .refused || before.state != .unauthorized else { return [] }
      set(index, failure.kind == .unauthorized ? .unauthorized : .lost, failure.reason, now)
    }
    findDuplicates(now)
    findRoutes()
    return notices(of: before, peers[index]) + newConflicts(local)
  }

  /// Records the state of other nodes according to the leases in the store.
  mutating func apply(_ view: LeaseView, local: Set<String>, at now: WallTime = .now) -> [Notice] {
    let known = Dictionary(peers.filter(\.isMember).map { ($0.name, $0) }) { $1 }
    peers.removeAll(where: \.isMember)
    for node in view.nodes {
      var peer = KnownPeer(url: node.url, number: peers.count + 1, isMember: true, since: now)
      peer.listing = node.listing ?? PeerListing()
      (peer.listing.name, peer.listing.instance) = (node.name, node.instance)
      peer.state = node.isAlive ? .up : .lost
      peer.reason = node.isAlive ? nil : "stopped renewing its lease"
      if let before = known[node.name], before.state == peer.state { peer.since = before.since }
      peers.append(peer)
    }
    owners = view.owners
    findDuplicates(now)
    findRoutes()
    return newConflicts(local)
  }

  private mutating func set(_ index: Int, _ state: PeerState, _ reason: String?, _ now: WallTime) {
    if peers[index].state != state { peers[index].since = now }
    (peers[index].state, peers[index].reason) = (state, reason)
  }

  /// A node with two addresses counts at the first address that answers.
  private mutating func findDuplicates(_ now: WallTime) {
    var seen: [String: Int] = [:]
    for index in peers.indices where peers[index].state == .up || peers[index].state == .duplicate {
      guard let instance = peers[index].listing.instance else { continue }
      let first = seen[instance]
      seen[instance] = first ?? index
      set(index, first == nil ? .up : .duplicate, first.map { "is the same node as peer \($0 + 1)" }, now)
    }
  }

  /// The peers whose cameras count: without this node, and each node only once.
  package var counted: [KnownPeer] {
    let up = Set(peers.filter { $0.state == .up }.compactMap(\.listing.instance))
    var seen: Set<String> = []
    return peers.filter { peer in
      guard peer.state != .itself, peer.state != .duplicate else { return false }
      guard let known = peer.listing.instance, peer.state != .up else { return true }
      return !up.contains(known) && known != instance && seen.insert(known).inserted
    }
  }

  private mutating func findRoutes() {
    routes = [:]
    for peer in counted {
      for camera in peer.listing.cameras
      where routes[camera.name].map({ hasTaken(camera, peer, from: $0) }) ?? true
        && answers(peer, for: camera.name)
      {
        routes[camera.name] = route(to: camera, at: peer)
      }
    }
    // A camera that has just moved may not be listed by its new owner yet. Its views are equal on all nodes.
    for (name, owner) in owners where routes[name] == nil && owner.node != self.name {
      guard let peer = counted.first(where: { $0.isMember && $0.name == owner.node }),
        let camera = counted.lazy.flatMap(\.listing.cameras).first(where: { $0.name == name })
      else { continue }
      routes[name] = route(to: camera, at: peer)
    }
  }

  /// Returns whether a configured peer has a camera by a later lease than another peer, in a bucket that this
  /// node does not use. A peer that answers precedes one that does not: its bucket may be new, with epochs
  /// that start again.
  private func hasTaken(_ camera: PeerCamera, _ peer: KnownPeer, from other: PeerRoute) -> Bool {
    guard !peer.isMember, !other.isMember, let new = camera.epoch, let old = other.camera.epoch else {
      return false
    }
    let isUp = peer.state == .up
    guard isUp == (other.outage == nil) else { return isUp }
    return camera.isSame(as: other.camera) && new > old
  }

  private func route(to camera: PeerCamera, at peer: KnownPeer) -> PeerRoute {
    let owner = owners[camera.name].flatMap { $0.node == peer.name ? $0 : nil }
    return PeerRoute(
      url: peer.url, node: peer.name, camera: camera,
      outage: peer.state == .up ? nil : peer.reason ?? "has not answered yet", since: peer.since,
      isMember: peer.isMember, isFixed: peer.isMember && owner?.isFixed == true, epoch: owner?.epoch)
  }

  /// Returns whether a peer that lists a camera is the one to ask for it: the node that this node's
  /// configuration names, otherwise the owner according to the store.
  private func answers(_ peer: KnownPeer, for camera: String) -> Bool {
    if let home = homes[camera] { return peer.name == home }
    guard peer.isMember, let owner = owners[camera] else { return true }
    return owner.node == peer.name
  }

  // MARK: Changes

  private mutating func notices(of before: KnownPeer, _ peer: KnownPeer) -> [Notice] {
    var notices: [Notice] = []
    if peer.state != before.state {
      switch peer.state {
      case .up:
        notices.append(.connected(node: peer.name, url: peer.url, cameras: peer.listing.cameras.count))
        if peer.listing.refusedCount > 0 {
          notices += once(.refused(count: peer.listing.refusedCount, node: peer.name))
        }
      // The peer is this node, which no longer listens.
      case .lost where before.state == .itself: break
      case .lost, .unauthorized:
        notices.append(.lost(node: peer.name, url: peer.url, reason: peer.reason ?? ""))
      case .itself: notices += once(.isItself(url: peer.url))
      case .duplicate: notices += once(.isDuplicate(url: peer.url, of: peer.name))
      case .asking: break
      }
    }
    let isOther = peer.state == .up && peer.listing.name != nil
    if isOther, peer.name == name || peers.contains(where: { $0.name == peer.name && isBefore($0, peer) }) {
      notices += once(.sameName(node: peer.name, url: peer.url))
    }
    return notices
  }

  private func isBefore(_ other: KnownPeer, _ peer: KnownPeer) -> Bool {
    other.number < peer.number && other.state == .up
  }

  private mutating func newConflicts(_ local: Set<String>) -> [Notice] {
    var notices: [Notice] = []
    for peer in counted {
      for camera in peer.listing.cameras {
        if local.contains(camera.name), owners[camera.name] == nil {
          notices += once(.conflict(camera: camera.name, node: peer.name, by: name))
        } else if owners[camera.name] == nil, isConflict(camera, peer), let owner = routes[camera.name] {
          notices += once(.conflict(camera: camera.name, node: peer.name, by: owner.node))
        }
      }
    }
    return notices
  }

  /// Returns an item unless it was reported before. The limit keeps a peer that changes its name each time
  /// from filling the log.
  private mutating func once(_ notice: Notice) -> [Notice] {
    guard reported.count < 1000, reported.insert(notice).inserted else { return [] }
    return [notice]
  }
}

extension PeerCamera {
  /// The epoch of its lease; nil for a camera that does not move.
  fileprivate var epoch: Int? {
    if case .integer(let epoch)? = members["epoch"] { epoch } else { nil }
  }

  /// Returns whether both have leases in the same store: epochs of different stores are not comparable.
  fileprivate func isSame(as other: PeerCamera) -> Bool {
    guard epoch != nil, other.epoch != nil, case .string(let store)? = members["lease_store"] else {
      return false
    }
    return other.members["lease_store"] == .string(store)
  }
}
