// The rotation, the lens and the warp of a view as JSON, for `/api/cameras`.

extension ViewConfiguration {
  /// The clockwise rotation in degrees, from 0 to below 360.
  var degrees: Double {
    let degrees = Double(rotation.rawValue) + angle
    return degrees < 0 ? degrees + 360 : degrees
  }

  /// The members of its lens, projection and corners; only those that it has.
  var warpMembers: [String: JSONValue] {
    var members: [String: JSONValue] = [:]
    members["lens"] = lens.map { JSONValue.string("\($0)") }
    members["corners"] = corners.map { JSONValue.string("\($0)") }
    guard let projection else { return members }
    members["projection"] = .string(projection.shape.rawValue)
    members["yaw"] = Self.number(projection.yaw)
    members["pitch"] = Self.number(projection.pitch)
    members["roll"] = Self.number(projection.roll)
    members["hfov"] = projection.hfov.map(Self.number)
    return members
  }

  /// Returns a JSON number; whole numbers have no fraction.
  static func number(_ number: Double) -> JSONValue {
    Int(exactly: number).map(JSONValue.integer) ?? .number(number)
  }
}
