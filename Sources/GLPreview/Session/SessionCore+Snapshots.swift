// How a snapshot is taken: one frame, and all that is wanted of it.
internal import PreviewCore

extension SessionCore {
  /// Pictures of one frame.
  func snapshot(_ request: SnapshotRequest) async throws -> Snapshot {
    guard !isClosed else { throw SnapshotError("the session is closed") }
    let wanted = try wantedPreviews(request)
    guard let source = try source(of: wanted) else { return try await sceneSnapshot(wanted, request) }
    guard let feed = feed(source) else { throw SnapshotError("there is no source '\(source)'") }
    let event = try await withTimeout(request.timeout, source) { () -> FeedEvent in
      guard let event = try await self.event(of: feed, request) else {
        guard !self.isClosed else { throw SnapshotError("the session is closed") }
        throw SourceError(.unavailable, path: source, reason: "gives no more frames")
      }
      return event
    }
    if let fallback = event.fallback {
      guard request.fallback == .placeholder else {
        let reason = fallback.text.isEmpty ? "is \(fallback.reason.rawValue)" : fallback.text
        throw SourceError(.unavailable, path: source, reason: reason)
      }
      return try await placeholder(wanted, event, fallback, feed, request)
    }
    guard let frame = event.frame else { throw SnapshotError("source '\(source)' has no frame") }
    return try await snapshot(wanted, frame, feed, request)
  }

  /// In the wanted order.
  private func wantedPreviews(_ request: SnapshotRequest) throws -> [Preview] {
    let previews = previews
    guard let names = request.previews else {
      guard let first = previews.first else { throw SnapshotError("the session has no previews") }
      // All of one frame: those of the first one's source, and what scenes make of it.
      return previews.filter { $0.sourceName == nil || $0.sourceName == first.sourceName }
    }
    guard !names.isEmpty else { throw SnapshotError("no preview is wanted") }
    return try names.map { name in
      guard let preview = previews.first(where: { $0.name == name }) else {
        let names = previews.map(\.name).joined(separator: ", ")
        throw SnapshotError("there is no preview '\(name)' (there are: \(names))")
      }
      return preview
    }
  }

  /// The one source of all wanted views; nil where only scenes are wanted.
  private func source(of previews: [Preview]) throws -> String? {
    let sources = Set(previews.compactMap(\.sourceName))
    guard sources.count <= 1 else {
      throw SnapshotError("the views are of several sources: \(sources.sorted().joined(separator: ", "))")
    }
    return sources.first
  }

  private func event(of feed: SourceFeed, _ request: SnapshotRequest) async throws -> FeedEvent? {
    switch request.mode {
    case .newest(let maximumAge): try await feed.frame(capturedAt: CaptureClock.now - maximumAge)
    case .next: try await feed.frame(capturedAt: CaptureClock.now)
    case .still(let settling): try await feed.still(settling: settling, within: request.timeout)
    }
  }

  // MARK: Pictures

  private func snapshot(
    _ wanted: [Preview], _ frame: Frame, _ feed: SourceFeed, _ request: SnapshotRequest
  ) async throws -> Snapshot {
    var pictures: [ObjectIdentifier: Picture] = [:]
    var missing: [(preview: Preview, view: ViewConfiguration)] = []
    for preview in wanted {
      guard preview.sourceName != nil else { continue }
      let view = try preview.view(of: preview.configuration)
      // What was drawn of this frame already is what is wanted.
      if let newest = preview.newest(request.format), newest.key.sequence == frame.sequence,
        newest.frame.timestamp == frame.timestamp, newest.frame.fallback == nil
      {
        pictures[ObjectIdentifier(preview)] = newest.frame.picture
      } else {
        missing.append((preview, view))
      }
    }
    if !missing.isEmpty {
      let drawn = try await feed.drawing.draw(missing.map(\.view), frame, as: request.format)
      for (one, picture) in zip(missing, drawn) { pictures[ObjectIdentifier(one.preview)] = picture }
    }
    for preview in wanted {
      guard let scene = scene(of: preview) else { continue }
      pictures[ObjectIdentifier(preview)] = try await scene.snapshot(of: preview, request.format).picture
    }
    return Snapshot(
      camera: feed.source.name, sequence: frame.sequence, timestamp: frame.timestamp,
      pictures: wanted.compactMap { preview in
        pictures[ObjectIdentifier(preview)].map {
          SnapshotPicture(name: preview.name, picture: $0, iccProfile: frame.iccProfile)
        }
      })
  }

  private func placeholder(
    _ wanted: [Preview], _ event: FeedEvent, _ fallback: FallbackState, _ feed: SourceFeed,
    _ request: SnapshotRequest
  ) async throws -> Snapshot {
    var pictures: [SnapshotPicture] = []
    for preview in wanted {
      if preview.sourceName != nil {
        let view = try preview.view(of: preview.configuration)
        let picture = try await feed.drawing.draw(
          view, request.format, event.frame, fallback, of: feed.source)
        pictures.append(SnapshotPicture(name: preview.name, picture: picture))
      } else if let scene = scene(of: preview) {
        let picture = try await scene.snapshot(of: preview, request.format).picture
        pictures.append(SnapshotPicture(name: preview.name, picture: picture))
      }
    }
    return Snapshot(
      camera: feed.source.name, sequence: max(event.key.sequence, 0), timestamp: CaptureClock.now,
      sourceState: fallback.reason.sourceState, pictures: pictures)
  }

  private func sceneSnapshot(_ wanted: [Preview], _ request: SnapshotRequest) async throws -> Snapshot {
    if case .still = request.mode { throw SnapshotError("a scene has no still: its sources have") }
    var frames: [PreviewFrame] = []
    for preview in wanted {
      guard let scene = scene(of: preview) else { continue }
      let name = preview.name
      frames.append(
        try await withTimeout(request.timeout, name) {
          try await scene.snapshot(of: preview, request.format)
        })
    }
    guard let first = frames.first else { throw SnapshotError("the session is closed") }
    return Snapshot(
      camera: first.preview, sequence: first.sequence, timestamp: first.timestamp,
      pictures: frames.map { SnapshotPicture(name: $0.preview, picture: $0.picture) })
  }
}
