// The work of `glpreview render --scene`: a session of all sources, one picture of it or many, to where pictures go.
import GLPreview

/// One run.
struct SceneJob {
  let sources: [SessionSource]
  /// What the sources are read from.
  let paths: [String]
  /// Files of pictures that stand in for sources, by name.
  let avatars: [String: String]
  /// Sources that are not opened.
  let off: Set<String>
  let scene: Scene
  /// In the place of a view's.
  let name: String
  let output: RenderOutput
  /// Of videos.
  let subsampling: ChromaSubsampling
  /// Nil where pictures are not encoded.
  let encoder: PictureEncoder?
  let schedule: FrameSchedule
  let gpu: GPUChoice
  let maximumPixels: Int
  /// How long a source may take to show something.
  let timeout: Duration
  let reportsPictures: Bool
  let isQuiet: Bool

  /// Sources are held open while a picture is written.
  private static let linger = Duration.seconds(60)

  /// Opens what is needed and renders all pictures that are due.
  func run() async throws {
    let session = try PreviewSession(
      try await sourcesWithAvatars(),
      options: SessionOptions(gpu: gpu, linger: Self.linger, maximumPixels: maximumPixels))
    do {
      try await run(session)
    } catch {
      await session.close()
      throw error
    }
    await session.close()
  }

  private func sourcesWithAvatars() async throws -> [SessionSource] {
    var images: [String: StillImage] = [:]
    for (name, file) in avatars {
      let source = try await SourceLocator(file).open(SourceOptions(maximumPixels: maximumPixels))
      let frame = try await source.nextFrame()
      await source.close()
      guard let frame else { throw SourceError(.badData, path: file, reason: "has no picture") }
      images[name] = StillImage(frame)
    }
    return sources.map { source in
      var source = source
      if let image = images[source.name] { source.fallback = Fallback(avatar: image) }
      return source
    }
  }

  private func run(_ session: PreviewSession) async throws {
    for name in off { await session.setSource(name, isOn: false) }
    let preview = try session.addScene(scene, name: name)
    let states = SceneStates(session, sources.filter { !off.contains($0.name) }, isQuiet: isQuiet)
    if schedule.limit == 1, schedule.warmup == .none {
      try await deliver(snapshot(of: session, states), delivery(session))
    } else {
      try await watch(preview, of: session, states)
    }
  }

  private func delivery(_ session: PreviewSession) async throws -> PictureDelivery {
    PictureDelivery(
      views: [name], output: output, encoder: encoder, reportsPictures: reportsPictures,
      rendererName: try await session.device.name, origin: .scene(paths), schedule: schedule)
  }

  /// How pictures are handed over.
  private var format: PictureFormat { output.pictureFormat(encoder, subsampling) }

  private func pictures(of preview: Preview) -> PreviewFrames {
    if case .ycbcr(let subsampling) = format {
      preview.jpegs(subsampling: subsampling)
    } else {
      preview.pictures
    }
  }

  // MARK: One picture

  /// The scene as it is once all sources have shown something, or turned out to be lost.
  private func snapshot(of session: PreviewSession, _ states: SceneStates) async throws -> Snapshot {
    // A slow source is shown as that, which is no error of the scene: its own time ends before this one.
    let request = SnapshotRequest(of: [name], as: format, timeout: timeout + .seconds(60))
    let snapshot: Snapshot
    do {
      snapshot = try await session.snapshot(request)
    } catch {
      try await states.check(isStrict: true)
      throw error
    }
    try await states.check(isStrict: schedule.limit == 1)
    if scene.showsText, !isQuiet, let failure = PangoTextRenderer.shared.failure {
      StandardError.print("glpreview: labels are left out: \(failure)")
    }
    return snapshot
  }

  private func deliver(_ snapshot: Snapshot, _ delivery: PictureDelivery) async throws {
    for picture in snapshot.pictures {
      try await delivery.deliver(RenderedFrame(picture.picture, at: snapshot.timestamp, 0))
    }
  }

  // MARK: A running scene

  private func watch(_ preview: Preview, of session: PreviewSession, _ states: SceneStates) async throws {
    // As long as this one reads, the sources are followed: no picture shows what is only about to open.
    var watching = pictures(of: preview).makeAsyncIterator()
    defer { withExtendedLifetime(watching) {} }
    _ = try await watching.next()
    _ = try await snapshot(of: session, states)
    try await warmUp(&watching)
    let delivery = try await delivery(session)
    if schedule.limit == 1 {
      try await deliver(snapshot(of: session, states), delivery)
    } else {
      try await deliver(preview, of: session, delivery)
      try await states.check(isStrict: false)
    }
  }

  /// Looks on while cameras find their exposure.
  private func warmUp(_ watching: inout PreviewFrames.Iterator) async throws {
    let start = CaptureClock.now
    var count = 0
    func isWarm() -> Bool {
      switch schedule.warmup {
      case .frames(let frames): count >= frames
      case .time(let time): CaptureClock.now - start >= time
      }
    }
    while !isWarm(), try await watching.next() != nil { count += 1 }
  }

  /// Picture after picture, as the scene changes, until there are enough or no source shows anything new.
  private func deliver(
    _ preview: Preview, of session: PreviewSession, _ delivery: PictureDelivery
  ) async throws {
    preview.updateEvery = schedule.interval ?? .zero
    var progress = Progress(isQuiet: isQuiet, expectsManyFrames: true)
    var end: Task<Void, any Error>?
    defer { end?.cancel() }
    var count = 0
    for try await frame in pictures(of: preview) {
      if count == 0, let duration = schedule.duration {
        end = Task {
          try await Task.sleep(for: duration)
          session.remove(preview)
        }
      }
      try await delivery.deliver(RenderedFrame(frame.picture, at: frame.timestamp, count))
      progress.frameDone(of: schedule.limit)
      count += 1
      if count == schedule.limit { break }
    }
    progress.end(of: schedule.limit)
  }
}

/// How a scene's sources are, for who has to be told.
private actor SceneStates {
  private let session: PreviewSession
  /// Those that are on.
  private let sources: [SessionSource]
  private let isQuiet: Bool
  private var told: Set<String> = []

  init(_ session: PreviewSession, _ sources: [SessionSource], isQuiet: Bool) {
    self.session = session
    self.sources = sources
    self.isQuiet = isQuiet
  }

  /// A source that is lost is shown as that, and told of; where all are, that is an error. `isStrict` says whether it is
  /// one for a file too, which won't come back, and for what makes no sense.
  func check(isStrict: Bool) async throws {
    var faults: [(source: SessionSource, error: any Error)] = []
    for source in sources {
      if let error = await fault(of: source.name) { faults.append((source, error)) }
    }
    guard let first = faults.first else { return }
    if faults.count == sources.count { throw first.error }
    for (source, error) in faults {
      let isHopeless = !source.isLive || (error as? SourceError)?.kind == .badRequest
      if isStrict, isHopeless { throw error }
      guard !isQuiet, told.insert(source.name).inserted else { continue }
      StandardError.print("glpreview: \("\(error)".onOneLine) (shown as lost)")
    }
  }

  private func fault(of name: String) async -> (any Error)? {
    if let failure = await session.failure(of: name) { return failure }
    guard let status = await session.status(of: name), [.opening, .lost].contains(status.state) else {
      return nil
    }
    return SourceError(.unavailable, path: name, reason: status.reason ?? "gave no picture")
  }
}

extension Scene {
  fileprivate var showsText: Bool { !labels.isEmpty || tiles.contains { $0.label != nil } }
}
