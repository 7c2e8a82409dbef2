// When a stream's pictures were taken, by our clock: a network delays some packets more than others, the sender's clock does
// not.
#if FFmpeg
  /// From times by a sender's clock to `CaptureClock`'s: by the smallest delay of late.
  ///
  /// What a picture's way takes at the least, from the lens to us, can't be known and is not counted. The clocks may drift
  /// apart: delays are forgotten after half a minute.
  struct StreamClock: Sendable {
    /// Delays within so long at least, and twice as long at most, count.
    static let window = Duration.seconds(15)
    /// A sender's clock that jumps by more was set anew.
    static let largestDelay = Duration.seconds(5)

    private var current: Duration?
    private var previous: Duration?
    private var windowStart = Duration.zero
    private var last = Duration.zero

    /// A packet of that time, by the sender's clock, arrived.
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

    /// Our time of a picture of that time, by the sender's clock, or of none; `now` at the latest, never before the last.
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
