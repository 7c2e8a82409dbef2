// When a key picture is due: at intervals, and for watchers who need one.

/// Decides which pictures are key pictures. They are large: those who join within a moment share one.
package struct KeySchedule: Sendable {
  private let interval: Duration
  private let joining: Duration
  private let dropping: Duration
  private var last: CaptureInstant?
  /// When an encoder was last asked for one that has not come.
  private var asked: CaptureInstant?
  /// The least time between the last key picture and the one that is asked for; nil if none is.
  private var gap: Duration?

  /// A key picture at the latest each `interval`. Those for watchers who join are at least `joining` apart, those for
  /// watchers who are too slow `dropping`.
  package init(
    every interval: Duration, joining: Duration = .milliseconds(300), dropping: Duration = .seconds(1)
  ) {
    self.interval = interval
    self.joining = joining
    self.dropping = dropping
  }

  /// A watcher joins.
  mutating func join() { gap = min(gap ?? joining, joining) }

  /// A watcher was too slow, and goes on with the next key picture.
  mutating func drop() { gap = min(gap ?? dropping, dropping) }

  /// When the key picture that is asked for may come; nil if none is asked for, or the first one will do.
  var due: CaptureInstant? {
    guard let last, let gap else { return nil }
    // Some encoders do not listen: asking for each picture would make pictures for no other reason.
    return max(last + gap, asked.map { $0 + max(gap, dropping) } ?? last)
  }

  /// Whether a picture that is encoded now is a key picture.
  package func isDue(at now: CaptureInstant) -> Bool {
    guard let last else { return true }
    return now - last >= interval || due.map { $0 <= now } ?? false
  }

  /// Whether the encoder is asked for a key picture now.
  mutating func asks(at now: CaptureInstant) -> Bool {
    guard isDue(at: now) else { return false }
    asked = now
    return true
  }

  /// A key picture was encoded.
  package mutating func came(at now: CaptureInstant) { (last, asked, gap) = (now, nil, nil) }
}
