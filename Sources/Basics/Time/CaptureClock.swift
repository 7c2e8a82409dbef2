// The clock for the timestamps of live frames. V4L2 drivers use the same clock, so that a frame's age can be
// computed.
internal import Glibc
internal import Synchronization

/// CLOCK_MONOTONIC: never adjusted by the user; counts from boot, excluding suspend.
///
/// ```swift
/// try await Task.sleep(until: .now + .seconds(1), clock: CaptureClock())
/// ```
public struct CaptureClock: Clock {
  /// A point in time by this clock.
  public typealias Instant = CaptureInstant

  /// The distance between two points in time.
  public typealias Duration = Swift.Duration

  /// Creates the clock; all instances are equal.
  public init() {}

  /// The current time.
  public static var now: Instant {
    var time = timespec()
    _ = unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return Instant(sinceStart: .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec))
  }

  /// The current time.
  public var now: Instant { Self.now }

  /// One nanosecond.
  public var minimumResolution: Duration { .nanoseconds(1) }

  /// Sleeps until `deadline`, however far away; returns at once if it has passed.
  ///
  /// - Throws: `CancellationError`.
  public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
    while Self.now < deadline {
      try await Task.sleep(for: min(deadline - Self.now, longestSleep), tolerance: tolerance)
    }
  }

  /// Sleeps until the next whole multiple of `interval`, or until the task is cancelled. All tasks that sleep
  /// so wake together, which costs little more than waking one.
  package static func sleep(untilMultipleOf interval: Duration) async {
    try? await CaptureClock().sleep(until: next(multipleOf: interval))
  }

  /// Returns the next whole multiple of `interval`.
  package static func next(multipleOf interval: Duration) -> Instant {
    .start + interval * ((now.sinceStart / interval).rounded(.down) + 1)
  }

  /// Returns the UTC time since 1970 of a time on this clock.
  ///
  /// The result for one time does not change until the wall clock is set or drifts by a millisecond, so that
  /// a frame's time is the same in headers, EXIF, events and file names.
  package static func timeSince1970(_ time: Instant) -> Duration {
    let (measured, error) = measuredOffset()
    let offset = offset.withLock { kept in
      let most = error + .milliseconds(1)
      if let kept, measured - kept <= most, kept - measured <= most { return kept }
      kept = measured
      return measured
    }
    return time.sinceStart + offset
  }

  /// Returns the time on this clock of a UTC time; the inverse of `timeSince1970`.
  package static func instant(at time: WallTime) -> Instant {
    Instant(sinceStart: time.sinceEpoch - timeSince1970(.start))
  }

  /// The offset of the wall clock that is in use.
  private static let offset = Mutex<Duration?>(nil)

  /// Measures the offset of the wall clock from this one, and the largest error: the thread can be preempted
  /// between the two readings.
  private static func measuredOffset() -> (offset: Duration, error: Duration) {
    var best: (offset: Duration, error: Duration)?
    for _ in 0..<3 {
      let before = Self.now
      var wall = timespec()
      _ = unsafe clock_gettime(CLOCK_REALTIME, &wall)
      let error = Self.now - before
      let measured = Duration.seconds(wall.tv_sec) + .nanoseconds(wall.tv_nsec) - before.sinceStart
      if best.map({ error < $0.error }) ?? true { best = (measured, error) }
      if error < .microseconds(100) { break }
    }
    return best ?? (.zero, .zero)
  }
}

extension CaptureInstant {
  /// The current time by `CaptureClock`.
  public static var now: CaptureInstant { CaptureClock.now }
}
