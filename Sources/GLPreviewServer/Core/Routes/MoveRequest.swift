// The body of a POST that moves a view: its goal, and how long it takes.
internal import FoundationEssentials
internal import HTTPTypes

/// A requested move of a view through a lens.
struct MoveRequest: Sendable, Hashable {
  enum Goal: Sendable, Hashable {
    /// These numbers; the others stay.
    case pose(PoseChange)
    /// A position of the view's configuration.
    case position(String)
    /// These differences to the pose that the view has, or is moving to.
    case difference(PoseChange)
    /// Where the view is: a move ends there.
    case here
  }

  let goal: Goal
  /// Zero for a jump.
  let duration: Duration

  private static let goals = ["to", "by", "stop"]
  private static let longest = Duration.seconds(3600)

  private enum Member: Decodable {
    case scalar(JSONScalar)
    case object([String: JSONScalar])

    init(from decoder: any Decoder) throws {
      if let members = try? decoder.singleValueContainer().decode([String: JSONScalar].self) {
        self = .object(members)
      } else {
        self = .scalar(try JSONScalar(from: decoder))
      }
    }
  }

  /// - Throws: `Problem` 400 that names the error.
  init(json: [UInt8]) throws(Problem) {
    let members: [String: Member]
    do {
      members = try JSONDecoder().decode([String: Member].self, from: Data(json))
    } catch {
      throw Problem(.badRequest, "the body must be a JSON object with to, by or stop, and perhaps over")
    }
    let known = Self.goals + ["over"]
    if let unknown = members.keys.sorted().first(where: { !known.contains($0) }) {
      throw .badParameter(unknown, "unknown key '\(unknown)' (known: \(known.joined(separator: ", ")))")
    }
    let keys = Self.goals.filter { members[$0] != nil }
    guard keys.count == 1, let key = keys.first, let member = members[key] else {
      throw Problem(.badRequest, "give exactly one of \(Self.goals.joined(separator: ", "))")
    }
    goal = try Self.goal(key, member)
    duration = try Self.duration(members["over"])
    if goal == .here, members["over"] != nil {
      throw .badParameter("over", "stop ends a move at once: it takes no time")
    }
  }

  private static func goal(_ key: String, _ member: Member) throws(Problem) -> Goal {
    switch (key, member) {
    case ("to", .scalar(.text(let name))): return .position(name)
    case ("to", .object(let members)):
      return .pose(
        try change(key, members) { change, name, number throws(ParameterError) in
          try change.set(name, to: number)
        })
    case ("by", .object(let members)):
      return .difference(
        try change(key, members) { change, name, number throws(ParameterError) in
          try change.set(name, toDifference: number)
        })
    case ("stop", .scalar(.bool(true))): return .here
    case ("to", _):
      throw .badParameter(key, "'to' is neither a pose, such as {\"yaw\": 30}, nor the name of a position")
    case ("by", _): throw .badParameter(key, "'by' is not an object of differences, such as {\"yaw\": 10}")
    default: throw .badParameter(key, "'stop' is not true")
    }
  }

  private static func change(
    _ key: String, _ members: [String: JSONScalar],
    _ set: (inout PoseChange, String, Double) throws(ParameterError) -> Void
  ) throws(Problem) -> PoseChange {
    var change = PoseChange()
    for (name, value) in members.sorted(by: { $0.key < $1.key }) {
      guard case .number(let number) = value else {
        throw .badParameter(name, "'\(value)' is not a number")
      }
      do throws(ParameterError) { try set(&change, name, number) } catch {
        throw .badParameter(error.key, error.reason)
      }
    }
    guard !change.isEmpty else {
      throw .badParameter(key, "'\(key)' has none of \(PoseChange.keys.joined(separator: ", "))")
    }
    return change
  }

  private static func duration(_ member: Member?) throws(Problem) -> Duration {
    switch member {
    case nil: return .zero
    case .scalar(.number(let seconds))? where (0...longest / .seconds(1)).contains(seconds):
      return .milliseconds(Int64((seconds * 1000).rounded()))
    case .scalar(.text(let text))?:
      if ["0", "0s", "0ms"].contains(text) { return .zero }
      if let time = try? ConfigurationFormat<Duration>.time.read(text, ""), time <= longest { return time }
    default: break
    }
    throw .badParameter(
      "over", "'over' is not a time from 0 to 1h, such as 2s, 500ms, or a number of seconds")
  }

  /// Returns the pose in which a view ends; nil if it stays where it is. `usualField` returns its field of view
  /// without `hfov`, if that is known.
  ///
  /// - Throws: `Problem`: 400 if there is no such position, or the pose is out of bounds; 409 if the view has no
  ///   projection, or its field of view is unknown.
  func target(of view: ServedView, usualField: () -> Double?) throws(Problem) -> LensPose? {
    guard let projection = view.view.projection else {
      throw Problem(.conflict, "the view has no projection: only views through a lens move")
    }
    let pose: LensPose
    switch goal {
    case .here: return nil
    case .pose(let change): pose = change.applied(to: projection.pose)
    case .position(let name):
      guard let position = view.positions[name] else {
        let names = view.positions.keys.sorted().joined(separator: ", ")
        let known = names.isEmpty ? "the view has none" : "known: \(names)"
        throw .badParameter("to", "no position '\(name)' (\(known))")
      }
      pose = position.applied(to: projection.pose)
    case .difference(let change):
      var base = projection.pose
      if change["hfov"] != nil, base.hfov == nil {
        guard let field = usualField() else {
          throw Problem(
            .conflict, "the camera has sent no frame yet, so that the view's field of view is unknown")
        }
        base.hfov = field
      }
      pose = change.added(to: base, as: projection.shape)
    }
    do throws(ParameterError) { try pose.check(as: projection.shape) } catch {
      throw .badParameter(error.key, error.reason)
    }
    return pose
  }

  /// The schema of the body.
  static let schema = JSONSchema.object(
    [
      .optional(
        "to", .either(.text, .pose),
        "the pose, of which keys that are missing stay, or the name of a position"),
      .optional("by", .pose, "differences to the pose that the view has, or is moving to"),
      .optional("stop", .boolean, "`true` ends a move where the view is"),
      .optional(
        "over", .keywords(["type": ["string", "number"]]),
        "how long it takes: a time such as `2s`, or seconds, up to an hour; without it the view jumps"),
    ], isClosed: true)
}
