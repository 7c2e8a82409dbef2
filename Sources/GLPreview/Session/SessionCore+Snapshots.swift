// Takes snapshots: one frame, and all wanted pictures of it.

extension SessionCore {
  /// Takes pictures of one frame.
  func snapshot(_ request: SnapshotRequest) async throws -> Snapshot {
    guard !isClosed else { throw SessionError("the session is closed") }
    let wanted = try wantedPreviews(request)
    let views = wanted.filter { $0.sourceName != nil }
    guard let first = views.first else { return try await sceneSnapshot(wanted, request) }
    let sources = Set(views.compactMap(\.sourceName))
    guard sources.count == 1 else {
      throw SessionError("the views are of several sources: \(sources.sorted().joined(separator: ", "))")
    }
    var request = request
    request.isCropped = request.isCropped || views.contains(where: \.configuration.isCropped)
    let moment = try await first.moment(request)
    var drawn = try await moment.draw(views, as: request.format)[...]
    var pictures: [RenderedPicture] = []
    for preview in wanted {
      if preview.sourceName != nil {
        guard let picture = drawn.popFirst() else { continue }
        pictures.append(picture)
      } else {
        pictures.append(try await preview.drawScene(as: request.format, within: request.timeout))
      }
    }
    return Snapshot(
      camera: moment.source, sequence: moment.sequence, timestamp: moment.timestamp, time: moment.time,
      sourceState: moment.sourceState, replay: moment.replay, pictures: pictures)
  }

  /// Takes pictures of several buffered frames, each once.
  func snapshots(_ request: SnapshotRequest, at times: [CaptureInstant]) async throws -> [Snapshot] {
    try await times.map { SnapshotRequest.Mode.at($0) }.forEachBuffered { mode in
      var request = request
      request.mode = mode
      return try await snapshot(request)
    }
  }

  /// The wanted previews, in the wanted order.
  private func wantedPreviews(_ request: SnapshotRequest) throws -> [Preview] {
    let previews = previews
    guard let names = request.previews else {
      guard let first = previews.first else { throw SessionError("the session has no previews") }
      // All previews that can show one frame: the views of the first preview's source, and the scenes.
      return previews.filter { $0.sourceName == nil || $0.sourceName == first.sourceName }
    }
    guard !names.isEmpty else { throw SessionError("no preview is named") }
    return try names.map { name in
      guard let preview = previews.first(where: { $0.name == name }) else {
        let names = previews.map(\.name).joined(separator: ", ")
        throw SessionError("no preview '\(name)' (known: \(names))")
      }
      return preview
    }
  }

  private func sceneSnapshot(_ wanted: [Preview], _ request: SnapshotRequest) async throws -> Snapshot {
    switch request.mode {
    case .still: throw SessionError("a scene has no stills: its sources have")
    case .at, .sharpest: throw SessionError("a scene has no replay buffer: its sources have")
    case .newest, .next: break
    }
    var pictures: [RenderedPicture] = []
    for preview in wanted {
      pictures.append(try await preview.drawScene(as: request.format, within: request.timeout))
    }
    guard let first = pictures.first else { throw SessionError("the session is closed") }
    return Snapshot(
      camera: first.name, sequence: first.sequence, timestamp: first.timestamp, pictures: pictures)
  }
}

extension Preview {
  /// Draws the scene as it is now. `limit` includes the time that its sources take to show something.
  ///
  /// - Throws: `SessionError` if it is not a scene, or was removed; `SourceError` after `limit`; `ParameterError`,
  ///   `DeviceError`, `RenderError`.
  package func drawScene(
    as format: Picture.Format = .ycbcr(.yuv420), within limit: Duration
  ) async throws -> RenderedPicture {
    guard let scene = sceneFeed else { throw SessionError("preview '\(name)' is not a scene") }
    let drawn = try await withDeadline(limit) {
      try await scene.snapshot(of: self, format, within: limit)
    }
    guard let picture = drawn else { throw SourceError.late(name, limit) }
    return picture
  }
}

extension [CaptureInstant] {
  /// `count` times at equal intervals, the first `duration` before `end`, the last one at `end`; a single one
  /// is the first.
  package init(before end: CaptureInstant, _ duration: Duration, count: Int) {
    let steps = Swift.max(count - 1, 1)
    self = (0..<Swift.max(count, 1)).map { end - duration * (steps - $0) / steps }
  }
}

extension [SnapshotRequest.Mode] {
  /// Calls `take` for each of these buffered frames, and returns each frame's snapshot once. Times for which
  /// nothing is buffered are left out.
  ///
  /// - Throws: the errors of `take`; `NotBuffered` if nothing is buffered for any of them.
  package func forEachBuffered(_ take: (SnapshotRequest.Mode) async throws -> Snapshot) async throws
    -> [Snapshot]
  {
    try await ForwardDecoding.$current.withValue(ForwardDecoding()) {
      var (snapshots, missing): ([Snapshot], NotBuffered?) = ([], nil)
      for mode in self {
        do {
          let snapshot = try await take(mode)
          if snapshot.sequence != snapshots.last?.sequence { snapshots.append(snapshot) }
        } catch let error as NotBuffered {
          missing = error
        }
      }
      if snapshots.isEmpty, let missing { throw missing }
      return snapshots
    }
  }
}
