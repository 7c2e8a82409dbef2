// Motion as JSON: in `/api/cameras`, in events, and for those who tune it.

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
