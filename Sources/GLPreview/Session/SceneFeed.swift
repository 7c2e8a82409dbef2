// A running scene: it follows its sources while it is read, and is drawn when something in it has changed.
internal import Synchronization

/// Serves requests for pictures of one scene.
actor SceneFeed: PictureProducer {
  nonisolated var eagerReaders: EagerReaders? { nil }
  nonisolated var endedConnections: EndedConnections? { nil }
  private nonisolated let drawing: SessionDrawing
  nonisolated let feeds: @Sendable (String) -> SourceFeed?
  nonisolated let readers = Mutex(0)
  /// Weak, because the preview holds its producer.
  weak var preview: Preview?

  var requests: [Int: Request] = [:]
  private var nextID = 0
  var followed: [String: FollowedSource] = [:]
  var followings = 0
  /// Counts the changes of all sources.
  var changes = 0
  private var renders = 0
  /// The values of `changes` and `renders` when the scene was last drawn.
  var drawnChanges = -1
  private var drawnSequence = -1
  private var drawnVersion = -1
  private var drawnAt: CaptureInstant?
  private var drawingTask: Task<Void, Never>?
  private var clock: Task<Void, Never>?
  var isClosed = false
  var snapshots = 0

  /// The minimum time between pictures, because the sources are not synchronised. The preview may set a
  /// longer one.
  private static let shortestInterval = Duration.seconds(1) / 30
  /// The redraw interval of a label with the time while no source changes.
  private static let longestInterval = Duration.seconds(1)

  struct Request {
    let form: PictureForm
    let key: PictureKey?
    let answer = Promise<RenderedPicture>()

    /// Whether the requester has not seen the picture of that number and version.
    func isBehind(_ sequence: Int, _ version: Int) -> Bool {
      key.map { $0.sequence < sequence || $0.version != version } ?? true
    }
  }

  nonisolated var budget: MemoryBudget? { drawing.budget }

  init(on drawing: SessionDrawing, _ feeds: @escaping @Sendable (String) -> SourceFeed?) {
    self.drawing = drawing
    self.feeds = feeds
  }

  // MARK: Readers

  nonisolated func readerCame(_ preview: Preview) { readers.withLock { $0 += 1 } }

  nonisolated func readerWent(_ preview: Preview) {
    readers.withLock { $0 -= 1 }
    Task { await self.rest() }
  }

  nonisolated func changed(_ preview: Preview) { Task { await self.sceneChanged() } }

  func next(
    _ preview: Preview, _ form: PictureForm, after key: PictureKey?, passes: Bool
  ) async throws -> PreviewPicture? {
    try Task.checkCancellation()
    let current = preview.current
    guard !isClosed, !current.isRemoved else { return nil }
    guard current.configuration.isEnabled else { throw PreviewIsDisabled() }
    self.preview = preview
    let request = Request(form: form, key: key)
    nextID += 1
    let id = nextID
    requests[id] = request
    follow(preview)
    wake()
    // Only a cancelled request is still there.
    defer { if requests.removeValue(forKey: id) != nil { rest() } }
    return try await request.answer.value().map { .drawn($0) }
  }

  // MARK: Drawing

  private func sceneChanged() {
    guard let preview else { return }
    if !preview.isEnabled {
      for request in takeRequests().values.joined() { request.answer.fulfil(.failure(PreviewIsDisabled())) }
    }
    if isWanted { follow(preview) }
    // A change of the rate does not change the picture.
    let (_, version, isRemoved) = preview.current
    if isRemoved || version != drawnVersion { changes += 1 }
    wake()
  }

  /// Draws if a picture is wanted, when it is due.
  func wake() {
    guard drawingTask == nil, !requests.isEmpty, !isClosed else { return }
    drawingTask = Task {
      await self.drawWhenDue()
      self.drawingTask = nil
      if self.isWorthDrawing { self.wake() }
    }
  }

  private var isWorthDrawing: Bool {
    !requests.isEmpty && !isClosed && (changes != drawnChanges || isOver || hasOutdatedRequests)
  }

  /// Whether a request has not seen the last picture.
  private var hasOutdatedRequests: Bool {
    let version = preview?.current.version ?? 0
    return requests.values.contains { $0.isBehind(drawnSequence, version) }
  }

  /// Whether no source will change any more, and no time is shown.
  private var isOver: Bool { !followed.isEmpty && followed.values.allSatisfy(\.isOver) && !showsTime }

  private var showsTime: Bool { preview?.configuration.scene?.showsTime == true }

  private func drawWhenDue() async {
    guard isWorthDrawing else { return startClock() }
    if let drawnAt { try? await CaptureClock().sleep(until: drawnAt + Self.shortestInterval) }
    guard let preview, !preview.current.isRemoved, !isClosed else { return end() }
    let version = preview.current.version
    if changes != drawnChanges {
      renders += 1
      (drawnSequence, drawnChanges, drawnVersion) = (renders, changes, version)
      drawnAt = CaptureClock.now
    } else if isOver, !hasOutdatedRequests {
      return end()
    }
    let key = PictureKey(sequence: drawnSequence, version: version)
    for (format, requests) in takeRequests(where: { $0.isBehind(key.sequence, version) }) {
      let result = await rendered(preview, format, requests.map(\.form), key)
      for request in requests { request.answer.fulfil(result) }
    }
  }

  /// The existing picture of the current state, or a new one.
  private func rendered(
    _ preview: Preview, _ format: Picture.Format, _ forms: [PictureForm], _ key: PictureKey
  ) async -> Result<RenderedPicture?, any Error> {
    if let newest = preview.newest(format), newest.key == key,
      forms.allSatisfy({ $0.accepts(newest.picture) })
    {
      return .success(newest)
    }
    do {
      let form = PictureForm(format, coding: forms.sharedCoding)
      let rendered = try await frame(of: preview, form, key)
      preview.keep(rendered, as: format)
      return .success(rendered)
    } catch {
      return .failure(error)
    }
  }

  /// While nothing else changes, redraws a scene that shows the time.
  private func startClock() {
    guard clock == nil, showsTime else { return }
    clock = Task {
      try? await pause(Self.longestInterval)
      self.clock = nil
      self.changes += 1
      self.wake()
    }
  }

  private func takeRequests(where isTaken: (Request) -> Bool = { _ in true }) -> [Picture.Format: [Request]] {
    let taken = requests.filter { isTaken($0.value) }
    for id in taken.keys { requests[id] = nil }
    return Dictionary(grouping: taken.values, by: \.form.format)
  }

  private func end() {
    for request in takeRequests().values.joined() { request.answer.fulfil(.success(nil)) }
    rest()
  }

  /// Draws the scene as it is now.
  private func frame(of preview: Preview, _ form: PictureForm, _ key: PictureKey) async throws
    -> RenderedPicture
  {
    let scene = try preview.scene(of: preview.configuration)
    let events = followed.mapValues { ($0.event, $0.failure) }
    let histories = followed.mapValues(\.history)
    let newest = events.values.compactMap { $0.0?.frame?.timestamp }.max() ?? CaptureClock.now
    return RenderedPicture(
      name: preview.name, picture: try await picture(scene, of: preview, form, events, histories),
      key, timestamp: newest, onEncode: drawing.onEncode)
  }

  private func picture(
    _ scene: Scene, of preview: Preview, _ form: PictureForm,
    _ events: [String: (event: FeedEvent?, failure: Outage?)], _ histories: [String: FrameHistory]
  ) async throws -> Picture {
    var appearances: [String: SourceAppearance] = [:]
    let (cropped, warped) = (scene.croppedSources, scene.warpedViews)
    func outage(of frame: Frame, from source: String, _ plans: ViewPlans) -> Outage? {
      guard cropped.contains(source) else { return nil }
      return plans.misfit(frame.format)?.outage(since: frame.timestamp)
        ?? plans.refusal(of: warped[source] ?? [], in: frame)
    }
    for source in scene.sourceNames {
      guard let feed = feed(source) else { continue }
      let (event, failure) = events[source] ?? (nil, nil)
      // A frame in which crops can't be located, or that can't be warped, is not drawn.
      let misfit = event?.frame.flatMap { outage(of: $0, from: source, feed.drawing.plans) }
      appearances[source] = SourceAppearance(
        hasFrame: event?.frame != nil && misfit == nil, outage: failure ?? event?.outage ?? misfit,
        pictures: feed.source.fallback,
        capturedAt: (event?.frame?.timestamp).map { CaptureClock.timeSince1970($0) / .seconds(1) })
    }
    let now = CaptureClock.now
    let composed = try scene.composed(appearances, at: .now(), text: drawing.text)
    let frames = composed.inputs.map { reference -> Frame? in
      switch reference {
      case .image(let image): return image.frame
      case .source(let name, let delay):
        let newest = events[name]?.event?.frame
        guard delay > .zero, let old = histories[name]?.frame(at: now - delay) else { return newest }
        let isMisfit = feed(name).map { outage(of: old, from: name, $0.drawing.plans) != nil } ?? false
        return isMisfit ? newest : old
      }
    }
    let rescaled = try composed.mapViews { view, input throws(ParameterError) in
      guard case .source(let name, _) = composed.inputs[input], let frame = frames[input] else { return view }
      guard let feed = feed(name) else { throw ParameterError("crop", "source '\(name)' was removed") }
      return try feed.drawing.plans.rescaled(view, for: frame.format)
    }
    return try await drawing.draw(
      rescaled, frames, as: form, named: preview.name, counting: preview.gpuTime)
  }

  /// A source's feed, also after the source was removed, as long as its frames are drawn.
  private func feed(_ source: String) -> SourceFeed? { followed[source]?.feed ?? feeds(source) }

  // MARK: Snapshots

  /// Draws the scene as it is now. Sources that no one was reading get some time to show something, at most
  /// half of `limit`; the rest is for drawing.
  func snapshot(of preview: Preview, _ format: Picture.Format, within limit: Duration) async throws
    -> RenderedPicture
  {
    snapshots += 1
    defer {
      snapshots -= 1
      rest()
    }
    self.preview = preview
    follow(preview)
    let start = CaptureClock.now
    while !isSettled, !isClosed, CaptureClock.now < start + min(openingTimeout, limit / 2) {
      try await pause(.milliseconds(5))
    }
    guard !isClosed, !preview.current.isRemoved else {
      throw SessionError("the scene was removed from the session")
    }
    renders += 1
    return try await frame(of: preview, PictureForm(format), PictureKey(sequence: renders))
  }

  /// Whether every source has shown something.
  private var isSettled: Bool {
    followed.values.allSatisfy { $0.event != nil || $0.failure != nil || $0.isOver }
  }

  /// How long a snapshot waits for sources that were not open: 2 seconds, or the longest `opensWithin` above
  /// that.
  private var openingTimeout: Duration {
    followed.values.map(\.feed.source.opensWithin).reduce(.seconds(2)) { max($0, $1) }
  }

  // MARK: The end

  func close() async {
    isClosed = true
    clock?.cancel()
    drawingTask?.cancel()
    end()
    await drawingTask?.value
  }
}
