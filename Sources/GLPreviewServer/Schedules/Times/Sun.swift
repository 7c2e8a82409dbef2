// When the sun rises and sets, by the formulas of NOAA's solar calculator
// (https://gml.noaa.gov/grad/solcalc/calcdetails.html, after Meeus, Astronomical Algorithms).
internal import Glibc

enum Sun {
  /// The course of the sun on a day.
  enum Day: Hashable, Sendable {
    /// It rises and sets, at these times in seconds since 1970.
    case rises(sunrise: Double, sunset: Double)
    /// It does not set, or does not rise because it was up already.
    case up
    /// It does not rise, or does not set because it was down already.
    case down
  }

  /// An event of a day, or the kind of day that lacks it.
  private enum Event {
    case at(Double)
    case absent(Day)
  }

  /// The zenith distance of the sun's centre when its upper limb is at the horizon, with refraction, in
  /// degrees.
  private static let zenith = 90.833

  /// Computes the course of the sun on a day. Between the polar circles its times are right within about a
  /// minute.
  ///
  /// - Parameters:
  ///   - place: the place.
  ///   - day: the day by the mean solar time of the place, as days since 1970-01-01.
  /// - Returns: the times of sunrise and sunset, or where the sun stays.
  static func day(at place: Place, day: Int) -> Day {
    switch (event(-1, at: place, day), event(1, at: place, day)) {
    case (.at(let sunrise), .at(let sunset)): .rises(sunrise: sunrise, sunset: sunset)
    case (.absent(let day), _), (_, .absent(let day)): day
    }
  }

  /// The middle of a day by the mean solar time of a place, in seconds since 1970.
  static func noon(at place: Place, day: Int) -> Double {
    Double(day) * 86400 + 43200 - place.longitude * 240
  }

  /// The day by the mean solar time of a place in which a time lies.
  static func day(of time: Int, at place: Place) -> Int {
    Int(((Double(time) + place.longitude * 240) / 86400).rounded(.down))
  }

  /// The sunrise (`side` -1) or the sunset (1) of a day.
  private static func event(_ side: Double, at place: Place, _ day: Int) -> Event {
    let noon = noon(at: place, day: day)
    var time = noon
    for _ in 0..<3 {
      let (declination, equation) = position(at: time)
      let (phi, delta) = (place.latitude.radians, declination.radians)
      // Of the hour angle.
      let cosine = cos(zenith.radians) / (cos(phi) * cos(delta)) - tan(phi) * tan(delta)
      guard abs(cosine) <= 1 else { return .absent(cosine < 0 ? .up : .down) }
      time = noon - equation * 60 + side * acos(cosine).degrees * 240
    }
    return .at(time)
  }

  /// The declination in degrees, and the equation of time in minutes.
  private static func position(at time: Double) -> (declination: Double, equation: Double) {
    // Julian centuries since J2000.0.
    let t = (time / 86400 + 2440587.5 - 2451545) / 36525
    let meanLongitude = (280.46646 + t * (36000.76983 + t * 0.0003032)).truncatingRemainder(dividingBy: 360)
    let anomaly = 357.52911 + t * (35999.05029 - 0.0001537 * t)
    let eccentricity = 0.016708634 - t * (0.000042037 + 0.0000001267 * t)
    let m = anomaly.radians
    let centre =
      sin(m) * (1.914602 - t * (0.004817 + 0.000014 * t)) + sin(2 * m) * (0.019993 - 0.000101 * t)
      + sin(3 * m) * 0.000289
    let omega = (125.04 - 1934.136 * t).radians
    let apparent = meanLongitude + centre - 0.00569 - 0.00478 * sin(omega)
    let seconds = 21.448 - t * (46.8150 + t * (0.00059 - t * 0.001813))
    let obliquity = (23 + (26 + seconds / 60) / 60 + 0.00256 * cos(omega)).radians
    let declination = asin(sin(obliquity) * sin(apparent.radians)).degrees
    let y = tan(obliquity / 2) * tan(obliquity / 2)
    let l = meanLongitude.radians
    let equation =
      y * sin(2 * l) - 2 * eccentricity * sin(m) + 4 * eccentricity * y * sin(m) * cos(2 * l) - 0.5 * y * y
      * sin(4 * l)
      - 1.25 * eccentricity * eccentricity * sin(2 * m)
    return (declination, 4 * equation.degrees)
  }
}

extension Double {
  fileprivate var radians: Double { self * .pi / 180 }
  fileprivate var degrees: Double { self * 180 / .pi }
}
