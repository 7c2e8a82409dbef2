// What is known of the peers, and which of them answers for a camera: values, without network, clock or log.

/// How a peer is.
package enum PeerState: String, Sendable, Hashable {
  /// It has not been asked yet.
  case asking
  case up
  /// It does not accept the token.
  case unauthorized
  /// It gives no list of cameras.
  case lost
  /// It is this node.
  case itself = "self"
  /// It is the node of another peer's address.
  case duplicate
}

/// A peer, as known here.
package struct KnownPeer: Sendable, Hashable {
  package let url: String
  /// Its place in the list, from 1.
  fileprivate(set) var number: Int
  /// It is known by the leases in the store, and is not asked.
  var isMember = false
  package fileprivate(set) var state = PeerState.asking
  /// Why it is not up; nil if it is, or was not asked yet.
  package fileprivate(set) var reason: String?
  fileprivate(set) var since: WallTime
  /// Its last answer.
  fileprivate(set) var listing = PeerListing()

  /// The name that it gives itself.
  package var name: String { listing.name ?? "peer-\(number)" }
}

/// The peer that serves a camera.
package struct PeerRoute: Sendable, Hashable {
  package let url: String
  package let node: String
  package let camera: PeerCamera
  /// Why its node does not answer; nil if it does.
  package let outage: String?
  let since: WallTime
  /// Its node is known by the leases in the store.
  package var isMember = false
  /// It is asked although its node does not answer the store: the camera is there or nowhere.
  package var isAskedAnyway = false
  /// The epoch of its owner's lease.
  package var epoch: UInt64?

  /// The camera's state; a camera of a node that does not answer is lost.
  var state: SourceState { outage == nil ? camera.state : .lost }

  /// Whether another node takes the camera if its node dies.
  package var moves: Bool { isMember && !isAskedAnyway && epoch != nil }

  /// Whether it leads to the same process, as far as is known.
  func isSameOwner(as other: PeerRoute) -> Bool {
    url == other.url && (epoch == other.epoch || epoch == nil || other.epoch == nil)
  }
}

/// The peers in the order of the configuration. The first that has a camera answers for it.
package struct ClusterState: Sendable {
  /// What is worth telling the operator, once.
  enum News: Sendable, Hashable {
    case connected(node: String, url: String, cameras: Int)
    case lost(node: String, url: String, reason: String)
    case isItself(url: String)
    case isDuplicate(url: String, of: String)
    /// A camera of `node` has a name that is taken.
    case conflict(camera: String, node: String, by: String)
    case sameName(node: String, url: String)
    case refused(count: Int, node: String)
  }

  package let name: String
  /// This process, among all nodes.
  package let instance: String
  private(set) var peers: [KnownPeer]
  /// The owners of cameras, as the store names them.
  private(set) var owners: [String: LeaseView.Owner] = [:]
  /// The nodes that this node's configuration names for cameras: nobody else is asked for them.
  var homes: [String: String] = [:] { didSet { if homes != oldValue { findRoutes() } } }
  private var routes: [String: PeerRoute] = [:]
  private var told: Set<News> = []

  init(name: String, instance: String, peers urls: [String], at now: WallTime = .now) {
    (self.name, self.instance) = (name, instance)
    peers = urls.enumerated().map { KnownPeer(url: $1, number: $0 + 1, since: now) }
  }

  /// The same with other peers and another name. What is known of those that stay is kept.
  func with(name: String, peers urls: [String], at now: WallTime = .now) -> ClusterState {
    var next = ClusterState(name: name, instance: instance, peers: urls, at: now)
    for index in next.peers.indices {
      guard let known = peers.first(where: { $0.url == next.peers[index].url && !$0.isMember }) else {
        continue
      }
      (next.peers[index].state, next.peers[index].reason) = (known.state, known.reason)
      (next.peers[index].since, next.peers[index].listing) = (known.since, known.listing)
    }
    next.told = told
    (next.owners, next.homes) = (owners, homes)
    for var member in peers where member.isMember {
      member.number = next.peers.count + 1
      next.peers.append(member)
    }
    next.findRoutes()
    return next
  }

  /// The addresses of the configuration.
  package var urls: [String] { peers.filter { !$0.isMember }.map(\.url) }

  /// The peer at an address, if its events come from there: it answers, and is no node that tells them by the broker.
  package func eventSource(_ url: String) -> KnownPeer? {
    peers.first { $0.url == url && !$0.isMember && $0.state == .up }.flatMap { peer in
      peers.contains { $0.isMember && $0.state != .lost && $0.listing.instance == peer.listing.instance }
        ? nil : peer
    }
  }

  /// The peer that serves a camera which this node does not have.
  package subscript(camera name: String) -> PeerRoute? { routes[name] }

  /// The cameras of others, in the order of the peers, without those whose names are in `local`.
  func cameras(besides local: Set<String>) -> [PeerRoute] {
    counted.flatMap { peer in
      peer.listing.cameras.compactMap { camera in
        routes[camera.name].flatMap { $0.url == peer.url && !local.contains(camera.name) ? $0 : nil }
      }
    }
  }

  /// The cameras of a peer whose names are taken, by this node or by a peer before it.
  func conflicts(of peer: KnownPeer, local: Set<String>) -> [String] {
    guard counted.contains(where: { $0.url == peer.url }) else { return [] }
    return peer.listing.cameras.filter {
      owners[$0.name] == nil && (local.contains($0.name) || isConflict($0, peer))
    }.map(\.name)
  }

  /// Whether another peer answers for the name of a peer's camera, which is not the same camera by a lease.
  private func isConflict(_ camera: PeerCamera, _ peer: KnownPeer) -> Bool {
    guard let owner = routes[camera.name] else { return true }
    return owner.url != peer.url && !camera.isSame(as: owner.camera)
  }

  // MARK: Hearing

  /// Takes a peer's answer, or why there is none. `local` are the names of this node's own cameras and scenes, which
  /// nobody else can take.
  mutating func heard(
    _ answer: Result<PeerListing, PeerFailure>, from url: String, local: Set<String>, at now: WallTime = .now
  ) -> [News] {
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
    return news(of: before, peers[index]) + newConflicts(local)
  }

  /// Takes what the leases in the store tell of other nodes.
  mutating func heard(_ view: LeaseView, local: Set<String>, at now: WallTime = .now) -> [News] {
    let known = Dictionary(peers.filter(\.isMember).map { ($0.name, $0) }) { $1 }
    peers.removeAll(where: \.isMember)
    for node in view.nodes {
      var peer = KnownPeer(url: node.url, number: peers.count + 1, isMember: true, since: now)
      peer.listing = node.listing ?? PeerListing()
      (peer.listing.name, peer.listing.instance) = (node.name, node.instance)
      peer.state = node.isAlive ? .up : .lost
      peer.reason = node.isAlive ? nil : "has stopped renewing its lease"
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

  /// A node that is reached at two addresses is counted at the first that answers.
  private mutating func findDuplicates(_ now: WallTime) {
    var seen: [String: Int] = [:]
    for index in peers.indices where peers[index].state == .up || peers[index].state == .duplicate {
      guard let instance = peers[index].listing.instance else { continue }
      let first = seen[instance]
      seen[instance] = first ?? index
      set(index, first == nil ? .up : .duplicate, first.map { "is the same node as peer \($0 + 1)" }, now)
    }
  }

  /// The peers whose cameras count: not this node, and each node once.
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
    // A camera has just moved, and its new owner has not listed it yet: views are the same everywhere.
    for (name, owner) in owners where routes[name] == nil && owner.node != self.name {
      guard let peer = counted.first(where: { $0.isMember && $0.name == owner.node }),
        let camera = counted.lazy.flatMap(\.listing.cameras).first(where: { $0.name == name })
      else { continue }
      routes[name] = route(to: camera, at: peer)
    }
  }

  /// Whether a peer of the configuration has a camera by a later lease than another one, in a bucket that this node is not in.
  /// One that answers precedes one that doesn't: its bucket may be a new one, whose epochs begin anew.
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
      isMember: peer.isMember, isAskedAnyway: peer.isMember && owner?.isFixed == true, epoch: owner?.epoch)
  }

  /// Whether a peer that lists a camera is the one to ask for it: the node that this node's configuration names, else
  /// the owner by the store.
  private func answers(_ peer: KnownPeer, for camera: String) -> Bool {
    if let home = homes[camera] { return peer.name == home }
    guard peer.isMember, let owner = owners[camera] else { return true }
    return owner.node == peer.name
  }

  // MARK: News

  private mutating func news(of before: KnownPeer, _ peer: KnownPeer) -> [News] {
    var news: [News] = []
    if peer.state != before.state {
      switch peer.state {
      case .up:
        news.append(.connected(node: peer.name, url: peer.url, cameras: peer.listing.cameras.count))
        if peer.listing.refusedCount > 0 {
          news += once(.refused(count: peer.listing.refusedCount, node: peer.name))
        }
      // This node, which does not listen any more.
      case .lost where before.state == .itself: break
      case .lost, .unauthorized:
        news.append(.lost(node: peer.name, url: peer.url, reason: peer.reason ?? ""))
      case .itself: news += once(.isItself(url: peer.url))
      case .duplicate: news += once(.isDuplicate(url: peer.url, of: peer.name))
      case .asking: break
      }
    }
    let isOther = peer.state == .up && peer.listing.name != nil
    if isOther, peer.name == name || peers.contains(where: { $0.name == peer.name && isBefore($0, peer) }) {
      news += once(.sameName(node: peer.name, url: peer.url))
    }
    return news
  }

  private func isBefore(_ other: KnownPeer, _ peer: KnownPeer) -> Bool {
    other.number < peer.number && other.state == .up
  }

  private mutating func newConflicts(_ local: Set<String>) -> [News] {
    var news: [News] = []
    for peer in counted {
      for camera in peer.listing.cameras {
        if local.contains(camera.name), owners[camera.name] == nil {
          news += once(.conflict(camera: camera.name, node: peer.name, by: name))
        } else if owners[camera.name] == nil, isConflict(camera, peer), let owner = routes[camera.name] {
          news += once(.conflict(camera: camera.name, node: peer.name, by: owner.node))
        }
      }
    }
    return news
  }

  /// What was told before is not told again. A peer that changes its name each time can't fill the log.
  private mutating func once(_ news: News) -> [News] {
    guard told.count < 1000, told.insert(news).inserted else { return [] }
    return [news]
  }
}

extension PeerCamera {
  /// The epoch of its lease; nil for one that does not move.
  fileprivate var epoch: Int? {
    if case .integer(let epoch)? = members["epoch"] { epoch } else { nil }
  }

  /// Whether both have leases in one store: epochs of two stores say nothing of each other.
  fileprivate func isSame(as other: PeerCamera) -> Bool {
    guard epoch != nil, other.epoch != nil, case .string(let store)? = members["lease_store"] else {
      return false
    }
    return other.members["lease_store"] == .string(store)
  }
}
