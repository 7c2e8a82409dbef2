// One source of a session at work: it is open while somebody looks, asked for a frame when somebody wants one, and each
// frame is drawn once for all who wait for it.
internal import PreviewCore
internal import Synchronization

/// Serves requests for pictures or frames of one source. None holds up another, or the source.
actor SourceFeed: PictureProducer {
  nonisolated let source: SessionSource
  nonisolated let counters: SessionCounters
  /// Who reads, apart from the actor's state: readers come and go without waiting.
  nonisolated let readers = Mutex<[ObjectIdentifier: FeedReader]>([:])
  /// The previews that there are of it, read or not.
  nonisolated let previews = Mutex<[ObjectIdentifier: Preview]>([:])
  nonisolated let drawing: ViewDrawing
  let linger: Duration

  private var requests: [Int: FeedRequest] = [:]
  private var nextID = 0
  private var pump: Task<Void, Never>?
  /// Whether the pump is to try a source that failed once, though nobody waits for that.
  private var triesAgain = false
  private(set) var latest: Frame?
  /// What stands in for the source now.
  private(set) var outage: Outage?
  /// What went wrong with it last; nil once a frame comes.
  private(set) var failure: (any Error)?
  private var outageCount = 0
  private(set) var isClosed = false
  private var ending: Task<Void, Never>?

  // What the camera's side of the feed keeps (SourceFeed+Camera.swift).
  var opened: OpenSource?
  /// The opening that is under way, however many wait for it.
  var opening: Task<any FrameSource, any Error>?
  /// The last closing: nothing is opened again before it is done.
  var lastClosing: Task<Void, Never>?
  /// Whether what is open has given its last frame.
  var isEnded = false
  /// Whether the last frame could not be had of what is open.
  var isFailing = false
  var isOn = true
  /// The still that is being taken.
  var still: Task<FeedEvent?, any Error>?
  /// Waits for somebody to come back.
  var closing: Task<Void, Never>?
  var resizing: Task<Void, Never>?
  var openings = 0
  /// The number of the next frame, whichever connection it comes by.
  var nextSequence = 0
  /// Feeds that are to be closed before this one opens its source: a camera can't be open twice.
  var predecessors: [Predecessor]
  let predecessorsCloseWithin: Duration
  private var isEndOver = false
  private var waitingForEnd: [CheckedContinuation<Void, Never>] = []

  /// A waiting reader does not keep it alive.
  struct Predecessor {
    weak var feed: SourceFeed?
  }

  init(
    _ source: SessionSource, _ drawing: ViewDrawing, linger: Duration, counting counters: SessionCounters,
    after predecessors: [SourceFeed] = [], within predecessorsCloseWithin: Duration = .zero
  ) {
    self.predecessorsCloseWithin = predecessorsCloseWithin
    self.predecessors = predecessors.map { Predecessor(feed: $0) }
    self.source = source
    self.drawing = drawing
    self.linger = linger
    self.counters = SessionCounters(partOf: counters)
  }

  // MARK: Requests

  func next(
    _ preview: Preview, _ format: PictureFormat, after key: PictureKey?
  ) async throws -> RenderedPicture? {
    let answer = try await answer(to: .picture(preview, format, after: key))
    if case .picture(let rendered) = answer { return rendered }
    return nil
  }

  /// What the source shows when it shows something else than at `key`, and once that it was its last; who knows that,
  /// by `isOver`, is told when it shows something all the same. Nil once it is closed.
  func event(after key: FeedKey?, isOver: Bool = false) async throws -> FeedEvent? {
    let answer = try await answer(to: .event(after: key, isOver: isOver))
    if case .event(let event) = answer { return event }
    return nil
  }

  /// A frame captured at `time` or later, what is there already first of all; or what stands in for the source.
  /// Where `isCropped`, crops can be drawn of it, unless the source has another shape than its reference size.
  func frame(capturedAt time: Duration, isCropped: Bool = false) async throws -> FeedEvent? {
    let answer = try await answer(to: .frame(capturedAt: time, isCropped: isCropped))
    if case .event(let event) = answer { return event }
    return nil
  }

  private func answer(to subject: FeedRequest.Subject) async throws -> FeedRequest.Answer? {
    nextID += 1
    let id = nextID
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        // Cancelled before it was added, nobody would take it out again.
        guard !Task.isCancelled else { return continuation.resume(throwing: CancellationError()) }
        add(FeedRequest(subject, continuation), id)
      }
    } onCancel: {
      Task { await self.cancel(id) }
    }
  }

  private func add(_ request: FeedRequest, _ id: Int) {
    guard !isClosed, !request.isObsolete else { return request.answer(.success(nil)) }
    guard !request.isDisabled else { return request.answer(.failure(PreviewIsDisabled())) }
    requests[id] = request
    closing?.cancel()
    closing = nil
    if request.isCropped { demandChanged() }
    if isMet(request), outage != nil || isCurrent || request.isForFrame {
      // What stands in for a source that failed is given at once; behind that the source is tried again.
      if isFailing, pump == nil {
        triesAgain = true
        startPump()
      }
      Task { await self.serve() }
    } else {
      startPump()
    }
  }

  private func cancel(_ id: Int) {
    requests.removeValue(forKey: id)?.answer(.failure(CancellationError()))
    closeIfUnread()
  }

  /// Whether crops are wanted, or masks are burned in: whether it matters in which size the source is.
  var isPinned: Bool {
    !source.options.masks.isEmpty
      || previews.withLock { $0.values.contains { $0.configuration.isPinned } }
      || readers.withLock { $0.values.contains(where: \.isCropped) }
      || requests.values.contains(where: \.isCropped)
  }

  /// How many wait.
  var waitingCount: Int { requests.count }

  // MARK: Serving

  /// What the feed shows now.
  private var key: FeedKey {
    FeedKey(sequence: latest?.sequence ?? -1, outage: outage == nil ? 0 : outageCount)
  }

  /// Whether the present frame serves this request. A crop waits while the camera is switched to its reference size.
  private func isMet(_ request: FeedRequest) -> Bool {
    guard request.isMet(by: key, timestamp: latest?.timestamp) else { return false }
    guard outage == nil, request.isCropped, let latest else { return true }
    if case .mode = drawing.plans.misfit(latest.format) { return false }
    return true
  }

  /// Whether no newer frame than `latest` is known to be there: it was just taken, or nothing follows it.
  private var isCurrent: Bool {
    if pump != nil || isEnded { return true }
    guard let source = opened?.source as? any TimelySource else { return false }
    return !source.hasNewFrame
  }

  private func startPump() {
    guard pump == nil, isWanted || triesAgain, !isClosed, isOn, still == nil else { return }
    pump = Task { await self.run() }
  }

  /// Takes frames for as long as somebody wants them.
  private func run() async {
    while isWanted || triesAgain, !isClosed, isOn, still == nil {
      triesAgain = false
      do {
        guard let frame = try await takeFrame() else {
          isEnded = true
          await serve()
          answerLast()
          continue
        }
        // It may have been switched off while the frame was on its way.
        guard isOn, !isClosed else { break }
        latest = frame
        failure = misfit(frame)
        show(nil)
        await serve()
        // Its camera may have been lost since it was captured.
        showState()
      } catch is CancellationError {
        continue
      } catch let frameFailure as FrameFailure {
        failure = frameFailure.error
        showFailure(frameFailure.error)
        try? await pause(Self.failurePause)
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

  /// Why crops are not drawn of a frame, where there are any; the rest is.
  private func misfit(_ frame: Frame) -> SourceError? {
    guard case .shape = drawing.plans.misfit(frame.format),
      let reason = drawing.plans.misfit(frame.format)?.reason,
      isPinned
    else { return nil }
    return SourceError(.badRequest, path: source.name, reason: reason)
  }

  /// A source that gives no frame is asked again, but not at once.
  private static let failurePause = Duration.milliseconds(200)
  /// One that can't be opened even later.
  private static let reopeningPause = Duration.seconds(1)

  /// Waits until the pump has stopped, for who has made it stop.
  func pumpStopped() async { await pump?.value }

  /// Goes on where somebody is waiting, or nobody need be.
  func resume() {
    if isWanted { startPump() } else if source.keepsWarm { Task { await warmUp() } }
  }

  /// Gives what is there to all whom it concerns, drawn once.
  func serve() async {
    let (key, frame, outage) = (key, latest, outage)
    let taken = takeRequests(where: isMet)
    var pictures: [PictureRequest: [FeedRequest]] = [:]
    for request in taken {
      if case .picture(let preview, let format, _) = request.subject {
        pictures[PictureRequest(preview, format), default: []].append(request)
      } else {
        request.answer(.success(.event(FeedEvent(frame: frame, outage: outage, key: key, isLast: isEnded))))
      }
    }
    guard !pictures.isEmpty else { return closeIfUnread() }
    // In one order, so that what was planned once is found again.
    let wanted = pictures.keys.sorted { $0.order < $1.order }
    let results = await drawing.draw(wanted, frame, outage, key, of: source)
    for (picture, requests) in pictures {
      let result = results[picture] ?? .success(nil)
      for request in requests { request.answer(result.map { rendered in rendered.map { .picture($0) } }) }
    }
    closeIfUnread()
  }

  /// Who has seen the last frame has seen all; for a snapshot it is what there is.
  private func answerLast() {
    let last = FeedEvent(frame: latest, outage: outage, key: key, isLast: true)
    for request in takeRequests(where: { !isMet($0) && !$0.hasSeenAll }) {
      let isTold = request.isForEvents || request.isForFrame && latest != nil
      request.answer(.success(isTold ? .event(last) : nil))
    }
  }

  /// Whether anybody waits for a frame that may come.
  private var isWanted: Bool { requests.values.contains { !(isEnded && $0.hasSeenAll) } }

  private func takeRequests(where isTaken: (FeedRequest) -> Bool) -> [FeedRequest] {
    requests.filter { isTaken($0.value) }.keys.sorted().compactMap { requests.removeValue(forKey: $0) }
  }

  /// Who waits for a preview that is no more gets nil; for one that is switched off nobody waits here.
  func dropUnwanted() {
    for request in takeRequests(where: \.isObsolete) { request.answer(.success(nil)) }
    for request in takeRequests(where: \.isDisabled) { request.answer(.failure(PreviewIsDisabled())) }
  }

  /// Nothing can be given.
  private func fail(_ error: any Error) {
    for request in takeRequests(where: { _ in true }) { request.answer(.failure(error)) }
  }

  /// Lets something stand in for the source, or with nil nothing any more.
  func show(_ state: Outage?) {
    guard state != outage else { return }
    outage = state
    guard state != nil else { return }
    outageCount += 1
    Task { await self.serve() }
  }

  // MARK: The end

  /// Whether anybody reads or waits.
  var isRead: Bool { !requests.isEmpty || readers.withLock { !$0.isEmpty } }

  /// Everything is given back when this returns; who waits gets nil.
  func close() async {
    isClosed = true
    let ending = ending ?? Task { await end() }
    self.ending = ending
    await ending.value
  }

  private func end() async {
    for request in takeRequests(where: { _ in true }) { request.answer(.success(nil)) }
    resizing?.cancel()
    closing?.cancel()
    pump?.cancel()
    await stopStillAndOpening()
    await closeSource()
    await pump?.value
    (latest, outage) = (nil, nil)
    previews.withLock { $0 = [:] }
    drawing.end()
    isEndOver = true
    for continuation in waitingForEnd { continuation.resume() }
    waitingForEnd = []
  }

  /// Returns when it has been closed.
  func closed() async {
    guard !isEndOver else { return }
    await withCheckedContinuation { waitingForEnd.append($0) }
  }
}

/// A preview was switched off while somebody waited for its next picture.
struct PreviewIsDisabled: Error {}
