// A place on earth, for the times of sunrise and sunset.

/// A place on earth.
package struct Place: Hashable, Sendable {
  /// In degrees, -90 to 90, north positive.
  package let latitude: Double
  /// In degrees, -180 to 180, east positive.
  package let longitude: Double

  package init(latitude: Double, longitude: Double) {
    (self.latitude, self.longitude) = (latitude, longitude)
  }

  /// Parses `LATITUDE, LONGITUDE`, such as `52.52, 13.40`.
  package init(parsing text: String) throws(ParameterError) {
    let numbers = text.split(separator: ",", omittingEmptySubsequences: false).map(Self.number)
    guard numbers.count == 2, let latitude = numbers[0], let longitude = numbers[1] else {
      throw ParameterError("'\(text)' is not LATITUDE, LONGITUDE in degrees, such as 52.52, 13.40")
    }
    guard (-90...90).contains(latitude) else {
      throw ParameterError("'\(text)': the latitude comes first and must be from -90 to 90")
    }
    guard (-180...180).contains(longitude) else {
      throw ParameterError("'\(text)': the longitude must be from -180 to 180")
    }
    self.init(latitude: latitude, longitude: longitude)
  }

  private static func number(_ text: Substring) -> Double? {
    let spaces = { (character: Character) in character == " " || character == "\t" }
    let number = String(text.drop(while: spaces).reversed().drop(while: spaces).reversed())
    return number.utf8.allSatisfy { Array("+-.0123456789".utf8).contains($0) } ? Double(number) : nil
  }
}
