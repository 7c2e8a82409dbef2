// The camera side of a feed: opening and closing the source, the size of its pictures, and its state.
internal import PreviewCore
internal import Synchronization

/// An open source, and the demand that it was opened with.
struct OpenSource: Sendable {
  let source: any FrameSource
  let demand: SourceOptions.Demand
  /// The number of this opening.
  let number: Int
  /// Tasks that follow its states; empty if it has none.
  let watchers: [Task<Void, Never>]
  /// The request for a frame that is in progress.
  var fetch: Task<FetchedPicture, any Error>?
  /// Whether it has given a picture since it was opened.
  var hasGivenPicture = false
  /// The time of its first picture, and how many came.
  var start: CaptureInstant?
  /// Its pictures are counted from this number, as those that are kept.
  var firstSequence = 0
  var pictureCount = 0
}

/// A picture of a source, or its end, and the error of damaged frames that were skipped before it.
struct FetchedPicture: Sendable {
  let picture: LivePicture?
  let damage: SourceError?
  /// The source's reference size, if it reports one.
  let reference: Size?
}

/// A frame could not be read from an open source; the next one may succeed.
struct FrameFailure: Error {
  let error: any Error
}

extension SourceFeed {
  /// The source's status; nil if it is not live, or not open.
  var status: SourceStatus? {
    guard let opened, opened.source.isLive else { return nil }
    return opened.source.status
  }

  /// The next picture, with the feed's own number. Opens the source first if it is not open.
  ///
  /// - Throws: `FrameFailure`; `CancellationError` if the source was closed meanwhile; the errors of opening it, and of
  ///   a live source that is given up.
  func takePicture() async throws -> LivePicture? {
    let source = try await openSource()
    guard let number = opened?.number else { throw CancellationError() }
    let fetch = Task { try await self.nextWhole(of: source) }
    opened?.fetch = fetch
    let result = await fetch.result
    // A source that was closed returns nil too, which is not its end.
    guard opened?.number == number else { throw CancellationError() }
    opened?.fetch = nil
    switch result {
    case .success(let fetched):
      isFailing = false
      // A file in which every frame is damaged, or that is empty, ends with an error. A picture from before it was closed
      // and opened again is not its last one.
      if fetched.picture != nil { opened?.hasGivenPicture = true }
      guard opened?.hasGivenPicture == true || source.isLive else {
        throw fetched.damage ?? SourceError(.badData, path: source.name, reason: "has no frames")
      }
      return fetched.picture.map { numbered($0, fetched.reference) }
    case .failure(let error): throw await lost(by: error)
    }
  }

  /// What an error of the open source comes to. A live source that is given up is closed; the next request connects
  /// again.
  func lost(by error: any Error) async -> any Error {
    guard let source = opened?.source, source.isLive, source.isGivenUp(error) else {
      return FrameFailure(error: error)
    }
    await closeSource()
    return error
  }

  /// Whether nobody may see a picture that the open source gave just now.
  func isWarmingUp(_ picture: LivePicture) -> Bool {
    guard var opened, source.isLive || opened.source.isLive else { return false }
    let start = opened.start ?? picture.timestamp
    defer {
      (opened.start, opened.pictureCount) = (start, opened.pictureCount + 1)
      self.opened = opened
    }
    return source.warmup.lasts(after: opened.pictureCount, from: start, at: picture.timestamp)
  }

  /// Whether a warmup that began when the source was opened lasts at its newest picture, captured at `time`.
  func lasts(_ warmup: Warmup, at time: CaptureInstant) -> Bool {
    guard let opened, let start = opened.start else { return false }
    return warmup.lasts(after: opened.pictureCount - 1, from: start, at: time)
  }

  private func numbered(_ picture: LivePicture, _ reference: Size?) -> LivePicture {
    counters.count(\.frames)
    drawing.plans.sawFrame(
      of: picture.seenSize, reference: reference, isPinned: opened?.demand.isPinned ?? false)
    defer { nextSequence += 1 }
    // Numbers continue when a connection counts from 0 again; gaps are the source's.
    nextSequence = max(nextSequence, (opened?.firstSequence ?? 0) + picture.sequence)
    return picture.with(sequence: nextSequence)
  }

  /// The next undamaged picture. Live sources skip damaged ones themselves.
  private nonisolated func nextWhole(of source: any FrameSource) async throws -> FetchedPicture {
    var damage: SourceError?
    for _ in 0..<Self.mostDamaged {
      do {
        return try await next(of: source, damage)
      } catch let error as SourceError where error.kind == .badData && !source.isLive {
        damage = error
      }
    }
    return try await next(of: source, damage)
  }

  private nonisolated func next(of source: any FrameSource, _ damage: SourceError?) async throws
    -> FetchedPicture
  {
    let picture: LivePicture?
    if let live = source as? LiveSource {
      picture = try await live.nextPicture()
    } else {
      picture = try await source.nextFrame().map { .frame($0) }
    }
    return FetchedPicture(picture: picture, damage: damage, reference: await source.referenceSize)
  }

  /// A file with this many damaged frames in a row is reported as damaged.
  private static let mostDamaged = 10

  /// - Throws: the errors of opening it; `CancellationError` if it must not be open any more.
  private func openSource() async throws -> any FrameSource {
    if let opened { return opened.source }
    let opening = opening ?? Task { try await openAnew() }
    self.opening = opening
    return try await opening.value
  }

  private func openAnew() async throws -> any FrameSource {
    let late = Task { [began = CaptureClock.now, opensWithin = source.opensWithin] in
      if (try? await pause(opensWithin)) != nil { self.opensLate(since: began) }
    }
    defer {
      late.cancel()
      opening = nil
      if outage?.state == .opening { show(nil) }
    }
    await lastClosing?.value
    for other in predecessors.compactMap(\.feed) {
      // One that hangs is not waited for.
      _ = try? await withDeadline(predecessorsCloseWithin) { await other.closed() }
    }
    predecessors = []
    try Task.checkCancellation()
    let demand = demand
    let first = replay?.begin(at: nextSequence) ?? 0
    let source = try await source.open(
      demand, reference: drawing.reference, memory: drawing.memory, keptIn: replay?.buffer)
    guard !isClosed, isOn, still == nil else {
      await source.close()
      throw CancellationError()
    }
    return adopt(source, demand, countedFrom: first)
  }

  private func opensLate(since time: CaptureInstant) {
    guard opening != nil, isOn, !isClosed, outage == nil else { return }
    show(Outage(.opening, sinceCapture: time))
  }

  private func adopt(
    _ source: any FrameSource, _ demand: SourceOptions.Demand, countedFrom first: Int
  ) -> any FrameSource {
    openings += 1
    counters.count(\.opens)
    let number = openings
    let watchers = source.isLive ? watch(source, number) : []
    opened = OpenSource(source: source, demand: demand, number: number, watchers: watchers)
    opened?.firstSequence = first
    // The reader that it was opened for may have left, or want another size.
    demandChanged()
    return source
  }

  private func watch(_ live: any FrameSource, _ number: Int) -> [Task<Void, Never>] {
    [
      Task { for await _ in live.statuses { self.stateChanged(number) } },
      Task { [opensWithin = source.opensWithin] in
        if (try? await pause(opensWithin)) != nil { self.stateChanged(number) }
      },
    ]
  }

  /// Closes the source if it is open; requests keep waiting. No earlier source is open when it returns.
  func closeSource() async {
    if let closed = opened {
      (opened, isEnded, isFailing) = (nil, false, false)
      endVideo()
      counters.count(\.closes)
      for watcher in closed.watchers { watcher.cancel() }
      closed.fetch?.cancel()
      decoding?.task.cancel()
      lastClosing = Task { [before = lastClosing] in
        await before?.value
        await closed.source.close()
      }
    }
    await lastClosing?.value
    if opened == nil { await drawing.releaseMemory() }
  }

  /// Stops a still and an opening, and waits for both.
  func stopStillAndOpening() async {
    still?.cancel()
    opening?.cancel()
    _ = await still?.result
    _ = await opening?.result
  }

  /// Closes it after `linger`, unless a reader comes meanwhile.
  func closeIfUnread() {
    guard !isRead, !source.staysOpen, opened != nil, closing == nil else { return }
    closing = Task {
      if linger > .zero { try? await pause(linger) }
      guard !Task.isCancelled else { return }
      closing = nil
      guard !isRead else { return }
      // The next reader is shown the state at that time.
      if isOn { show(nil) }
      await closeSource()
    }
  }

  /// Opens a source that is kept warm.
  func warmUp() async {
    guard source.staysOpen, !isClosed, isOn, still == nil, opened == nil else { return }
    _ = try? await openSource()
  }

  // MARK: State

  /// Shows the state of opening `number`, which may have changed.
  private func stateChanged(_ number: Int) {
    guard opened?.number == number else { return }
    if endedConnections != nil, status?.state == .lost { (latest, newestEncoded) = (nil, nil) }
    showState()
  }

  /// Shows the source's current state: its frames, or an outage.
  func showState() {
    guard isOn, opened != nil else { return }
    guard let status else { return show(nil) }
    switch status.state {
    case .live, .idle, .off: if !isFailing { show(nil) }
    case .stalled: show(Outage(status))
    case .lost:
      // Frames may be long in coming, and of another size.
      drawing.memory.removeAll()
      show(Outage(status))
    case .opening:
      if CaptureClock.now - status.since >= source.opensWithin { show(Outage(status)) }
    }
  }

  /// Switches the source off or on again, as a participant does a camera. Off, it is closed and shows an outage.
  func setOn(_ isOn: Bool) async {
    guard isOn != self.isOn, !isClosed else { return }
    self.isOn = isOn
    replay?.buffer.setOn(isOn)
    guard !isOn else {
      show(nil)
      return resume()
    }
    show(Outage(.off, sinceCapture: CaptureClock.now))
    await stopStillAndOpening()
    // It may have been switched on meanwhile.
    if !self.isOn { await closeSource() }
  }

  /// Shows why there is no frame, until there is one.
  func showFailure(_ error: any Error) {
    guard isOn, !isClosed else { return }
    isFailing = true
    let reason = (error as? SourceError)?.reason ?? "\(error)"
    if let outage, outage.state == .lost, outage.reason == reason { return }
    show(
      Outage(.lost, reason: reason, sinceCapture: CaptureClock.now))
  }

  // MARK: Size

  /// The reference size if the source is pinned; otherwise the largest wanted size, if every reader has one.
  private var demand: SourceOptions.Demand {
    isPinned || replay != nil
      ? SourceOptions.Demand(isPinned: true)
      : SourceOptions.Demand(atLeast: readers.withLock { $0.values.map(\.wantedSize) })
  }

  /// Adapts the camera's size after readers have come, gone or changed. Larger pictures are requested at once, smaller
  /// ones only after a while, because a camera that changes its size pauses.
  func demandChanged() {
    closeIfUnread()
    resizing?.cancel()
    guard source.origin.hasSizes, isRead, let opened, still == nil else { return }
    let wanted = demand
    guard wanted != opened.demand else { return }
    let isEnough = wanted.isServed(by: opened.demand)
    if isEnough, !wanted.isMuchLess(than: opened.demand) { return }
    resizing = Task {
      if isEnough { try? await pause(.seconds(5)) }
      guard !Task.isCancelled, self.opened?.number == opened.number else { return }
      await closeSource()
    }
  }
}

extension FrameSource {
  /// Whether it gives no more frames. A connected source whose masks don't fit its pictures may give others.
  fileprivate func isGivenUp(_ error: any Error) -> Bool {
    status.isFinished || (error as? SourceError)?.kind != .badRequest
  }
}

extension SourceOptions.Demand {
  /// Whether pictures requested with `other` are large enough.
  fileprivate func isServed(by other: SourceOptions.Demand) -> Bool {
    guard isPinned == other.isPinned else { return other.isPinned }
    guard let size = minimumSize, let theirs = other.minimumSize else { return other.minimumSize == nil }
    return size.width <= theirs.width && size.height <= theirs.height
  }

  /// Whether the difference is worth a pause.
  fileprivate func isMuchLess(than other: SourceOptions.Demand) -> Bool {
    guard let size = minimumSize else { return false }
    guard let theirs = other.minimumSize else { return true }
    return 2 * size.pixelCount <= theirs.pixelCount
  }
}
