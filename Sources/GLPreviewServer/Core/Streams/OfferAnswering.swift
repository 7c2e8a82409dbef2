// Offers of WebRTC, which come by more ways than its own URL.
package import Hummingbird

/// Answers offers of WebRTC for a view.
package protocol OfferAnswering: Sendable {
  /// Whether there is WebRTC here.
  var isAvailable: Bool { get }
  /// The answer to the question what to send.
  var options: Response { get }

  /// Whether a session is of this node.
  func has(_ session: String) async -> Bool

  /// The answer to a request with an offer.
  func answer(_ target: ServedPreview, _ request: Request, _ context: ServiceContext) async throws -> Response

  /// Begins a session; its answer, as SDP.
  func begin(_ target: ServedPreview, offer: String, _ context: ServiceContext) async throws -> String
}

/// A description as go2rtc's clients send and take it in JSON.
package struct OfferDescription: Codable {
  package let type: String
  package let sdp: String

  package init(type: String, sdp: String) {
    (self.type, self.sdp) = (type, sdp)
  }
}
