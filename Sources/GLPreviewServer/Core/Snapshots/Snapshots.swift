// Takes snapshots of views that may be shown, for URLs, POST and MQTT.
internal import HTTPTypes

/// The entry point for snapshots. Views are checked again when their pictures are ready, because the
/// configuration may have changed meanwhile.
package struct Snapshots: Sendable {
  let registry: CameraRegistry
  let provider: SnapshotProvider
  private let events: ServiceEvents
  private let metrics: ServiceMetrics
  /// Limits concurrent snapshots of several views; further requests are rejected.
  private let gate = AdmissionLimit(capacity: 4, subject: "snapshots being taken")

  init(
    _ registry: CameraRegistry, _ events: ServiceEvents, gate: AdmissionLimit,
    counting metrics: ServiceMetrics
  ) {
    (self.registry, self.events, self.metrics) = (registry, events, metrics)
    provider = SnapshotProvider(
      gate: gate, within: registry.budget, counting: metrics,
      checkGPU: { () throws(Problem) in try registry.checkGPU() })
  }

  /// Counts a failure of `work`. Successes are counted by `work` itself.
  package func counting<Value>(_ work: () async throws -> Value) async throws -> Value {
    do { return try await work() } catch {
      metrics.count(.snapshot(.failed))
      throw error
    }
  }

  func count(_ state: SourceState) {
    metrics.count(.snapshot(state == .live ? .taken : .placeholder))
  }

  // MARK: One picture

  /// Returns the picture that `query` requests of a view; without an answer if the client has the picture
  /// with this entity tag.
  ///
  /// - Throws: a `Problem`.
  func picture(
    of target: ServedPreview, _ query: SnapshotQuery, hasCached: @escaping @Sendable (_ tag: String) -> Bool
  ) async throws -> (SnapshotSubject, SnapshotAnswer?) {
    let (subject, answer) =
      try await target.isScene
      ? scene(target, query, hasCached)
      : provider.inTurn(query.request, of: target, query) { try await picture(target, query, hasCached) }
    if answer == nil { metrics.count(.snapshot(.cached)) } else { count(subject.state) }
    return (subject, answer)
  }

  private func scene(
    _ target: ServedPreview, _ query: SnapshotQuery, _ hasCached: (String) -> Bool
  ) async throws -> (SnapshotSubject, SnapshotAnswer?) {
    if query.request.mode.isBuffered { throw Problem.momentOfScene() }
    let (subject, answer) = try await provider.scene(target, query)
    try registry.check(ViewRight(target, .drawn(query.served.view)))
    return (subject, hasCached(subject.entityTag) ? nil : answer)
  }

  private func picture(
    _ target: ServedPreview, _ query: SnapshotQuery, _ hasCached: (String) -> Bool
  ) async throws -> (SnapshotSubject, SnapshotAnswer?) {
    // To find the sharpest frame, many are drawn.
    if case .sharpest = query.request.mode, query.served.view != target.served.view {
      try registry.checkGPU()
    }
    let moment = try await provider.moment(of: target, query.request)
    try check(target, query, at: moment)
    let subject = provider.subject(moment, query, target)
    // The view may have moved during the wait for the frame. Its other changes are not drawn.
    let drawn = subject.key.view
    if drawn.followsField, drawn.projection?.hfov != query.served.view.projection?.hfov {
      try registry.check(drawn, at: moment)
    }
    if hasCached(subject.entityTag) { return (subject, nil) }
    let answer = try await provider.picture(subject, at: moment, query, of: target)
    try check(target, query, at: moment)
    return (subject, answer)
  }

  /// Throws unless the view may still be shown as `query` requests.
  private func check(_ target: ServedPreview, _ query: SnapshotQuery, at moment: CapturedFrame) throws {
    let view = query.served.view
    try registry.check(ViewRight(target, query.request.mode.isBuffered ? .buffered(view) : .drawn(view)))
    if view != target.served.view { try registry.check(view, at: moment) }
  }

  // MARK: Several views of one frame

  /// Whether snapshots are also stored or sent elsewhere.
  var areSent: Bool { events.sendsSnapshots }

  /// Takes snapshots of a camera, and publishes them once each has an `answer`. If a snapshot may no longer
  /// be shown by then, all of them are taken again. The timeout counts from `start`.
  package func take<Answer>(
    _ options: SnapshotOptions, of camera: String, since start: CaptureInstant = CaptureClock.now,
    _ answer: (TakenSnapshot) async throws -> Answer
  ) async throws -> [Answer] {
    let permit = try gate.enter()
    defer { _ = consume permit }
    let now = CaptureClock.now
    let (taken, rights, answers) = try await registry.consistently {
      let views = try wanted(options, of: camera)
      let taken = try await take(views, options, of: camera, at: now, since: start).map {
        TakenSnapshot(snapshot: $0, views: views)
      }
      var answers: [Answer] = []
      for snapshot in taken { answers.append(try await answer(snapshot)) }
      let rights = try check(views)
      return (taken, rights, answers)
    }
    for taken in taken {
      events.took(taken, rights)
      count(taken.snapshot.sourceState)
    }
    return answers
  }

  /// Returns the requested views; by default all enabled ones.
  private func wanted(_ options: SnapshotOptions, of camera: String) throws(Problem) -> [ServedPreview] {
    let served = registry.served
    let views = try served.views(of: camera)
    guard let names = options.views else { return views.filter(\.served.isEnabled) }
    guard !names.isEmpty else { throw .badParameter("views", "give at least one view, or omit 'views'") }
    var wanted: [ServedPreview] = []
    for name in names {
      let view = try served.view(name, of: camera)
      guard view.served.isEnabled else { throw .switchedOff(view) }
      guard !wanted.contains(where: { $0.name == name }) else {
        throw .badParameter("views", "'\(name)' is given twice")
      }
      wanted.append(view)
    }
    return wanted
  }

  /// Returns the rights to pictures that have been drawn of views.
  ///
  /// - Throws: a `Problem` if one of the views may no longer be shown as it was when it was looked up.
  @discardableResult
  func check(_ views: [ServedPreview]) throws(Problem) -> [PictureRight] {
    let served = registry.served
    for view in views { try served.check(ViewRight(view, .drawn(view.served.view))) }
    return views.map { PictureRight($0, in: served) }
  }

  /// Takes one snapshot, or those of a burst.
  private func take(
    _ views: [ServedPreview], _ options: SnapshotOptions, of camera: String, at now: CaptureInstant,
    since start: CaptureInstant
  ) async throws -> [Snapshot] {
    guard let first = views.first else {
      throw Problem(.conflict, "all views of '\(camera)' are switched off")
    }
    var request = options.request(offline: first.offline)
    request.timeout = max(request.timeout - (CaptureClock.now - start), .milliseconds(1))
    let buffered = options.buffered(at: now, delay: first.triggerDelay)
    if first.isScene {
      guard buffered.isEmpty else { throw Problem.momentOfScene() }
      let picture = try await first.preview.drawScene(within: request.timeout)
      return [
        Snapshot(
          camera: camera, sequence: picture.sequence, timestamp: picture.timestamp,
          pictures: [picture.named(first.name)])
      ]
    }
    guard !buffered.isEmpty else { return [try await take(views, request)] }
    return try await buffered.forEachBuffered { mode in
      request.mode = mode
      return try await take(views, request)
    }
  }

  /// Takes a snapshot of views of one camera.
  ///
  /// - Throws: `LateCapture` if no frame is captured within `window`; a `Problem`, and other errors of the camera and
  ///   of drawing.
  package func take(
    _ views: [ServedPreview], _ wanted: SnapshotRequest, within window: CaptureWindow? = nil
  ) async throws -> Snapshot {
    var request = wanted
    request.isCropped = views.contains(where: \.served.view.isCropped)
    return try await provider.inTurn(request, of: views[0]) { [request] in
      let moment = try await self.moment(of: views[0], request, within: window)
      try check(views)
      let pictures = try await moment.draw(views.map(\.preview))
      try check(views)
      return Snapshot(
        camera: views[0].camera, sequence: moment.sequence, timestamp: moment.timestamp, time: moment.time,
        sourceState: moment.sourceState, replay: moment.replay,
        pictures: zip(views, pictures).map { $1.named($0.name) })
    }
  }
}
