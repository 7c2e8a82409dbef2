// Converts between times and what the clock of a time zone shows.
internal import Glibc

/// A time zone. It is a value, so that tests can bring their own.
package struct LocalClock: Sendable {
  /// The seconds east of UTC at a time in seconds since 1970.
  package let offset: @Sendable (_ time: Int) -> Int

  package init(offset: @escaping @Sendable (_ time: Int) -> Int) { self.offset = offset }

  /// The time zone of the process: of the variable `TZ`, or else of the system.
  package static let system = LocalClock { time in
    var time = time_t(time)
    var local = unsafe tm()
    _ = unsafe localtime_r(&time, &local)
    return unsafe local.tm_gmtoff
  }

  /// Returns the local date and time at a time, in seconds since 1970-01-01 00:00 by the same clock.
  package func local(_ time: Int) -> Int { time + offset(time) }

  /// Returns the time of a local date and time, which is in seconds like `local(_:)`.
  ///
  /// Of two such times it is the first. A local time that is skipped becomes as much later as was skipped:
  /// when clocks go from 02:00 to 03:00, 02:30 becomes 03:30. (java.time's `ZonedDateTime` has the same
  /// rule.) So both use the offset from before the change.
  package func time(local: Int) -> Int {
    // Offsets are less than a day: one is from before any change nearby, the other from after it.
    let (before, after) = (local - offset(local - 86400), local - offset(local + 86400))
    let found = [min(before, after), max(before, after)].first { self.local($0) == local }
    return found ?? before
  }

  /// Returns the first time after `start` at which the offset differs from that at `start`; `end` if there is
  /// none before. At most one change lies between them.
  func change(after start: Int, before end: Int) -> Int {
    let known = offset(start)
    guard start < end, offset(end) != known else { return end }
    var (same, other) = (start, end)
    while other - same > 1 {
      let middle = same + (other - same) / 2
      if offset(middle) == known { same = middle } else { other = middle }
    }
    return other
  }
}

extension Int {
  /// The quotient, rounded down.
  func quotient(by divisor: Int) -> Int { (self - remainder(by: divisor)) / divisor }

  /// The remainder of that quotient, from 0 up to below `divisor`.
  func remainder(by divisor: Int) -> Int {
    let rest = self % divisor
    return rest < 0 ? rest + divisor : rest
  }
}
