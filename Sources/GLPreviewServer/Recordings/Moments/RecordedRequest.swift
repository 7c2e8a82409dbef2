// Requests for recorded pictures: answers them from this node or another one, and counts them.
internal import HTTPTypes
internal import Hummingbird

/// The recorded pictures that a request names.
struct RecordedRequest: Sendable {
  let camera: String
  /// The recorded view; nil if the request names none.
  let view: String?
  let kind: ServiceMetrics.RecordedKind
  /// The span of time. For a single picture, both are its time.
  let from, to: WallTime

  /// 404, with the nearest recorded times.
  fileprivate func notRecorded(_ nearest: [WallTime]) -> Problem {
    let subject = view.map { "view '\($0)' of '\(camera)'" } ?? "'\(camera)'"
    let time = from == to ? "then" : "from \(from) to \(to)"
    return .noPictures(
      nearest.isEmpty ? "there is no recording of \(subject)" : "nothing of \(subject) was recorded \(time)",
      code: "not-recorded", nearest: nearest)
  }
}

extension RecordingRights {
  /// Answers a request for recorded pictures from this node, or from another one.
  ///
  /// - Parameters:
  ///   - request: the request.
  ///   - context: its context.
  ///   - wanted: the pictures.
  ///   - isNewest: whether the newest pictures are requested, which the node has that serves the camera.
  ///   - here: answers from this node's recordings; returns nil if it has none of the requested time.
  /// - Returns: the first answer of a node.
  /// - Throws: `Problem`: 404 if no node has a recording of that time, with the nearest recorded times of all
  ///   nodes that the client may know; 502 to 504 if a node that may have one does not answer; the errors of
  ///   `here`.
  func answer(
    _ request: Request, _ context: ServiceContext, for wanted: RecordedRequest, isNewest: Bool = true,
    here: () async throws -> Response?
  ) async throws -> Response {
    let isElsewhere = isNewest && registry.served[camera: wanted.camera] == nil
    var isCounted = false
    let answer: Response?
    do {
      answer = try await others.answer(request, context, first: isElsewhere ? .owner : .this) {
        // Another node asks only whether it is here.
        if request.method == .head, request.isFromPeer { return try await here() }
        do {
          return try await metrics.counting(
            { event(wanted, $0) }, status: { (answer: Response?) in answer?.status.code }, here)
        } catch {
          isCounted = true
          throw error
        }
      }
    } catch {
      // The answer says that it is unknown whether another node has the pictures.
      if !isCounted, !request.isFromPeer, let result = ServiceMetrics.RequestResult(error) {
        metrics.count(event(wanted, result))
      }
      throw error
    }
    if let answer { return answer }
    if !request.isFromPeer { metrics.count(event(wanted, .missing)) }
    let seesAll = context.role == .control
    // The times of hidden recordings are hidden, too.
    var nearest =
      folder?.nearest(of: wanted.camera, view: wanted.view, from: wanted.from, to: wanted.to) {
        seesAll || showing($0) != .hidden
      } ?? NearestTimes()
    let elsewhere = try await context.whileClientStays { [others] in
      await others.nearest(request, context, next: wanted.from)
    }
    nearest.merge(elsewhere)
    throw wanted.notRecorded(nearest.all)
  }

  /// Names only cameras of the configuration: clients choose the names in URLs, and each new one would be kept.
  private func event(
    _ wanted: RecordedRequest, _ result: ServiceMetrics.RequestResult
  ) -> ServiceMetrics.Event {
    let isKnown = registry.served[camera: wanted.camera] != nil || assignment.camera(wanted.camera) != nil
    return .recorded(camera: isKnown ? wanted.camera : "", wanted.kind, result)
  }
}
