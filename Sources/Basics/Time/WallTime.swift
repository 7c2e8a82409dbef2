// The UTC time at which a picture was captured, for users and other machines.

/// A time of the wall clock, in UTC.
public struct WallTime: Sendable, Hashable, Comparable, CustomStringConvertible {
  /// Time since 1970-01-01T00:00:00Z, not counting leap seconds.
  public let sinceEpoch: Duration

  /// Creates the time that is `sinceEpoch` after 1970-01-01T00:00:00Z.
  package init(sinceEpoch: Duration) { self.sinceEpoch = sinceEpoch }

  /// Creates the wall-clock time of an instant of `CaptureClock`.
  public init(capturedAt time: CaptureInstant) { self.init(sinceEpoch: CaptureClock.timeSince1970(time)) }

  /// The current time.
  package static var now: WallTime { WallTime(capturedAt: CaptureClock.now) }

  /// Seconds since 1970.
  public var secondsSinceEpoch: Double { sinceEpoch / .seconds(1) }

  /// ISO 8601 with milliseconds, truncated: `2024-02-29T23:59:58.123Z`.
  public var description: String {
    let (seconds, attoseconds) = sinceEpoch.components
    let total = Int(seconds) * 1000 + Self.floorDivided(Int(attoseconds), by: 1_000_000_000_000_000)
    let second = Self.floorDivided(total, by: 1000)
    let milliseconds = total - second * 1000
    let moment = WallClockTime(secondsSince1970: Double(second))
    let fraction = String(1000 + milliseconds).dropFirst()
    return "\(Label.TimeFormat.iso8601.text(of: moment)).\(fraction)Z"
  }

  /// Seconds since 1970 with six digits after the point: `1700000000.123456`.
  package var secondsText: String {
    let (seconds, attoseconds) = sinceEpoch.components
    let micros = String(1_000_000 + attoseconds / 1_000_000_000_000)
    return "\(seconds).\(micros.dropFirst())"
  }

  /// Returns whether `one` is earlier.
  public static func < (one: WallTime, other: WallTime) -> Bool { one.sinceEpoch < other.sinceEpoch }

  private static func floorDivided(_ number: Int, by divisor: Int) -> Int {
    number >= 0 ? number / divisor : -((divisor - 1 - number) / divisor)
  }
}
