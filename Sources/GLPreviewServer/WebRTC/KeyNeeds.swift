// When a WebRTC client is given a key picture because it asks for one, and what it means if it goes on asking.

/// One client's needs. It has no clock of its own.
struct KeyNeeds: Sendable, Hashable {
  private var last: CaptureInstant?
  private var goesOn = false

  /// The least time between two key pictures.
  static let least = Duration.milliseconds(500)
  /// A client struggles that needs a second one within `again`, until it has needed none for `calm`.
  static let again = Duration.seconds(10)
  static let calm = Duration.seconds(60)

  /// The client needs a key picture. Returns whether it gets one now.
  mutating func need(at now: CaptureInstant) -> Bool {
    if let last, now - last < Self.least { return false }
    goesOn = last.map { now - $0 < (goesOn ? Self.calm : Self.again) } ?? false
    last = now
    return true
  }

  /// Whether it has needed key pictures again and again: what others get may be too much for it.
  func isStruggling(at now: CaptureInstant) -> Bool { goesOn && last.map { now - $0 < Self.calm } ?? false }
}
