// How long to wait before the next attempt: longer each time, and never in step with others that wait for the same.

/// Capped exponential backoff with jitter ("equal jitter": half of a pause is fixed, half is drawn by chance).
package struct Backoff: Sendable {
  /// The first pause at most.
  package static let first = Duration.milliseconds(250)

  private let longest: Duration
  private var attempt = 0

  package init(longest: Duration) { self.longest = longest }

  /// The next pause: each is up to twice as long as the one before.
  package mutating func nextPause(jitter: Double) -> Duration {
    defer { attempt += 1 }
    return Self.pause(attempt, first: Self.first, longest: longest, jitter: jitter)
  }

  /// Begins with the shortest again.
  package mutating func reset() { attempt = 0 }

  /// Pause number `attempt`, from 0: half of `first * 2^attempt`, or of `longest`, and of the other half as much as `jitter` says,
  /// from 0 to 1.
  package static func pause(_ attempt: Int, first: Duration, longest: Duration, jitter: Double) -> Duration {
    min(first * (1 << min(max(attempt, 0), 20)), longest) * (0.5 + 0.5 * jitter)
  }
}
