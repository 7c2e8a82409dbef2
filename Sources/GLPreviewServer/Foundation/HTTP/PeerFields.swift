// The header fields of requests and answers between nodes (docs/cluster-protocol.md).
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore

package enum PeerField {
  /// In requests between nodes. A node answers such a request for its own cameras only, so that requests are
  /// not forwarded in circles.
  package static let hop = "X-GLPreview-Hop"
  /// The role of the client that another node serves. It can only lower the role of the request.
  package static let role = "X-GLPreview-Role"
  /// In requests that change something: the epoch of the lease by which the sender knows the camera's owner.
  package static let epoch = "X-GLPreview-Epoch"
  /// In answers: the node does not have the camera, and has done nothing.
  package static let elsewhere = "X-GLPreview-Elsewhere"
}

extension Request {
  /// Whether another node sent the request.
  package var isFromPeer: Bool { headers[named: PeerField.hop] != nil }

  /// The epoch of the lease that another node refers to; nil if it sends none.
  package var peerEpoch: UInt64? { headers[named: PeerField.epoch].flatMap { UInt64($0) } }

  /// The role to which another node limits this request; nil if it sends none. An unknown role counts as
  /// `read`.
  package var peerRole: Role? { headers[named: PeerField.role].map { Role(rawValue: $0) ?? .read } }
}
