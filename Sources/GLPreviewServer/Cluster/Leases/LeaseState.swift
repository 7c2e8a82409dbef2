// Which cameras this node holds, and which it may take: a value, without network and clock.
//
// Nobody trusts the store's expiry or another machine's clock. A node is dead when its key has stood still for
// `LeaseTimes.dead`, counted here in steps of at most a second while the store could be heard, so that who was stopped, or
// cut off, or asleep, takes nobody for dead when it wakes up. Compare-and-set lets one of several takers win.

/// The times of leases.
package struct LeaseTimes: Sendable, Hashable {
  /// How often a node renews its key.
  package var beat = Duration.seconds(2)
  /// How long a key stands still until its node is dead.
  package var dead = Duration.seconds(8)
  /// How long a camera's old owner goes on at most after another node has taken it in order.
  package var handover = Duration.seconds(3)
  /// How long a node that has just joined takes nothing, because others may be joining too.
  package var gathering = Duration.seconds(3)
  /// How long a balance must have held before a camera is moved.
  package var settled = Duration.seconds(20)

  package init() {}

  /// The longest step that counts as time in which the store was heard.
  static let longestStep = Duration.seconds(1)
}

/// A node, as heard of from the store.
struct LeaseNode: Sendable, Hashable {
  /// Nil if only its name is known, as a camera's owner.
  var record: NodeRecord?
  var revision: UInt64 = 0
  /// How long its key has stood still.
  var still = Duration.zero
  var offers: Set<String> = []
  /// It has removed its key.
  var isGone = false
}

package struct LeaseState: Sendable {
  /// Who writes: the names and what they can take.
  package struct Identity: Sendable, Hashable {
    package var node: String
    package var instance: String
    package var url: String
    package var slots: Int
    /// The cameras of the configuration that move.
    package var movable: Set<String>
    /// Those that never do, which this node serves in any case.
    package var fixed: Set<String>

    package init(
      node: String, instance: String, url: String, slots: Int, movable: Set<String>, fixed: Set<String> = []
    ) {
      (self.node, self.instance, self.url, self.slots) = (node, instance, url, slots)
      (self.movable, self.fixed) = (movable, fixed)
    }
  }

  /// A change of a camera's key, if its revision is still `revision` (0: if it has none).
  package struct Write: Sendable, Hashable {
    package let camera: String
    package let record: CameraRecord
    package let revision: UInt64
  }

  /// What is worth telling the operator.
  package enum News: Sendable, Hashable {
    case taken(camera: String, epoch: UInt64)
    case released(camera: String, epoch: UInt64, reason: String)
    case yielded(camera: String, epoch: UInt64, to: String)
    case joined(node: String)
    case lost(node: String)
    /// Another process has this node's name.
    case nameTaken
    /// A camera that is always of this node is another's too.
    case conflict(camera: String, with: String)
    /// Whether the store is heard.
    case store(isThere: Bool)
    /// Nobody has room for it.
    case ownerless(camera: String)
  }

  let times: LeaseTimes
  package internal(set) var identity: Identity
  var nodes: [String: LeaseNode] = [:]
  var cameras: [String: (record: CameraRecord?, revision: UInt64)] = [:]
  /// The cameras that move which this node holds, with their epochs; 0 while the store was never heard.
  package internal(set) var held: [String: UInt64] = [:]
  /// Cameras that another node has taken in order, and how long they are kept on until it delivers.
  var lingering: [String: Duration] = [:]
  /// Cameras whose keys are being written.
  var pending: Set<String> = []
  /// How long a camera without an owner has been free for the taking.
  var freeFor: [String: Duration] = [:]
  /// The store answers, and everything that it has was heard.
  package internal(set) var isCurrent = false
  var wasCurrent = false
  /// While the store was lost: the revision of this node's key that must be heard until it is current again.
  var resumesAt: UInt64?
  /// How long this node's own key was not heard again.
  var unheard = Duration.zero
  /// How long this node has been among the others.
  var joinedFor = Duration.zero
  /// How long this node has been without a store since its start.
  var alone = Duration.zero
  /// How long nothing has moved.
  var quiet = Duration.zero
  /// This node's key was written by this process and no other since.
  package internal(set) var hasJoined = false
  var isLeaving = false
  var news: [News] = []
  var told: Set<News> = []

  package init(_ identity: Identity, times: LeaseTimes = LeaseTimes()) {
    (self.identity, self.times) = (identity, times)
  }

  /// What this node serves of the cameras that move.
  package var served: Set<String> { Set(held.keys).union(lingering.keys) }

  /// What was to be told since the last call.
  package mutating func takeNews() -> [News] {
    defer { news = [] }
    return news
  }

  // MARK: Hearing

  /// A node's key; without a record it was removed.
  package mutating func heardNode(_ name: String, _ record: NodeRecord?, revision: UInt64) {
    var node = nodes[name] ?? LeaseNode()
    let (before, wasAlive) = (node.record, isAlive(name))
    // What this process has written is known before it is heard.
    if name == identity.node, record?.instance == identity.instance { heardOwn(revision) }
    guard revision > node.revision else { return }
    (node.record, node.revision, node.still) = (record ?? before, revision, .zero)
    node.isGone = record == nil
    nodes[name] = node
    guard name == identity.node else {
      if wasAlive != isAlive(name) { news.append(wasAlive ? .lost(node: name) : .joined(node: name)) }
      return
    }
    guard let record, record.instance != identity.instance else { return }
    if hasJoined {
      displace()
    } else if record.instance == before?.instance, isCurrent {
      tellOnce(.nameTaken)
    }
  }

  /// This node's own key came back: the store takes what is written, and tells it.
  mutating func heardOwn(_ revision: UInt64) {
    unheard = .zero
    guard !isCurrent, let resumesAt, revision >= resumesAt else { return }
    heardAll()
  }

  package mutating func heardOffers(_ name: String, _ offers: Set<String>) {
    nodes[name, default: LeaseNode()].offers = offers
  }

  package mutating func heardCamera(_ name: String, _ record: CameraRecord?, revision: UInt64) {
    guard revision > cameras[name]?.revision ?? 0 else { return }
    cameras[name] = (record, revision)
    if let owner = record?.node, !owner.isEmpty, nodes[owner] == nil { nodes[owner] = LeaseNode() }
    quiet = .zero
    follow(name)
  }

  /// All that the store has was heard.
  package mutating func heardAll() {
    if !isCurrent { news.append(.store(isThere: true)) }
    (isCurrent, wasCurrent, resumesAt, unheard) = (true, true, nil, .zero)
    for camera in cameras.keys { follow(camera) }
  }

  /// The store can't be heard. What it said may be old when it can be again: everybody gets a whole wait.
  package mutating func lostStore() {
    if isCurrent { news.append(.store(isThere: false)) }
    (isCurrent, resumesAt) = (false, nil)
    for name in nodes.keys { nodes[name]?.still = .zero }
    freeFor = [:]
  }

  /// The bucket was replaced by an empty one. Cameras stay where they are, and their owners write them again.
  package mutating func forgetStore() {
    lostStore()
    for name in nodes.keys { nodes[name]?.revision = 0 }
    cameras = cameras.mapValues { ($0.record, 0) }
    hasJoined = false
  }

  /// Takes what another configuration has. Cameras that are not in it any more are released.
  package mutating func become(_ new: Identity) {
    identity = new
    told = []
    for (camera, epoch) in held where !new.movable.contains(camera) {
      held[camera] = nil
      news.append(.released(camera: camera, epoch: epoch, reason: "it is not in the configuration any more"))
    }
    for camera in lingering.keys where !new.movable.contains(camera) { lingering[camera] = nil }
  }

  /// Another node's record of a camera that this node holds, or its own from before.
  mutating func follow(_ camera: String) {
    guard let epoch = held[camera], let record = cameras[camera]?.record, isCurrent else { return }
    if record.node == identity.node, record.instance == identity.instance {
      held[camera] = max(epoch, record.epoch)
    } else if !record.node.isEmpty, record.node != identity.node, record.epoch > epoch {
      let isOrderly = isLeaving || pendingMove[camera] == record.node
      held[camera] = nil
      lingering[camera] = isOrderly || epoch == 0 ? .zero : nil
      news.append(.yielded(camera: camera, epoch: epoch, to: record.node))
    }
  }

  /// The node that each camera was offered to.
  var pendingMove: [String: String] = [:]

  /// Another process has taken this node's key: it may hold the same cameras.
  mutating func displace() {
    (hasJoined, held, lingering) = (false, [:], [:])
    news.append(.nameTaken)
  }

  mutating func tellOnce(_ item: News) {
    if told.count < 1000, told.insert(item).inserted { news.append(item) }
  }

  // MARK: Time

  /// Time has passed since the last step.
  package mutating func step(_ time: Duration) {
    let time = min(time, LeaseTimes.longestStep)
    if !wasCurrent { alone += time }
    if isCurrent {
      quiet += time
      if hasJoined {
        joinedFor += time
        unheard += time
      }
      for name in nodes.keys {
        let wasAlive = isAlive(name)
        nodes[name]?.still += time
        if wasAlive, !isAlive(name) { news.append(.lost(node: name)) }
      }
      if joinedFor >= times.gathering {
        for camera in identity.movable {
          freeFor[camera] = isFree(camera) ? (freeFor[camera] ?? .zero) + time : nil
        }
      }
      // What does not come back from the store is not there. Others seem to stand still then too.
      if unheard >= times.beat * 2.5 { lostStore() }
    }
    for (camera, since) in lingering {
      lingering[camera] = since + time >= times.handover ? nil : since + time
    }
    holdAlone()
  }

  /// The camera's new owner delivers its pictures.
  package mutating func handedOver(_ camera: String) { lingering[camera] = nil }

  /// Cameras that are kept on until their new owners deliver, with those.
  package var handovers: [(camera: String, to: String)] {
    lingering.keys.compactMap { camera in cameras[camera]?.record.map { (camera, $0.node) } }
  }

  /// A service whose store was never there serves all that it can: cameras are opened only where somebody looks.
  mutating func holdAlone() {
    guard !wasCurrent, alone >= times.dead, !isLeaving else { return }
    for camera in identity.movable where held[camera] == nil { held[camera] = 0 }
  }
}
