// When a WebRTC client gets a keyframe on request, and when its requests show that it struggles.

/// One client's needs for keyframes. It has no clock of its own.
struct KeyframeRequests: Sendable, Hashable {
  private var last: CaptureInstant?
  private var goesOn = false

  /// The least time between two keyframes on request.
  static let least = Duration.milliseconds(500)
  /// A client struggles if it needs a second keyframe within `again`, until it has needed none for
  /// `recovery`.
  static let again = Duration.seconds(10)
  static let recovery = Duration.seconds(60)

  /// Reports that the client needs a keyframe. Returns whether it gets one now.
  mutating func need(at now: CaptureInstant) -> Bool {
    if let last, now - last < Self.least { return false }
    goesOn = last.map { now - $0 < (goesOn ? Self.recovery : Self.again) } ?? false
    last = now
    return true
  }

  /// Whether it has needed keyframes repeatedly: the shared stream may be too much for it.
  func isStruggling(at now: CaptureInstant) -> Bool {
    goesOn && last.map { now - $0 < Self.recovery } ?? false
  }
}
