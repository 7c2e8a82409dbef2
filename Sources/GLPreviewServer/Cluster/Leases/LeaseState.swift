// Which cameras this node holds, and which it may take: a value, without network and clock.
//
// No node trusts the store's expiry or another machine's clock. A node is considered dead when its key has
// not changed for `LeaseTimes.dead`. Each node counts that time itself, in steps of at most a second, and
// only while it is in contact with the store. So a node that was stopped or cut off does not consider others
// dead when it resumes. If several nodes try to take a camera, compare-and-set lets one of them win.

/// A node, as known from the store.
struct LeaseNode: Sendable, Hashable {
  /// Nil if only its name is known, as a camera's owner.
  var record: NodeRecord?
  var revision: UInt64 = 0
  /// How long its key has not changed.
  var still = Duration.zero
  var offers: Set<String> = []
  /// Whether it has removed its key.
  var isGone = false
}

package struct LeaseState: Sendable {
  /// This node's name, process and address, and the cameras that it can take.
  package struct Identity: Sendable, Hashable {
    package var node: String
    package var instance: String
    package var url: String
    package var slots: Int
    /// The cameras of the configuration that may move.
    package var movable: Set<String>
    /// The cameras that never move, which this node always serves.
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

  /// Changes that are worth logging.
  package enum Notice: Sendable, Hashable {
    case taken(camera: String, epoch: UInt64)
    case released(camera: String, epoch: UInt64, reason: String)
    case yielded(camera: String, epoch: UInt64, to: String)
    case joined(node: String)
    case lost(node: String)
    /// Another process has this node's name.
    case nameTaken
    /// A camera that is fixed to this node is also fixed to another.
    case conflict(camera: String, with: String)
    /// The store was reached or lost.
    case store(isThere: Bool)
    /// No node has a free slot for it.
    case ownerless(camera: String)
  }

  let times: LeaseTimes
  package internal(set) var identity: Identity
  var nodes: [String: LeaseNode] = [:]
  var cameras: [String: (record: CameraRecord?, revision: UInt64)] = [:]
  /// The number of movable cameras that each node holds according to the store.
  var counts: [String: Int] = [:]
  /// The value of `changes` when free cameras were last counted.
  var countedAt = -1
  /// Counts changes that other parts may need to know.
  private(set) var changes = 0
  /// Cameras whose keys have changed since the last decision, and whether to check all cameras.
  var changed: Set<String> = []
  var checksAll = true
  /// The movable cameras that this node holds, with their epochs; 0 if the store was never reached.
  package internal(set) var held: [String: UInt64] = [:] { didSet { changes += 1 } }
  /// Cameras that another node has taken in an orderly way, and how long this node has still served them
  /// until the new owner delivers.
  var lingering: [String: Duration] = [:] { didSet { changes += 1 } }
  /// Cameras whose keys are being written.
  var pending: Set<String> = []
  /// How long each camera has been free to take.
  var freeFor: [String: Duration] = [:]
  /// Whether the store answers and all of its keys were read.
  package internal(set) var isCurrent = false { didSet { changes += 1 } }
  var wasCurrent = false
  /// After the store was lost: the revision of this node's key that must be received before the store is
  /// current again.
  var resumesAt: UInt64?
  /// How often all keys had to be read again. A node that has not joined has no key of its own, whose return
  /// shows a joined node that the store is back. A server with a stale copy of the store accepts writes but
  /// does not report them.
  package internal(set) var readings = 0
  /// How long this node's own key has not been received again.
  var unreceivedFor = Duration.zero
  /// How long this node has been part of the cluster, since its key was received.
  var joinedFor = Duration.zero
  /// The revision by which this node joined, until it is received. A server with a stale copy of the store, on which
  /// all other nodes seem to be silent, never reports it.
  var joinsAt: UInt64?
  /// The last revision of this node's key that was received.
  var receivedRevision: UInt64 = 0
  /// How long this node has been without a store since its start.
  var alone = Duration.zero
  /// How long no camera has changed.
  var unchangedFor = Duration.zero
  /// Whether this node's key was written by this process and by no other since.
  package internal(set) var hasJoined = false
  var isLeaving = false
  var notices: [Notice] = []
  var reported: Set<Notice> = []

  package init(_ identity: Identity, times: LeaseTimes = LeaseTimes()) {
    (self.identity, self.times) = (identity, times)
  }

  /// The movable cameras that this node serves.
  package var served: Set<String> { Set(held.keys).union(lingering.keys) }

  /// The notices since the last call.
  package mutating func takeNotices() -> [Notice] {
    defer { notices = [] }
    return notices
  }

  // MARK: Changes of the store

  /// Takes a node's key. Without a record, the key was removed.
  package mutating func receivedNode(_ name: String, _ record: NodeRecord?, revision: UInt64) {
    var node = nodes[name] ?? LeaseNode()
    let (before, wasAlive) = (node.record, isAlive(name))
    // What this process has written is known before it is received.
    if name == identity.node, record?.instance == identity.instance { receivedOwnKey(revision) }
    guard revision > node.revision else { return }
    (node.record, node.revision, node.still) = (record ?? before, revision, .zero)
    node.isGone = record == nil
    nodes[name] = node
    if before?.leaving != record?.leaving { checksAll = true }
    if before != record || wasAlive != isAlive(name) { changes += 1 }
    guard name == identity.node else {
      if wasAlive != isAlive(name) { notices.append(wasAlive ? .lost(node: name) : .joined(node: name)) }
      return
    }
    guard let record, record.instance != identity.instance else { return }
    if hasJoined {
      displace()
    } else if record.instance == before?.instance, isCurrent {
      reportOnce(.nameTaken)
    }
  }

  /// This node's own key was received: the store accepts writes and reports them.
  mutating func receivedOwnKey(_ revision: UInt64) {
    if let joinsAt, revision >= joinsAt { self.joinsAt = nil }
    // A new consumer reports old revisions once more.
    guard revision > receivedRevision else { return }
    (receivedRevision, unreceivedFor) = (revision, .zero)
    guard !isCurrent, let resumesAt, revision >= resumesAt else { return }
    reachedStore()
  }

  package mutating func receivedOffers(_ name: String, _ offers: Set<String>) {
    nodes[name, default: LeaseNode()].offers = offers
    changes += 1
    checksAll = true
  }

  package mutating func receivedCamera(_ name: String, _ record: CameraRecord?, revision: UInt64) {
    guard revision > cameras[name]?.revision ?? 0 else { return }
    set(name, record, revision)
    if let owner = record?.node, !owner.isEmpty, nodes[owner] == nil { nodes[owner] = LeaseNode() }
    unchangedFor = .zero
    follow(name)
  }

  mutating func set(_ camera: String, _ record: CameraRecord?, _ revision: UInt64) {
    if let before = cameras[camera]?.record?.mover { counts[before, default: 0] -= 1 }
    if let now = record?.mover { counts[now, default: 0] += 1 }
    cameras[camera] = (record, revision)
    changed.insert(camera)
    changes += 1
  }

  /// All keys of the store were read. A node that has joined also waits for its own key, because it may have
  /// read a stale copy.
  package mutating func readAll() { if !hasJoined || !wasCurrent { reachedStore() } }

  /// The store is current.
  package mutating func reachedStore() {
    if !isCurrent { notices.append(.store(isThere: true)) }
    (isCurrent, wasCurrent, resumesAt, unreceivedFor) = (true, true, nil, .zero)
    checksAll = true
    for camera in cameras.keys { follow(camera) }
  }

  /// The store can't be reached. Its values may be old when it can be reached again, so each node's silence
  /// is counted from zero.
  package mutating func lostStore() {
    if isCurrent { notices.append(.store(isThere: false)) }
    (isCurrent, resumesAt) = (false, nil)
    if wasCurrent, !hasJoined { readings += 1 }
    for name in nodes.keys { nodes[name]?.still = .zero }
    freeFor = [:]
  }

  /// The bucket was replaced by an empty one. Cameras stay where they are, and their owners write them again.
  package mutating func resetStore() {
    lostStore()
    for name in nodes.keys { nodes[name]?.revision = 0 }
    cameras = cameras.mapValues { ($0.record, 0) }
    (hasJoined, receivedRevision) = (false, 0)
  }

  /// Takes another configuration. Cameras that are no longer in it are released.
  package mutating func updateIdentity(_ new: Identity) {
    identity = new
    (reported, checksAll) = ([], true)
    for (camera, epoch) in held where !new.movable.contains(camera) {
      held[camera] = nil
      notices.append(.released(camera: camera, epoch: epoch, reason: "removed from the configuration"))
    }
    for camera in lingering.keys where !new.movable.contains(camera) { lingering[camera] = nil }
  }

  /// Follows another node's record of a camera that this node holds, or this node's own earlier record.
  mutating func follow(_ camera: String) {
    guard let epoch = held[camera], let record = cameras[camera]?.record, isCurrent else { return }
    if record.node == identity.node, record.instance == identity.instance {
      held[camera] = max(epoch, record.epoch)
    } else if !record.node.isEmpty, record.epoch > epoch {
      let isOrderly = isLeaving || pendingMove[camera] == record.node
      held[camera] = nil
      lingering[camera] = isOrderly || epoch == 0 ? .zero : nil
      notices.append(.yielded(camera: camera, epoch: epoch, to: record.node))
    }
  }

  /// The node that each camera was offered to.
  var pendingMove: [String: String] = [:]

  /// Another process has taken this node's key, and may hold the same cameras.
  mutating func displace() {
    (hasJoined, held, lingering) = (false, [:], [:])
    if !isCurrent { readings += 1 }
    notices.append(.nameTaken)
  }

  mutating func reportOnce(_ item: Notice) {
    if reported.count < 1000, reported.insert(item).inserted { notices.append(item) }
  }

  // MARK: Time

  private var longestUnreceived: Duration { times.beat * 2.5 }

  /// Counts the time that has passed since the last step.
  package mutating func step(_ time: Duration) {
    let time = min(time, LeaseTimes.longestStep)
    if !wasCurrent { alone += time }
    if isCurrent {
      unchangedFor += time
      if hasJoined {
        if joinsAt == nil { joinedFor += time }
        unreceivedFor += time
      }
      var next = nodes.startIndex
      while next != nodes.endIndex {
        let place = next
        nodes.formIndex(after: &next)
        let (name, node) = nodes[place]
        nodes.values[place].still += time
        guard node.still < times.dead, node.still + time >= times.dead, !node.isGone, node.record != nil,
          name != identity.node
        else { continue }
        notices.append(.lost(node: name))
        changes += 1
      }
      if joinedFor >= times.gathering { countFree(time) }
      // Without its own key's renewals, this node has lost the store. Other nodes then seem silent too.
      if unreceivedFor >= longestUnreceived { lostStore() }
    } else if hasJoined, resumesAt != nil {
      unreceivedFor += time
      if unreceivedFor >= longestUnreceived { (unreceivedFor, readings) = (.zero, readings + 1) }
    }
    for (camera, since) in lingering {
      lingering[camera] = since + time >= times.handover ? nil : since + time
    }
    holdAlone()
  }

  /// Counts how long cameras have been without an owner. Without such cameras, counting resumes only after a
  /// change.
  mutating func countFree(_ time: Duration) {
    guard !freeFor.isEmpty || countedAt != changes else { return }
    countedAt = changes
    for camera in identity.movable {
      freeFor[camera] = isFree(camera) ? (freeFor[camera] ?? .zero) + time : nil
    }
    checksAll = true
  }

  /// Reports that the camera's new owner delivers its frames.
  package mutating func handedOver(_ camera: String) { lingering[camera] = nil }

  /// Cameras that this node still serves until their new owners deliver, with those owners.
  package var handovers: [(camera: String, to: String)] {
    lingering.keys.compactMap { camera in cameras[camera]?.record.map { (camera, $0.node) } }
  }

  /// A service that has never reached its store holds all cameras that it can: they are opened only when a
  /// client requests them.
  mutating func holdAlone() {
    guard !wasCurrent, alone >= times.dead, !isLeaving else { return }
    for camera in identity.movable where held[camera] == nil { held[camera] = 0 }
  }
}
