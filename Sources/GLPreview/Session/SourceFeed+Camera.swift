// The camera side of a feed: opening and closing the source, the size of its pictures, and its state.
internal import Synchronization

/// A frame could not be read from an open source; the next one may succeed.
struct FrameFailure: Error {
  let error: any Error
}

extension SourceFeed {
  /// The source's status; nil if it is not live, or not open.
  var status: SourceStatus? {
    camera.opened.flatMap { $0.source.isLive ? $0.source.status : nil }
  }

  var observation: SourceObservation {
    SourceObservation(status: status, failure: failure, isActive: isActive)
  }

  /// Returns the next picture, with the feed's own number. Opens the source first if it is not open.
  ///
  /// - Throws: `FrameFailure`; `CancellationError` if the source was closed meanwhile; the errors of opening
  ///   it, and of a live source that is no longer reconnected.
  func takePicture() async throws -> CameraPicture? {
    let source = try await openSource()
    guard let number = camera.opened?.number else { throw CancellationError() }
    let fetch = Task { try await self.nextWhole(of: source) }
    camera.opened?.fetch = fetch
    let result = await fetch.result
    // A source that was closed returns nil too, which is not its end.
    guard camera.opened?.number == number else { throw CancellationError() }
    camera.opened?.fetch = nil
    switch result {
    case .success(let fetched):
      camera.isFailing = false
      // A file in which every frame is damaged, or that is empty, ends with an error. A picture from before
      // it was closed and opened again is not its last one.
      if fetched.picture != nil { camera.opened?.hasGivenPicture = true }
      guard camera.opened?.hasGivenPicture == true || source.isLive else {
        throw fetched.damage ?? SourceError(.badData, path: source.name, reason: "has no frames")
      }
      return fetched.picture.map { numbered($0, fetched.reference) }
    case .failure(let error): throw await lost(by: error)
    }
  }

  /// Returns the error to report for an error of the open source. A live source that is no longer reconnected
  /// is closed; the next request connects again. A connected source whose masks don't fit its pictures stays
  /// open, because it may deliver others.
  func lost(by error: any Error) async -> any Error {
    guard let source = camera.opened?.source, source.isLive,
      source.status.isFinished || (error as? SourceError)?.kind != .badRequest
    else { return FrameFailure(error: error) }
    await closeSource()
    return error
  }

  private func numbered(_ picture: CameraPicture, _ reference: Size?) -> CameraPicture {
    counters.count(\.frames)
    drawing.plans.sawFrame(
      of: picture.size, reference: reference, isPinned: camera.opened?.demand.isPinned ?? false)
    var picture = picture
    picture.sequence = camera.number(picture.sequence)
    return picture
  }

  /// Returns the next undamaged picture. Live sources skip damaged ones themselves.
  private nonisolated func nextWhole(of source: any FrameSource) async throws -> OpenSource.Fetched {
    var (damage, damaged): (SourceError?, Int) = (nil, 0)
    while true {
      do {
        let picture: CameraPicture? =
          if let live = source as? LiveSource {
            try await live.nextPicture()
          } else {
            try await source.nextFrame().map { CameraPicture($0) }
          }
        return (picture, damage, await source.referenceSize)
      } catch let error as SourceError
        where error.kind == .badData && !source.isLive && damaged < Self.mostDamaged
      {
        (damage, damaged) = (error, damaged + 1)
      }
    }
  }

  /// A file with this many damaged frames in a row is reported as damaged.
  private static let mostDamaged = 10

  /// - Throws: the errors of opening it; `CancellationError` if it must not be open any more.
  private func openSource() async throws -> any FrameSource {
    if let opened = camera.opened { return opened.source }
    let opening = camera.opening ?? Task { try await openCamera() }
    camera.opening = opening
    return try await opening.value
  }

  private func openCamera() async throws -> any FrameSource {
    let late = Task { [began = CaptureClock.now] in
      guard (try? await pause(self.source.opensWithin)) != nil, camera.opening != nil, camera.isOn, !isClosed,
        board.outage == nil
      else { return }
      show(Outage(.opening, sinceCapture: began))
    }
    defer {
      late.cancel()
      camera.opening = nil
      if board.outage?.state == .opening { show(nil) }
    }
    await camera.lastClosing?.value
    for other in camera.predecessors.compactMap({ $0() }) {
      // A source that hangs is not waited for.
      _ = try? await withDeadline(camera.predecessorsCloseWithin) { await other.closed() }
    }
    camera.predecessors = []
    try Task.checkCancellation()
    let demand = demand
    if source.options.sharesBuffers { await drawing.lendMemory() }
    let first = replay?.begin(at: camera.nextSequence) ?? 0
    let source = try await source.open(
      demand, reference: drawing.reference, memory: drawing.memory, bufferedIn: replay?.buffer)
    guard !isClosed, camera.isOn, camera.still == nil else {
      await source.close()
      throw CancellationError()
    }
    counters.count(\.opens)
    let number = camera.open(source, demand, countedFrom: first)
    if source.isLive { camera.opened?.watchers = watch(source, number) }
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

  /// Closes the source if it is open; requests stay pending. No earlier source is open when it returns. If it is only
  /// closed `toResize` it, what it shows stays current until it gives more.
  func closeSource(toResize: Bool = false) async {
    let current = toResize ? firstCurrent : nil
    if let closed = camera.close() {
      camera.currentBeforeResizing = current
      board.isEnded = false
      board.endVideo(at: CaptureClock.now)
      counters.count(\.closes)
      for watcher in closed.watchers { watcher.cancel() }
      closed.fetch?.cancel()
      decoding?.task.cancel()
      camera.lastClosing = Task { [before = camera.lastClosing] in
        await before?.value
        await closed.source.close()
      }
    }
    await camera.lastClosing?.value
    if camera.opened == nil { await drawing.releaseMemory() }
  }

  /// Stops a still and an opening, and waits for both.
  func stopStillAndOpening() async {
    camera.still?.cancel()
    camera.opening?.cancel()
    _ = await camera.still?.result
    _ = await camera.opening?.result
  }

  /// Closes it after `linger`, unless a reader comes meanwhile.
  func closeIfUnread() {
    // A later reader waits for a new picture: the last one may be old by then.
    if !isRead { camera.currentBeforeResizing = nil }
    guard !isRead, !source.staysOpen, camera.opened != nil, camera.closing == nil else { return }
    camera.closing = Task {
      if camera.linger > .zero { try? await pause(camera.linger) }
      guard !Task.isCancelled else { return }
      camera.closing = nil
      guard !isRead else { return }
      // The next reader is shown the state at that time.
      if camera.isOn { show(nil) }
      await closeSource()
    }
  }

  /// Opens a source that is kept warm.
  func warmUp() async {
    guard source.staysOpen, !isClosed, camera.isOn, camera.still == nil, camera.opened == nil else { return }
    _ = try? await openSource()
  }

  // MARK: State

  /// Shows the state of opening `number` after a change.
  private func stateChanged(_ number: Int) {
    guard camera.opened?.number == number else { return }
    if endedConnections != nil, status?.state == .lost { board.forget() }
    showState()
  }

  /// Shows the source's current state: its frames, or an outage.
  func showState() {
    guard camera.isOn, camera.opened != nil else { return }
    guard let status else { return show(nil) }
    switch status.state {
    case .live, .idle, .off: if !camera.isFailing { show(nil) }
    case .stalled: show(Outage(status))
    case .lost:
      // It may take long until frames come again, and these may have another size.
      drawing.memory.removeAll()
      show(Outage(status))
    case .opening:
      if CaptureClock.now - status.since >= source.opensWithin { show(Outage(status)) }
    }
  }

  /// Switches the source off or on again, like a participant's camera in a call. A source that is off is
  /// closed, and shows an outage.
  func setOn(_ isOn: Bool) async {
    guard isOn != camera.isOn, !isClosed else { return }
    camera.isOn = isOn
    replay?.buffer.setOn(isOn)
    guard !isOn else {
      show(nil)
      return resume()
    }
    show(Outage(.off, sinceCapture: CaptureClock.now))
    await stopStillAndOpening()
    // It may have been switched on meanwhile.
    if !camera.isOn { await closeSource() }
  }

  /// Shows an outage with the error's reason, until there is a frame.
  func showFailure(_ error: any Error) {
    guard camera.isOn, !isClosed else { return }
    camera.isFailing = true
    let reason = (error as? SourceError)?.reason ?? "\(error)"
    if let outage = board.outage, outage.state == .lost, outage.reason == reason { return }
    show(Outage(.lost, reason: reason, sinceCapture: CaptureClock.now))
  }

  // MARK: Size

  /// The reference size if the source is pinned; otherwise the largest wanted size, if every reader has one.
  private var demand: SourceOptions.Demand {
    isPinned || replay != nil
      ? SourceOptions.Demand(isPinned: true)
      : SourceOptions.Demand(atLeast: readers.withLock { $0.values.map(\.wantedSize) })
  }

  /// Adapts the camera's size after readers have come, gone or changed.
  func demandChanged() {
    closeIfUnread()
    camera.resizing?.cancel()
    guard source.origin.hasSizes, isRead, camera.still == nil else { return }
    guard let delay = camera.resizes(for: demand) else { return }
    camera.resizing = Task { [number = camera.opened?.number] in
      if delay > .zero { try? await pause(delay) }
      guard !Task.isCancelled, camera.opened?.number == number else { return }
      await closeSource(toResize: true)
    }
  }
}
