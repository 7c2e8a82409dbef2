// One running source of a session. It is open while somebody reads it, and gives a frame when one is requested. Each
// frame is drawn once for all requests.
internal import PreviewCore
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
  let linger: Duration
  nonisolated let replay: ReplayReader?
  nonisolated let eagerReaders: EagerReaders? = EagerReaders()
  nonisolated var endedConnections: EndedConnections? { source.options.endedConnections }
  nonisolated var budget: MemoryBudget? { drawing.memory.budget }
  var requests: [Int: FeedRequest] = [:]
  private var nextID = 0
  private(set) var pump: Task<Void, Never>?
  /// Whether the pump is to retry a failed source once, even without a request.
  private var triesAgain = false
  /// The newest frame that is decoded.
  var latest: Frame?
  /// The newest picture if it can be passed on as it came; `latest` is of it, or older.
  var newestEncoded: NewestEncoded?
  /// H.264 is passed on from what was captured since: after an outage, and after an opening, it begins anew.
  var passesVideoSince = CaptureInstant.start
  /// The picture that is being decoded, by its number.
  var decoding: (sequence: Int, task: Task<Frame?, any Error>)?
  /// Decodes and draws beside the pump, and once more if there is a newer picture.
  var serving: Task<Void, Never>?
  var isServedAgain = false
  /// The error of the last picture that was decoded there.
  var decodingFailure: (any Error)?
  /// The current outage; nil if there is none.
  private(set) var outage: Outage?
  /// The last error; nil once a frame arrives.
  private(set) var failure: (any Error)?
  private var outageCount = 0
  private(set) var isClosed = false
  private var ending: Task<Void, Never>?

  // The state of the camera side (SourceFeed+Camera.swift).
  var opened: OpenSource?
  /// The opening in progress, shared by all that wait for it.
  var opening: Task<any FrameSource, any Error>?
  /// The last closing; the next opening waits for it.
  var lastClosing: Task<Void, Never>?
  /// Whether the open source has given its last frame.
  var isEnded = false
  /// Whether the last frame could not be read from the open source.
  var isFailing = false
  var isOn = true
  /// The still in progress.
  var still: Task<FeedEvent?, any Error>?
  /// Waits for a reader to come back.
  var closing: Task<Void, Never>?
  var resizing: Task<Void, Never>?
  var openings = 0
  /// The number of the next frame, across all connections.
  var nextSequence = 0
  /// Feeds that must be closed before this one opens its source, because a camera can't be opened twice.
  var predecessors: [Predecessor]
  let predecessorsCloseWithin: Duration
  private let isEndOver = Watched(false)

  /// Weak, so that a waiting feed does not keep it alive.
  struct Predecessor {
    weak var feed: SourceFeed?
  }

  init(
    _ source: SessionSource, _ drawing: ViewDrawing, linger: Duration, counting counters: SessionCounters,
    after predecessors: [SourceFeed], within predecessorsCloseWithin: Duration
  ) {
    self.predecessorsCloseWithin = predecessorsCloseWithin
    self.predecessors = predecessors.map { Predecessor(feed: $0) }
    var source = source
    source.options.eagerReaders = eagerReaders
    self.source = source
    self.drawing = drawing
    replay = ReplayReader(source, drawing.memory.budget, after: predecessors)
    self.linger = linger
    self.counters = SessionCounters(partOf: counters)
  }

  // MARK: Requests

  func next(
    _ preview: Preview, _ format: Picture.Format, after key: PictureKey?, passes: Bool
  ) async throws -> PreviewPicture? {
    let answer = try await answer(to: .picture(preview, format, after: key, passes: passes))
    if case .picture(let picture) = answer { return picture }
    return nil
  }

  /// The next event that differs from `key`. The end of the source is reported once; `isOver` means that the caller
  /// knows it and only waits for other changes. Nil once the feed is closed.
  func event(after key: FeedKey?, isOver: Bool) async throws -> FeedEvent? {
    let answer = try await answer(to: .event(after: key, isOver: isOver))
    if case .event(let event) = answer { return event }
    return nil
  }

  /// A frame captured at `time` or later, the current one if possible, or the outage. With `isCropped`, crops can be
  /// drawn from it, unless the source has another shape than its reference size. With `passes`, a camera's own JPEG
  /// will do.
  func frame(
    capturedAt time: CaptureInstant, isCropped: Bool = false, passes: Bool = false
  ) async throws -> FeedEvent? {
    let answer = try await answer(to: .frame(capturedAt: time, isCropped: isCropped, passes: passes))
    if case .event(let event) = answer { return event }
    return nil
  }

  private func answer(to subject: FeedRequest.Subject) async throws -> FeedRequest.Answer? {
    try Task.checkCancellation()
    let request = FeedRequest(subject)
    nextID += 1
    let id = nextID
    add(request, id)
    // Only a cancelled request is still there.
    defer { if requests.removeValue(forKey: id) != nil { closeIfUnread() } }
    return try await request.answer.value()
  }

  private func add(_ request: FeedRequest, _ id: Int) {
    guard !isClosed, !request.isObsolete else { return request.answer.fulfil(.success(nil)) }
    guard !request.isDisabled else { return request.answer.fulfil(.failure(PreviewIsDisabled())) }
    requests[id] = request
    closing?.cancel()
    closing = nil
    if request.isCropped { demandChanged() }
    if isMet(request) || isMetByEncoded(request), outage != nil || isCurrent || request.isForFrame {
      // The outage of a failed source is returned at once; meanwhile the source is retried.
      if isFailing, pump == nil {
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
      || requests.values.contains(where: \.isCropped)
  }

  var waitingCount: Int { requests.count }

  // MARK: Serving

  /// The key of the current state, as far as it is decoded.
  var key: FeedKey {
    FeedKey(sequence: latest?.sequence ?? -1, outage: outage == nil ? 0 : outageCount)
  }

  /// What it shows now.
  private var now: FeedEvent { FeedEvent(frame: latest, outage: outage, key: key, isLast: isEnded) }

  /// The same while it is being opened, once that takes long; nil otherwise.
  var openingEvent: FeedEvent? { outage?.state == .opening ? now : nil }

  /// Whether the current state, as far as it is decoded, satisfies a request.
  private func isMet(_ request: FeedRequest) -> Bool {
    guard request.isMet(by: key, timestamp: latest?.timestamp) else { return false }
    guard outage == nil, let latest else { return true }
    return !isSwitching(request, latest.format.uprightSize)
  }

  /// Whether a request with a crop waits until the camera is switched from `size` to its reference size.
  func isSwitching(_ request: FeedRequest, _ size: Size) -> Bool {
    guard request.isCropped, case .mode = drawing.plans.misfit(size) else { return false }
    return true
  }

  /// Whether no newer frame than `latest` is known: it was just read, or nothing follows it.
  private var isCurrent: Bool {
    if pump != nil || isEnded { return true }
    guard let source = opened?.source as? any TimelySource else { return false }
    return !source.hasNewFrame
  }

  private func startPump() {
    guard pump == nil, isWanted || triesAgain, !isClosed, isOn, still == nil else { return }
    pump = Task { await self.run() }
  }

  /// Reads frames as long as they are wanted.
  private func run() async {
    while isWanted || triesAgain, !isClosed, isOn, still == nil {
      triesAgain = false
      do {
        guard let picture = try await takePicture() else {
          isEnded = true
          await serve()
          if !requests.isEmpty { try? await decodeNewest() }
          answerLast()
          continue
        }
        // It may have been switched off before the picture arrived.
        guard isOn, !isClosed else { break }
        guard !isWarmingUp(picture) else { continue }
        adopt(picture)
        failure = misfit(picture.seenSize)
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
          fail(error)
          continue
        }
        showFailure(error)
        try? await pause(Self.reopeningPause)
      }
    }
    pump = nil
    closeIfUnread()
  }

  /// Why crops can't be drawn from frames of `size`, if there are any; other views are drawn.
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
    if isWanted { startPump() } else if source.staysOpen { Task { await warmUp() } }
  }

  /// Answers the requests that the current state satisfies; each picture is drawn once.
  func serve() async {
    // An error is that of one picture, unless `run` finds the next one to be the same.
    passOn()
    try? await decodeIfWanted()
    // Those that came meanwhile.
    passOn()
    let event = now
    let taken = takeRequests(where: isMet)
    var pictures: WaitingRequests = [:]
    for request in taken {
      if case .picture(let preview, let format, _, _) = request.subject {
        pictures[PictureRequest(preview, format), default: []].append(request)
      } else {
        request.answer.fulfil(.success(.event(event)))
      }
    }
    guard !pictures.isEmpty else { return closeIfUnread() }
    await answer(pictures, with: event)
    closeIfUnread()
  }

  /// Answers requests after the last frame: readers of pictures get nil; scenes and snapshots get that frame.
  private func answerLast() {
    let last = FeedEvent(frame: latest, outage: outage, key: key, isLast: true)
    for request in takeRequests(where: { !isMet($0) && !$0.hasSeenAll }) {
      let isTold = request.isForEvents || request.isForFrame && latest != nil
      request.answer.fulfil(.success(isTold ? .event(last) : nil))
    }
  }

  /// Whether a request waits for a frame that may come.
  private var isWanted: Bool { requests.values.contains { !(isEnded && $0.hasSeenAll) } }

  private func takeRequests(where isTaken: (FeedRequest) -> Bool) -> [FeedRequest] {
    requests.filter { isTaken($0.value) }.keys.sorted().compactMap { requests.removeValue(forKey: $0) }
  }

  /// Requests of removed previews get nil, those of disabled ones an error.
  func dropUnwanted() {
    for request in takeRequests(where: \.isObsolete) { request.answer.fulfil(.success(nil)) }
    for request in takeRequests(where: \.isDisabled) { request.answer.fulfil(.failure(PreviewIsDisabled())) }
  }

  private func fail(_ error: any Error) {
    for request in takeRequests(where: { _ in true }) { request.answer.fulfil(.failure(error)) }
  }

  /// Shows an outage; nil shows the frames again.
  func show(_ state: Outage?) {
    guard state != outage else { return }
    outage = state
    guard state != nil else { return }
    endVideo()
    outageCount += 1
    Task { await self.serve() }
  }

  // MARK: The end

  var isRead: Bool { !requests.isEmpty || readers.withLock { !$0.isEmpty } }

  /// Closes the feed; everything is released when it returns. Waiting requests get nil.
  func close() async {
    isClosed = true
    let ending = ending ?? Task { await end() }
    self.ending = ending
    await ending.value
  }

  private func end() async {
    for request in takeRequests(where: { _ in true }) { request.answer.fulfil(.success(nil)) }
    resizing?.cancel()
    closing?.cancel()
    pump?.cancel()
    await stopStillAndOpening()
    await closeSource()
    await pump?.value
    await serving?.value
    (latest, newestEncoded, outage) = (nil, nil, nil)
    previews.withLock { $0 = [] }
    drawing.plans.end()
    isEndOver.update { $0 = true }
  }

  /// Waits until the feed is closed, or the task is cancelled.
  nonisolated func closed() async { _ = try? await isEndOver.first { $0 ? true : nil } }
}

/// The error of a request whose preview was disabled while it waited.
struct PreviewIsDisabled: Error {}
