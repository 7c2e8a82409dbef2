// How long the nodes of a cluster wait for each other. No key sets it: all nodes must have the same.

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
  /// How often the store gives a sign of life. After twice that time of silence it is asked for everything again.
  package var heartbeat = Duration.seconds(5)

  package init() {}

  /// The longest step that counts as time in which the store was heard.
  package static let longestStep = Duration.seconds(1)
}
