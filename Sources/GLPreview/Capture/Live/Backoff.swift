// How long to wait before the next attempt: longer each time, and never in step with others that wait for the same.

/// Capped exponential backoff with jitter ("equal jitter": half of the pause is fixed, half is drawn by chance).
struct Backoff: Sendable {
  /// The first pause at most.
  static let first = Duration.milliseconds(250)

  private let longest: Duration
  private var attempt = 0

  init(longest: Duration) { self.longest = longest }

  /// The next pause: half of `first * 2^attempt`, or of the longest, and up to as much again.
  mutating func nextPause(using generator: inout some RandomNumberGenerator) -> Duration {
    let full = min(Self.first * (1 << min(attempt, 20)), longest)
    attempt += 1
    return full * Double.random(in: 0.5...1, using: &generator)
  }

  /// Begins with the shortest again.
  mutating func reset() { attempt = 0 }
}
