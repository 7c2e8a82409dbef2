// The rotation, the lens, the warp and the moves of a view as JSON, for `/api/cameras` and events.

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

extension LensPose {
  /// The numbers; `field` is the field of view if it has none, where that is known.
  func json(filling field: Double?) -> JSONValue {
    var members: [String: JSONValue] = [
      "yaw": ViewConfiguration.number(yaw), "pitch": ViewConfiguration.number(pitch),
      "roll": ViewConfiguration.number(roll),
    ]
    members["hfov"] = (hfov ?? field).map(ViewConfiguration.number)
    return .object(members)
  }
}

extension PoseChange {
  /// The numbers that it has.
  var json: JSONValue {
    var members: [String: JSONValue] = [:]
    for key in PoseChange.keys { members[key] = self[key].map(ViewConfiguration.number) }
    return .object(members)
  }
}

extension ViewMove {
  /// Its poses and times; `field` is the field of view of poses that have none, where that is known.
  func members(filling field: Double?) -> [String: JSONValue] {
    [
      "from": from.json(filling: field), "to": to.json(filling: field),
      "start": .string("\(WallTime(capturedAt: start))"), "end": .string("\(WallTime(capturedAt: end))"),
    ]
  }
}

extension JSONSchema {
  /// Some or all numbers of a pose.
  static let pose = JSONSchema.named(
    "Pose",
    .object(
      [
        .optional("yaw", .number, "degrees to the right"), .optional("pitch", .number, "degrees upwards"),
        .optional("roll", .number, "degrees clockwise"),
        .optional("hfov", .number, "the horizontal field of view in degrees; missing if it is unknown"),
      ], isClosed: true))
}

extension JSONMember {
  /// A move.
  static let move: [JSONMember] = [
    .init("from", .pose), .init("to", .pose), .init("start", .time), .init("end", .time),
  ]
}
