// Moves of a preview's view through its source's lens, and the time that decides which pose a picture has.

/// A preview that moves with another one, as long as it exists.
struct PreviewFollower: Sendable {
  weak var preview: Preview?
}

/// A move that has begun.
package struct BegunMove: Sendable {
  package let move: ViewMove
  /// Whether another move was under way, which ended with it.
  package let supersedes: Bool

  /// Whether the view is in its place at once.
  package var isJump: Bool { move.start == move.end }
}

extension Preview {
  /// Moves the view evenly, from where it is now. Another move that is under way ends. Without a duration, the
  /// view is there at once, in frames that were captured before, too. The picture stays that of one view:
  /// encoders, clips and recordings go on.
  ///
  /// - Throws: `ParameterError` with key `projection` if the view has none, with that of a number that is out of
  ///   bounds, or with `hfov` if the field of view that the view has without one is needed and unknown.
  package func move(to pose: LensPose, over duration: Duration) throws(ParameterError) -> BegunMove {
    let usual = usualField
    let begun = try state.update { state throws(ParameterError) -> BegunMove in
      guard let projection = state.configuration.view?.projection else {
        throw ParameterError("projection", "view '\(name)' has none: only views through a lens move")
      }
      try pose.check(as: projection.shape)
      // Under the lock: frames that were drawn before were captured before.
      let now = CaptureClock.now
      let supersedes = state.configuration.path.running(at: now) != nil
      var (from, to) = (state.configuration.path.pose(at: now) ?? projection.pose, pose)
      if from.hfov != to.hfov, duration > .zero {
        guard let first = from.hfov ?? usual, let last = to.hfov ?? usual else {
          throw ParameterError(
            "hfov", "the camera has sent no frame yet, so that its field of view is unknown")
        }
        (from.hfov, to.hfov) = (first, last)
      }
      let move = ViewMove(from: from, to: to, start: now, end: now + max(duration, .zero))
      state.place(at: pose, duration > .zero ? move : nil, now)
      return BegunMove(move: move, supersedes: supersedes)
    }
    producer.changed(self)
    if !begun.isJump { step(through: begun.move) }
    lead()
    return begun
  }

  /// Ends a move where the view is now.
  ///
  /// - Returns: a move that ends as it starts.
  /// - Throws: `ParameterError` with key `projection` if the view has none.
  package func stopMove() throws(ParameterError) -> BegunMove {
    let stopped = try state.update { state throws(ParameterError) -> BegunMove in
      guard let projection = state.configuration.view?.projection else {
        throw ParameterError("projection", "view '\(name)' has none: only views through a lens move")
      }
      let now = CaptureClock.now
      let isRunning = state.configuration.path.running(at: now) != nil
      let pose = state.configuration.path.pose(at: now) ?? projection.pose
      let move = ViewMove(from: pose, to: pose, start: now, end: now)
      if isRunning { state.place(at: pose, move, now) }
      return BegunMove(move: move, supersedes: isRunning)
    }
    guard stopped.supersedes else { return stopped }
    producer.changed(self)
    step(through: stopped.move)
    lead()
    return stopped
  }

  /// Puts the view where a move under way would end.
  package func endMoves() { update { $0.path = ViewPath() } }

  /// Lets the view have the pose and the moves of another preview's view from now on, if both have a projection of
  /// one shape.
  package func follow(_ leader: Preview) {
    guard configuration.view?.projection != nil else { return }
    leader.state.withLock { state in
      state.followers.removeAll { $0.preview == nil }
      state.followers.append(PreviewFollower(preview: self))
    }
    place(as: leader)
  }

  /// Lets those that follow show what this preview shows.
  func lead() {
    let followers = state.withLock { $0.followers.compactMap(\.preview) }
    for follower in followers { follower.place(as: self) }
  }

  private func place(as leader: Preview) {
    let (isChanged, move) = state.update { state -> (Bool, ViewMove?) in
      // Under the lock: of two changes, the later one is the last to be followed.
      let other = leader.configuration
      let before = state.configuration
      guard let projection = other.view?.projection, projection.shape == before.view?.projection?.shape
      else { return (false, nil) }
      state.configuration.view?.projection?.pose = projection.pose
      state.configuration.path = other.path
      guard state.configuration != before else { return (false, nil) }
      state.present = max(state.present, CaptureClock.now)
      let last = other.path.moves.last
      return (true, last == before.path.moves.last ? nil : last)
    }
    guard isChanged else { return }
    producer.changed(self)
    if let move { step(through: move) }
    lead()
  }

  /// Returns the move that is under way at `now`; nil if there is none.
  package func runningMove(at now: CaptureInstant) -> ViewMove? { configuration.path.running(at: now) }

  /// Whether no move is under way, but a picture that was requested at `time` may be from one.
  package func hasArrived(since time: CaptureInstant) -> Bool {
    guard let end = configuration.path.moves.last?.end, end <= CaptureClock.now else { return false }
    return time < end + Self.freshness
  }

  /// Returns how a move ended, when it has; nil if the preview was removed before.
  package func end(of move: ViewMove) async -> ViewMove.End? {
    let end = try? await state.first(until: move.end) { state -> ViewMove.End? in
      state.isRemoved ? .superseded : state.configuration.path.end(of: move)
    }
    return current.isRemoved ? nil : end ?? .arrived
  }

  /// The field of view in degrees that its view has without `hfov`; nil if that is unknown, or it has no
  /// projection or lens.
  package var usualField: Double? {
    guard let feed = producer as? SourceFeed, let view = configuration.view,
      let projection = view.projection, let lens = feed.drawing.plans.withLens(view).lens
    else { return nil }
    return projection.usualField(through: lens, crop: view.crop, in: feed.drawing.reference)
  }

  // MARK: Drawing

  /// A frame that is older than this, and still the newest, is drawn with the pose of the present: its source is
  /// slow, or gives nothing.
  static let freshness = Duration.seconds(1)

  /// Returns a view as this preview is posed at a time, if both have a projection: a view in another size, for
  /// example.
  package func posed(_ view: ViewConfiguration, at time: CaptureInstant) -> ViewConfiguration {
    guard view.projection != nil, let own = configuration.view(at: time)?.projection else { return view }
    var view = view
    view.projection?.pose = own.pose
    return view
  }

  /// The time whose pose the picture of an event has: that of the frame's capture. For a frame that is not replaced
  /// by a newer one, it is the present, as of the last step.
  func time(of event: FeedEvent) -> CaptureInstant {
    time(ofFrame: event.outage == nil && !event.isLast ? event.timestamp : nil)
  }

  /// The time whose pose the newest frame has that was captured at `captured`; nil for a source without newer
  /// frames.
  func time(ofFrame captured: CaptureInstant?) -> CaptureInstant {
    let present = state.withLock { $0.present }
    guard let captured, present - captured <= Self.freshness else { return present }
    return captured
  }

  /// The pose of the picture of the newest frame; nil without a projection.
  func pose(ofFrame captured: CaptureInstant?) -> LensPose? {
    let time = time(ofFrame: captured)
    return configuration.view(at: time)?.projection?.pose
  }

  /// Whether another picture of the same frame follows, because the view moves.
  var isMoving: Bool { state.withLock { $0.configuration.path.running(at: $0.present) != nil } }

  /// Has a source without new frames redrawn until the view is in its place.
  private func step(through move: ViewMove) {
    Task { [weak self] in
      while let preview = self, preview.steps(through: move) { try? await pause(ViewMove.step) }
    }
  }

  /// Makes a step, and returns whether others follow. The last one is when the newest frame is no longer fresh.
  private func steps(through move: ViewMove) -> Bool {
    let goesOn = state.withLock { state in
      state.present = max(state.present, CaptureClock.now)
      return !state.isRemoved && state.configuration.path.moves.last == move
        && state.present <= move.end + Self.freshness
    }
    (producer as? SourceFeed)?.moved(self)
    return goesOn
  }
}

extension Preview.State {
  /// Puts the view in its new place, by a move; nil places it at once, for all frames.
  fileprivate mutating func place(at pose: LensPose, _ move: ViewMove?, _ now: CaptureInstant) {
    var path = configuration.path
    configuration.view?.projection?.pose = pose
    if let move { path.append(move) } else { path = ViewPath() }
    configuration.path = path
    present = max(present, now)
  }
}
