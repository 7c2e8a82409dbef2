// Connects, monitors, reconnects and closes a live source of any kind.
internal import Synchronization

/// A source whose frames arrive at their own pace. `nextFrame` waits for the newest unread frame.
///
/// It connects when it is created, and reconnects whenever the connection is lost, as long as `LiveOptions`
/// allows. Frames are decoded, or copied out of the driver's memory, only when they are requested.
///
/// ```swift
/// let camera = try await SourceLocator("/dev/video0").open()
/// for await status in camera.statuses { print(status.state) }
/// ```
package final class LiveSource: FrameSource {
  package let name: String
  private let core: LiveCore
  private let task: Task<Void, Never>

  /// Creates a source, which starts to connect immediately.
  package init(_ device: any CaptureDevice, _ options: SourceOptions) {
    let core = LiveCore(device, options)
    name = device.name
    self.core = core
    task = Task { await core.run() }
  }

  deinit {
    task.cancel()
    core.end()
  }

  package var isLive: Bool { true }

  package var status: SourceStatus { core.monitor.status }

  /// The frame rate of the connection; nil before the first one.
  package var framesPerSecond: Double? { status.mode?.framesPerSecond }

  /// The reference size of the connection, if the source has several sizes.
  package var referenceSize: Size? { status.mode?.referenceSize }

  package var statuses: AsyncStream<SourceStatus> { core.monitor.stream() }

  /// Returns the next frame: the newest that has not been returned yet, or the oldest if every frame is to be
  /// delivered. Waits for one, even while the camera is lost. Returns nil when the source is closed or at its
  /// end.
  ///
  /// Its `sequence` counts all pictures of the source, so a gap means dropped frames. Its `timestamp` is
  /// measured by `CaptureClock`. Damaged pictures are counted and skipped.
  ///
  /// - Throws: `SourceError` once the source has given up; `CancellationError`.
  package func nextFrame() async throws -> Frame? { try await core.nextFrame(0, .start) }

  /// Returns the next picture, like `nextFrame`. A picture that can be passed through is not decoded.
  package func nextPicture() async throws -> CameraPicture? { try await core.nextPicture() }

  /// Returns the next frame with number `sequence` or later, captured at `time` or later, skipping earlier
  /// ones.
  package func nextFrame(
    from sequence: Int, capturedAt time: CaptureInstant = .start
  ) async throws -> Frame? {
    try await core.nextFrame(sequence, time)
  }

  package var hasNewFrame: Bool { core.queue.isFilled }

  /// Whether the source waits until its reader takes frames.
  var isHeld: Bool { core.queue.isHeld }

  /// Always throws: a live source can't be played again.
  package func rewind() throws {
    throw SourceError(.badRequest, path: name, reason: "is live and can't be played again")
  }

  /// Disconnects within a second, from any state. A waiting `nextFrame` returns nil.
  package func close() async {
    task.cancel()
    core.end()
    await core.ended(task, within: .milliseconds(900))
  }
}

/// The implementation of a live source, without a reference to it, so that a released source ends.
private final class LiveCore: Sendable {
  let monitor: WatchedMonitor
  let queue: CaptureQueue
  private let device: any CaptureDevice
  private let options: SourceOptions
  private let masker: FrameMasker
  /// The number of consecutive damaged pictures, and how many of them could not be shown even with damage.
  private let failures = Mutex((damaged: 0, unusable: 0))

  /// After this many damaged pictures in a row, further ones are shown with their damage.
  private static let damagedUntilTolerated = 10
  /// After this many pictures that can't be shown, the source may give up.
  private static let mostUnusable = 10

  init(_ device: any CaptureDevice, _ options: SourceOptions) {
    self.device = device
    self.options = options
    queue = CaptureQueue(options.live.delivery)
    masker = FrameMasker(options)
    monitor = WatchedMonitor(
      SourceMonitor(
        options.live, longestPause: device.longestPause,
        reconnectsWhenSilent: device.reconnectsWhenSilent, at: CaptureClock.now))
  }

  // MARK: Frames

  func nextFrame(_ sequence: Int, _ time: CaptureInstant) async throws -> Frame? {
    while let capture = try await queue.take() {
      guard capture.sequence >= sequence, capture.timestamp >= time else { continue }
      if let frame = try await frame(of: capture) { return frame }
    }
    return nil
  }

  func nextPicture() async throws -> CameraPicture? {
    while let capture = try await queue.take() {
      do {
        if let picture = try await passable(capture) { return picture }
      } catch let error as MemoryBudget.Exceeded {
        foundNoMemory(error)
        continue
      }
      if let frame = try await frame(of: capture) { return CameraPicture(frame) }
    }
    return nil
  }

  /// Returns the picture of a capture if it can be passed through; nil if it has to be decoded.
  private func passable(_ capture: Capture) async throws -> CameraPicture? {
    if let place = capture.video {
      return CameraPicture(content: .h264(place), sequence: capture.sequence, timestamp: capture.timestamp) {
        try await self.frame(of: capture)
      }
    }
    guard let jpeg = capture.jpeg else { return nil }
    let checking = Task(executorPreference: DecodingQueue.shared) { [limit = options.maximumPixels] in
      try Task.checkCancellation()
      return try? OriginalJPEG(checking: jpeg, maximumPixels: limit)
    }
    guard let passable = try await checking.join() else { return nil }
    let clean = capture.with(passable.bytes, options)
    return CameraPicture(
      content: .jpeg(passable), sequence: capture.sequence, timestamp: capture.timestamp,
      lease: try options.memory?.budget?.reserve(passable.bytes.count)
    ) { try await self.frame(of: clean) }
  }

  /// Returns the frame of a capture; nil if this one can't be shown but a later one may.
  private func frame(of capture: Capture) async throws -> Frame? {
    do {
      let frame = try await decoded(capture)
      return frame.with(sequence: capture.sequence, timestamp: capture.timestamp)
    } catch is CancellationError {
      throw CancellationError()
    } catch let error as ParameterError {
      throw SourceError(.badRequest, path: device.name, reason: error.description)
    } catch  where error.isOutOfMemory {
      // A source that never retries, such as a render job's, reports the error to its reader.
      guard options.live.givesUpAfter != .zero else {
        throw SourceError(decoding: error, path: device.name, reason: "\(error)")
      }
      return nil
    } catch {
      let isUnusable = failures.withLock { failures in
        failures.unusable += failures.damaged > Self.damagedUntilTolerated ? 1 : 0
        return failures.unusable >= Self.mostUnusable
      }
      // Without a time limit, waits for the camera to recover.
      guard isUnusable, options.live.givesUpAfter != nil else { return nil }
      throw SourceError(.badData, path: device.name, reason: "\(error)")
    }
  }

  private func foundNoMemory(_ error: any Error) {
    monitor.change { $0.foundNoMemory("\(error)", at: CaptureClock.now) }
  }

  /// Returns the frame. A damaged one is returned only after `damagedUntilTolerated` in a row.
  private func decoded(_ capture: Capture) async throws -> Frame {
    do {
      let frame = try await decode(capture, .isAnError)
      failures.withLock { $0 = (0, 0) }
      return frame
    } catch {
      // Neither a mask that can't be drawn nor an exhausted memory budget means that the picture is damaged.
      guard !(error is CancellationError), !(error is ParameterError) else { throw error }
      if error.isOutOfMemory {
        foundNoMemory(error)
        throw error
      }
      monitor.change { $0.foundDamaged("\(error)") }
      let isTolerated = failures.withLock { failures in
        failures.damaged += 1
        return failures.damaged > Self.damagedUntilTolerated
      }
      guard isTolerated else { throw error }
      return try await decode(capture, .isTolerated)
    }
  }

  /// Decodes the frame and draws the masks. The user's colour settings apply first; nothing else reads the
  /// frame before it is masked.
  private func decode(_ capture: Capture, _ damage: JPEGDecoder.DamagePolicy) async throws -> Frame {
    let decoding = Task(executorPreference: DecodingQueue.shared) { [masker, color = options.color] in
      try Task.checkCancellation()
      return try masker.masked(capture.frame(damage: damage).with(color: color))
    }
    do {
      return try await decoding.join()
    } catch {
      try Task.checkCancellation()
      throw error
    }
  }

  // MARK: The connection

  /// Runs until the task is cancelled, or until the source ends or gives up.
  func run() async {
    while !Task.isCancelled {
      do {
        try await connectAndPump()
        break
      } catch {
        guard !Task.isCancelled else { break }
        let error = sourceError(error)
        switch monitor.change({ $0.failed(error, at: CaptureClock.now, jitter: .random(in: 0...1)) }) {
        case .retry(let pause): try? await Task.sleep(for: pause)
        case .giveUp: return end(throwing: error)
        }
      }
    }
    end()
  }

  func end(throwing error: SourceError? = nil) {
    queue.finish(throwing: error)
    if error == nil { monitor.change { $0.closed(at: CaptureClock.now) } }
    monitor.finish()
  }

  /// Waits until `task` has released everything, at most for `limit`. A driver that hangs is abandoned then.
  func ended(_ task: Task<Void, Never>, within limit: Duration) async {
    queue.removeAll()
    await waitAtMost(limit) { await task.value }
  }

  /// Runs one connection from beginning to end. Returns if the source has ended for good.
  private func connectAndPump() async throws {
    let connection = try await connect()
    let mode = await connection.mode
    masker.refer(to: mode.referenceSize)
    monitor.change { $0.connected(mode, at: CaptureClock.now) }
    do {
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await self.pump(connection, on: connection as? any Actor) }
        group.addTask { try await self.watch() }
        defer { group.cancelAll() }
        try await group.next()
      }
    } catch {
      forgetPictures()
      await connection.close()
      throw error
    }
    forgetPictures()
    await connection.close()
  }

  /// Counts the end of a connection and drops its waiting pictures, if `endedConnections` is set.
  private func forgetPictures() {
    guard let ended = options.endedConnections else { return }
    ended.add()
    queue.removeAll()
  }

  /// Moves captures from the connection to the queue. Runs on the connection's actor, so that a picture wakes
  /// no other thread unless a reader waits for it.
  private func pump(_ connection: any CaptureConnection, on actor: isolated (any Actor)?) async throws {
    var pace = SourcePace()
    while true {
      var byteCount = 0
      do {
        guard let arrived = try await connection.next() else { return }
        let capture = options.replay?.keep(arrived) ?? arrived
        let mode = await connection.mode
        byteCount = capture.byteCount
        monitor.change { $0.received(skipped: capture.skipped, mode: mode, at: CaptureClock.now) }
        let hidden = capture.hidden(options)
        let dropped =
          options.live.delivery == .newest ? queue.putNewest(hidden) : try await queue.put(hidden)
        if dropped > 0, options.eagerReaders?.isEmpty != true { monitor.change { $0.dropped(dropped) } }
      } catch let error as DamagedCapture {
        if error.isOutOfMemory {
          foundNoMemory(error)
        } else {
          monitor.change { $0.receivedDamaged(error.description) }
        }
      } catch let error as CodecError {
        monitor.change { $0.foundDamaged(error.description) }
      }
      try Task.checkCancellation()
      guard options.live.delivery == .newest else { continue }
      let pause = pace.spend(SourcePace.picture + SourcePace.bytes(byteCount), at: CaptureClock.now)
      if pause > .zero { try await Task.sleep(for: pause) }
    }
  }

  /// Throws if the connection has been silent for too long.
  private func watch() async throws {
    while true {
      switch monitor.change({ $0.checkConnection(isHeld: queue.isHeld, at: CaptureClock.now) }) {
      case .wait(let time):
        try await CaptureClock().sleep(until: max(time, CaptureClock.now + .milliseconds(1)))
      case .reconnect(let reason): throw SourceError(.unavailable, path: device.name, reason: reason)
      }
    }
  }

  /// Connects within the time limit. A connection made at the last moment is used or closed, never leaked.
  private func connect() async throws -> any CaptureConnection {
    let connecting = Task { [device] in try await device.connect() }
    let limit = options.live.connectsWithin
    let timer = Task {
      try await Task.sleep(for: limit)
      connecting.cancel()
    }
    defer { timer.cancel() }
    do {
      return try await connecting.join()
    } catch is CancellationError where !Task.isCancelled {
      throw SourceError(
        .unavailable, path: device.name, reason: "no connection within \(limit / .seconds(1)) s")
    }
  }

  private func sourceError(_ error: any Error) -> SourceError {
    let known = error as? SourceError
    return SourceError(
      known?.kind ?? .unavailable, path: known?.path ?? device.name,
      reason: Redaction.message(known?.reason ?? "\(error)", hiding: device.secrets))
  }
}
