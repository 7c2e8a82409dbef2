// The JSON members of motion events.

extension MotionEvent {
  /// Returns the path of its picture, for the camera's name.
  private func path(of camera: String) -> String { "/api/cameras/\(camera)/motion/\(number).jpg" }

  /// The members that describe a part of the picture.
  static let placeMembers = ["zones", "score", "box", "best"]

  /// Returns the members of an event. With `camera`, they contain the path of its picture. Only with
  /// `showsAll` do they contain where something moved, and how much.
  package func json(of camera: String?, showsAll: Bool) -> [String: JSONValue] {
    var members: [String: JSONValue] = [
      "event": .integer(number), "since": .string("\(WallTime(capturedAt: start))"),
      "last": .string("\(WallTime(capturedAt: end))"),
    ]
    members["label"] = label.map(JSONValue.string)
    members["picture"] = camera.map { .string(path(of: $0)) }
    guard showsAll else { return members }
    members["zones"] = .array(zones.map(JSONValue.string))
    guard let best else { return members }
    members["score"] = .number((best.score * 1000).rounded() / 1000)
    members["box"] = .array(best.box.fractions.map(JSONValue.number))
    members["best"] = .string("\(WallTime(capturedAt: bestAt))")
    return members
  }
}

extension JSONMember {
  package static let motionEvent: [JSONMember] = [
    .init("event", .integer, "its number"), .init("since", .time), .init("last", .time, "the last motion"),
    .optional("label", .text, "the label that the trigger gave"), .optional("picture", .path),
    .optional("zones", .list(of: .text)),
    .optional("score", .number, "the fraction of the picture that moved"),
    .optional("box", .list(of: .number), "where: x, y, width and height as fractions of the picture"),
    .optional("best", .time, "the time of the most motion"),
  ]
}

extension JSONSchema {
  package static let motionEvent = JSONSchema.named("MotionEvent", .object(JSONMember.motionEvent))
}

extension MotionEpisodes.Change {
  /// The event that has started or ended.
  var event: MotionEvent? {
    switch self {
    case .started(let event), .ended(let event): event
    case .sceneChanged, .updated: nil
    }
  }

  /// Returns `what` of an event and its other members; nil for changes that only `/api/cameras` shows.
  func report(of camera: String, showsAll: Bool) -> (what: String, members: [String: JSONValue])? {
    switch self {
    case .started(let event): ("motion-started", event.json(of: camera, showsAll: showsAll))
    case .ended(let event): ("motion-ended", event.json(of: camera, showsAll: showsAll))
    case .sceneChanged: ("scene-changed", [:])
    case .updated: nil
    }
  }
}
