// Connects the leases with the service: the node serves the cameras that it holds, and asks their owners for the others.
internal import Logging
internal import ServiceLifecycle
internal import Synchronization

/// What follows from the leases in the rest of the service.
struct LeaseFollower: Sendable {
  /// Serves these cameras, and no others that move.
  let hold: @Sendable (Set<String>) async -> Void
  /// The owners have changed.
  let ownersChanged: @Sendable (LeaseView) -> Void
  /// Whether another node delivers a camera.
  let isServed: @Sendable (_ camera: String, _ node: String) -> Bool
}

final class ClusterNode: Service, CustomStringConvertible {
  private let keeper: LeaseKeeper
  private let follower: LeaseFollower
  private let state = Watched(State())

  private struct State {
    /// Set when the service listens.
    var url: String?
    var listing: @Sendable () -> [String: JSONValue] = { [:] }
  }

  /// How long others may take to take this node's cameras at shutdown.
  private static let leavesWithin = Duration.seconds(2)
  private static let looksEvery = Duration.milliseconds(200)

  init(
    _ broker: ClusterBroker, _ identity: LeaseState.Identity, _ follower: LeaseFollower, times: LeaseTimes,
    logger: Logger
  ) {
    self.follower = follower
    keeper = LeaseKeeper(
      broker.client, bucket: broker.prefix, replicas: broker.replicas, identity, times: times, logger: logger)
  }

  /// What this node lists of its cameras to others.
  func list(_ listing: @escaping @Sendable () -> [String: JSONValue]) {
    state.update { $0.listing = listing }
  }

  /// Takes part from now on. Other nodes reach this one at `url`.
  func start(at url: String) { state.update { $0.url = url } }

  /// Takes another configuration; its address stays.
  func become(_ identity: LeaseState.Identity) {
    var identity = identity
    identity.url = state.withLock { $0.url } ?? ""
    keeper.become(identity)
  }

  func run() async throws {
    let url = try? await cancelWhenGracefulShutdown { [state] in try await state.first { $0.url } }
    guard let url else { return }
    var identity = keeper.identity
    identity.url = url
    keeper.become(identity)
    await withDiscardingTaskGroup { group in
      group.addTask { await self.keeper.run { self.state.value.listing() } }
      group.addTask { try? await self.follow() }
      group.addTask { try? await self.handOver() }
      try? await gracefulShutdown()
      await keeper.leave(within: Self.leavesWithin)
      group.cancelAll()
    }
  }

  private func follow() async throws {
    var last = LeaseView()
    while true {
      let view = try await keeper.view(after: last)
      // First, so that streams of cameras that go find where those are now.
      if view.owners != last.owners || view.nodes != last.nodes { follower.ownersChanged(view) }
      if Set(view.served.keys) != Set(last.served.keys) {
        await follower.hold(Set(view.served.keys))
        keeper.listAgain()
        follower.ownersChanged(view)
      }
      last = view
    }
  }

  /// Gives up cameras that their new owners serve.
  private func handOver() async throws {
    while true {
      try await Task.sleep(for: Self.looksEvery)
      for (camera, node) in keeper.handovers where follower.isServed(camera, node) {
        keeper.handedOver(camera)
      }
    }
  }

  /// Whether the store answers.
  var isStoreHeard: Bool { keeper.view.isCurrent }

  /// The epoch of a camera that this node serves; nil without a lease.
  func epoch(of camera: String) -> UInt64? {
    let view = keeper.view
    if let epoch = view.served[camera] { return epoch }
    return view.owners[camera].flatMap { $0.isFixed && $0.node == keeper.identity.node ? $0.epoch : nil }
  }

  /// What tells the store of the leases from others.
  var store: String? { keeper.view.store }

  var metricFamilies: [MetricFamily] {
    let view = keeper.view
    return [
      MetricFamily("glpreview_lease_store_up", value: view.isCurrent ? 1 : 0),
      MetricFamily("glpreview_cluster_nodes", value: Double(view.nodes.count { $0.isAlive } + 1)),
      MetricFamily(
        "glpreview_camera_epoch", .gauge,
        view.served.sorted { $0.key < $1.key }.map { camera, epoch in
          .init(labels: [("camera", camera)], value: Double(epoch ?? 0))
        }),
      MetricFamily("glpreview_lease_writes_total", value: Double(keeper.writes)),
    ]
  }
}
