// Pauses between attempts: growing, and randomised so that several clients do not retry at the same time.

/// Capped exponential backoff with "equal jitter": half of a pause is fixed, half is random.
package struct Backoff: Sendable {
  /// The upper bound of the first pause.
  package static let first = Duration.milliseconds(250)

  private let longest: Duration
  private var attempt = 0

  package init(longest: Duration) { self.longest = longest }

  /// Returns the next pause. Its upper bound is twice the previous one's, up to `longest`.
  package mutating func nextPause(jitter: Double) -> Duration {
    defer { attempt += 1 }
    return Self.pause(attempt, first: Self.first, longest: longest, jitter: jitter)
  }

  /// Starts again with the shortest pause.
  package mutating func reset() { attempt = 0 }

  /// Returns pause number `attempt`, from 0. The upper bound is `first * 2^attempt`, at most `longest`;
  /// `jitter`, 0...1, selects a value between half of it and all of it.
  package static func pause(_ attempt: Int, first: Duration, longest: Duration, jitter: Double) -> Duration {
    min(first * (1 << min(max(attempt, 0), 20)), longest) * (0.5 + 0.5 * jitter)
  }
}
