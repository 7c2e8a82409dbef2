// A camera, a server, a pipe: whatever its kind, it is connected, watched, lost, found again and closed here.
package import PreviewCore
internal import Synchronization

/// A source whose frames come when they come. `nextFrame` gives the newest that nobody has had, and waits for one.
///
/// It connects when it is made, and again whenever the connection is lost, for as long as `LiveOptions` say. Frames are
/// decoded, or copied out of the driver's memory, only when they are asked for.
///
/// ```swift
/// let camera = try await SourceLocator("/dev/video0").open()
/// for await status in camera.statuses { print(status.state) }
/// ```
package final class LiveSource: FrameSource {
  /// What the user called it, without passwords.
  package let name: String
  private let core: LiveCore
  private let task: Task<Void, Never>

  /// Connects at once.
  init(_ device: any CaptureDevice, _ options: SourceOptions) {
    let core = LiveCore(device, options)
    name = device.name
    self.core = core
    task = Task { await core.run() }
  }

  deinit {
    task.cancel()
    core.end()
  }

  /// Always.
  package var isLive: Bool { true }

  /// How it is now.
  package var status: SourceStatus { core.status }

  /// As the connection says; nil before the first.
  package var framesPerSecond: Double? { core.status.mode?.framesPerSecond }

  /// As the connection says, for what has a choice of sizes.
  package var referenceSize: Size? { core.status.mode?.referenceSize }

  /// How it is, now and whenever its state changes; ends when it is closed. A slow reader keeps only the newest 16.
  package var statuses: AsyncStream<SourceStatus> { core.monitor.stream() }

  /// The next frame: the newest that was not given yet, or where all are wanted the oldest. Waits while there is none,
  /// also for a camera that is lost. Nil when it is closed, or at its end.
  ///
  /// Its `sequence` counts what the source made, so that a gap is frames that were dropped; its `timestamp` is
  /// `CaptureClock`'s. What turns out to be damaged is counted and left out.
  ///
  /// - Throws: `SourceError` once it is given up; `CancellationError`.
  package func nextFrame() async throws -> Frame? { try await core.nextFrame(0, .zero) }

  /// The same, but of frame `sequence` or later, captured at `time` or later: those before are passed over undecoded.
  package func nextFrame(from sequence: Int, capturedAt time: Duration = .zero) async throws -> Frame? {
    try await core.nextFrame(sequence, time)
  }

  /// Whether a frame is there that was not given yet.
  var hasNewFrame: Bool { core.hasNewFrame }

  /// Whether its maker waits for frames to be taken.
  var isHeld: Bool { core.isHeld }

  /// What is live has gone by.
  ///
  /// - Throws: `SourceError`, always.
  package func rewind() throws {
    throw SourceError(.badRequest, path: name, reason: "is live and can't be played again")
  }

  /// Disconnects, within a second from whatever state; who waits for a frame gets nil.
  package func close() async {
    task.cancel()
    core.end()
    await core.ended(task, within: .milliseconds(900))
  }
}

/// What works for a live source; it does not know its source, so that one that is dropped ends.
private final class LiveCore: Sendable {
  let monitor: WatchedMonitor
  private let device: any CaptureDevice
  private let options: SourceOptions
  private let queue: CaptureQueue
  private let masker: FrameMasker
  /// Pictures in a row that were damaged, and that could not be made a frame even so.
  private let failures = Mutex((damaged: 0, hopeless: 0))

  /// A camera that has no whole pictures is shown as it is.
  private static let damagedUntilTolerated = 10
  /// One that gives nothing that can be shown gives nothing.
  private static let mostHopeless = 10

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

  var status: SourceStatus { monitor.status }
  var hasNewFrame: Bool { queue.isFilled }
  var isHeld: Bool { queue.isHeld }

  private func change<Result: Sendable>(_ body: (inout SourceMonitor) -> Result) -> Result {
    monitor.change(body)
  }

  // MARK: Frames

  func nextFrame(_ sequence: Int, _ time: Duration) async throws -> Frame? {
    while let element = try await queue.take() {
      let capture = element.capture
      guard element.sequence >= sequence, capture.timestamp >= time else { continue }
      do {
        let frame = try await frame(of: capture)
        return frame.with(sequence: element.sequence, timestamp: capture.timestamp)
      } catch is CancellationError {
        throw CancellationError()
      } catch let error as WordError {
        throw SourceError(.badRequest, path: device.name, reason: error.description)
      } catch  where error.isOutOfMemory {
        continue
      } catch {
        let isHopeless = failures.withLock { failures in
          failures.hopeless += failures.damaged > Self.damagedUntilTolerated ? 1 : 0
          return failures.hopeless >= Self.mostHopeless
        }
        // Who has patience may wait for a camera that is set right.
        guard isHopeless, options.live.givesUpAfter != nil else { continue }
        throw SourceError(.badData, path: device.name, reason: "\(error)")
      }
    }
    return nil
  }

  /// Its frame; a damaged one only of a camera that has had no others for a while.
  private func frame(of capture: Capture) async throws -> Frame {
    do {
      let frame = try await decode(capture, .isAnError)
      failures.withLock { $0 = (0, 0) }
      return frame
    } catch {
      // A mask that can't be drawn is no fault of the picture, nor is memory that others have.
      guard !(error is CancellationError), !(error is WordError) else { throw error }
      if error.isOutOfMemory {
        change { $0.foundNoMemory("\(error)", at: CaptureClock.now) }
        throw error
      }
      change { $0.foundDamaged("\(error)") }
      let isTolerated = failures.withLock { failures in
        failures.damaged += 1
        return failures.damaged > Self.damagedUntilTolerated
      }
      guard isTolerated else { throw error }
      return try await decode(capture, .isTolerated)
    }
  }

  /// Masks are in the colours that the user says, and nobody has the frame before them.
  private func decode(_ capture: Capture, _ damage: JPEGDecoder.DamagePolicy) async throws -> Frame {
    let decoding = Task(executorPreference: DecodingQueue.shared) { [masker, color = options.color] in
      try Task.checkCancellation()
      return try masker.masked(capture.frame(damage: damage).with(color: color))
    }
    return try await withTaskCancellationHandler {
      do {
        return try await decoding.value
      } catch {
        try Task.checkCancellation()
        throw error
      }
    } onCancel: {
      decoding.cancel()
    }
  }

  // MARK: The connection

  /// Until the task is cancelled, the source is over or given up.
  func run() async {
    while !Task.isCancelled {
      do {
        try await connectAndPump()
        break
      } catch {
        guard !Task.isCancelled else { break }
        let error = sourceError(error)
        switch change({ $0.failed(error, at: CaptureClock.now, jitter: .random(in: 0...1)) }) {
        case .retry(let pause): try? await Task.sleep(for: pause)
        case .giveUp: return end(throwing: error)
        }
      }
    }
    end()
  }

  /// No more frames come.
  func end(throwing error: SourceError? = nil) {
    queue.finish(throwing: error)
    if error == nil { change { $0.closed(at: CaptureClock.now) } }
    monitor.finish()
  }

  /// Waits until `task` has given all back, but no longer than it must: a driver that hangs is left to itself.
  func ended(_ task: Task<Void, Never>, within limit: Duration) async {
    queue.removeAll()
    await waitAtMost(limit) { await task.value }
  }

  /// One connection from its beginning to its end; returns where the source is over for good.
  private func connectAndPump() async throws {
    let connection = try await connect()
    let mode = await connection.mode
    masker.refer(to: mode.referenceSize)
    change { $0.connected(mode, at: CaptureClock.now) }
    do {
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await self.pump(connection) }
        group.addTask { try await self.watch() }
        defer { group.cancelAll() }
        try await group.next()
      }
    } catch {
      await connection.close()
      throw error
    }
    await connection.close()
  }

  private func pump(_ connection: any CaptureConnection) async throws {
    var pace = SourcePace()
    while true {
      var byteCount = 0
      do {
        guard let capture = try await connection.next() else { return }
        let mode = await connection.mode
        byteCount = capture.byteCount
        change { $0.received(skipped: capture.skipped, mode: mode, at: CaptureClock.now) }
        let dropped = try await queue.put(options.masks.isEmpty ? capture : capture.withoutJPEG())
        if dropped > 0 { change { $0.dropped(dropped) } }
      } catch let error as DamagedCapture {
        change { $0.received(damaged: error.count, error.description) }
      } catch let error as CodecError {
        change { $0.foundDamaged(error.description) }
      }
      try Task.checkCancellation()
      guard options.live.delivery == .newest else { continue }
      let pause = pace.spend(SourcePace.picture + SourcePace.bytes(byteCount), at: CaptureClock.now)
      if pause > .zero { try await Task.sleep(for: pause) }
    }
  }

  /// Throws when the connection has been silent for too long.
  private func watch() async throws {
    while true {
      switch change({ $0.patience(isHeld: queue.isHeld, at: CaptureClock.now) }) {
      case .wait(let time): try await Task.sleep(for: max(time - CaptureClock.now, .milliseconds(1)))
      case .reconnect(let reason): throw SourceError(.unavailable, path: device.name, reason: reason)
      }
    }
  }

  /// What connects in the last moment is used or closed, never forgotten.
  private func connect() async throws -> any CaptureConnection {
    let connecting = Task { [device] in try await device.connect() }
    let limit = options.live.connectsWithin
    let timer = Task {
      try await Task.sleep(for: limit)
      connecting.cancel()
    }
    defer { timer.cancel() }
    do {
      return try await withTaskCancellationHandler {
        try await connecting.value
      } onCancel: {
        connecting.cancel()
      }
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

extension Error {
  /// Whether the memory budget had no room.
  fileprivate var isOutOfMemory: Bool {
    self is MemoryBudgetExceeded || (self as? CodecError)?.kind == .noMemory
  }
}
