// What follows from the leases for the rest of the service.

/// What the cluster is, as this node sees it.
package struct LeaseView: Sendable, Hashable {
  /// A node with a key in the store.
  package struct Node: Sendable, Hashable {
    package let name: String
    package let url: String
    package let instance: String
    package let isAlive: Bool
    package let isLeaving: Bool
    /// What it lists of its cameras; nil if nothing was heard.
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

  /// The cameras that move and are served here, with their epochs; nil for none.
  package var served: [String: UInt64?] = [:]
  /// The owners of cameras, as the store names them.
  package var owners: [String: Owner] = [:]
  /// Without this one, by name.
  package var nodes: [Node] = []
  /// When the bucket was made, which tells it from others; nil if that is not known.
  package var store: String?
  /// Whether the store answers.
  package var isCurrent = false

  package init() {}
}
