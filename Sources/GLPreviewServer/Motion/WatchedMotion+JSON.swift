// Motion as JSON: in `/api/cameras`, in events, and for tuning.

extension WatchedMotion {
  /// `motion` of a camera in `/api/cameras`.
  static let schema = JSONSchema.named("Motion", .object(members))
  static let detailSchema = JSONSchema.named(
    "MotionDetails",
    .object(
      members + [
        .optional("pictures", .integer, "the number of frames that were checked"),
        .optional("columns", .integer),
        .optional("rows", .integer),
        .optional(
          "cells", .list(of: .integer), "row by row, how much each cell differs; 100 counts as motion"),
        .optional("sensitivity", .integer(in: 1...100)), .optional("min_size", .number),
        .optional("min_duration", .number, "in seconds"), .optional("cool_down", .number, "in seconds"),
        .optional("rate", .number, "frames per second that are checked for motion"),
        .optional("zones_watched", .list(of: .text)),
        .optional("is_configured", .boolean, "whether all settings are as configured"),
        .optional(
          "views_as_configured", .list(of: .text),
          "the views whose pictures show zones where they were drawn"),
      ]))

  private static let members =
    JSONMember.motionEvent.map { JSONMember.optional($0.name, $0.schema, $0.purpose) } + [
      .init("watched", .boolean, "whether frames are checked for motion"),
      .init("active", .boolean, "whether there is motion now"),
    ]

  func json(showsAll: Bool, _ hasPicture: (Int) -> Bool) -> [String: JSONValue] {
    let event = episodes.current ?? episodes.last
    var members = event.map { $0.json(of: hasPicture($0.number) ? camera : nil, showsAll: showsAll) } ?? [:]
    members["watched"] = .bool(settings != nil)
    members["active"] = .bool(episodes.current != nil)
    return members
  }

  /// The members of a camera that shows all, with the settings, and row by row how much each cell differs, in
  /// hundredths of what counts as moving.
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
