// How often a stream takes a picture, as the fastest of those who watch wants it.

/// When pictures were due, for an interval that may change from one to the next.
struct StreamPace: Sendable {
  private var lastDue: Duration?

  /// How long until the next picture is due; nothing before the first.
  func wait(at now: Duration, every interval: Duration) -> Duration {
    lastDue.map { max($0 + interval - now, .zero) } ?? .zero
  }

  /// A picture was taken. The pace is kept where one comes a little late, and what was missed is not made up for.
  mutating func took(at now: Duration, every interval: Duration) {
    lastDue = lastDue.map { min(max($0 + interval, now - interval), now) } ?? now
  }
}
