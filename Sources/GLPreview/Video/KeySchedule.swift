// Schedules keyframes: at intervals, and for watchers that need one.

/// Decides which pictures are keyframes. They are large, so watchers that join at about the same time share
/// one.
package struct KeySchedule: Sendable {
  private let interval: Duration
  private let joining: Duration
  private let dropping: Duration
  private var last: CaptureInstant?
  /// When an encoder was last asked for a keyframe that has not come.
  private var asked: CaptureInstant?
  /// The minimum time between the last keyframe and the requested one; nil if none is requested.
  private var gap: Duration?

  /// Creates a schedule with a keyframe at least every `interval`. Keyframes for watchers that join are at
  /// least `joining` apart, those for watchers that are too slow `dropping`.
  package init(
    every interval: Duration, joining: Duration = .milliseconds(300), dropping: Duration = .seconds(1)
  ) {
    self.interval = interval
    self.joining = joining
    self.dropping = dropping
  }

  /// Requests a keyframe for a watcher that joins.
  mutating func join() { gap = min(gap ?? joining, joining) }

  /// Requests a keyframe for a watcher that was too slow, and goes on with it.
  mutating func drop() { gap = min(gap ?? dropping, dropping) }

  /// When the requested keyframe may come; nil if none is requested, or before the first keyframe.
  var due: CaptureInstant? {
    guard let last, let gap else { return nil }
    // Some encoders ignore requests. If the request stayed due, pictures would be repeated for it all the
    // time.
    return max(last + gap, asked.map { $0 + max(gap, dropping) } ?? last)
  }

  /// Whether a picture that is encoded now should be a keyframe.
  package func isDue(at now: CaptureInstant) -> Bool {
    guard let last else { return true }
    return now - last >= interval || due.map { $0 <= now } ?? false
  }

  /// Returns whether the encoder is to make a keyframe now, and records the request.
  mutating func asks(at now: CaptureInstant) -> Bool {
    guard isDue(at: now) else { return false }
    asked = now
    return true
  }

  /// Records that a keyframe was encoded.
  package mutating func came(at now: CaptureInstant) { (last, asked, gap) = (now, nil, nil) }
}
