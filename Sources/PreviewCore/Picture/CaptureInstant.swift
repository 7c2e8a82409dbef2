// The capture time of a frame: a point on a timeline, which is neither a duration nor a time of day.

/// A point in time on the timeline of a source.
///
/// The timeline of live sources is `CaptureClock`: it starts when the machine boots. A file or a pattern has
/// a timeline of its own, which starts with its first frame. Instants of different timelines cannot be
/// compared.
///
/// ```swift
/// let age = CaptureClock.now - frame.timestamp
/// ```
public struct CaptureInstant: InstantProtocol {
  /// The distance between two instants.
  public typealias Duration = Swift.Duration

  /// The time since the start of the timeline.
  public let sinceStart: Duration

  /// The start of the timeline.
  public static let start = CaptureInstant(sinceStart: .zero)

  /// Creates the instant that is `sinceStart` after the start of its timeline.
  public init(sinceStart: Duration) { self.sinceStart = sinceStart }

  /// Returns the instant that is `duration` later.
  public func advanced(by duration: Duration) -> CaptureInstant {
    CaptureInstant(sinceStart: sinceStart + duration)
  }

  /// Returns the time from this instant to `other`; negative if `other` is earlier.
  public func duration(to other: CaptureInstant) -> Duration { other.sinceStart - sinceStart }

  /// Returns whether `one` is earlier.
  public static func < (one: CaptureInstant, other: CaptureInstant) -> Bool {
    one.sinceStart < other.sinceStart
  }

  /// Returns the instant that is `duration` later.
  public static func + (instant: CaptureInstant, duration: Duration) -> CaptureInstant {
    instant.advanced(by: duration)
  }

  /// Returns the instant that is `duration` earlier.
  public static func - (instant: CaptureInstant, duration: Duration) -> CaptureInstant {
    CaptureInstant(sinceStart: instant.sinceStart - duration)
  }

  /// Returns the time from `earlier` to `later`.
  public static func - (later: CaptureInstant, earlier: CaptureInstant) -> Duration {
    earlier.duration(to: later)
  }
}
