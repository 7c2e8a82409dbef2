// `/api/cameras/{camera}/views/{view}/move`: moves a view through a lens to another pose, evenly over time.
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore

/// Moves of views. Of two movers the newest wins.
struct MoveRoutes: Sendable {
  let core: ServiceCore
  private let now: @Sendable () -> CaptureInstant

  /// Creates the routes; `now` is the clock that limits moves.
  init(core: ServiceCore, now: @escaping @Sendable () -> CaptureInstant = { CaptureClock.now }) {
    (self.core, self.now) = (core, now)
  }

  func add(to group: ServiceRoutes) {
    group.post(
      "api/cameras/:camera/views/:view/move",
      as: [
        .init(
          "moveView", "Moves a view through a lens: to a pose, by a difference, or to a named position",
          body: .json(MoveRequest.schema), answers: [.json(Self.answer, "the move")],
          problems: [.conflict, .tooManyRequests])
      ]
    ) { request, context in try await move(request, context) }
  }

  private static let answer = JSONSchema.object(
    [.init("view", .text)] + JSONMember.move + [
      .init("superseded", .boolean, "whether another move was under way, and ended here")
    ])

  private func move(_ request: Request, _ context: ServiceContext) async throws -> Response {
    let (camera, view) = (try context.parameters.require("camera"), try context.parameters.require("view"))
    let body = try await request.body.collect(upTo: context.maxUploadSize)
    let wanted = try MoveRequest(json: Array(body.readableBytesView))
    let (entry, begun) = try await core.registry.consistently {
      try await begin(wanted, view, of: camera)
    }
    if wanted.goal != .here || begun.supersedes { core.events.viewChanged(camera, view) }
    if !begun.isJump { follow(begun.move, of: entry) }
    var members = begun.move.members(filling: entry.preview.usualField)
    members["view"] = .string(entry.name)
    members["superseded"] = .bool(begun.supersedes)
    return Response(json: members)
  }

  private func begin(
    _ wanted: MoveRequest, _ view: String, of camera: String
  ) async throws -> (entry: ServedPreview, begun: BegunMove) {
    let entry = try core.registry.view(view, of: camera)
    let target = try target(of: wanted, entry)
    try core.moves.check(entry, at: now())
    let moment = try await entry.isResized(by: target) ? core.registry.moment(of: entry) : nil
    return try core.registry.move(view, of: camera, over: wanted.duration) { entry throws(Problem) in
      // The view may have changed during the wait for the frame.
      let target = try self.target(of: wanted, entry)
      if let target { try check(target, of: entry, over: wanted.duration, at: moment) }
      return target
    }
  }

  /// Rejects a move with a picture that is too large. The largest one is at the move's beginning or at its end.
  private func check(
    _ target: LensPose, of entry: ServedPreview, over duration: Duration, at moment: CapturedFrame?
  ) throws(Problem) {
    guard entry.isResized(by: target) else { return }
    // It was not when the frame was requested.
    guard let moment else { throw .reconfigured(entry) }
    guard moment.size != nil else {
      throw Problem(.conflict, "the camera has sent no frame yet, so that the picture's size is unknown")
    }
    var poses = [target]
    if duration > .zero, let present = entry.preview.configuration.view(at: CaptureClock.now)?.projection {
      poses.append(present.pose)
    }
    var view = entry.served.view
    for pose in poses {
      view.projection?.pose = pose
      do throws(ParameterError) { try core.registry.check(view, at: moment) } catch {
        throw .badParameter(error.key, error.reason)
      }
    }
  }

  /// Returns the pose in which a view ends; nil if it stays where it is.
  private func target(of wanted: MoveRequest, _ entry: ServedPreview) throws(Problem) -> LensPose? {
    guard !entry.isScene else {
      throw Problem(.conflict, "a scene can be changed only in the configuration")
    }
    try entry.served.checkLock(of: entry.camera)
    guard entry.served.isEnabled else { throw .switchedOff(entry) }
    return try wanted.target(of: entry.served) { entry.preview.usualField }
  }

  /// Publishes that a move has started, and how it ends.
  private func follow(_ move: ViewMove, of entry: ServedPreview) {
    let field = entry.preview.usualField
    core.events.viewMoved(entry, "started", move, field)
    Task { [events = core.events] in
      let end = await entry.preview.end(of: move) ?? .superseded
      events.viewMoved(entry, end.rawValue, move, field)
    }
  }
}

extension ServedPreview {
  /// Whether its pictures have another size in a pose, because that follows from their field of view.
  fileprivate func isResized(by pose: LensPose?) -> Bool {
    guard let pose, served.view.followsField else { return false }
    return pose.hfov != served.view.projection?.hfov
  }
}
