// Pictures from before: those that are kept of a source, decoded and masked when somebody asks for them.
internal import Synchronization

/// No picture is kept of the moment that was asked for.
public struct NotKept: Error, Sendable, Hashable, CustomStringConvertible {
  /// The source's name.
  public let source: String
  /// The moment.
  public let time: WallTime
  /// The times of the earliest and the latest picture that is kept; nil if there is none.
  public let kept: ClosedRange<WallTime>?

  /// The reason, in one line.
  public var description: String {
    guard let kept else { return "nothing is kept of '\(source)'" }
    return
      "nothing is kept of '\(source)' from \(time) or before; there is \(kept.lowerBound) to \(kept.upperBound)"
  }
}

/// Gives the kept pictures of one source as frames, with that source's masks, whenever they were kept.
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

  /// Nil if nothing is kept of `source`. One of `others` may hand over what it has kept.
  init?(_ source: SessionSource, _ budget: MemoryBudget?, after others: [SourceFeed]) {
    guard let replay = source.replay else { return nil }
    buffer =
      others.first { $0.source.name == source.inheritsReplay }?.replay?.buffer
      ?? ReplayBuffer(replay, budget: budget)
    self.replay = replay
    self.source = source
  }

  /// The source is being opened, as in `ReplayBuffer.begin`. From now on its own limits hold: the one before it, which may
  /// have had others, is closed.
  func begin(at sequence: Int) -> Int {
    buffer.limit(to: replay)
    return buffer.begin(at: sequence, source.warmup)
  }

  /// The times of the earliest and the latest picture.
  var span: ClosedRange<WallTime>? { buffer.status?.span }

  /// How many pictures that can't be decoded are passed over.
  private static let mostDamaged = 10

  /// The newest picture at `time` or before that can be shown. Masks refer to pixels of `reference`. If the picture
  /// `passes`, it is the camera's own JPEG where that shows what a frame does.
  ///
  /// - Throws: `NotKept`; `SourceError` if masks can't be placed on it; `MemoryBudget.Exceeded`; `CancellationError`.
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
    throw NotKept(source: source.name, time: WallTime(capturedAt: time), kept: span)
  }

  /// The last picture of a path; nil if it is damaged.
  ///
  /// - Throws: as `event(at:reference:passes:)`.
  func event(of path: [ReplayBuffer.Entry], reference: Size?) async throws -> FeedEvent? {
    guard let last = path.last else { return nil }
    do {
      let frame = try await frame(path, reference)
      return FeedEvent(frame.with(sequence: last.sequence, timestamp: last.timestamp))
    } catch  where error.isOutOfMemory {
      throw MemoryBudget.Exceeded()
    } catch let error as WordError {
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

  /// Decodes the last picture of a path, once for all that wait for it. It is given up when all of them are cancelled.
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

/// Decodes kept pictures for one reader that goes forward in time: a clip, a burst, the search for the sharpest. What one picture
/// rests on is not decoded again for the next.
final class ForwardDecoding: Sendable {
  /// That of the reader for which the current task works.
  @TaskLocal static var current: ForwardDecoding?

  private let position = Mutex<Position?>(nil)

  private struct Position: Sendable {
    let decoder: any KeptDecoder
    /// The last picture that was decoded, which may be asked for again.
    let sequence: Int
    let frame: Frame
  }

  /// The frame of the last picture of a path; blocks while it decodes.
  func frame(_ path: [ReplayBuffer.Entry]) throws -> Frame {
    guard let last = path.last else { throw CancellationError() }
    switch last.content {
    case .jpeg(_, let decode): return try decode()
    case .frame(let frame): return frame
    case .h264(_, let openDecoder):
      // The decoder is put back after a success. Another caller, and the next one after an error, finds none and opens a new one.
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
  /// The newest kept picture at `time` or before. The source need not be open.
  /// With `isCropped`, crops can be drawn from it.
  func kept(at time: CaptureInstant, isCropped: Bool, passes: Bool) async throws -> FeedEvent {
    guard let replay else { throw notKept(time) }
    try await learnReference(isCropped: isCropped)
    return try await replay.event(at: time, reference: drawing.reference, passes: passes)
  }

  /// The kept picture of this number; nil if it is gone or damaged.
  func kept(_ sequence: Int, isCropped: Bool) async throws -> FeedEvent? {
    guard let replay else { return nil }
    try await learnReference(isCropped: isCropped)
    return try await replay.event(
      of: replay.buffer.path(through: sequence), reference: drawing.reference)
  }

  /// Waits for a live picture where the size that masks and crops refer to is not known: pictures that another source has
  /// kept may be of another size.
  private func learnReference(isCropped: Bool) async throws {
    guard drawing.reference == nil, isCropped || !source.options.masks.isEmpty else { return }
    var event = try await frame(capturedAt: .start, isCropped: isCropped)
    while drawing.reference == nil, let seen = event, seen.outage?.state == .opening {
      event = try await self.event(after: seen.key, isOver: seen.isLast)
    }
    guard drawing.reference != nil else {
      throw SourceError(
        .unavailable, path: source.name, reason: "has given no picture yet: its masks and crops have no place"
      )
    }
  }
}

extension Preview {
  /// The number of the kept picture that `SnapshotRequest.Mode.at` shows of a time; nil if there is none.
  package func keptSequence(at time: CaptureInstant) -> Int? {
    (producer as? SourceFeed)?.replay?.buffer.sequence(at: time)
  }
}
