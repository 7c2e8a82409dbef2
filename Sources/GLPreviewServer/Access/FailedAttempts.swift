// Slows down guessing: after ten wrong secrets within a minute, none is checked until the minute is over.
internal import GLPreview
internal import Synchronization

/// Recent wrong secrets, by client.
final class FailedAttempts: Sendable {
  private struct Attempts {
    var count: Int
    let end: CaptureInstant
  }

  /// Wrong secrets that are checked per period.
  static let allowed = 10
  /// How long attempts are remembered, from the first.
  static let period = Duration.seconds(60)

  private let attempts: Mutex<LRUCache<ClientGroup, Attempts>>
  private let now: @Sendable () -> CaptureInstant

  /// - Parameters:
  ///   - capacity: the most clients remembered; the one idle longest is forgotten first.
  ///   - now: the clock.
  init(capacity: Int = 4096, now: @escaping @Sendable () -> CaptureInstant = { CaptureClock.now }) {
    attempts = Mutex(LRUCache(capacity: capacity))
    self.now = now
  }

  /// The seconds until secrets of `client` are checked again; nil if they are now.
  func secondsToWait(_ client: ClientGroup) -> Int? {
    let time = now()
    return attempts.withLock { attempts in
      guard let known = attempts[client], known.end > time, known.count >= Self.allowed else { return nil }
      return max(1, Int((known.end - time) / .seconds(1) + 0.999))
    }
  }

  /// Records a wrong secret.
  ///
  /// - Returns: the number in this period.
  @discardableResult
  func add(_ client: ClientGroup) -> Int {
    let time = now()
    return attempts.withLock { attempts in
      var known = attempts[client] ?? Attempts(count: 0, end: time + Self.period)
      if known.end <= time { known = Attempts(count: 0, end: time + Self.period) }
      known.count += 1
      attempts.insert(known, for: client)
      return known.count
    }
  }
}
