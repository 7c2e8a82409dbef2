// How much of its configured bit rate an encoder may use: less while most of its watchers can't follow.

/// Decides the bit rate that the watchers of an encoder share, and which of them can't follow. It has no clock of its own.
///
/// A watcher is struggling when it has dropped pictures at least twice, the first time at least `patience` ago, and never
/// for as long as `forgets` kept up with the encoder. A watcher that has stopped reading drops once, and is not struggling.
package struct BitrateControl: Sendable {
  /// How long more than half of the watchers struggle before the bit rate goes down, by a step each time.
  var patience = Duration.seconds(5)
  /// How long nobody drops pictures before the bit rate goes up by a step.
  var recovery = Duration.seconds(30)
  /// How long a watcher struggles before it is left behind.
  var endurance = Duration.seconds(10)
  /// How long a watcher keeps up before its earlier drops are forgotten.
  var forgets = Duration.seconds(10)

  static let step = 0.7
  /// The least factor.
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
  /// When the factor was last changed, or somebody dropped pictures after that.
  private var unsettled = CaptureInstant.start

  package init() {}

  /// A watcher has lost pictures because it was too slow.
  mutating func dropped(_ watcher: Int, at now: CaptureInstant) {
    unsettled = now
    if var known = drops[watcher], now - known.last <= forgets {
      (known.count, known.last) = (known.count + 1, now)
      drops[watcher] = known
    } else {
      drops[watcher] = Drops(first: now, last: now)
    }
  }

  /// A watcher that had dropped pictures reads again; until now it did not keep up.
  mutating func resumed(_ watcher: Int, at now: CaptureInstant) { drops[watcher]?.last = now }

  /// A watcher has left.
  mutating func left(_ watcher: Int) { drops[watcher] = nil }

  /// Takes the time into account, for so many clients in all; to be called at least once a second. `clients` tells for how many
  /// of them a watcher reads.
  mutating func adjust(watchers: Int, at now: CaptureInstant, clients: (Int) -> Int = { _ in 1 }) {
    let struggling = drops.keys.reduce(0) {
      $0 + (isStruggling($1, for: patience, at: now) ? clients($1) : 0)
    }
    if struggling * 2 > watchers {
      guard factor > Self.least else { return }
      factor = max(factor * Self.step, Self.least)
      // What comes of it is seen from here on.
      (drops, unsettled) = ([:], now)
    } else if factor < 1, now - unsettled >= recovery {
      factor = min(factor / Self.step, 1)
      unsettled = now
    }
  }

  /// Whether a watcher still struggles although the bit rate does not go down any more: it is at its least, or most
  /// watchers can follow.
  package func isLeftBehind(_ watcher: Int, at now: CaptureInstant) -> Bool {
    (drops[watcher]?.count ?? 0) > 2 && isStruggling(watcher, for: endurance, at: now)
  }

  /// When a watcher was last known not to keep up; nil if never.
  package func lastDrop(of watcher: Int) -> CaptureInstant? { drops[watcher]?.last }

  private func isStruggling(_ watcher: Int, for time: Duration, at now: CaptureInstant) -> Bool {
    guard let drops = drops[watcher], drops.count > 1, now - drops.last <= forgets else { return false }
    return now - drops.first >= time
  }
}
