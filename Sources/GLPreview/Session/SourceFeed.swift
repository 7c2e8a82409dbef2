// One running source of a session. It is open while a client reads it, and delivers a frame when one is
// requested. Each frame is drawn once for all requests.
internal import Synchronization

/// Serves requests for pictures or frames of one source. No request delays another, or the source.
actor SourceFeed: PictureProducer {
  nonisolated let source: SessionSource
  nonisolated let counters: SessionCounters
  /// The readers, apart from the actor's state, because they come and go without waiting.
  nonisolated let readers = Mutex<[ObjectIdentifier: FeedReader]>([:])
  /// All its previews, read or not.
  nonisolated let previews = Mutex<Set<Preview>>([])
  nonisolated let drawing: ViewDrawing
  nonisolated let replay: ReplayReader?
  nonisolated let eagerReaders: EagerReaders? = EagerReaders()
  nonisolated var endedConnections: EndedConnections? { source.options.endedConnections }
  nonisolated var budget: MemoryBudget? { drawing.memory.budget }
  /// The waiting requests, and what the source shows.
  var board: RequestBoard
  var camera: SourceCamera { didSet { noteActivity() } }
  private(set) var pump: Task<Void, Never>? { didSet { noteActivity() } }
  /// Whether the newest frame was current when the pump was started, or the pump has shown one since.
  private var isPumpCurrent = false
  private let activity: SourceActivity
  /// Whether the source is open, or being opened, read or closed. Otherwise its state does not change.
  private(set) var isActive = false
  /// Whether the pump is to retry a failed source once, even without a request.
  private var triesAgain = false
  /// The picture that is being decoded, by its number.
  var decoding: (sequence: Int, task: Task<Frame?, any Error>)?
  /// Decodes and draws concurrently with the pump, and once more if there is a newer picture.
  var serving: Task<Void, Never>?
  var isServedAgain = false
  /// The error of the last picture that `serving` decoded.
  var decodingFailure: (any Error)?
  /// The last error; nil once a frame arrives.
  private(set) var failure: (any Error)?
  private(set) var isClosed = false
  private var ending: Task<Void, Never>?
  private let isEndOver = Watched(false)

  init(
    _ source: SessionSource, _ drawing: ViewDrawing, linger: Duration, counting counters: SessionCounters,
    after predecessors: [SourceFeed], within predecessorsCloseWithin: Duration,
    noting activity: SourceActivity
  ) {
    self.activity = activity
    camera = SourceCamera(linger: linger, after: predecessors, within: predecessorsCloseWithin)
    board = RequestBoard { [plans = drawing.plans] size in
      if case .mode = plans.misfit(size) { true } else { false }
    }
    var source = source
    source.options.eagerReaders = eagerReaders
    self.source = source
    self.drawing = drawing
    replay = ReplayReader(source, drawing.memory.budget, after: predecessors)
    self.counters = SessionCounters(partOf: counters)
  }

  private func noteActivity() {
    let isActive = pump != nil || camera.isActive
    guard isActive != self.isActive else { return }
    self.isActive = isActive
    if !isClosed { activity.note([source.name]) }
  }

  // MARK: Requests

  func next(
    _ preview: Preview, _ form: PictureForm, after key: PictureKey?, passes: Bool
  ) async throws -> PreviewPicture? {
    try await answer(to: .picture(preview, form, after: key, passes: passes))?.picture
  }

  /// Waits for the next event that differs from `key`. The end of the source is reported once; `isOver` means
  /// that the caller knows it and only waits for other changes. Nil once the feed is closed.
  func event(after key: FeedKey?, isOver: Bool) async throws -> FeedEvent? {
    try await answer(to: .event(after: key, isOver: isOver))?.event
  }

  /// Waits for a frame captured at `time` or later, the current one if possible, or the outage. With
  /// `isCropped`, crops can be drawn from it, unless the source has another shape than its reference size.
  /// With `passes`, a camera's own JPEG will do.
  func frame(
    capturedAt time: CaptureInstant, isCropped: Bool = false, passes: Bool = false
  ) async throws -> FeedEvent? {
    try await answer(to: .frame(capturedAt: time, isCropped: isCropped, passes: passes))?.event
  }

  private func answer(to subject: FeedRequest.Subject) async throws -> FeedRequest.Answer? {
    try Task.checkCancellation()
    var request = FeedRequest(subject: subject)
    if !request.isForFrame { request.earliest = earliest }
    guard !isClosed, !request.isObsolete else { return nil }
    guard !request.isDisabled else { throw PreviewIsDisabled() }
    let id = board.add(request)
    begin(request)
    // Only a cancelled request remains.
    defer { if board.remove(id) { closeIfUnread() } }
    return try await request.answer.value()
  }

  private func begin(_ request: FeedRequest) {
    camera.closing?.cancel()
    camera.closing = nil
    if request.isCropped { demandChanged() }
    if board.isMet(request) || board.isMetByOriginal(request) {
      // The outage of a source that failed, or was closed during the outage, is returned at once; meanwhile it is tried again.
      if camera.isOn, pump == nil, camera.isFailing || board.outage != nil && camera.opened == nil {
        triesAgain = true
        startPump()
      }
      Task { await self.serve() }
    } else {
      startPump()
    }
  }

  /// Whether the source must have its reference size: crops are wanted, or masks are burned in.
  var isPinned: Bool {
    !source.options.masks.isEmpty
      || previews.withLock { $0.contains { $0.configuration.isPinned } }
      || readers.withLock { $0.values.contains(where: \.isCropped) }
      || board.requests.values.contains(where: \.isCropped)
  }

  var waitingCount: Int { board.requests.count }

  // MARK: Serving

  /// The state of a source that is being opened, once that takes long; nil otherwise.
  var openingEvent: FeedEvent? { board.outage?.state == .opening ? board.event : nil }

  /// Whether the newest frame is of the open source, and was just read, or nothing newer is there.
  private var isCurrent: Bool {
    guard let opened = camera.opened, opened.firstShown != nil else { return false }
    if board.isEnded { return true }
    // A file does not go on while it is not read.
    if pump != nil { return isPumpCurrent || !opened.source.isLive }
    return (opened.source as? any TimelySource)?.hasNewFrame == false
  }

  /// The number of the first frame that is new enough for a request that is made now.
  private var earliest: Int { firstCurrent ?? camera.nextSequence }

  /// The number of the first picture that is current; nil if none is.
  var firstCurrent: Int? {
    guard let first = camera.opened?.firstShown else { return camera.currentBeforeResizing }
    return isCurrent ? first : nil
  }

  private var mayPump: Bool {
    (board.isWanted || triesAgain) && !isClosed && camera.isOn && camera.still == nil
  }

  private func startPump() {
    guard pump == nil, mayPump else { return }
    isPumpCurrent = isCurrent
    pump = Task { await self.run() }
  }

  /// Reads frames as long as they are wanted.
  private func run() async {
    while mayPump {
      triesAgain = false
      do {
        guard let picture = try await takePicture() else {
          board.isEnded = true
          await serve()
          if !board.requests.isEmpty { try? await decodeNewest() }
          for (request, answer) in board.takeLast() { request.answer.fulfil(.success(answer)) }
          continue
        }
        // It may have been switched off before the picture arrived.
        guard camera.isOn, !isClosed else { break }
        if source.isLive || camera.opened?.source.isLive == true,
          camera.isWarmingUp(source.warmup, at: picture.timestamp)
        {
          continue
        }
        board.show(picture)
        isPumpCurrent = true
        if camera.opened?.firstShown == nil { camera.opened?.firstShown = picture.sequence }
        failure = misfit(picture.size)
        show(nil)
        try await answerAll()
        // The camera may have been lost since the frame was captured.
        showState()
      } catch is CancellationError {
        continue
      } catch let frameFailure as FrameFailure {
        failure = frameFailure.error
        showFailure(frameFailure.error)
        try? await pause(source.failurePause)
      } catch {
        failure = error
        guard source.showsFailures else {
          answer(.failure(error))
          continue
        }
        showFailure(error)
        try? await pause(Self.reopeningPause)
      }
    }
    pump = nil
    closeIfUnread()
  }

  /// Why crops can't be drawn from frames of `size`; nil if they can, or none are wanted. Other views are
  /// drawn.
  private func misfit(_ size: Size) -> SourceError? {
    guard let misfit = drawing.plans.misfit(size), case .shape = misfit, isPinned else { return nil }
    return SourceError(.badRequest, path: source.name, reason: misfit.reason)
  }

  /// The pause before a source that can't be opened is retried.
  private static let reopeningPause = Duration.seconds(1)

  /// Waits until the pump has stopped, after the caller has made it stop.
  func pumpStopped() async { await pump?.value }

  /// Continues if a frame is wanted, or opens a source that is kept warm.
  func resume() {
    if board.isWanted { startPump() } else if source.staysOpen { Task { await warmUp() } }
  }

  /// Answers the requests that the current state satisfies; each picture is drawn once.
  func serve() async {
    // An error concerns this one picture. If the next one fails too, `run` reports that.
    passOn()
    try? await decodeIfWanted()
    // Requests that came meanwhile.
    passOn()
    await answer(board.take { $1.isMet($0) }, with: board.event)
    // The state that was to satisfy a request may have changed before it was served.
    startPump()
    closeIfUnread()
  }

  /// Requests of removed previews get nil, those of disabled ones an error.
  func dropUnwanted() {
    answer(.success(nil)) { $0.isObsolete }
    answer(.failure(PreviewIsDisabled())) { $0.isDisabled }
  }

  private func answer(
    _ answer: Result<FeedRequest.Answer?, any Error>, where isTaken: (FeedRequest) -> Bool = { _ in true }
  ) {
    for request in board.take(where: { request, _ in isTaken(request) }) { request.answer.fulfil(answer) }
  }

  /// Shows an outage; nil shows the frames again.
  func show(_ outage: Outage?) {
    if board.show(outage, at: CaptureClock.now) { Task { await self.serve() } }
  }

  // MARK: The end

  var isRead: Bool { !board.requests.isEmpty || readers.withLock { !$0.isEmpty } }

  /// Closes the feed; everything is released when it returns. Waiting requests get nil.
  func close() async {
    isClosed = true
    let ending = ending ?? Task { await end() }
    self.ending = ending
    await ending.value
  }

  private func end() async {
    answer(.success(nil))
    camera.resizing?.cancel()
    camera.closing?.cancel()
    pump?.cancel()
    await stopStillAndOpening()
    await closeSource()
    await pump?.value
    await serving?.value
    board.forget()
    show(nil)
    previews.withLock { $0 = [] }
    drawing.plans.end()
    isEndOver.update { $0 = true }
  }

  /// Waits until the feed is closed, or the task is cancelled.
  nonisolated func closed() async { _ = try? await isEndOver.first { $0 ? true : nil } }
}

/// The error of a request whose preview was disabled while it waited.
struct PreviewIsDisabled: Error {}
