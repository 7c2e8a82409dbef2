// The recorded times next to one of which nothing was recorded.

/// The recorded times next to a span without a recording.
struct NearestTimes: Sendable, Hashable {
  /// The end of the last recording before the span; nil if there is none.
  var before: WallTime?
  /// The start of the first recording after the span; nil if there is none.
  var after: WallTime?

  /// Both times, in order.
  var all: [WallTime] { [before, after].compactMap(\.self) }

  /// Takes over the times of another node that are nearer.
  mutating func merge(_ other: NearestTimes) {
    before = [before, other.before].compactMap(\.self).max()
    after = [after, other.after].compactMap(\.self).min()
  }
}

extension NearestTimes {
  /// Reads the times of another node's answer. A single time is before the span if it is not after `start`.
  ///
  /// - Parameters:
  ///   - answers: the texts, in order.
  ///   - start: the start of the span.
  init(_ answers: [String], next start: WallTime) {
    let times = answers.prefix(2).compactMap { WallTime(rfc3339: $0) }
    if times.count == 2 {
      (before, after) = (times[0], times[1])
    } else if let time = times.first {
      if time <= start { before = time } else { after = time }
    }
  }
}
