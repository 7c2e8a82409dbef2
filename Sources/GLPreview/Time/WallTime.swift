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
    let moment = WallClockTime(secondsSince1970: Double(second))
    let fraction = String(1000 + milliseconds).dropFirst()
    return "\(TimeFormat.iso8601.text(of: moment)).\(fraction)Z"
  }

  /// Earlier first.
  public static func < (one: WallTime, other: WallTime) -> Bool { one.sinceEpoch < other.sinceEpoch }

  private static func floorDivided(_ number: Int, by divisor: Int) -> Int {
    number >= 0 ? number / divisor : -((divisor - 1 - number) / divisor)
  }
}
