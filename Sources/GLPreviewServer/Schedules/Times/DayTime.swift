// A time of day: by the clock, or by the sun.

/// A time of day: `12:00`, `12:00:30`, `sunrise`, `sunset-1h30m`.
package struct DayTime: Hashable, Sendable, CustomStringConvertible {
  /// The event from which the seconds count.
  enum Base: String, Sendable {
    case midnight, sunrise, sunset
  }

  let base: Base
  /// After `base`: from 0 to 86400 after midnight, up to 12 hours before or after the others.
  let seconds: Int

  /// The seconds after midnight that stand for it where the season must not matter.
  var usual: Int {
    switch base {
    case .midnight: seconds
    case .sunrise: 6 * 3600 + seconds
    case .sunset: 18 * 3600 + seconds
    }
  }

  static let largestOffset = 12 * 3600

  init(_ base: Base, _ seconds: Int) { (self.base, self.seconds) = (base, seconds) }

  /// Parses a time of day.
  ///
  /// By the clock it is `HH:MM` or `HH:MM:SS`, up to `23:59:59`, or `24:00`, which only a window's end may
  /// be. By the sun it is `sunrise` or `sunset`, with an offset of up to 12 hours such as `+30m`, `-1h30m` or
  /// `+90s`.
  package init(parsing text: String) throws(ParameterError) {
    for base in [Base.sunrise, .sunset] where text.hasPrefix(base.rawValue) {
      guard let seconds = Self.offset(text.dropFirst(base.rawValue.count)) else { break }
      guard abs(seconds) <= Self.largestOffset else {
        throw ParameterError("'\(text)': the offset must be at most 12h")
      }
      self.init(base, seconds)
      return
    }
    guard let seconds = Self.clock(text) else {
      throw ParameterError(
        "'\(text)' is not a time of day, such as 06:00, 12:00:30, sunrise, sunset+30m or sunset-1h30m")
    }
    self.init(.midnight, seconds)
  }

  /// Whether it depends on the place.
  package var needsPlace: Bool { base != .midnight }

  /// Whether it is `24:00`, which only a window's end may be.
  package var isEndOfDay: Bool { base == .midnight && seconds == 86400 }

  package var description: String {
    let (hours, minutes, rest) = (abs(seconds) / 3600, abs(seconds) / 60 % 60, abs(seconds) % 60)
    guard needsPlace else {
      let parts = rest == 0 ? [hours, minutes] : [hours, minutes, rest]
      return parts.map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: ":")
    }
    let parts = [(hours, "h"), (minutes, "m"), (rest, "s")].filter { $0.0 > 0 }.map { "\($0)\($1)" }
    return base.rawValue + (seconds == 0 ? "" : seconds < 0 ? "-" : "+") + parts.joined()
  }

  /// The seconds after midnight of `HH:MM` or `HH:MM:SS`.
  private static func clock(_ text: String) -> Int? {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard (2...3).contains(parts.count), parts.dropFirst().allSatisfy({ $0.utf8.count == 2 }),
      (1...2).contains(parts[0].utf8.count), parts.allSatisfy(isNumber)
    else { return nil }
    let numbers = parts.compactMap { Int($0) } + [0]
    let seconds = numbers[0] * 3600 + numbers[1] * 60 + numbers[2]
    let isRight = numbers[1] < 60 && numbers[2] < 60 && seconds <= 86400
    return isRight ? seconds : nil
  }

  /// The seconds of an offset such as `+1h30m`; 0 for none. Each unit occurs at most once, the largest first.
  private static func offset(_ text: Substring) -> Int? {
    guard let sign = text.first else { return 0 }
    guard sign == "+" || sign == "-" else { return nil }
    var (rest, sum) = (text.dropFirst(), 0)
    guard !rest.isEmpty else { return nil }
    for (unit, seconds) in [("h", 3600), ("m", 60), ("s", 1)] as [(Character, Int)] {
      let digits = rest.prefix { $0 != unit }
      guard digits.count < rest.count else { continue }
      // Five digits are more than 12 hours in any unit.
      guard isNumber(digits), digits.utf8.count <= 5, let number = Int(digits) else { return nil }
      sum += number * seconds
      rest = rest[digits.endIndex...].dropFirst()
    }
    return rest.isEmpty ? (sign == "-" ? -sum : sum) : nil
  }

  private static func isNumber(_ text: Substring) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
  }
}
