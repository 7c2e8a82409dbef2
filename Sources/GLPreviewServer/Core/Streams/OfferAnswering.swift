// WebRTC offers, which arrive at their own URL and by WebSocket.
package import Hummingbird

/// Answers WebRTC offers for a view.
package protocol OfferAnswering: Sendable {
  /// Whether this service offers WebRTC.
  var isAvailable: Bool { get }
  /// The answer to an OPTIONS request, with the accepted types.
  var options: Response { get }

  /// Whether a session belongs to this node.
  func has(_ session: String) async -> Bool

  /// Answers a request with an offer.
  func answer(_ target: ServedPreview, _ request: Request, _ context: ServiceContext) async throws -> Response

  /// Begins a session, and returns its answer as SDP.
  func begin(_ target: ServedPreview, offer: String, _ context: ServiceContext) async throws -> String
}

/// A session description in the JSON of go2rtc's clients.
package struct OfferDescription: Codable {
  package let type: String
  package let sdp: String

  package init(type: String, sdp: String) {
    (self.type, self.sdp) = (type, sdp)
  }
}
