// The state of leases, as the rest of the service sees it.

/// The cluster as this node sees it.
package struct LeaseView: Sendable, Hashable {
  /// A node with a key in the store.
  package struct Node: Sendable, Hashable {
    package let name: String
    package let url: String
    package let instance: String
    package let isAlive: Bool
    package let isLeaving: Bool
    /// The list of its cameras; nil if none was received.
    package let listing: PeerListing?

    package init(
      name: String, url: String, instance: String, isAlive: Bool, isLeaving: Bool, listing: PeerListing?
    ) {
      (self.name, self.url, self.instance, self.isAlive, self.isLeaving, self.listing) = (
        name, url, instance, isAlive, isLeaving, listing
      )
    }
  }

  package struct Owner: Sendable, Hashable {
    package let node: String
    package let epoch: UInt64
    package let isFixed: Bool

    package init(node: String, epoch: UInt64, isFixed: Bool) {
      (self.node, self.epoch, self.isFixed) = (node, epoch, isFixed)
    }
  }

  /// The movable cameras that are served here, with their epochs; nil for a camera without an epoch.
  package var served: [String: UInt64?] = [:]
  /// The owners of cameras according to the store.
  package var owners: [String: Owner] = [:]
  /// The other nodes, by name.
  package var nodes: [Node] = []
  /// The creation time of the bucket, which distinguishes it from other buckets; nil if not known.
  package var store: String?
  /// Whether the store answers.
  package var isCurrent = false

  package init() {}
}
