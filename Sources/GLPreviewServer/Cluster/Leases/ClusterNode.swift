// Connects the leases with the service: the node serves the cameras that it holds, and asks the owners of all
// others.
internal import Logging
internal import ServiceLifecycle
internal import Synchronization

/// The effects of the leases on the rest of the service.
struct LeaseFollower: Sendable {
  /// Serves these movable cameras and no others.
  let hold: @Sendable (Set<String>) async -> Void
  /// Reports that the owners have changed.
  let ownersChanged: @Sendable (LeaseView) -> Void
  /// Whether another node delivers a camera.
  let isServed: @Sendable (_ camera: String, _ node: String) -> Bool
}

final class ClusterNode: Service, CustomStringConvertible {
  private let keeper: LeaseKeeper
  private let follower: LeaseFollower
  private let state = Watched(State())

  private struct State {
    /// Set once the service listens.
    var url: String?
    var listing: @Sendable () -> [String: JSONValue] = { [:] }
  }

  /// How long other nodes may take to take over this node's cameras at shutdown.
  private static let leavesWithin = Duration.seconds(2)
  private static let pollInterval = Duration.milliseconds(200)

  init(
    _ broker: ClusterBroker, _ identity: LeaseState.Identity, _ follower: LeaseFollower, times: LeaseTimes,
    logger: Logger
  ) {
    self.follower = follower
    keeper = LeaseKeeper(
      broker.client, bucket: broker.prefix, replicas: broker.replicas, identity, times: times, logger: logger)
  }

  /// Sets the function that lists this node's cameras for the others.
  func list(_ listing: @escaping @Sendable () -> [String: JSONValue]) {
    state.update { $0.listing = listing }
  }

  /// Joins the cluster. Other nodes reach this one at `url`.
  func start(at url: String) { state.update { $0.url = url } }

  /// Takes another configuration. The address stays the same.
  func updateIdentity(_ identity: LeaseState.Identity) {
    var identity = identity
    identity.url = state.withLock { $0.url } ?? ""
    keeper.updateIdentity(identity)
  }

  func run() async throws {
    let url = try? await cancelWhenGracefulShutdown { [state] in try await state.first { $0.url } }
    guard let url else { return }
    var identity = keeper.identity
    identity.url = url
    keeper.updateIdentity(identity)
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
      // First, so that streams of cameras that leave find their new nodes.
      if view.owners != last.owners || view.nodes != last.nodes { follower.ownersChanged(view) }
      if Set(view.served.keys) != Set(last.served.keys) {
        await follower.hold(Set(view.served.keys))
        keeper.listAgain()
        follower.ownersChanged(view)
      }
      last = view
    }
  }

  /// Releases cameras that their new owners serve.
  private func handOver() async throws {
    while true {
      try await Task.sleep(for: Self.pollInterval)
      for (camera, node) in keeper.handovers where follower.isServed(camera, node) {
        keeper.handedOver(camera)
      }
    }
  }

  /// Whether the store answers.
  var isStoreCurrent: Bool { keeper.view.isCurrent }

  /// The epoch of a camera that this node serves; nil without a lease.
  func epoch(of camera: String) -> UInt64? {
    let view = keeper.view
    if let epoch = view.served[camera] { return epoch }
    return view.owners[camera].flatMap { $0.isFixed && $0.node == keeper.identity.node ? $0.epoch : nil }
  }

  /// Identifies the store of the leases among other stores.
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
