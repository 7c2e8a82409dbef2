// Limits how often the same message is logged, so that clients can't flood the log. Suppressed lines are
// counted.
internal import Logging
internal import Synchronization

/// Counts lines by level and message; fields are ignored.
final class LogThrottle: Sendable {
  private struct Message: Hashable {
    let level: Logger.Level
    let text: String
  }

  private struct Bucket {
    var tokens: Double
    var time: CaptureInstant
    var suppressed = 0
  }

  /// The number of suppressed lines of a message that is no longer logged.
  struct Rest: Equatable {
    let level: Logger.Level
    let message: String
    let count: Int
  }

  private let burst: Double
  private let rate: Double
  private let capacity: Int
  private let now: @Sendable () -> CaptureInstant
  private let state = Mutex((buckets: [Message: Bucket](), nextSweep: CaptureInstant.start))

  /// Logs `burst` lines of one message without a limit, and then `linesPerSecond`; tracks up to `capacity`
  /// messages.
  init(
    burst: Int = 200, linesPerSecond: Double = 2, capacity: Int = 1024,
    now: @escaping @Sendable () -> CaptureInstant = { CaptureClock.now }
  ) {
    self.burst = Double(burst)
    rate = linesPerSecond
    self.capacity = capacity
    self.now = now
  }

  /// Returns whether to log a line, the number of lines suppressed before it, and the counts of other
  /// messages that can be reported now.
  func admits(_ level: Logger.Level, _ text: String) -> (isWritten: Bool, suppressed: Int, rest: [Rest]) {
    let time = now()
    let message = Message(level: level, text: text)
    return state.withLock { state in
      var bucket = state.buckets[message] ?? Bucket(tokens: burst, time: time)
      bucket.tokens = min(burst, bucket.tokens + (time - bucket.time) / .seconds(1) * rate)
      bucket.time = time
      let isWritten = bucket.tokens >= 1
      let suppressed = bucket.suppressed
      if isWritten {
        (bucket.tokens, bucket.suppressed) = (bucket.tokens - 1, 0)
      } else {
        bucket.suppressed += 1
      }
      state.buckets[message] = bucket
      let rest = sweep(&state, at: time)
      return (isWritten, isWritten ? suppressed : 0, rest)
    }
  }

  /// Forgets messages that are no longer logged: every ten seconds, or when there are too many.
  private func sweep(
    _ state: inout (buckets: [Message: Bucket], nextSweep: CaptureInstant), at time: CaptureInstant
  ) -> [Rest] {
    guard time >= state.nextSweep || state.buckets.count > capacity else { return [] }
    state.nextSweep = time + .seconds(10)
    let isFull = state.buckets.count > capacity
    let old = state.buckets.filter { isFull || time - $0.value.time > .seconds(10) }
    for message in old.keys { state.buckets[message] = nil }
    return old.filter { $0.value.suppressed > 0 }.map {
      Rest(level: $0.key.level, message: $0.key.text, count: $0.value.suppressed)
    }
  }
}
