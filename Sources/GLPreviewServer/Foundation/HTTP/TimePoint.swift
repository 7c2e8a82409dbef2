// Times in URLs: seconds since 1970, a date and a time of day, or a time before now.

/// A time as a URL gives it.
package enum TimePoint: Sendable, Hashable {
  /// This long before the request.
  case before(Duration)
  case at(WallTime)

  /// Parses `-36h`, seconds since 1970 such as `1796018400`, or RFC 3339 such as `2026-11-30T06:00:00Z` and
  /// `2026-11-30T07:00:00+01:00`.
  ///
  /// - Throws: `ParameterError` with `key`.
  package init(parsing text: String, key: String) throws(ParameterError) {
    if text.first == "-" {
      guard let duration = try? ConfigurationFormat<Duration>.time.read(String(text.dropFirst()), "") else {
        throw Self.error(text, key)
      }
      self = .before(duration)
    } else if let seconds = Double(text), (0...1e11).contains(seconds) {
      // In two parts, because a number of that size is not exact in smaller units.
      let whole = seconds.rounded(.down)
      let rest = Int(((seconds - whole) * 1e9).rounded())
      self = .at(WallTime(sinceEpoch: .seconds(Int(whole)) + .nanoseconds(rest)))
    } else if let time = WallTime(rfc3339: text) {
      self = .at(time)
    } else {
      throw Self.error(text, key)
    }
  }

  private static func error(_ text: String, _ key: String) -> ParameterError {
    ParameterError(
      key,
      "'\(text)' is not a time, such as 2026-11-30T06:00:00Z, 1796018400 (seconds since 1970) or -1d (before now)"
    )
  }

  /// Returns the time, for a request at `now`.
  package func time(before now: WallTime) -> WallTime {
    switch self {
    case .before(let duration): WallTime(sinceEpoch: now.sinceEpoch - duration)
    case .at(let time): time
    }
  }
}

extension QueryKey<TimePoint> {
  /// A time: seconds since 1970, RFC 3339, or a time before now.
  package static func timePoint(_ name: String, _ purpose: String) -> QueryKey {
    QueryKey(name, .text, purpose) { name, text throws(ParameterError) in
      try TimePoint(parsing: text, key: name)
    }
  }
}

extension Problem {
  /// 404 for times of which there are no pictures; `nearest` are the closest times that have one, in order.
  package static func noPictures(_ detail: String, code: String, nearest: [WallTime]) -> Problem {
    var problem = Problem.notFound(detail)
    problem.members["code"] = .string(code)
    if !nearest.isEmpty {
      problem.members["nearest"] = .array(nearest.map { .string($0.description) })
    }
    return problem
  }
}

// MARK: RFC 3339

extension WallTime {
  /// Parses a date, a time of day and an offset from UTC: `2026-11-30T07:00:00.5+01:00`. A space in place of
  /// the plus sign is accepted, because some clients write one. Nil for any other text.
  package init?(rfc3339 text: String) {
    var reader = DateReader(text)
    guard let year = reader.number(4, in: 0...9999), reader.skip("-"),
      let month = reader.number(2, in: 1...12), reader.skip("-"),
      let day = reader.number(2, in: 1...DateReader.days(of: month, year)), reader.skip("Tt "),
      let hour = reader.number(2, in: 0...23), reader.skip(":"),
      let minute = reader.number(2, in: 0...59), reader.skip(":"),
      // A leap second is the next minute's first one.
      let second = reader.number(2, in: 0...60),
      let nanoseconds = reader.fraction(), let offset = reader.offset(), reader.isAtEnd
    else { return nil }
    let days = DateReader.daysSince1970(year, month, day)
    let seconds = days * 86400 + hour * 3600 + minute * 60 + second - offset
    self.init(sinceEpoch: .seconds(seconds) + .nanoseconds(nanoseconds))
  }
}

/// Reads the parts of a date from left to right.
private struct DateReader {
  private var rest: ArraySlice<UInt8>

  init(_ text: String) { rest = Array(text.utf8)[...] }

  var isAtEnd: Bool { rest.isEmpty }

  /// Reads a number of `count` digits; nil if there is none within `range`.
  mutating func number(_ count: Int, in range: ClosedRange<Int>) -> Int? {
    let digits = rest.prefix(count)
    guard digits.count == count, digits.allSatisfy(Self.isDigit) else { return nil }
    rest = rest.dropFirst(count)
    let number = Self.value(digits)
    return range.contains(number) ? number : nil
  }

  /// Skips one of `signs`; returns whether there was one.
  mutating func skip(_ signs: String) -> Bool {
    guard let first = rest.first, signs.utf8.contains(first) else { return false }
    rest = rest.dropFirst()
    return true
  }

  /// Reads the fraction of a second, in nanoseconds; 0 if there is none, nil if it has no digits.
  mutating func fraction() -> Int? {
    guard skip(".") else { return 0 }
    let digits = rest.prefix(while: Self.isDigit)
    guard !digits.isEmpty else { return nil }
    rest = rest.dropFirst(digits.count)
    let nine = Array(digits.prefix(9))
    return Self.value((nine + [UInt8](repeating: UInt8(ascii: "0"), count: 9 - nine.count))[...])
  }

  /// Reads the offset from UTC in seconds, east positive.
  mutating func offset() -> Int? {
    if skip("Zz") { return 0 }
    let isWest = skip("-")
    guard isWest || skip("+ "), let hours = number(2, in: 0...23), skip(":"),
      let minutes = number(2, in: 0...59)
    else { return nil }
    return (isWest ? -1 : 1) * (hours * 3600 + minutes * 60)
  }

  private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

  private static func value(_ digits: ArraySlice<UInt8>) -> Int {
    digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
  }

  static func days(of month: Int, _ year: Int) -> Int {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  /// Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", days_from_civil: years begin in March, so
  /// that leap days are their last. 719,468 days lie between 0000-03-01 and 1970-01-01.
  static func daysSince1970(_ year: Int, _ month: Int, _ day: Int) -> Int {
    let year = month <= 2 ? year - 1 : year
    let era = (year >= 0 ? year : year - 399) / 400
    let yearOfEra = year - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * 146_097 + dayOfEra - 719_468
  }
}
