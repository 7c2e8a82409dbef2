// How long the nodes of a cluster wait for each other. These are not configurable, because all nodes must use
// the same values.

/// The times of leases.
package struct LeaseTimes: Sendable, Hashable {
  /// The interval at which a node renews its key.
  package var beat = Duration.seconds(2)
  /// The time without a change of its key after which a node is considered dead.
  package var dead = Duration.seconds(8)
  /// The longest time that a camera's old owner continues to serve it after an orderly handover.
  package var handover = Duration.seconds(3)
  /// How long a node that has just joined takes no cameras, because other nodes may be joining too.
  package var gathering = Duration.seconds(3)
  /// How long the leases must not have changed before a camera is moved to balance the load.
  package var settled = Duration.seconds(20)
  /// The interval of the store's heartbeats. After twice that time without one, the whole state is requested
  /// again.
  package var heartbeat = Duration.seconds(5)

  package init() {}

  /// The most time that counts for one step, however late it comes.
  package static let longestStep = Duration.seconds(1)
}
