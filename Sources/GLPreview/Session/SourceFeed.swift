// One source of a session at work: it is open while somebody looks, asked for a frame when somebody wants one, and each
// frame is drawn once for all who wait for it.
internal import PreviewCore
internal import Synchronization

/// Serves those who want pictures or frames of one source. Nobody who waits holds up another, or the source.
actor SourceFeed: PictureProducer {
  nonisolated let source: SessionSource
  nonisolated let counters: SessionCounters
  /// Who reads, apart from the actor's state: readers come and go without waiting.
  nonisolated let readers = Mutex<[ObjectIdentifier: FeedReader]>([:])
  nonisolated let drawing: ViewDrawing
  let linger: Duration

  private var wants: [Int: FeedWant] = [:]
  private var nextID = 0
  private var pump: Task<Void, Never>?
  private(set) var latest: Frame?
  /// What stands in for the source now.
  private(set) var fallback: FallbackState?
  /// What went wrong with it last; nil once a frame comes.
  private(set) var failure: (any Error)?
  private var fallbackCount = 0
  private(set) var isClosed = false
  private var isEnded = false

  // What the camera's side of the feed keeps (SourceFeed+Camera.swift).
  var opened: OpenSource?
  var isOn = true
  var isTakingStill = false
  var closing: Task<Void, Never>?
  var resizing: Task<Void, Never>?
  var openings = 0
  /// The number of the next frame, whichever connection it comes by.
  var nextSequence = 0

  init(
    _ source: SessionSource, _ drawing: ViewDrawing, linger: Duration, counting counters: SessionCounters
  ) {
    self.source = source
    self.drawing = drawing
    self.linger = linger
    self.counters = counters
  }

  // MARK: Those who want something

  func next(
    _ preview: Preview, _ format: PictureFormat, after key: PictureKey?
  ) async throws -> RenderedPreview? {
    let answer = try await answer(to: .picture(preview, format, after: key))
    if case .picture(let rendered) = answer { return rendered }
    return nil
  }

  /// What the source shows when it shows something else than at `key`; nil once it is closed, or has shown its last.
  func event(after key: FeedKey?) async throws -> FeedEvent? {
    let answer = try await answer(to: .event(after: key))
    if case .event(let event) = answer { return event }
    return nil
  }

  /// A frame captured at `time` or later, what is there already first of all; or what stands in for the source.
  func frame(capturedAt time: Duration) async throws -> FeedEvent? {
    let answer = try await answer(to: .frame(capturedAt: time))
    if case .event(let event) = answer { return event }
    return nil
  }

  private func answer(to subject: FeedWant.Subject) async throws -> FeedWant.Answer? {
    nextID += 1
    let id = nextID
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        // Cancelled before it was added, nobody would take it out again.
        guard !Task.isCancelled else { return continuation.resume(throwing: CancellationError()) }
        add(FeedWant(subject, continuation), id)
      }
    } onCancel: {
      Task { await self.cancel(id) }
    }
  }

  private func add(_ want: FeedWant, _ id: Int) {
    guard !isClosed else { return want.answer(.success(nil)) }
    wants[id] = want
    closing?.cancel()
    closing = nil
    if want.isMet(by: key, timestamp: latest?.timestamp), fallback != nil || isCurrent || want.takesOlder {
      Task { await self.serve() }
    } else {
      startPump()
    }
  }

  private func cancel(_ id: Int) {
    wants.removeValue(forKey: id)?.answer(.failure(CancellationError()))
  }

  nonisolated func changed(_ preview: Preview) {
    Task {
      await self.dropRemoved()
      // What is seen is another thing: who waits for the next frame has one to see at once.
      await self.serve()
      await self.demandChanged()
    }
  }

  nonisolated func readerCame(_ preview: Preview) {
    readers.withLock { $0[ObjectIdentifier(preview), default: FeedReader(.preview(preview))].count += 1 }
    Task { await self.demandChanged() }
  }

  nonisolated func readerWent(_ preview: Preview) { went(ObjectIdentifier(preview)) }

  /// A scene that shows the source in `size`; nil where that is not known.
  nonisolated func sceneCame(_ scene: any AnyObject & Sendable, size: Size?) {
    readers.withLock { $0[ObjectIdentifier(scene)] = FeedReader(.scene(size), count: 1) }
    Task { await self.demandChanged() }
  }

  nonisolated func sceneWent(_ scene: any AnyObject & Sendable) { went(ObjectIdentifier(scene)) }

  private nonisolated func went(_ reader: ObjectIdentifier) {
    readers.withLock { readers in
      readers[reader]?.count -= 1
      if readers[reader]?.count == 0 { readers[reader] = nil }
    }
    Task { await self.demandChanged() }
  }

  /// How many wait.
  var waitingCount: Int { wants.count }

  // MARK: Serving

  /// What the feed shows now.
  private var key: FeedKey {
    FeedKey(sequence: latest?.sequence ?? -1, fallback: fallback == nil ? 0 : fallbackCount)
  }

  /// Whether no newer frame than `latest` is known to be there: it was just taken, or nothing follows it.
  private var isCurrent: Bool {
    if pump != nil || isEnded { return true }
    guard let source = opened?.source as? any TimelySource else { return false }
    return !source.hasNewFrame
  }

  private func startPump() {
    guard pump == nil, !isClosed, !isTakingStill else { return }
    pump = Task { await self.run() }
  }

  /// Takes frames for as long as somebody wants them.
  private func run() async {
    while !wants.isEmpty, !isClosed, isOn, !isTakingStill {
      do {
        guard let frame = try await takeFrame() else {
          isEnded = true
          break
        }
        latest = frame
        failure = nil
        isEnded = false
        show(nil)
        await serve()
      } catch is CancellationError {
        continue
      } catch {
        failure = error
        fail(error)
      }
    }
    pump = nil
    if isEnded {
      await serve()
      // Who has seen the last one has seen all.
      for want in takeWants(where: { _ in true }) { want.answer(.success(nil)) }
    }
    closeIfUnread()
  }

  /// Waits until the pump has stopped, for who has made it stop.
  func pumpStopped() async { await pump?.value }

  /// Goes on where somebody is waiting.
  func resume() { if !wants.isEmpty { startPump() } }

  /// Gives what is there to all whom it concerns, drawn once.
  private func serve() async {
    let (key, frame, fallback) = (key, latest, fallback)
    let taken = takeWants { $0.isMet(by: key, timestamp: frame?.timestamp) }
    guard !taken.isEmpty else { return }
    var pictures: [PictureWish: [FeedWant]] = [:]
    for want in taken {
      if case .picture(let preview, let format, _) = want.subject {
        pictures[PictureWish(preview, format), default: []].append(want)
      } else {
        want.answer(.success(.event(FeedEvent(frame: frame, fallback: fallback, key: key, isLast: isEnded))))
      }
    }
    guard !pictures.isEmpty else { return }
    let results = await drawing.draw(Array(pictures.keys), frame, fallback, key, of: source)
    for (wish, wants) in pictures {
      let result = results[wish] ?? .success(nil)
      for want in wants { want.answer(result.map { rendered in rendered.map { .picture($0) } }) }
    }
  }

  private func takeWants(where isTaken: (FeedWant) -> Bool) -> [FeedWant] {
    wants.filter { isTaken($0.value) }.keys.sorted().compactMap { wants.removeValue(forKey: $0) }
  }

  /// Who waits for a preview that is no more gets nil.
  private func dropRemoved() {
    for want in takeWants(where: \.isForNothing) { want.answer(.success(nil)) }
  }

  /// Nothing can be given.
  private func fail(_ error: any Error) {
    for want in takeWants(where: { _ in true }) { want.answer(.failure(error)) }
  }

  /// Lets something stand in for the source, or with nil nothing any more.
  func show(_ state: FallbackState?) {
    guard state != fallback else { return }
    fallback = state
    guard state != nil else { return }
    fallbackCount += 1
    Task { await self.serve() }
  }

  // MARK: The end

  /// Whether anybody reads or waits.
  var isRead: Bool { !wants.isEmpty || readers.withLock { !$0.isEmpty } }

  /// Everything is given back when this returns; who waits gets nil.
  func close() async {
    guard !isClosed else { return }
    isClosed = true
    for want in takeWants(where: { _ in true }) { want.answer(.success(nil)) }
    resizing?.cancel()
    closing?.cancel()
    await closeSource()
    await pump?.value
    latest = nil
    drawing.end()
  }
}

/// Who reads a source.
struct FeedReader: Sendable {
  /// What it is read for.
  enum Subject: Sendable {
    case preview(Preview)
    case scene(Size?)
  }

  let subject: Subject
  var count = 0

  init(_ subject: Subject, count: Int = 0) {
    self.subject = subject
    self.count = count
  }

  /// The size of the pictures as the source stores them; nil where all of it is wanted.
  var wantedSize: Size? {
    switch subject {
    case .scene(let size): return size
    case .preview(let preview):
      guard let view = preview.configuration.view, view.crop == nil, view.width != nil || view.height != nil
      else { return nil }
      let size = Size(width: view.width ?? 1, height: view.height ?? 1)
      return Orientation(view.rotation).swapsAxes ? size.transposed : size
    }
  }
}

/// A preview's pictures in one format: drawn once, however many want them.
struct PictureWish: Sendable, Hashable {
  let preview: Preview
  let format: PictureFormat

  init(_ preview: Preview, _ format: PictureFormat) {
    self.preview = preview
    self.format = format
  }

  static func == (one: PictureWish, other: PictureWish) -> Bool {
    one.preview === other.preview && one.format == other.format
  }

  func hash(into hasher: inout Hasher) {
    hasher.combine(ObjectIdentifier(preview))
    hasher.combine(format)
  }
}
