// Wall-clock times in the system's time zone.
internal import Glibc

extension WallClockTime {
  /// Returns the current time.
  package static func now() -> WallClockTime { WallClockTime(capturedAt: CaptureClock.now) }

  /// Creates the time of a capture, with the time zone that the system had then.
  package init(capturedAt time: CaptureInstant) {
    let seconds = CaptureClock.timeSince1970(time) / .seconds(1)
    var whole = time_t(seconds.rounded(.down))
    var local = unsafe tm()
    _ = unsafe localtime_r(&whole, &local)
    self.init(secondsSince1970: seconds, secondsFromUTC: unsafe local.tm_gmtoff)
  }
}
