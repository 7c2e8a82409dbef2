// Converts a sender's timestamps to this machine's clock. A network delays some packets more than others; the
// sender's clock is steady.

/// Converts times by a sender's clock to `CaptureClock`, using the smallest recent delay.
///
/// The minimum delay from the lens to this machine can't be measured and is not subtracted. The clocks may
/// drift apart, so delays are forgotten after half a minute.
package struct StreamClock: Sendable {
  /// Delays count for at least this long, and at most twice as long.
  static let window = Duration.seconds(15)
  /// A larger jump means that the sender's clock was reset.
  static let largestDelay = Duration.seconds(5)

  /// When the sender's clock was at zero: the earliest estimate of a window, from the packet with the
  /// smallest delay.
  private var current: CaptureInstant?
  private var previous: CaptureInstant?
  private var windowStart = CaptureInstant.start
  private var last = CaptureInstant.start

  package init() {}

  /// Records the arrival of a packet with the sender's time `mediaTime`.
  package mutating func observe(_ mediaTime: Duration, arrived: CaptureInstant) {
    let estimate = arrived - mediaTime
    if let zero, estimate < zero - Self.largestDelay || estimate > zero + Self.largestDelay {
      (current, previous) = (nil, nil)
    }
    if current == nil || arrived - windowStart >= Self.window {
      (previous, current) = (current, estimate)
      windowStart = arrived
    } else {
      current = min(current ?? estimate, estimate)
    }
  }

  /// Returns the time of a picture with the sender's time `mediaTime`, if it has one. The result is at most
  /// `now`, and never before the last one.
  package mutating func time(of mediaTime: Duration?, now: CaptureInstant) -> CaptureInstant {
    var time = now
    if let mediaTime, let zero, (now - Self.largestDelay...now).contains(zero + mediaTime) {
      time = zero + mediaTime
    }
    last = min(max(time, last), now)
    return last
  }

  /// When the sender's clock was at zero.
  private var zero: CaptureInstant? {
    guard let current else { return nil }
    return min(current, previous ?? current)
  }
}
