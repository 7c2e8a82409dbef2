// The job of `glpreview render --scene`: runs a session with all sources and delivers one or more pictures.
import GLPreview

struct SceneJob {
  let sources: [SessionSource]
  /// The sources as given on the command line, which the output must not overwrite.
  let paths: [String]
  /// Files of fallback pictures, by source name.
  let avatars: [String: String]
  /// Sources that are not opened.
  let off: Set<String>
  let scene: Scene
  /// The name that is used in place of a view's name.
  let name: String
  let settings: RenderSettings
  let gpu: GPUDevice.Choice
  /// The time limit for a source to deliver a frame.
  let timeout: Duration

  /// How long sources stay open while a picture is written.
  private static let linger = Duration.seconds(60)

  /// Opens everything and renders all due pictures.
  func run() async throws {
    for (path, source) in zip(paths, sources) {
      settings.warn(ofCertificateOf: path, source.options)
    }
    let session = try PreviewSession(
      try await sourcesWithAvatars(),
      options: PreviewSession.Options(gpu: gpu, linger: Self.linger, maximumPixels: settings.maximumPixels))
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
      let source = try await SourceLocator(file).open(SourceOptions(maximumPixels: settings.maximumPixels))
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
    for name in off { await session[name]?.setEnabled(false) }
    let preview = try session.addScene(scene, name: name)
    let states = SceneStates(session, sources.filter { !off.contains($0.name) }, isQuiet: settings.isQuiet)
    if settings.schedule.limit == 1, settings.schedule.warmup == .none {
      try await deliver(snapshot(of: session, states), from: session, delivery)
    } else {
      try await watch(preview, of: session, states)
    }
  }

  private var delivery: PictureDelivery { PictureDelivery(settings, of: nil, at: paths) }

  /// Encodes and delivers a picture of the scene.
  private func deliver(
    _ picture: Picture, number: Int, at time: CaptureInstant, from session: PreviewSession,
    _ delivery: PictureDelivery
  ) async throws {
    do {
      var picture = try PipelinePicture(
        picture, of: name, frame: number, at: time, encoder: settings.encoder,
        capturedAt: settings.encoding.exif ? WallTime(capturedAt: time) : nil)
      picture.renderer = try await session.device.name
      try await delivery.deliver(picture)
    } catch {
      throw settings.output.naming(error)
    }
  }

  private func pictures(of preview: ScenePreview) -> PreviewPictures {
    PreviewPictures(preview.preview, as: settings.pictureFormat)
  }

  // MARK: One picture

  /// Returns the scene once each source has delivered a frame or is lost.
  private func snapshot(of session: PreviewSession, _ states: SceneStates) async throws -> Snapshot {
    // A slow source shows its fallback, which is not an error of the scene: its timeout ends before this one.
    let request = SnapshotRequest(of: [name], as: settings.pictureFormat, timeout: timeout + .seconds(60))
    let snapshot: Snapshot
    do {
      snapshot = try await session.snapshot(request)
    } catch {
      try await states.check(isStrict: true)
      throw error
    }
    try await states.check(isStrict: settings.schedule.limit == 1)
    settings.warn(ofTextIn: scene)
    return snapshot
  }

  private func deliver(
    _ snapshot: Snapshot, from session: PreviewSession, _ delivery: PictureDelivery
  ) async throws {
    for picture in snapshot.pictures {
      try await deliver(picture.picture, number: 0, at: snapshot.timestamp, from: session, delivery)
    }
  }

  // MARK: A running scene

  private func watch(_ preview: ScenePreview, of session: PreviewSession, _ states: SceneStates) async throws
  {
    // While this iterator is in use, the sources stay active, so that no picture shows a source that is still
    // opening.
    var watching = pictures(of: preview).makeAsyncIterator()
    defer { withExtendedLifetime(watching) {} }
    _ = try await watching.next()
    _ = try await snapshot(of: session, states)
    try await warmUp(&watching)
    let delivery = delivery
    if settings.schedule.limit == 1 {
      try await deliver(snapshot(of: session, states), from: session, delivery)
    } else {
      try await delivery.finishing { try await deliver(preview, of: session, delivery) }
      try await states.check(isStrict: false)
    }
  }

  /// Skips pictures while cameras adjust their exposure.
  private func warmUp(_ watching: inout PreviewPictures.Iterator) async throws {
    let start = CaptureClock.now
    var count = 0
    func isWarm() -> Bool {
      switch settings.schedule.warmup {
      case .frames(let frames): count >= frames
      case .time(let time): CaptureClock.now - start >= time
      }
    }
    while !isWarm(), try await watching.next() != nil { count += 1 }
  }

  /// Delivers pictures as the scene changes, until there are enough or the sources end.
  private func deliver(
    _ preview: ScenePreview, of session: PreviewSession, _ delivery: PictureDelivery
  ) async throws {
    let schedule = settings.schedule
    preview.updateEvery = schedule.interval ?? .zero
    var progress = Progress(isQuiet: settings.isQuiet, expectsManyFrames: true)
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
      try await deliver(frame.picture, number: count, at: frame.timestamp, from: session, delivery)
      progress.frameDone(of: schedule.limit)
      count += 1
      if count == schedule.limit { break }
    }
    progress.end(of: schedule.limit)
  }
}

/// The state of a scene's sources, for messages and errors.
private actor SceneStates {
  private let session: PreviewSession
  private let sources: [SessionSource]
  private let isQuiet: Bool
  private var reported: Set<String> = []

  init(_ session: PreviewSession, _ sources: [SessionSource], isQuiet: Bool) {
    self.session = session
    self.sources = sources
    self.isQuiet = isQuiet
  }

  /// Reports lost sources, which show a fallback; throws if all are lost. If `isStrict` is true, also throws
  /// for a lost file, which can't recover, and for invalid values.
  func check(isStrict: Bool) async throws {
    var faults: [(source: SessionSource, error: any Error)] = []
    for source in sources {
      if let error = await fault(of: source.name) { faults.append((source, error)) }
    }
    guard let first = faults.first else { return }
    if faults.count == sources.count { throw first.error }
    for (source, error) in faults {
      let isPermanent = !source.isLive || (error as? SourceError)?.kind == .badRequest
      if isStrict, isPermanent { throw error }
      guard !isQuiet, reported.insert(source.name).inserted else { continue }
      StandardError.print("glpreview: \("\(error)".onOneLine) (shown as lost)")
    }
  }

  private func fault(of name: String) async -> (any Error)? {
    if let failure = await session[name]?.failure { return failure }
    guard let status = await session[name]?.status, [.opening, .lost].contains(status.state) else {
      return nil
    }
    return SourceError(.unavailable, path: name, reason: status.reason ?? "delivered no picture")
  }
}
