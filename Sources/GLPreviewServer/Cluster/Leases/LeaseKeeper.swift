// Maintains this node's leases: renews its key, watches those of other nodes, and writes what `LeaseState`
// decides.
package import Logging
package import NATS
internal import Synchronization

/// A node's part in the leases of a cluster.
package final class LeaseKeeper: Sendable {
  let client: NATSClient
  let bucket: KeyValueConfiguration
  let logger: Logger
  let state: Watched<State>

  struct State {
    var leases: LeaseState
    /// The raw values of nodes' keys.
    var values: [String: [UInt8]] = [:]
    /// The camera lists of nodes, by name.
    var listings: [String: PeerListing] = [:]
    /// This node's own list, as last written; nil if it must be written again.
    var written: Written?
    var view = LeaseView()
    /// The value of `leases.changes` that the view reflects.
    var seen = -1
    /// Counts changes that may lead to other decisions.
    var version = 0
    /// Counts the known changes of this node's own list.
    var lists = 0
    /// Counts how often the watch must restart and read all keys again.
    var restarts = 0
    /// Set when the node's key must be written at once.
    var isBeatDue = false
    var bucket: KeyValue?
    /// When the bucket was created.
    var store: String?
    var writes = 0

    /// The content of a node's list.
    struct Written: Sendable, Equatable {
      let members: [String: JSONValue]
      let offers: Set<String>
    }

    /// Resets what is known of the store, because the bucket is a new one.
    mutating func resetStore() {
      leases.resetStore()
      (written, store) = (nil, nil)
    }

    /// Updates the view from the leases.
    mutating func updateView() {
      guard leases.changes != seen else { return }
      seen = leases.changes
      var new = LeaseView()
      (new.isCurrent, new.store) = (leases.isCurrent, store)
      for camera in leases.served {
        new.served[camera] = .some(leases.held[camera].flatMap { $0 == 0 ? nil : $0 })
      }
      for (camera, entry) in leases.cameras {
        guard let record = entry.record, !record.node.isEmpty else { continue }
        new.owners[camera] = .init(node: record.node, epoch: record.epoch, isFixed: record.fixed == true)
      }
      new.nodes = leases.nodes.compactMap { name, node in
        guard name != leases.identity.node, let record = node.record else { return nil }
        return .init(
          name: name, url: record.url, instance: record.instance, isAlive: leases.isAlive(name),
          isLeaving: record.leaving, listing: listings[name])
      }.sorted { $0.name < $1.name }
      if new != view { view = new }
    }
  }

  /// The interval at which elapsed time is counted.
  private static let step = Duration.milliseconds(250)
  private static let burst = Duration.milliseconds(50)
  /// The shortest interval between writes of the camera list.
  private static let listsEvery = Duration.seconds(1)
  static let writesWithin = Duration.seconds(2)

  /// Creates a keeper that uses the bucket `name`, on `replicas` servers.
  package init(
    _ client: NATSClient, bucket name: String, replicas: Int, _ identity: LeaseState.Identity,
    times: LeaseTimes = LeaseTimes(), logger: Logger
  ) {
    (self.client, self.logger) = (client, logger)
    var bucket = KeyValueConfiguration(bucket: name)
    (bucket.storage, bucket.replicas) = (.memory, replicas)
    self.bucket = bucket
    state = Watched(State(leases: LeaseState(identity, times: times)))
  }

  package var view: LeaseView { state.withLock { $0.view } }

  /// The number of writes to the store; those that failed count too.
  package var writes: Int { state.withLock { $0.writes } }

  /// Takes another configuration.
  package func updateIdentity(_ identity: LeaseState.Identity) {
    change { state in
      state.leases.updateIdentity(identity)
      state.written = nil
      state.isBeatDue = true
    }
  }

  /// The next view that is not `last`.
  ///
  /// - Throws: `CancellationError`.
  package func view(after last: LeaseView) async throws -> LeaseView {
    try await state.first { $0.view == last ? nil : $0.view } ?? last
  }

  var identity: LeaseState.Identity { state.withLock { $0.leases.identity } }

  /// Writes this node's list of cameras at once if it has changed.
  func listAgain() { state.update { $0.lists += 1 } }

  /// Reports that the camera's new owner delivers it.
  func handedOver(_ camera: String) { change { $0.leases.handedOver(camera) } }

  /// Cameras that this node still serves until their new owners deliver them, with those owners.
  var handovers: [(camera: String, to: String)] { state.withLock { $0.leases.handovers } }

  func change(_ body: (inout State) -> Void) {
    let notices = state.update { state -> [LeaseState.Notice] in
      body(&state)
      state.version += 1
      return state.leases.takeNotices()
    }
    for notice in notices { log(notice) }
  }

  // MARK: Running

  /// Runs until the task is cancelled. `listing` returns this node's list of cameras as JSON; it is called
  /// about every second.
  package func run(listing: @escaping @Sendable () async -> [String: JSONValue] = { [:] }) async {
    await withDiscardingTaskGroup { group in
      group.addTask { await self.watch() }
      group.addTask { await self.beat() }
      group.addTask { await self.decide() }
      group.addTask { await self.list(listing) }
      group.addTask {
        for await event in self.client.events() {
          if case .disconnected = event { self.change { $0.leases.lostStore() } }
        }
      }
    }
  }

  /// Releases all cameras in an orderly way, within `limit`: other nodes take them while they are still
  /// served here.
  package func leave(within limit: Duration) async {
    change { state in
      state.leases.leave()
      state.isBeatDue = true
    }
    _ = try? await state.first(until: CaptureClock.now + limit) { $0.leases.hasLeft ? true : nil }
    guard
      let (bucket, node, revision) = state.withLock({ state -> (KeyValue, String, UInt64)? in
        guard state.leases.hasJoined, let bucket = state.bucket else { return nil }
        let node = state.leases.identity.node
        return (bucket, node, state.leases.nodes[node]?.revision ?? 0)
      })
    else { return }
    try? await bucket.delete(LeaseKey.node(node).text, revision: revision)
  }

  private func watch() async {
    var loggedReason: String?
    while !Task.isCancelled {
      do throws(JetStreamError) {
        let bucket = try await makeBucket()
        change { state in
          state.bucket = bucket
          state.isBeatDue = true
        }
        try await follow(bucket)
      } catch {
        // Each reason is logged once: a server without JetStream, or without free space, stays so.
        let reason = "\(error)"
        if loggedReason != reason {
          logger.warning("lease store unreachable", metadata: ["reason": "\(reason)"])
        }
        loggedReason = reason
        change { state in
          if error == .streamNotFound { state.resetStore() } else { state.leases.lostStore() }
        }
      }
      try? await Task.sleep(for: .seconds(1))
    }
  }

  func receive(_ element: KeyValueWatch.Element) {
    switch element {
    case .reset: change { $0.resetStore() }
    case .current:
      change { state in
        state.leases.readAll()
        state.isBeatDue = true
      }
    case .entry(let entry):
      guard let key = LeaseKey(entry.key) else { return }
      let value = entry.operation == .put ? entry.value : nil
      switch key {
      case .node(let name):
        // A mere renewal changes no decision, so it wakes no task.
        let isRenewal = state.withLock { state in
          let isSame = value != nil && state.values[name] == value && state.leases.isCurrent
          guard isSame, state.leases.isAlive(name), name != state.leases.identity.node else {
            state.values[name] = value
            return false
          }
          state.leases.receivedNode(name, state.leases.nodes[name]?.record, revision: entry.revision)
          return true
        }
        guard !isRenewal else { return }
        let record = value.flatMap { NodeRecord(json: $0) }
        guard value == nil || record != nil else { return }
        change { $0.leases.receivedNode(name, record, revision: entry.revision) }
      case .camera(let name):
        let record = value.flatMap { CameraRecord(json: $0) }
        guard value == nil || record != nil else { return }
        change { $0.leases.receivedCamera(name, record, revision: entry.revision) }
      case .listing(let name):
        let listing = value.flatMap { NodeListing(json: $0) }
        change { state in
          state.leases.receivedOffers(name, listing?.offers ?? [])
          state.listings[name] = listing?.cameras
        }
      }
    }
  }

  // MARK: Writing

  private func beat() async {
    var failures = 0
    while !Task.isCancelled {
      let (write, bucket, node, interval) = state.withLock { state in
        state.isBeatDue = false
        return (
          state.leases.nodeWrite(), state.bucket, state.leases.identity.node, state.leases.times.beat
        )
      }
      if let write, let bucket {
        state.withLock { $0.writes += 1 }
        do throws(JetStreamError) {
          let revision = try await bucket.update(
            LeaseKey.node(node).text, write.record.jsonBytes, revision: write.revision)
          failures = 0
          change { $0.leases.wroteNode(write.record, revision: revision) }
        } catch {
          failures += 1
          if failures == 2 { logger.debug("lease not renewed", metadata: ["reason": "\(error)"]) }
          // No responders: the bucket does not exist, or has no leader.
          let isLost =
            if case .conflict = error { failures >= 2 } else { error == .unavailable(.noResponders) }
          if isLost {
            await detectStoreReset(LeaseKey.node(node).text, write.revision, in: bucket, failures: failures)
          }
        }
      }
      let wait = failures == 0 ? interval * Double.random(in: 0.9...1.0) : min(interval, .milliseconds(500))
      _ = try? await state.first(until: CaptureClock.now + wait) { $0.isBeatDue ? true : nil }
    }
  }

  private func decide() async {
    await withDiscardingTaskGroup { group in
      var (last, version) = (CaptureClock.now, -1)
      while !Task.isCancelled {
        _ = try? await state.first(until: last + Self.step) { $0.version == version ? nil : true }
        let now = CaptureClock.now
        let (writes, bucket, notices) = state.update { state in
          if now - last >= Self.step / 2 {
            state.leases.step(now - last)
            last = now
          }
          let writes = state.bucket == nil ? [] : state.leases.decide()
          state.writes += writes.count
          state.updateView()
          version = state.version
          return (writes, state.bucket, state.leases.takeNotices())
        }
        for notice in notices { log(notice) }
        if let bucket {
          for write in writes { group.addTask { await self.write(write, in: bucket) } }
        }
        // Changes that come in a burst are decided together.
        try? await Task.sleep(for: Self.burst)
      }
    }
  }

  private func write(_ write: LeaseState.Write, in bucket: KeyValue) async {
    let key = LeaseKey.camera(write.camera).text
    let revision: UInt64?
    do throws(JetStreamError) {
      revision = try await bucket.update(key, write.record.jsonBytes, revision: write.revision)
    } catch {
      revision = nil
      logger.debug(
        "camera not written to the lease store",
        metadata: ["camera": "\(write.camera)", "reason": "\(error)"])
      // Not retried at once: the store's newer value is on its way.
      try? await Task.sleep(for: Self.step)
    }
    change { $0.leases.wrote(write, revision: revision) }
  }

  /// Writes this node's list whenever it has changed.
  private func list(_ listing: @Sendable () async -> [String: JSONValue]) async {
    while !Task.isCancelled {
      let (bucket, identity, isThere, lists) = state.withLock { state in
        (state.bucket, state.leases.identity, state.leases.hasJoined, state.lists)
      }
      if let bucket, isThere {
        let content = State.Written(members: await listing(), offers: identity.movable)
        if state.withLock({ $0.written }) != content {
          var members = content.members
          members["offers"] = .array(identity.movable.sorted().map(JSONValue.string))
          do throws(JetStreamError) {
            _ = try await bucket.put(LeaseKey.listing(identity.node).text, members.json)
            state.withLock { $0.written = content }
          } catch {
            logger.debug("list of cameras not written to the lease store", metadata: ["reason": "\(error)"])
          }
        }
      }
      _ = try? await state.first(until: CaptureClock.now + Self.listsEvery) { state in
        state.lists != lists || state.leases.hasJoined != isThere ? true : nil
      }
    }
  }
}
