// The clock by which live pictures are timed: the one that V4L2 drivers use, so that ages can be told.
internal import Glibc

/// CLOCK_MONOTONIC: never set, counts from the machine's start without its sleep.
public enum CaptureClock {
  /// What it shows.
  public static var now: Duration {
    var time = timespec()
    _ = unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
  }

  /// Since 1970 (UTC), for a time by this clock: as exact as both clocks are read one after the other.
  public static func timeSince1970(_ time: Duration) -> Duration {
    var wall = timespec()
    _ = unsafe clock_gettime(CLOCK_REALTIME, &wall)
    return time - now + .seconds(wall.tv_sec) + .nanoseconds(wall.tv_nsec)
  }
}
