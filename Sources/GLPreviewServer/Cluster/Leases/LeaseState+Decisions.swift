// Decides what this node writes: its own key, and those of cameras that it holds, takes, releases or hands
// over.
extension LeaseState {
  // MARK: Living nodes

  /// A node of which only the name is known counts as alive until it has been silent for `times.dead`, too.
  func isAlive(_ node: LeaseNode) -> Bool { !node.isGone && node.still < times.dead }

  /// Whether a node is alive, as far as the store shows.
  package func isAlive(_ name: String) -> Bool {
    name == identity.node ? true : nodes[name].map { isAlive($0) && $0.record != nil } ?? false
  }

  /// Whether another process of this node's name still renews its key.
  var isNameTaken: Bool {
    guard let own = nodes[identity.node], let record = own.record, !own.isGone else { return false }
    return record.instance != identity.instance && !record.leaving && own.still < times.beat * 2
  }

  /// Whether a camera may be taken: it has no owner, its owner is dead or leaving or offers it to this node,
  /// or the store names this node, which does not hold it.
  func isFree(_ camera: String) -> Bool {
    guard let record = cameras[camera]?.record else { return true }
    if record.node.isEmpty { return true }
    guard record.node != identity.node else { return held[camera] == nil }
    guard let owner = nodes[record.node] else { return false }
    return !isAlive(owner) || owner.record?.leaving == true || record.to == identity.node
  }

  /// The other living nodes that can take a camera, and their free slots.
  private func rivals(
    for camera: String, _ counts: [String: Int]
  ) -> some Sequence<(name: String, free: Int)> {
    nodes.lazy.compactMap { name, node -> (name: String, free: Int)? in
      guard name != identity.node, isAlive(node), let record = node.record, !record.leaving else {
        return nil
      }
      let free = record.slots - (counts[name] ?? 0)
      return free > 0 && node.offers.contains(camera) ? (name, free) : nil
    }
  }

  private func hasRivals(for camera: String, _ counts: [String: Int]) -> Bool {
    rivals(for: camera, counts).contains { _ in true }
  }

  /// Whether it is the turn of this node, which has `free` slots. The node with the highest random weight,
  /// weighted by free slots, is the first. The others follow a second apart.
  private func isTurn(for camera: String, free: Int, _ counts: [String: Int]) -> Bool {
    func weight(_ name: String, _ free: Int) -> (Double, String) {
      (LeaseScore.score(of: name, for: camera, weight: free), name)
    }
    let own = weight(identity.node, free)
    var wait = Duration.zero
    for rival in rivals(for: camera, counts) where weight(rival.name, rival.free) > own {
      wait += .seconds(1)
      if wait > freeFor[camera] ?? .zero { return false }
    }
    return true
  }

  // MARK: Deciding

  /// This node's key, to be written at `revision`; nil while another process has its name, or if the store
  /// was never read.
  package mutating func nodeWrite() -> (record: NodeRecord, revision: UInt64)? {
    guard wasCurrent, hasJoined || isCurrent && !isNameTaken else { return nil }
    return (
      NodeRecord(instance: identity.instance, url: identity.url, slots: identity.slots, leaving: isLeaving),
      nodes[identity.node]?.revision ?? 0
    )
  }

  /// Reports that the node's key has this revision.
  package mutating func wroteNode(_ record: NodeRecord, revision: UInt64) {
    var own = nodes[identity.node] ?? LeaseNode()
    if revision > own.revision {
      (own.record, own.revision, own.still, own.isGone) = (record, revision, .zero, false)
    }
    nodes[identity.node] = own
    if !hasJoined {
      (hasJoined, joinedFor, unreceivedFor) = (true, .zero, .zero)
      joinsAt = receivedRevision < revision ? revision : nil
    }
    if !isCurrent, resumesAt == nil { (resumesAt, unreceivedFor) = (revision, .zero) }
  }

  /// From now on other nodes may take this node's cameras.
  package mutating func leave() { isLeaving = true }

  /// Whether this leaving node may stop: it serves no movable camera, no other node can take those that it
  /// holds, or the store is lost.
  package var hasLeft: Bool {
    guard !held.isEmpty || !lingering.isEmpty else { return true }
    guard isCurrent, lingering.isEmpty else { return !isCurrent }
    return held.keys.allSatisfy { !hasRivals(for: $0, counts) }
  }

  /// The keys to write now. The caller reports the result of each by `wrote`.
  package mutating func decide() -> [Write] {
    guard isCurrent, hasJoined else { return [] }
    var counts = counts
    // The store's records of this node may be from before its start.
    counts[identity.node] = held.count + pending.count { held[$0] == nil && identity.movable.contains($0) }
    let candidates = checksAll ? identity.movable : changed.intersection(identity.movable)
    let strays = (checksAll ? Set(cameras.keys) : changed).filter { camera in
      cameras[camera]?.record?.node == identity.node && !identity.movable.contains(camera)
        && !pending.contains(camera)
    }
    (checksAll, changed) = (false, [])
    var writes: [Write] = []
    func push(_ write: Write?) { if let write { writes.append(write) } }
    for camera in identity.fixed.sorted() where !pending.contains(camera) { push(fixedWrite(camera)) }
    for camera in held.keys.sorted() where !pending.contains(camera) { push(renewal(camera)) }
    for camera in strays.sorted() { push(cleanup(camera)) }
    if !isLeaving {
      let free = candidates.filter { held[$0] == nil && !pending.contains($0) && isFree($0) }
      for camera in free.sorted() {
        guard writes.count < Self.mostWrites, let write = claim(camera, counts) else { continue }
        if write.record.node == identity.node { counts[identity.node, default: 0] += 1 }
        push(write)
      }
      if writes.isEmpty, pending.isEmpty { push(move(counts)) }
    }
    pending.formUnion(writes.map(\.camera))
    return writes
  }

  private static let mostWrites = 64

  func record(_ epoch: UInt64, fixed: Bool = false, to: String? = nil) -> CameraRecord {
    CameraRecord(
      node: identity.node, instance: identity.instance, epoch: epoch, fixed: fixed ? true : nil, to: to)
  }

  /// Writes this node's name into the key of a camera that never moves, so that no other node takes the
  /// camera.
  private mutating func fixedWrite(_ camera: String) -> Write? {
    let (record, revision) = cameras[camera] ?? (nil, 0)
    if let record, record.node == identity.node, record.instance == identity.instance, record.fixed == true,
      revision > 0
    {
      return nil
    }
    if let record, record.fixed == true, !record.node.isEmpty, record.node != identity.node,
      nodes[record.node].map({ isAlive($0) }) ?? true
    {
      reportOnce(.conflict(camera: camera, with: record.node))
      return nil
    }
    return Write(
      camera: camera, record: self.record((record?.epoch ?? 0) + 1, fixed: true), revision: revision)
  }

  /// Writes the key of a camera that this node holds if the key does not say so: the bucket is new, or was
  /// never read before.
  func renewal(_ camera: String) -> Write? {
    guard let epoch = held[camera] else { return nil }
    let (record, revision) = cameras[camera] ?? (nil, 0)
    let isOwn = record?.node == identity.node && record?.instance == identity.instance && revision > 0
    guard !isOwn else { return nil }
    if let record, !record.node.isEmpty, record.epoch > epoch { return nil }
    return Write(camera: camera, record: self.record(max(epoch, record?.epoch ?? 0) + 1), revision: revision)
  }

  /// Releases a camera whose key names this node, but which its configuration no longer has.
  func cleanup(_ camera: String) -> Write? {
    guard let (record, revision) = cameras[camera], var record, record.node == identity.node,
      !identity.fixed.contains(camera), !identity.movable.contains(camera)
    else { return nil }
    record.node = ""
    (record.to, record.fixed) = (nil, nil)
    return Write(camera: camera, record: record, revision: revision)
  }

  /// Takes a free camera, if it is this node's turn.
  private mutating func claim(_ camera: String, _ counts: [String: Int]) -> Write? {
    let (record, revision) = cameras[camera] ?? (nil, 0)
    if let record, record.fixed == true, record.node != identity.node, let node = nodes[record.node],
      isAlive(node)
    {
      return nil
    }
    let free = identity.slots - (counts[identity.node] ?? 0)
    guard free > 0, !isLeaving, identity.movable.contains(camera) else {
      if var record, record.node == identity.node {
        // The camera was this node's before, and there is no free slot for it now.
        (record.node, record.to, record.fixed) = ("", nil, nil)
        return Write(camera: camera, record: record, revision: revision)
      }
      if freeFor[camera] ?? .zero >= times.dead, !hasRivals(for: camera, counts) {
        reportOnce(.ownerless(camera: camera))
      }
      return nil
    }
    // A former owner does not wait. Neither does a node to which the owner has offered the camera.
    let isChosen = record?.to == identity.node || record?.node == identity.node
    guard
      isChosen
        || joinedFor >= times.gathering && isTurn(for: camera, free: free, counts)
    else { return nil }
    return Write(camera: camera, record: self.record((record?.epoch ?? 0) + 1), revision: revision)
  }

  /// Offers a camera to a node that has much more room: one at a time, when nothing has changed for a while.
  private mutating func move(_ counts: [String: Int]) -> Write? {
    for (camera, _) in held {
      guard let (record, revision) = cameras[camera], let record, record.to != nil else { continue }
      // Withdraws an offer that was not taken.
      guard unchangedFor >= times.handover * 2 else { return nil }
      pendingMove[camera] = nil
      return Write(camera: camera, record: self.record(record.epoch), revision: revision)
    }
    guard unchangedFor >= times.settled, identity.slots > 0 else { return nil }
    func load(_ count: Int, _ slots: Int) -> Double { Double(count) / Double(slots) }
    let own = load(held.count, identity.slots)
    let others = nodes.compactMap { name, node -> (name: String, count: Int, slots: Int, node: LeaseNode)? in
      guard name != identity.node, isAlive(node), let record = node.record, !record.leaving, record.slots > 0
      else { return nil }
      return (name, counts[name] ?? 0, record.slots, node)
    }.sorted { (load($0.count, $0.slots), $0.name) < (load($1.count, $1.slots), $1.name) }
    // Only the most loaded node offers cameras, or all would offer them to the same node at once.
    guard others.allSatisfy({ (load($0.count, $0.slots), $0.name) < (own, identity.node) }) else {
      return nil
    }
    for (name, count, slots, node) in others {
      guard load(count + 1, slots) < own - 1e-9 else { continue }
      let offered = held.keys.filter { node.offers.contains($0) }
      let best = offered.max {
        LeaseScore.score(of: name, for: $0, weight: 1) < LeaseScore.score(of: name, for: $1, weight: 1)
      }
      guard let best, let (record, revision) = cameras[best], let record else { continue }
      pendingMove[best] = name
      unchangedFor = .zero
      return Write(camera: best, record: self.record(record.epoch, to: name), revision: revision)
    }
    return nil
  }

  /// Reports the result of a write: its revision, or nil if another write came first or the outcome is
  /// unknown. The store reports the actual value.
  package mutating func wrote(_ write: Write, revision: UInt64?) {
    pending.remove(write.camera)
    changed.insert(write.camera)
    guard let revision else { return }
    if revision > cameras[write.camera]?.revision ?? 0 { set(write.camera, write.record, revision) }
    unchangedFor = .zero
    guard cameras[write.camera]?.revision == revision || cameras[write.camera]?.record == write.record else {
      return
    }
    freeFor[write.camera] = nil
    // A node that has lost its name meanwhile holds nothing.
    guard hasJoined, identity.movable.contains(write.camera), write.record.node == identity.node else {
      return
    }
    guard held[write.camera] != write.record.epoch else { return }
    lingering[write.camera] = nil
    held[write.camera] = write.record.epoch
    if !isLeaving { notices.append(.taken(camera: write.camera, epoch: write.record.epoch)) }
  }
}
