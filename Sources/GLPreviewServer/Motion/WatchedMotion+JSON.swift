// Motion as JSON: in `/api/cameras`, in events, and for those who tune it.
internal import GLPreview

extension WatchedMotion {
  /// `motion` of a camera in `/api/cameras`.
  var json: [String: JSONValue] {
    let event = episodes.current ?? episodes.last
    var members = event?.json ?? [:]
    members["watched"] = .bool(settings != nil)
    members["active"] = .bool(episodes.current != nil)
    return members
  }

  /// The same, and what it is judged by: row by row by how much each cell differs, in hundredths of what counts as moving.
  var details: [String: JSONValue] {
    var members = json
    members["pictures"] = .integer(pictures)
    members["columns"] = .integer(MotionCells.columns)
    members["rows"] = .integer(MotionCells.rows)
    members["cells"] = .array(differences.map { .integer(Int((min($0, 100) * 100).rounded())) })
    if let settings {
      members["sensitivity"] = .integer(settings.sensitivity)
      members["zones_watched"] = .array(settings.zones.map { .string("\($0)") })
    }
    return members
  }
}

extension MotionEvent {
  /// Members of an event.
  var json: [String: JSONValue] {
    var members: [String: JSONValue] = [
      "event": .integer(number), "since": .string("\(WallTime(capturedAt: start))"),
      "last": .string("\(WallTime(capturedAt: end))"), "zones": .array(zones.map(JSONValue.string)),
    ]
    members["label"] = label.map(JSONValue.string)
    guard let best else { return members }
    members["score"] = .number((best.score * 1000).rounded() / 1000)
    members["box"] = .array(best.box.fractions.map(JSONValue.number))
    members["best"] = .string("\(WallTime(capturedAt: bestAt))")
    return members
  }
}

extension MotionEpisodes.News {
  /// `what` of an event, and its other members; nil for what is only told by `/api/cameras`.
  var told: (what: String, members: [String: JSONValue])? {
    switch self {
    case .started(let event): ("motion-started", event.json)
    case .ended(let event): ("motion-ended", event.json)
    case .sceneChanged: ("scene-changed", [:])
    case .updated: nil
    }
  }
}
