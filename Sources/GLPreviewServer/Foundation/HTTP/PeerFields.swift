// The header fields by which nodes talk to each other (docs/cluster.md).
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore

package enum PeerField {
  /// Of requests between nodes. A node answers such a request for its own cameras only, so that no request travels in
  /// circles.
  package static let hop = "X-GLPreview-Hop"
  /// The role of the client that another node asks for. It can only lower the role of the request.
  package static let role = "X-GLPreview-Role"
  /// Of a request that changes something: the lease by which the camera's owner is known.
  package static let epoch = "X-GLPreview-Epoch"
  /// Of an answer: the node has not got the camera, and has done nothing.
  package static let elsewhere = "X-GLPreview-Elsewhere"
}

extension Request {
  /// Whether another node sent it.
  package var isFromPeer: Bool { headers[named: PeerField.hop] != nil }

  /// The lease that another node means; nil if it says none.
  package var peerEpoch: UInt64? { headers[named: PeerField.epoch].flatMap { UInt64($0) } }

  /// The role that another node leaves to this request; nil if it says nothing. An unknown one is the lowest.
  package var peerRole: Role? { headers[named: PeerField.role].map { Role(rawValue: $0) ?? .read } }
}
