// Formats wall-clock times for people, without the system's locale or calendar.

/// A wall-clock time and its time zone.
package struct WallClockTime: Sendable, Hashable {
  /// Seconds since 1970-01-01 00:00:00 UTC, not counting leap seconds.
  package var secondsSince1970: Double
  /// Local time minus UTC, in seconds; 7200 is two hours east.
  package var secondsFromUTC: Int

  /// Creates a time; the default zone is UTC.
  package init(secondsSince1970: Double, secondsFromUTC: Int = 0) {
    self.secondsSince1970 = secondsSince1970
    self.secondsFromUTC = secondsFromUTC
  }

  /// Returns another time in the same time zone.
  func at(_ secondsSince1970: Double) -> WallClockTime {
    WallClockTime(secondsSince1970: secondsSince1970, secondsFromUTC: secondsFromUTC)
  }
}

extension Label {
  /// A format for times, such as `2026-11-21 17:05:09`.
  public struct TimeFormat: Sendable, Hashable {
    /// A time zone.
    public enum Zone: Sendable, Hashable {
      /// Coordinated universal time.
      case utc
      /// The system's time zone.
      case local
    }

    /// Text with the directives of `strftime`: `%Y %m %d %H %M %S`, `%F` for `%Y-%m-%d`, `%T` for `%H:%M:%S`,
    /// `%z` for `+0200`, and `%%`.
    public let pattern: String
    /// The time zone to show.
    public let zone: Zone

    /// `2026-11-21 17:05:09`, local.
    public static let standard = TimeFormat(checked: "%F %T", zone: .local)
    /// `2026-11-21`, local.
    static let day = TimeFormat(checked: "%F", zone: .local)
    /// `2026-11-21T17:05:09`, UTC, as in ISO 8601.
    public static let iso8601 = TimeFormat(checked: "%FT%T", zone: .utc)
    /// `17:05:09`, local.
    static let clock = TimeFormat(checked: "%T", zone: .local)

    /// Creates a format.
    ///
    /// - Throws: `ParameterError` for unknown directives.
    public init(_ pattern: String, zone: Zone = .local) throws(ParameterError) {
      self.init(checked: pattern, zone: zone)
      var isDirective = false
      for character in pattern {
        if isDirective, !"YmdHMSFTz%".contains(character) {
          throw ParameterError("time", "unknown '%\(character)' (known: %Y %m %d %H %M %S %F %T %z %%)")
        }
        isDirective = !isDirective && character == "%"
      }
      guard !isDirective else { throw ParameterError("time", "'\(pattern)' ends within a directive") }
    }

    private init(checked pattern: String, zone: Zone) {
      self.pattern = pattern
      self.zone = zone
    }

    /// Formats a time. Years are clamped to 0...9999.
    package func text(of time: WallClockTime) -> String {
      let offset = zone == .local ? time.secondsFromUTC : 0
      let fields = CivilTime(time.secondsSince1970, offset: offset)
      var text = ""
      var isDirective = false
      for character in pattern {
        if isDirective {
          text += fields.text(of: character)
          isDirective = false
        } else if character == "%" {
          isDirective = true
        } else {
          text.append(character)
        }
      }
      return text
    }
  }
}

/// A time in the proleptic Gregorian calendar.
private struct CivilTime {
  let year: Int
  let month: Int
  let day: Int
  let secondOfDay: Int
  let offset: Int

  init(_ secondsSince1970: Double, offset: Int) {
    // 0000-01-01 00:00:00 to 9999-12-31 23:59:59.
    let years = -62_167_219_200.0...253_402_300_799.0
    let local = (secondsSince1970.isFinite ? secondsSince1970 : 0) + Double(offset)
    let seconds = Int(min(max(local, years.lowerBound), years.upperBound).rounded(.down))
    let days = seconds >= 0 ? seconds / 86400 : (seconds - 86399) / 86400
    secondOfDay = seconds - days * 86400
    // Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", civil_from_days: years begin in March,
    // so that leap days are their last. 719,468 days lie between 0000-03-01 and 1970-01-01.
    let shifted = days + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
    month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    self.offset = offset
  }

  func text(of directive: Character) -> String {
    switch directive {
    case "Y": year.digits(4)
    case "m": month.digits(2)
    case "d": day.digits(2)
    case "H": (secondOfDay / 3600).digits(2)
    case "M": (secondOfDay / 60 % 60).digits(2)
    case "S": (secondOfDay % 60).digits(2)
    case "F": "\(text(of: "Y"))-\(text(of: "m"))-\(text(of: "d"))"
    case "T": "\(text(of: "H")):\(text(of: "M")):\(text(of: "S"))"
    case "z": (offset < 0 ? "-" : "+") + (abs(offset) / 3600).digits(2) + (abs(offset) / 60 % 60).digits(2)
    default: String(directive)
    }
  }
}
