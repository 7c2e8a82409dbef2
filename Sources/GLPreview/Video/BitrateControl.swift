// Decides how much of its configured bit rate an encoder may use: less while most of its watchers can't keep
// up.

/// Decides the bit rate that the watchers of an encoder share, and which watchers can't keep up. It has no
/// clock: callers pass the time.
///
/// A watcher is struggling when it has dropped pictures at least twice, the first time at least
/// `loweredAfter` ago, without keeping up for as long as `dropsExpireAfter` in between. A watcher that has
/// stopped reading drops once, and is not struggling.
package struct BitrateControl: Sendable {
  /// How long more than half of the watchers must struggle before the bit rate is lowered by a step.
  var loweredAfter = Duration.seconds(5)
  /// How long no watcher may drop pictures before the bit rate is raised by a step.
  var raisedAfter = Duration.seconds(30)
  /// How long a watcher must struggle before it is left behind.
  var leftBehindAfter = Duration.seconds(10)
  /// How long a watcher must keep up before its earlier drops no longer count.
  var dropsExpireAfter = Duration.seconds(10)

  static let step = 0.7
  /// The lowest factor.
  static let least = 0.25

  /// The part of the configured bit rate that is used, `least...1`.
  package private(set) var factor = 1.0

  private struct Drops {
    var count = 1
    let first: CaptureInstant
    /// When it was last known not to keep up.
    var last: CaptureInstant
  }

  private var drops: [Int: Drops] = [:]
  /// When the factor was last changed, or a watcher last dropped pictures after that.
  private var unsettled = CaptureInstant.start

  package init() {}

  /// Records that a watcher has lost pictures because it was too slow.
  mutating func dropped(_ watcher: Int, at now: CaptureInstant) {
    unsettled = now
    if var known = drops[watcher], now - known.last <= dropsExpireAfter {
      (known.count, known.last) = (known.count + 1, now)
      drops[watcher] = known
    } else {
      drops[watcher] = Drops(first: now, last: now)
    }
  }

  /// Records that a watcher that had dropped pictures reads again; until now it did not keep up.
  mutating func resumed(_ watcher: Int, at now: CaptureInstant) { drops[watcher]?.last = now }

  /// Removes a watcher that has left.
  mutating func left(_ watcher: Int) { drops[watcher] = nil }

  /// Adapts the factor; to be called at least once a second. `watchers` is the number of all clients, and
  /// `clients` returns the number that a watcher reads for.
  mutating func adjust(watchers: Int, at now: CaptureInstant, clients: (Int) -> Int = { _ in 1 }) {
    let struggling = drops.keys.reduce(0) {
      $0 + (isStruggling($1, for: loweredAfter, at: now) ? clients($1) : 0)
    }
    if struggling * 2 > watchers {
      guard factor > Self.least else { return }
      factor = max(factor * Self.step, Self.least)
      // The effect is judged from here on.
      (drops, unsettled) = ([:], now)
    } else if factor < 1, now - unsettled >= raisedAfter {
      factor = min(factor / Self.step, 1)
      unsettled = now
    }
  }

  /// Whether a watcher still struggles although the bit rate is not lowered any more: it is at its minimum,
  /// or most watchers keep up.
  package func isLeftBehind(_ watcher: Int, at now: CaptureInstant) -> Bool {
    (drops[watcher]?.count ?? 0) > 2 && isStruggling(watcher, for: leftBehindAfter, at: now)
  }

  /// When a watcher was last known not to keep up; nil if never.
  package func lastDrop(of watcher: Int) -> CaptureInstant? { drops[watcher]?.last }

  private func isStruggling(_ watcher: Int, for time: Duration, at now: CaptureInstant) -> Bool {
    guard let drops = drops[watcher], drops.count > 1, now - drops.last <= dropsExpireAfter else {
      return false
    }
    return now - drops.first >= time
  }
}
