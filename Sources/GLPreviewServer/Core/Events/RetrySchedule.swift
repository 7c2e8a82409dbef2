// The delays between attempts of a failed operation.
internal import FoundationEssentials

/// Delays that double with each attempt, each reduced randomly, so that clients that failed at the same time
/// do not retry at the same time.
package struct RetrySchedule: Sendable {
  /// The delay before the second attempt.
  package var first = Duration.seconds(1)
  /// The longest delay, whatever the server requests.
  package var longest = Duration.seconds(60)

  package init(first: Duration = .seconds(1), longest: Duration = .seconds(60)) {
    (self.first, self.longest) = (first, longest)
  }

  /// Returns the delay after a failed attempt, counted from 1: at least half of `first`, at most `longest`.
  func wait(
    after attempt: Int, retryAfter: Duration? = nil, chance: Double = .random(in: 0..<1)
  ) -> Duration {
    let own = Backoff.pause(attempt - 1, first: first, longest: longest, jitter: chance)
    return max(own, min(retryAfter ?? .zero, longest))
  }

  /// Parses `Retry-After`: seconds, or a date such as `Sun, 06 Nov 1994 08:49:37 GMT`; nil for anything else.
  static func retryAfter(_ field: String, now: WallTime = .now) -> Duration? {
    if let seconds = Int(field) { return .seconds(max(0, min(seconds, 86400))) }
    guard let date = date(field) else { return nil }
    return max(.zero, min(date - now.sinceEpoch, .seconds(86400)))
  }

  /// Parses an HTTP date (RFC 9110, 5.6.7) to the time since 1970.
  private static func date(_ text: String) -> Duration? {
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    let words = text.split(separator: " ")
    // Foundation's parser traps on numbers that are too long, and accepts 25:61.
    guard words.count == 6, words[5] == "GMT", let year = Int(words[3]), (1970...9999).contains(year),
      let month = months.firstIndex(of: String(words[2])), let day = Int(words[1]), (1...31).contains(day)
    else { return nil }
    let time = words[4].split(separator: ":", omittingEmptySubsequences: false).map { Int($0) ?? -1 }
    guard time.count == 3, (0...23).contains(time[0]), (0...59).contains(time[1]), (0...60).contains(time[2])
    else { return nil }
    let clock = time.map { $0.digits(2) }.joined(separator: ":")
    let iso8601 = "\(year)-\((month + 1).digits(2))-\(day.digits(2))T\(clock)Z"
    return (try? Date.ISO8601FormatStyle().parse(iso8601)).map { .seconds(Int($0.timeIntervalSince1970)) }
  }

  /// Returns whether a retry may get another status.
  static func isWorthRetrying(_ status: UInt) -> Bool {
    status == 408 || status == 425 || status == 429 || (500...599).contains(status)
  }
}
