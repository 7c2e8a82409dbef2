// Who guesses is made to wait: ten wrong secrets a minute, and nothing is looked at until that minute is over.
internal import GLPreview
internal import Synchronization

/// Wrong secrets of late, by who sent them.
final class FailedAttempts: Sendable {
  private struct Attempts {
    var count: Int
    let end: Duration
  }

  /// Wrong secrets that are looked at in one period.
  static let allowed = 10
  /// How long they are remembered, from the first.
  static let period = Duration.seconds(60)

  private let attempts = Mutex<[ClientGroup: Attempts]>([:])
  private let capacity: Int
  private let now: @Sendable () -> Duration

  /// - Parameters:
  ///   - capacity: clients that are remembered; beyond that the oldest is forgotten.
  ///   - now: the clock.
  init(capacity: Int = 4096, now: @escaping @Sendable () -> Duration = { CaptureClock.now }) {
    self.capacity = capacity
    self.now = now
  }

  /// For how many seconds nothing of `client` is looked at; nil where it is.
  func secondsToWait(_ client: ClientGroup) -> Int? {
    let time = now()
    return attempts.withLock { attempts in
      guard let known = attempts[client], known.end > time, known.count >= Self.allowed else { return nil }
      return max(1, Int((known.end - time) / .seconds(1) + 0.999))
    }
  }

  /// Remembers a wrong secret.
  ///
  /// - Returns: how many there were in this period.
  @discardableResult
  func add(_ client: ClientGroup) -> Int {
    let time = now()
    return attempts.withLock { attempts in
      if let known = attempts[client], known.end > time {
        attempts[client]?.count += 1
        return known.count + 1
      }
      if attempts.count >= capacity { attempts = attempts.filter { $0.value.end > time } }
      if attempts.count >= capacity, let oldest = attempts.min(by: { $0.value.end < $1.value.end }) {
        attempts[oldest.key] = nil
      }
      attempts[client] = Attempts(count: 1, end: time + Self.period)
      return 1
    }
  }
}
