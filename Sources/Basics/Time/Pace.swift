// The pace at which a reader takes pictures.

/// The due times of pictures, for an interval that may change between them.
package struct Pace: Sendable {
  private var lastDue: CaptureInstant?

  package init() {}

  /// Returns when the next picture is due; nil before the first.
  package func due(every interval: Duration) -> CaptureInstant? { lastDue.map { $0 + interval } }

  /// Returns the time until the next picture is due; zero before the first.
  package func wait(at now: CaptureInstant, every interval: Duration) -> Duration {
    due(every: interval).map { max($0 - now, .zero) } ?? .zero
  }

  /// Records that a picture was taken. A slightly late picture does not shift the pace; missed pictures are
  /// not made up for.
  package mutating func took(at now: CaptureInstant, every interval: Duration) {
    lastDue = due(every: interval).map { min(max($0, now - interval), now) } ?? now
  }
}
