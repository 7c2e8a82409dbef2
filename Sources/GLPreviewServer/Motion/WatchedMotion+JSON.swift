// Motion as JSON: in `/api/cameras`, in events, and for those who tune it.
internal import GLPreview

extension WatchedMotion {
  /// `motion` of a camera in `/api/cameras`. `hasPicture` tells whether there is one of an event.
  func json(showsAll: Bool, _ hasPicture: (Int) -> Bool) -> [String: JSONValue] {
    let event = episodes.current ?? episodes.last
    var members = event.map { $0.json(of: hasPicture($0.number) ? camera : nil, showsAll: showsAll) } ?? [:]
    members["watched"] = .bool(settings != nil)
    members["active"] = .bool(episodes.current != nil)
    return members
  }

  /// The same of a camera that shows all, and what it is judged by: row by row by how much each cell differs, in hundredths of what counts as moving.
  func details(_ hasPicture: (Int) -> Bool) -> [String: JSONValue] {
    var members = json(showsAll: true, hasPicture)
    members["pictures"] = .integer(pictures)
    members["columns"] = .integer(MotionCells.columns)
    members["rows"] = .integer(MotionCells.rows)
    members["cells"] = .array(differences.map { .integer(Int((min($0, 100) * 100).rounded())) })
    if let settings {
      members["sensitivity"] = .integer(settings.sensitivity)
      members["min_size"] = .number(settings.minimumSize)
      members["min_duration"] = .number(settings.minimumDuration / .seconds(1))
      members["cool_down"] = .number(settings.coolDown / .seconds(1))
      members["rate"] = .number(settings.rate)
      members["zones_watched"] = .array(settings.zones.map { .string("\($0)") })
      members["is_configured"] = .bool(settings == configured)
    }
    return members
  }
}

extension MotionEvent {
  /// Where its picture is, with a camera's name.
  private func path(of camera: String) -> String { "/api/cameras/\(camera)/motion/\(number).jpg" }

  /// The members that tell of a part of the picture.
  static let placeMembers = ["zones", "score", "box", "best"]

  /// Members of an event; of a camera that has a picture of it, also where that is. Only of a camera that shows all they tell where
  /// something moved, and how much.
  func json(of camera: String?, showsAll: Bool) -> [String: JSONValue] {
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

extension MotionEpisodes.News {
  /// `what` of an event, and its other members; nil for what is only told by `/api/cameras`.
  func told(of camera: String, showsAll: Bool) -> (what: String, members: [String: JSONValue])? {
    switch self {
    case .started(let event): ("motion-started", event.json(of: camera, showsAll: showsAll))
    case .ended(let event): ("motion-ended", event.json(of: camera, showsAll: showsAll))
    case .sceneChanged: ("scene-changed", [:])
    case .updated: nil
    }
  }
}
