// The camera's side of a feed: when it is opened and closed, how large its pictures are asked for, how it is, and stills.
internal import PreviewCore
internal import Synchronization

/// A source that is open, and for which demand.
struct OpenSource: Sendable {
  let source: any FrameSource
  let demand: CaptureDemand
  /// Which opening it is.
  let number: Int
  /// Follows its states; nil for what has none.
  let watcher: Task<Void, Never>?
  /// The frame that is being waited for.
  var fetch: Task<Frame?, any Error>?

  var live: LiveSource? { source as? LiveSource }
}

extension SourceFeed {
  /// The source's state, for people; nil for what has none, or is not open.
  var status: SourceStatus? { opened?.live?.status }

  /// The next frame, of a source that is opened first where it is not; numbered through.
  ///
  /// - Throws: `CancellationError` where the source was closed meanwhile.
  func takeFrame() async throws -> Frame? {
    let source = try await openSource()
    let isFirst = latest == nil
    let fetch = Task { try await Self.nextWhole(of: source, isFirst: isFirst) }
    opened?.fetch = fetch
    defer { opened?.fetch = nil }
    guard let frame = try await fetch.value else {
      // What is closed gives nil too, and that is no end.
      if opened == nil { throw CancellationError() }
      guard !isFirst else { throw SourceError(.badData, path: source.name, reason: "has no frames") }
      return nil
    }
    counters.count(\.frames)
    drawing.sawFrame(of: frame.format)
    defer { nextSequence += 1 }
    // Numbers go on where a connection counts from 0 again; gaps are the source's own.
    nextSequence = max(nextSequence, frame.sequence)
    return frame.with(sequence: nextSequence)
  }

  /// The next frame that is not damaged; live sources leave damaged ones out themselves. Where it would be the first, the
  /// end of a file that was damaged all through is an error.
  private static func nextWhole(of source: any FrameSource, isFirst: Bool) async throws -> Frame? {
    var damage: SourceError?
    for _ in 0..<mostDamaged {
      do {
        let frame = try await source.nextFrame()
        if frame == nil, isFirst, let damage { throw damage }
        return frame
      } catch let error as SourceError where error.kind == .badData && !(source is LiveSource) {
        damage = error
      }
    }
    return try await source.nextFrame()
  }

  /// A file that has so many damaged frames in a row is said to be damaged.
  private static let mostDamaged = 10

  private func openSource() async throws -> any FrameSource {
    if let opened { return opened.source }
    let demand = demand
    let source = try await source.open(demand, reference: drawing.reference, memory: drawing.memory)
    guard !isClosed, isOn else {
      await source.close()
      throw CancellationError()
    }
    return adopt(source, demand)
  }

  private func adopt(_ source: any FrameSource, _ demand: CaptureDemand) -> any FrameSource {
    openings += 1
    counters.count(\.opens)
    let number = openings
    let watcher = (source as? LiveSource).map { live in
      Task { for await _ in live.statuses { self.stateChanged(number) } }
    }
    opened = OpenSource(source: source, demand: demand, number: number, watcher: watcher)
    if watcher != nil {
      Task { [opensWithin = self.source.opensWithin] in
        try? await Task.sleep(for: opensWithin)
        self.stateChanged(number)
      }
    }
    return source
  }

  /// Closes the source, where it is open; who waits goes on waiting.
  func closeSource() async {
    guard let closed = opened else { return }
    opened = nil
    counters.count(\.closes)
    closed.watcher?.cancel()
    closed.fetch?.cancel()
    await closed.source.close()
  }

  /// Closes it, unless somebody comes in the meantime.
  func closeIfUnread() {
    guard !isRead, !source.keepsWarm, opened != nil, closing == nil else { return }
    closing = Task {
      if linger > .zero { try? await Task.sleep(for: linger) }
      guard !Task.isCancelled, !isRead else { return }
      closing = nil
      await closeSource()
    }
  }

  /// Opens what is to be kept warm.
  func warmUp() async {
    guard source.keepsWarm, !isClosed, isOn, opened == nil else { return }
    _ = try? await openSource()
  }

  // MARK: State

  /// Looks how the source is, where it is still the one of that number.
  private func stateChanged(_ number: Int) {
    guard isOn, let opened, opened.number == number, let status = opened.live?.status else { return }
    switch status.state {
    case .live, .closed: show(nil)
    case .stalled, .lost: show(FallbackState(status))
    case .opening:
      if CaptureClock.now - status.since >= source.opensWithin { show(FallbackState(status)) }
    }
  }

  /// Switches the source off, as a participant does a camera, or on again. Off, it is closed, and a fallback is seen.
  func setOn(_ isOn: Bool) async {
    guard isOn != self.isOn, !isClosed else { return }
    self.isOn = isOn
    if isOn {
      show(nil)
      await warmUp()
      resume()
    } else {
      show(.off(since: CaptureClock.now))
      await closeSource()
    }
  }

  // MARK: Size

  /// As large as the largest that is wanted, where all who read say how large.
  private var demand: CaptureDemand {
    let sizes = readers.withLock { $0.values.map(\.wantedSize) }
    guard !sizes.isEmpty, !sizes.contains(nil) else { return CaptureDemand() }
    return CaptureDemand(
      minimumSize: sizes.compactMap(\.self).reduce(Size(width: 1, height: 1)) {
        Size(width: max($0.width, $1.width), height: max($0.height, $1.height))
      })
  }

  /// Readers have come, gone or changed: a camera is asked for larger pictures at once, for smaller ones when that has
  /// been enough for a while, since a camera that changes its size pauses.
  func demandChanged() {
    closeIfUnread()
    resizing?.cancel()
    guard source.origin.hasSizes, isRead, let opened, !isTakingStill else { return }
    let wanted = demand
    guard wanted != opened.demand else { return }
    let isEnough = wanted.isServed(by: opened.demand)
    if isEnough, !wanted.isMuchLess(than: opened.demand) { return }
    resizing = Task {
      if isEnough { try? await Task.sleep(for: .seconds(5)) }
      guard !Task.isCancelled, self.opened?.number == opened.number else { return }
      await closeSource()
    }
  }

  // MARK: Stills

  /// One frame in the camera's largest size; the previews pause meanwhile, and then go on. Of a source that has no choice,
  /// the next frame.
  ///
  /// - Parameters:
  ///   - settling: frames that are passed over first, for the camera to find its exposure.
  ///   - limit: how long it may take.
  /// - Returns: the frame, or what stands in for it; nil where there is none any more.
  /// - Throws: `SourceError` where the camera gives none, or is busy with another still.
  func still(settling: Int, within limit: Duration) async throws -> FeedEvent? {
    guard source.origin.hasSizes, isOn else { return try await frame(capturedAt: CaptureClock.now) }
    guard !isTakingStill else {
      throw SourceError(.unavailable, path: source.name, reason: "a still is being taken already")
    }
    // Masks and crops are said in pixels of the size that the camera has usually.
    if drawing.reference == nil { _ = try await frame(capturedAt: .zero) }
    isTakingStill = true
    defer {
      isTakingStill = false
      resume()
    }
    await closeSource()
    await pumpStopped()
    let camera = try await source.open(
      CaptureDemand(minimumSize: .largest), reference: drawing.reference, memory: FramePool())
    counters.count(\.opens)
    do {
      let still = try await withTimeout(limit, source.name) {
        for _ in 0..<settling { _ = try await camera.nextFrame() }
        return try await camera.nextFrame()
      }
      await camera.close()
      counters.count(\.closes)
      guard let still else { return nil }
      defer { nextSequence += 1 }
      return FeedEvent(
        frame: still.with(sequence: nextSequence), fallback: nil,
        key: FeedKey(sequence: nextSequence, fallback: 0), isLast: false)
    } catch {
      await camera.close()
      counters.count(\.closes)
      throw error
    }
  }
}

extension Size {
  /// Larger than any camera's.
  fileprivate static let largest = Size(width: 65535, height: 65535)
}

extension CaptureDemand {
  /// Whether pictures that were asked for with `other` are large enough.
  fileprivate func isServed(by other: CaptureDemand) -> Bool {
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

/// What `work` gives within `limit`.
func withTimeout<Value: Sendable>(
  _ limit: Duration, _ name: String, _ work: @escaping @Sendable () async throws -> Value
) async throws -> Value {
  try await withThrowingTaskGroup(of: Value.self) { group in
    group.addTask(operation: work)
    group.addTask {
      try await Task.sleep(for: limit)
      throw SourceError(.unavailable, path: name, reason: "gave no picture within \(limit / .seconds(1)) s")
    }
    defer { group.cancelAll() }
    guard let value = try await group.next() else { throw CancellationError() }
    return value
  }
}
