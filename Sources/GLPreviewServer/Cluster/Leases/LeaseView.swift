// What follows from the leases for the rest of the service.
internal import GLPreview

/// What the cluster is, as this node sees it.
package struct LeaseView: Sendable, Hashable {
  /// A node with a key in the store.
  struct Node: Sendable, Hashable {
    let name: String
    let url: String
    let instance: String
    let isAlive: Bool
    let isLeaving: Bool
    /// What it lists of its cameras; nil if nothing was heard.
    let listing: PeerListing?
  }

  package struct Owner: Sendable, Hashable {
    package let node: String
    package let epoch: UInt64
    package let isFixed: Bool
  }

  /// The cameras that move and are served here, with their epochs; nil for none.
  package var served: [String: UInt64?] = [:]
  /// The owners of cameras, as the store names them.
  package var owners: [String: Owner] = [:]
  /// Without this one, by name.
  var nodes: [Node] = []
  /// When the bucket was made, which tells it from others; nil if that is not known.
  var store: String?
  /// Whether the store answers.
  package var isCurrent = false
}
