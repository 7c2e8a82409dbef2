// When a picture was captured, for people and other machines: Coordinated Universal Time.

/// A moment of the wall clock, UTC.
public struct WallTime: Sendable, Hashable, Comparable, CustomStringConvertible {
  /// Since 1970-01-01T00:00:00Z, leap seconds not counted.
  public let sinceEpoch: Duration

  /// `sinceEpoch` after the beginning of 1970.
  public init(sinceEpoch: Duration) { self.sinceEpoch = sinceEpoch }

  /// The wall clock's time of what happened at `time` by `CaptureClock`.
  public init(capturedAt time: Duration) { self.init(sinceEpoch: CaptureClock.timeSince1970(time)) }

  /// Seconds since 1970.
  public var secondsSinceEpoch: Double { sinceEpoch / .seconds(1) }

  /// ISO 8601 with milliseconds, which are cut off, not rounded: `2024-02-29T23:59:58.123Z`.
  public var description: String {
    let (seconds, attoseconds) = sinceEpoch.components
    let total = Int(seconds) * 1000 + Self.floorDivided(Int(attoseconds), by: 1_000_000_000_000_000)
    let second = Self.floorDivided(total, by: 1000)
    let milliseconds = total - second * 1000
    let day = Self.floorDivided(second, by: 86400)
    let (year, month, dayOfMonth) = Self.date(ofDay: day)
    let time = second - day * 86400
    return "\(Self.digits(year, 4))-\(Self.digits(month, 2))-\(Self.digits(dayOfMonth, 2))T"
      + "\(Self.digits(time / 3600, 2)):\(Self.digits(time / 60 % 60, 2)):\(Self.digits(time % 60, 2))."
      + "\(Self.digits(milliseconds, 3))Z"
  }

  /// Earlier first.
  public static func < (one: WallTime, other: WallTime) -> Bool { one.sinceEpoch < other.sinceEpoch }

  /// The Gregorian date of a day counted from 1970-01-01 (H. Hinnant, "chrono-Compatible Low-Level Date Algorithms",
  /// civil_from_days): years begin in March there, so that a leap day is a year's last.
  private static func date(ofDay day: Int) -> (year: Int, month: Int, day: Int) {
    let shifted = day + 719_468
    let era = floorDivided(shifted, by: 146_097)
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let month = (5 * dayOfYear + 2) / 153
    let isNextYear = month >= 10
    return (
      yearOfEra + era * 400 + (isNextYear ? 1 : 0), isNextYear ? month - 9 : month + 3,
      dayOfYear - (153 * month + 2) / 5 + 1
    )
  }

  private static func floorDivided(_ number: Int, by divisor: Int) -> Int {
    number >= 0 ? number / divisor : -((divisor - 1 - number) / divisor)
  }

  private static func digits(_ number: Int, _ count: Int) -> String {
    let text = String(number)
    return String(repeating: "0", count: max(count - text.utf8.count, 0)) + text
  }
}
