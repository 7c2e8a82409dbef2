// A scene at work: it follows its sources while somebody looks, and is drawn when something in it has changed.
internal import PreviewCore
internal import Synchronization

/// Serves those who want pictures of one scene.
actor SceneFeed: PictureProducer {
  private nonisolated let drawing: SessionDrawing
  private nonisolated let feeds: @Sendable (String) -> SourceFeed?
  private nonisolated let readers = Mutex(0)
  /// Weak: the preview holds its producer.
  private weak var preview: Preview?

  private var wants: [Int: Want] = [:]
  private var nextID = 0
  private var followed: [String: Follower] = [:]
  /// Counts what has changed in any source.
  private var changes = 0
  private var renders = 0
  /// What `changes` was when the scene was last drawn.
  private var drawnChanges = -1
  /// What the key of that picture was.
  private var drawnKey: PictureKey?
  private var drawnAt: Duration?
  private var drawingTask: Task<Void, Never>?
  private var isClosed = false
  /// Snapshots that are being taken.
  private var snapshots = 0

  /// A scene of sources that are not in step is drawn at most so often, unless its preview says otherwise.
  private static let shortestInterval = Duration.seconds(1) / 30
  /// A time in a label goes on while no source does.
  private static let longestInterval = Duration.seconds(1)

  private struct Want {
    let format: PictureFormat
    let key: PictureKey?
    let continuation: CheckedContinuation<RenderedPreview?, any Error>
  }

  /// One source, as it was last seen.
  private struct Follower {
    let feed: SourceFeed
    let task: Task<Void, Never>
    let history: FrameHistory
    var event: FeedEvent?
    var failure: FallbackState?
    var isOver = false
  }

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
    _ preview: Preview, _ format: PictureFormat, after key: PictureKey?
  ) async throws -> RenderedPreview? {
    nextID += 1
    let id = nextID
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        guard !Task.isCancelled else { return continuation.resume(throwing: CancellationError()) }
        guard !isClosed, !preview.current.isRemoved else { return continuation.resume(returning: nil) }
        self.preview = preview
        // Who comes later sees what is there, though nothing may change any more.
        if changes == drawnChanges, drawnKey != key, let newest = preview.newest(format),
          newest.key == drawnKey
        {
          return continuation.resume(returning: newest)
        }
        wants[id] = Want(format: format, key: key, continuation: continuation)
        follow(preview)
        wake()
      }
    } onCancel: {
      Task { await self.cancel(id) }
    }
  }

  private func cancel(_ id: Int) {
    wants.removeValue(forKey: id)?.continuation.resume(throwing: CancellationError())
    rest()
  }

  // MARK: Following the sources

  /// Follows the sources that the scene has now, and no others.
  private func follow(_ preview: Preview) {
    guard let scene = preview.configuration.scene else { return }
    let names = scene.sourceNames
    for name in followed.keys where !names.contains(name) { leave(name) }
    let sizes = scene.tileSizes
    for name in names {
      if let follower = followed[name] {
        follower.feed.sceneCame(self, size: sizes[name])
        follower.history.keep(for: scene.longestDelay(of: name))
        continue
      }
      guard let feed = feeds(name) else { continue }
      feed.sceneCame(self, size: sizes[name])
      let history = FrameHistory()
      history.keep(for: scene.longestDelay(of: name))
      let task = Task { [weak self] in
        var key: FeedKey?
        do {
          while let event = try await feed.event(after: key) {
            key = event.key
            guard await self?.saw(event, of: name) == true, !event.isLast else { break }
          }
        } catch {
          if !(error is CancellationError) { await self?.lost(name, "\(error)") }
        }
        await self?.over(name)
      }
      followed[name] = Follower(feed: feed, task: task, history: history)
    }
  }

  private func leave(_ name: String) {
    guard let follower = followed.removeValue(forKey: name) else { return }
    follower.task.cancel()
    follower.feed.sceneWent(self)
  }

  /// Nobody looks: the sources may close.
  private func rest() {
    guard isClosed || wants.isEmpty && snapshots == 0 && readers.withLock({ $0 }) <= 0 else { return }
    for name in followed.keys { leave(name) }
    drawnChanges = -1
  }

  private func saw(_ event: FeedEvent, of name: String) -> Bool {
    guard followed[name] != nil else { return false }
    followed[name]?.event = event
    followed[name]?.failure = nil
    if let frame = event.frame, event.fallback == nil { followed[name]?.history.add(frame) }
    changes += 1
    wake()
    return true
  }

  private func lost(_ name: String, _ reason: String) {
    followed[name]?.failure = FallbackState(
      .lost, text: reason, since: CaptureClock.timeSince1970(CaptureClock.now) / .seconds(1))
    changes += 1
    wake()
  }

  private func over(_ name: String) {
    followed[name]?.isOver = true
    wake()
  }

  private func sceneChanged() {
    guard let preview else { return }
    if !wants.isEmpty { follow(preview) }
    // How often it is drawn is another thing than what is seen.
    let (_, version, isRemoved) = preview.current
    if isRemoved || version != drawnKey?.version { changes += 1 }
    wake()
  }

  // MARK: Drawing

  /// Draws when it is time to, where somebody wants that.
  private func wake() {
    guard drawingTask == nil, !wants.isEmpty, !isClosed else { return }
    drawingTask = Task {
      await self.drawWhenDue()
      self.drawingTask = nil
      if self.isWorthDrawing { self.wake() }
    }
  }

  private var isWorthDrawing: Bool { !wants.isEmpty && !isClosed && (changes != drawnChanges || isOver) }

  /// Whether no source will show anything else.
  private var isOver: Bool { !followed.isEmpty && followed.values.allSatisfy(\.isOver) }

  private func drawWhenDue() async {
    if changes == drawnChanges, !isOver {
      // Nothing has changed but the time.
      guard preview?.configuration.scene?.showsTime == true else { return }
      try? await Task.sleep(for: Self.longestInterval)
      changes += changes == drawnChanges ? 1 : 0
    }
    if let drawnAt {
      let wait = drawnAt + Self.shortestInterval - CaptureClock.now
      if wait > .zero { try? await Task.sleep(for: wait) }
    }
    guard let preview, !preview.current.isRemoved, !isClosed else { return end() }
    if changes == drawnChanges, isOver { return end() }
    let version = preview.current.version
    renders += 1
    drawnChanges = changes
    drawnAt = CaptureClock.now
    let key = PictureKey(sequence: renders, version: version, fallback: 0)
    drawnKey = key
    for (format, wants) in takeWants() {
      let result: Result<RenderedPreview?, any Error>
      do {
        let rendered = RenderedPreview(frame: try await frame(of: preview, format, renders), key: key)
        preview.keep(rendered, as: format)
        result = .success(rendered)
      } catch {
        result = .failure(error)
      }
      for want in wants { want.continuation.resume(with: result) }
    }
  }

  private func takeWants() -> [PictureFormat: [Want]] {
    defer { wants = [:] }
    return Dictionary(grouping: wants.values, by: \.format)
  }

  private func end() {
    for want in takeWants().values.joined() { want.continuation.resume(returning: nil) }
    rest()
  }

  /// The scene as it is now.
  private func frame(of preview: Preview, _ format: PictureFormat, _ sequence: Int) async throws
    -> PreviewFrame
  {
    guard let scene = preview.configuration.scene else { throw CancellationError() }
    let events = followed.mapValues { ($0.event, $0.failure) }
    let histories = followed.mapValues(\.history)
    let newest = events.values.compactMap { $0.0?.frame?.timestamp }.max() ?? CaptureClock.now
    return PreviewFrame(
      preview: preview.name, sequence: sequence, timestamp: newest,
      picture: try await picture(scene, named: preview.name, format, events, histories))
  }

  private func picture(
    _ scene: Scene, named name: String, _ format: PictureFormat,
    _ events: [String: (event: FeedEvent?, failure: FallbackState?)], _ histories: [String: FrameHistory]
  ) async throws -> Picture {
    var appearances: [String: SourceAppearance] = [:]
    for source in scene.sourceNames {
      guard let feed = feeds(source) else { continue }
      let (event, failure) = events[source] ?? (nil, nil)
      appearances[source] = SourceAppearance(
        hasFrame: event?.frame != nil, fallback: failure ?? event?.fallback, pictures: feed.source.fallback,
        capturedAt: (event?.frame?.timestamp).map { CaptureClock.timeSince1970($0) / .seconds(1) })
    }
    let now = CaptureClock.now
    let composed = try drawing.compose(
      scene, appearances,
      at: .now())
    return try await drawing.draw(composed, as: format, named: name) { reference in
      switch reference {
      case .image(let image): image.frame
      case .source(let name, let delay):
        delay > .zero
          ? histories[name]?.frame(at: now - delay) ?? events[name]?.event?.frame : events[name]?.event?.frame
      }
    }
  }

  // MARK: Snapshots

  /// The scene as it is now; sources that nobody was looking at are given a moment to show something.
  func snapshot(of preview: Preview, _ format: PictureFormat) async throws -> PreviewFrame {
    snapshots += 1
    defer {
      snapshots -= 1
      rest()
    }
    follow(preview)
    let start = CaptureClock.now
    while !isSettled, CaptureClock.now < start + patience { try await Task.sleep(for: .milliseconds(5)) }
    renders += 1
    return try await frame(of: preview, format, renders)
  }

  /// Whether every source has shown something.
  private var isSettled: Bool {
    followed.values.allSatisfy { $0.event != nil || $0.failure != nil || $0.isOver }
  }

  /// How long a snapshot waits for sources that were not open: longer where one was given longer to open.
  private var patience: Duration {
    followed.values.map(\.feed.source.opensWithin).reduce(.seconds(2)) { max($0, $1) }
  }

  // MARK: The end

  func close() async {
    isClosed = true
    end()
    await drawingTask?.value
  }
}
