// The current wall-clock time in the system's time zone.
internal import Glibc
package import PreviewCore

extension WallClockTime {
  /// The current time, with the system's time zone.
  package static func now() -> WallClockTime {
    var now = timespec()
    _ = unsafe clock_gettime(CLOCK_REALTIME, &now)
    var local = unsafe tm()
    _ = unsafe localtime_r(&now.tv_sec, &local)
    return WallClockTime(
      secondsSince1970: Double(now.tv_sec) + Double(now.tv_nsec) / 1e9, secondsFromUTC: unsafe local.tm_gmtoff
    )
  }
}
