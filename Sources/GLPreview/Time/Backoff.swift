// How long to wait before the next attempt: longer each time, and never in step with others that wait for the same.

/// Capped exponential backoff with jitter ("equal jitter": half of the pause is fixed, half is drawn by chance).
struct Backoff: Sendable {
  /// The first pause at most.
  static let first = Duration.milliseconds(250)

  private let longest: Duration
  private var attempt = 0

  init(longest: Duration) { self.longest = longest }

  /// The next pause: half of `first * 2^attempt`, or of the longest, and of the other half as much as `jitter` says, 0 to 1.
  mutating func nextPause(jitter: Double) -> Duration {
    let full = min(Self.first * (1 << min(attempt, 20)), longest)
    attempt += 1
    return full * (0.5 + 0.5 * jitter)
  }

  /// Begins with the shortest again.
  mutating func reset() { attempt = 0 }
}
