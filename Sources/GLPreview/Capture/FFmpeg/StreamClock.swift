// Converts a sender's timestamps to this machine's clock. A network delays some packets more than others; the sender's
// clock is steady.
#if FFmpeg
  /// Converts times by a sender's clock to `CaptureClock`, using the smallest recent delay.
  ///
  /// The minimum delay from the lens to this machine can't be measured and is not subtracted. The clocks may drift
  /// apart, so delays are forgotten after half a minute.
  struct StreamClock: Sendable {
    /// Delays count for at least this long, and at most twice as long.
    static let window = Duration.seconds(15)
    /// A larger jump means that the sender's clock was reset.
    static let largestDelay = Duration.seconds(5)

    private var current: Duration?
    private var previous: Duration?
    private var windowStart = Duration.zero
    private var last = Duration.zero

    /// Records the arrival of a packet with the sender's time `says`.
    mutating func observe(_ says: Duration, arrived: Duration) {
      let delay = arrived - says
      if let offset, delay < offset - Self.largestDelay || delay > offset + Self.largestDelay {
        (current, previous) = (nil, nil)
      }
      if current == nil || arrived - windowStart >= Self.window {
        (previous, current) = (current, delay)
        windowStart = arrived
      } else {
        current = min(current ?? delay, delay)
      }
    }

    /// The time of a picture with the sender's time `says`, if it has one. At most `now`, never before the last one.
    mutating func time(of says: Duration?, now: Duration) -> Duration {
      var time = now
      if let says, let offset, (now - Self.largestDelay...now).contains(says + offset) {
        time = says + offset
      }
      last = min(max(time, last), now)
      return last
    }

    private var offset: Duration? {
      guard let current else { return nil }
      return min(current, previous ?? current)
    }
  }
#endif
