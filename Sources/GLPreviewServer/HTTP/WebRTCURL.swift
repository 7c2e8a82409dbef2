// The URLs of WebRTC: what their requests may contain, and what they change.
internal import HTTPTypes

/// `/cameras/{camera}/{view}/whep`, sessions below it, and go2rtc's `/api/webrtc`.
enum WebRTCURL {
  /// The type of offers and answers.
  static let type = "application/sdp"
  /// The type of what clients tell of their addresses later.
  private static let fragmentType = "application/trickle-ice-sdpfrag"

  private enum Kind { case offers, session }

  private static func kind(_ path: String) -> Kind? {
    if path == "/api/webrtc" { return .offers }
    let parts = path.split(separator: "/")
    guard parts.first == "cameras", parts.count == 4 || parts.count == 5, parts[3] == "whep" else {
      return nil
    }
    return parts.count == 4 ? .offers : .session
  }

  /// Whether bodies of a type, besides JSON, may be sent to `path`.
  static func accepts(_ type: String, at path: String) -> Bool {
    switch kind(path) {
    case .offers: type == Self.type
    case .session: type == Self.type || type == fragmentType
    case nil: false
    }
  }

  /// Whether a request only lets its sender look, although its method is not GET.
  static func isWatching(_ method: HTTPRequest.Method, at path: String) -> Bool {
    switch kind(path) {
    case .offers: method == .post
    case .session: method == .delete || method == .patch
    case nil: false
    }
  }
}
