// The camera's side of a feed: when it is opened and closed, how large its pictures are asked for, how it is.
internal import PreviewCore
internal import Synchronization

/// A source that is open, and for which demand.
struct OpenSource: Sendable {
  let source: any FrameSource
  let demand: CaptureDemand
  /// Which opening it is.
  let number: Int
  /// Follow its states; none for what has none.
  let watchers: [Task<Void, Never>]
  /// The frame that is being waited for.
  var fetch: Task<FetchedFrame, any Error>?
}

/// What a source gave: a frame, or its end; and what was wrong with the frames before it that are left out.
struct FetchedFrame: Sendable {
  let frame: Frame?
  let damage: SourceError?
  /// The source's, where it says.
  let reference: Size?
}

/// A frame that could not be had of a source that is open; the next one may be.
struct FrameFailure: Error {
  let error: any Error
}

extension SourceFeed {
  /// The source's state, for people; nil for what has none, or is not open.
  var status: SourceStatus? {
    guard let opened, opened.source.isLive else { return nil }
    return opened.source.status
  }

  /// The next frame, of a source that is opened first where it is not; numbered through.
  ///
  /// - Throws: `FrameFailure`; `CancellationError` where the source was closed meanwhile; what opening it throws, and a live
  ///   source that is given up.
  func takeFrame() async throws -> Frame? {
    let source = try await openSource()
    guard let number = opened?.number else { throw CancellationError() }
    let isFirst = latest == nil
    let fetch = Task { try await Self.nextWhole(of: source) }
    opened?.fetch = fetch
    let result = await fetch.result
    // What is closed gives nil too, and that is no end.
    guard opened?.number == number else { throw CancellationError() }
    opened?.fetch = nil
    switch result {
    case .success(let fetched):
      isFailing = false
      // The end of a file that was damaged all through, or empty, is an error.
      guard fetched.frame != nil || !isFirst || source.isLive else {
        throw fetched.damage ?? SourceError(.badData, path: source.name, reason: "has no frames")
      }
      return fetched.frame.map { numbered($0, fetched.reference) }
    case .failure(let error):
      guard source.isLive, source.isGivenUp(error) else { throw FrameFailure(error: error) }
      // Who asks next has it connect again.
      await closeSource()
      throw error
    }
  }

  private func numbered(_ frame: Frame, _ reference: Size?) -> Frame {
    counters.count(\.frames)
    drawing.plans.sawFrame(
      of: frame.format, reference: reference, isPinned: opened?.demand.isPinned ?? false)
    defer { nextSequence += 1 }
    // Numbers go on where a connection counts from 0 again; gaps are the source's own.
    nextSequence = max(nextSequence, frame.sequence)
    return frame.with(sequence: nextSequence)
  }

  /// The next frame that is not damaged; live sources leave damaged ones out themselves.
  private static func nextWhole(of source: any FrameSource) async throws -> FetchedFrame {
    var damage: SourceError?
    for _ in 0..<mostDamaged {
      do {
        return try await next(of: source, damage)
      } catch let error as SourceError where error.kind == .badData && !source.isLive {
        damage = error
      }
    }
    return try await next(of: source, damage)
  }

  private static func next(of source: any FrameSource, _ damage: SourceError?) async throws -> FetchedFrame {
    let frame = try await source.nextFrame()
    return FetchedFrame(frame: frame, damage: damage, reference: await source.referenceSize)
  }

  /// A file that has so many damaged frames in a row is said to be damaged.
  private static let mostDamaged = 10

  /// - Throws: what opening it throws; `CancellationError` where it is not to be open any more.
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
    let source = try await source.open(demand, reference: drawing.reference, memory: drawing.memory)
    guard !isClosed, isOn, still == nil else {
      await source.close()
      throw CancellationError()
    }
    return adopt(source, demand)
  }

  private func opensLate(since time: Duration) {
    guard opening != nil, isOn, !isClosed, outage == nil else { return }
    show(Outage(.opening, sinceCapture: time))
  }

  private func adopt(_ source: any FrameSource, _ demand: CaptureDemand) -> any FrameSource {
    openings += 1
    counters.count(\.opens)
    let number = openings
    let watchers = source.isLive ? watch(source, number) : []
    opened = OpenSource(source: source, demand: demand, number: number, watchers: watchers)
    // Whoever it was opened for may be gone, or want something else.
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

  /// Closes the source, where it is open; who waits goes on waiting. When it returns, none is open that was before.
  func closeSource() async {
    if let closed = opened {
      (opened, isEnded, isFailing) = (nil, false, false)
      counters.count(\.closes)
      for watcher in closed.watchers { watcher.cancel() }
      closed.fetch?.cancel()
      lastClosing = Task { [before = lastClosing] in
        await before?.value
        await closed.source.close()
      }
    }
    await lastClosing?.value
  }

  /// Neither goes on when this returns.
  func stopStillAndOpening() async {
    still?.cancel()
    opening?.cancel()
    _ = await still?.result
    _ = await opening?.result
  }

  /// Closes it, unless somebody comes in the meantime.
  func closeIfUnread() {
    guard !isRead, !source.keepsWarm, opened != nil, closing == nil else { return }
    closing = Task {
      if linger > .zero { try? await pause(linger) }
      guard !Task.isCancelled else { return }
      closing = nil
      guard !isRead else { return }
      // Whoever looks next is shown how it is then.
      if isOn { show(nil) }
      await closeSource()
    }
  }

  /// Opens what is to be kept warm.
  func warmUp() async {
    guard source.keepsWarm, !isClosed, isOn, still == nil, opened == nil else { return }
    _ = try? await openSource()
  }

  // MARK: State

  /// The state of opening `number` may have changed.
  private func stateChanged(_ number: Int) {
    if opened?.number == number { showState() }
  }

  /// Shows the source as it is now: its frames, or what stands in for them.
  func showState() {
    guard isOn, opened != nil else { return }
    guard let status else { return show(nil) }
    switch status.state {
    case .live, .idle, .off: if !isFailing { show(nil) }
    case .stalled: show(Outage(status))
    case .lost:
      // It may be long until frames come again, and of another size.
      drawing.memory.removeAll()
      show(Outage(status))
    case .opening:
      if CaptureClock.now - status.since >= source.opensWithin { show(Outage(status)) }
    }
  }

  /// Switches the source off, as a participant does a camera, or on again. Off, it is closed, and a outage is seen.
  func setOn(_ isOn: Bool) async {
    guard isOn != self.isOn, !isClosed else { return }
    self.isOn = isOn
    guard !isOn else {
      show(nil)
      return resume()
    }
    show(Outage(.off, sinceCapture: CaptureClock.now))
    await stopStillAndOpening()
    // It may have been switched on meanwhile.
    if !self.isOn { await closeSource() }
  }

  /// Says why there is no frame, as long as that is so.
  func showFailure(_ error: any Error) {
    guard isOn, !isClosed else { return }
    isFailing = true
    let reason = (error as? SourceError)?.reason ?? "\(error)"
    if let outage, outage.state == .lost, outage.reason == reason { return }
    show(
      Outage(.lost, reason: reason, sinceCapture: CaptureClock.now))
  }

  // MARK: Size

  /// The reference size where the source is pinned; else the largest size wanted, if every reader says one.
  private var demand: CaptureDemand {
    isPinned
      ? CaptureDemand(isPinned: true)
      : CaptureDemand(atLeast: readers.withLock { $0.values.map(\.wantedSize) })
  }

  /// Readers have come, gone or changed: a camera is asked for larger pictures at once, for smaller ones when that has
  /// been enough for a while, since a camera that changes its size pauses.
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
  /// Whether it gives no more frames. One that is connected, but whose masks don't fit its pictures, may give others.
  fileprivate func isGivenUp(_ error: any Error) -> Bool {
    status.isFinished || (error as? SourceError)?.kind != .badRequest
  }
}

extension CaptureDemand {
  /// Whether pictures that were asked for with `other` are large enough.
  fileprivate func isServed(by other: CaptureDemand) -> Bool {
    guard isPinned == other.isPinned else { return other.isPinned }
    guard let size = minimumSize, let theirs = other.minimumSize else { return other.minimumSize == nil }
    return size.width <= theirs.width && size.height <= theirs.height
  }

  /// Whether it is worth a pause.
  fileprivate func isMuchLess(than other: CaptureDemand) -> Bool {
    guard let size = minimumSize else { return false }
    guard let theirs = other.minimumSize else { return true }
    return 2 * size.pixelCount <= theirs.pixelCount
  }
}
