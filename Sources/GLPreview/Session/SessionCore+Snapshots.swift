// Takes snapshots: one frame, and all wanted pictures of it.
internal import PreviewCore

extension SessionCore {
  /// Pictures of one frame.
  func snapshot(_ request: SnapshotRequest) async throws -> Snapshot {
    guard !isClosed else { throw SnapshotError("the session is closed") }
    let wanted = try wantedPreviews(request)
    guard let source = try source(of: wanted) else { return try await sceneSnapshot(wanted, request) }
    let views = wanted.filter { $0.sourceName != nil }
    var request = request
    request.isCropped = request.isCropped || views.contains { $0.configuration.view?.crop != nil }
    let moment = try await moment(of: source, request)
    var drawn = try await moment.draw(views, as: request.format)[...]
    var pictures: [RenderedPicture] = []
    for preview in wanted {
      if preview.sourceName != nil {
        guard let picture = drawn.popFirst() else { continue }
        pictures.append(picture)
      } else if let scene = scene(of: preview) {
        pictures.append(try await scene.snapshot(of: preview, request.format, within: request.timeout))
      }
    }
    return Snapshot(
      camera: source, sequence: moment.sequence, timestamp: moment.timestamp, time: moment.time,
      sourceState: moment.sourceState, pictures: pictures)
  }

  /// The wanted previews, in the wanted order.
  private func wantedPreviews(_ request: SnapshotRequest) throws -> [Preview] {
    let previews = previews
    guard let names = request.previews else {
      guard let first = previews.first else { throw SnapshotError("the session has no previews") }
      // All of one frame: the views of the first one's source, and the scenes.
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

  /// The common source of all wanted views; nil if only scenes are wanted.
  private func source(of previews: [Preview]) throws -> String? {
    let sources = Set(previews.compactMap(\.sourceName))
    guard sources.count <= 1 else {
      throw SnapshotError("the views are of several sources: \(sources.sorted().joined(separator: ", "))")
    }
    return sources.first
  }

  private func sceneSnapshot(_ wanted: [Preview], _ request: SnapshotRequest) async throws -> Snapshot {
    if case .still = request.mode { throw SnapshotError("a scene has no still: its sources have") }
    var pictures: [RenderedPicture] = []
    for preview in wanted {
      pictures.append(try await drawScene(preview, as: request.format, within: request.timeout))
    }
    guard let first = pictures.first else { throw SnapshotError("the session is closed") }
    return Snapshot(
      camera: first.name, sequence: first.sequence, timestamp: first.timestamp, pictures: pictures)
  }

  /// Draws a scene as it is now.
  func drawScene(_ preview: Preview, as format: PictureFormat, within limit: Duration) async throws
    -> RenderedPicture
  {
    guard let scene = scene(of: preview) else {
      throw SnapshotError("preview '\(preview.name)' is no scene of this session")
    }
    let drawn = try await withDeadline(limit) {
      try await scene.snapshot(of: preview, format, within: limit)
    }
    guard let picture = drawn else { throw SourceError.late(preview.name, limit) }
    return picture
  }
}
