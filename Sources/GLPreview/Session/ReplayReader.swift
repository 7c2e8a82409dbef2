// Reads a source's replay buffer: a picture is decoded and masked when a reader asks for it.
internal import Synchronization

/// The replay buffer has no picture of the requested time.
public struct NotBuffered: Error, Sendable, Hashable, CustomStringConvertible {
  /// The source's name.
  public let source: String
  /// The requested time; earlier if damaged pictures were skipped.
  public let time: WallTime
  /// The capture times of the earliest and the latest buffered picture; nil if there is none.
  public let buffered: ClosedRange<WallTime>?

  /// The reason, in one line.
  public var description: String {
    guard let buffered else { return "no picture of '\(source)' is buffered" }
    return
      "no picture of '\(source)' from \(time) or before is buffered (buffered: "
      + "\(buffered.lowerBound) to \(buffered.upperBound))"
  }
}

/// Returns the buffered pictures of one source as frames. The source's masks apply to all of them, whenever
/// they were captured.
final class ReplayReader: Sendable {
  let buffer: ReplayBuffer
  private let source: SessionSource
  private let replay: Replay
  private let state = Mutex(State())

  /// The decodings in progress, by the number of the picture. Several requests share one.
  private struct State {
    var decodings: [Int: Decoding] = [:]
    var lastWaiter = 0
  }

  private struct Decoding {
    let task: Task<Frame, any Error>
    var waiters: Set<Int>
  }

  /// Nil unless `source` has a replay buffer. It takes over the buffer of the one of `others` that `source`
  /// inherits from.
  init?(_ source: SessionSource, _ budget: MemoryBudget?, after others: [SourceFeed]) {
    guard let replay = source.replay else { return nil }
    buffer =
      others.first { $0.source.name == source.inheritsReplay }?.replay?.buffer
      ?? ReplayBuffer(replay, budget: budget)
    self.replay = replay
    self.source = source
  }

  /// Begins an opening of the source, as `ReplayBuffer.begin` does. From now on the limits of this source
  /// apply: the source that filled the buffer before may have had others, and is closed.
  func begin(at sequence: Int) -> Int {
    buffer.limit(to: replay)
    return buffer.begin(at: sequence, source.warmup)
  }

  /// The capture times of the earliest and the latest picture.
  var span: ClosedRange<WallTime>? { buffer.status?.span }

  /// The most damaged pictures that are skipped.
  private static let mostDamaged = 10

  /// Returns the newest picture captured at or before `time` that can be shown. Masks are in pixels of
  /// `reference`. With `passes`, it is the camera's own JPEG where that shows the same as a frame.
  ///
  /// - Throws: `NotBuffered`; `SourceError` if masks can't be placed on it; `MemoryBudget.Exceeded`;
  ///   `CancellationError`.
  func event(at time: CaptureInstant, reference: Size?, passes: Bool) async throws -> FeedEvent {
    var time = time
    for _ in 0..<Self.mostDamaged {
      let path = buffer.path(to: time)
      guard let last = path.last else { break }
      if passes, let passed = await passed(last) {
        return FeedEvent(passed)
      }
      if let event = try await event(of: path, reference: reference) { return event }
      time = last.timestamp - .nanoseconds(1)
    }
    throw NotBuffered(source: source.name, time: WallTime(capturedAt: time), buffered: span)
  }

  /// Returns the frame of a path's last picture; nil if that is damaged.
  ///
  /// - Throws: as `event(at:reference:passes:)`.
  func event(of path: [ReplayBuffer.Entry], reference: Size?) async throws -> FeedEvent? {
    guard let last = path.last else { return nil }
    do {
      let frame = try await frame(path, reference)
      return FeedEvent(frame.with(sequence: last.sequence, timestamp: last.timestamp))
    } catch  where error.isOutOfMemory {
      throw MemoryBudget.Exceeded()
    } catch let error as ParameterError {
      throw SourceError(.unavailable, path: source.name, reason: error.description)
    } catch {
      try Task.checkCancellation()
      return nil
    }
  }

  private func passed(_ entry: ReplayBuffer.Entry) async -> CameraPicture? {
    await Task(executorPreference: DecodingQueue.shared) { [options = source.options] in
      CameraPicture(entry, options)
    }.value
  }

  /// Decodes a path's last picture, once for all tasks that wait for it. The decoding is cancelled when all
  /// of them are.
  private func frame(_ path: [ReplayBuffer.Entry], _ reference: Size?) async throws -> Frame {
    guard let sequence = path.last?.sequence else { throw CancellationError() }
    try Task.checkCancellation()
    let (waiter, task) = state.withLock { state in
      state.lastWaiter += 1
      let waiter = state.lastWaiter
      if let known = state.decodings[sequence] {
        state.decodings[sequence]?.waiters.insert(waiter)
        return (waiter, known.task)
      }
      let forward = ForwardDecoding.current ?? ForwardDecoding()
      let task = Task(executorPreference: DecodingQueue.shared) { [source] in
        var options = source.options
        options.referenceSize = reference
        return try FrameMasker(options).masked(try forward.frame(path).with(color: options.color))
      }
      state.decodings[sequence] = Decoding(task: task, waiters: [waiter])
      return (waiter, task)
    }
    defer { leave(waiter, sequence) }
    return try await withTaskCancellationHandler {
      try await task.value
    } onCancel: {
      leave(waiter, sequence)
    }
  }

  private func leave(_ waiter: Int, _ sequence: Int) {
    let task = state.withLock { state -> Task<Frame, any Error>? in
      guard var decoding = state.decodings[sequence], decoding.waiters.remove(waiter) != nil else {
        return nil
      }
      state.decodings[sequence] = decoding.waiters.isEmpty ? nil : decoding
      return decoding.waiters.isEmpty ? decoding.task : nil
    }
    task?.cancel()
  }
}

/// Decodes buffered pictures for one reader that moves forward in time: a clip, a burst, the search for the
/// sharpest picture. The pictures that a picture depends on are not decoded again for the next one.
final class ForwardDecoding: Sendable {
  /// The decoding of the reader that the current task works for.
  @TaskLocal static var current: ForwardDecoding?

  private let position = Mutex<Position?>(nil)

  private struct Position: Sendable {
    let decoder: any BufferedDecoder
    /// The last decoded picture, which may be requested again.
    let sequence: Int
    let frame: Frame
  }

  /// Returns the frame of a path's last picture; blocks while it decodes.
  func frame(_ path: [ReplayBuffer.Entry]) throws -> Frame {
    guard let last = path.last else { throw CancellationError() }
    switch last.content {
    case .jpeg(_, let decode): return try decode()
    case .frame(let frame): return frame
    case .h264(_, let openDecoder):
      // The decoder is put back after a success. A concurrent caller, and the next one after an error, finds
      // none and opens a new one.
      let known = position.withLock { $0.take() }
      let place = path.firstIndex { $0.sequence == known?.sequence }
      let rest = place.map { path[($0 + 1)...] } ?? path[...]
      let decoder = place == nil ? openDecoder() : known?.decoder ?? openDecoder()
      let samples = rest.compactMap { if case .h264(let sample, _) = $0.content { sample } else { nil } }
      let frame = if let known, samples.isEmpty { known.frame } else { try decoder.frame(of: samples) }
      position.withLock { $0 = Position(decoder: decoder, sequence: last.sequence, frame: frame) }
      return frame
    }
  }
}

extension SourceFeed {
  /// Returns the newest buffered picture captured at or before `time`. The source need not be open. With
  /// `isCropped`, crops can be drawn from it.
  func buffered(at time: CaptureInstant, isCropped: Bool, passes: Bool) async throws -> FeedEvent {
    guard let replay else { throw notBuffered(time) }
    try await learnReference(isCropped: isCropped)
    return try await replay.event(at: time, reference: drawing.reference, passes: passes)
  }

  /// Returns the buffered picture of this number; nil if it is gone or damaged.
  func buffered(_ sequence: Int, isCropped: Bool) async throws -> FeedEvent? {
    guard let replay else { return nil }
    try await learnReference(isCropped: isCropped)
    return try await replay.event(
      of: replay.buffer.path(through: sequence), reference: drawing.reference)
  }

  /// Waits for a live picture while the reference size of masks and crops is not known. Buffered pictures
  /// can't replace it, because another source may have buffered them in another size.
  private func learnReference(isCropped: Bool) async throws {
    guard drawing.reference == nil, isCropped || !source.options.masks.isEmpty else { return }
    var event = try await frame(capturedAt: .start, isCropped: isCropped)
    while drawing.reference == nil, let seen = event, seen.outage?.state == .opening {
      event = try await self.event(after: seen.key, isOver: seen.isLast)
    }
    guard drawing.reference != nil else {
      throw SourceError(
        .unavailable, path: source.name, reason: "has sent no frame yet: its masks and crops can't be placed"
      )
    }
  }
}

extension Preview {
  /// The number of the buffered picture that `SnapshotRequest.Mode.at` selects for a time; nil if there is
  /// none.
  package func sequence(at time: CaptureInstant) -> Int? {
    (producer as? SourceFeed)?.replay?.buffer.sequence(at: time)
  }
}
