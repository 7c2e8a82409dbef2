// Pictures from before: those that are kept of a source, decoded and masked when somebody asks for them.
internal import PreviewCore
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
  /// The decodings in progress, by the number of the picture. Several requests share one.
  private let decodings = Mutex<[Int: Task<Frame, any Error>]>([:])

  /// Nil if nothing is kept of `source`. One of `others` may hand over what it has kept.
  init?(_ source: SessionSource, _ budget: MemoryBudget?, after others: [SourceFeed]) {
    guard let replay = source.replay else { return nil }
    let older = others.first { $0.source.name == source.inheritsReplay }?.replay?.buffer
    older?.limit(to: replay)
    buffer = older ?? ReplayBuffer(replay, budget: budget)
    self.source = source
  }

  /// The times of the earliest and the latest picture.
  var span: ClosedRange<WallTime>? {
    buffer.span.map { WallTime(capturedAt: $0.lowerBound)...WallTime(capturedAt: $0.upperBound) }
  }

  /// How many pictures that can't be decoded are passed over.
  private static let mostDamaged = 10

  /// The newest picture at `time` or before that can be shown. Masks refer to pixels of `reference`. If the picture
  /// `passes`, it is the camera's own JPEG where that shows what a frame does.
  ///
  /// - Throws: `NotKept`; `SourceError` if masks can't be placed on it; `MemoryBudget.Exceeded`.
  func event(at time: CaptureInstant, reference: Size?, passes: Bool) async throws -> FeedEvent {
    var time = time
    for _ in 0..<Self.mostDamaged {
      let path = buffer.path(to: time)
      guard let last = path.last else { break }
      let sequence = last.content.sequence
      let key = FeedKey(sequence: sequence, outage: 0)
      if passes, let passed = await passed(last) {
        return FeedEvent(frame: nil, passed: passed, outage: nil, key: key, isLast: false)
      }
      do {
        let frame = try await frame(path.map(\.content), reference)
        return FeedEvent(
          frame: frame.with(sequence: sequence, timestamp: last.timestamp), outage: nil, key: key,
          isLast: false)
      } catch let error as MemoryBudget.Exceeded {
        throw error
      } catch let error as WordError {
        throw SourceError(.unavailable, path: source.name, reason: error.description)
      } catch {
        try Task.checkCancellation()
        time = last.timestamp - .nanoseconds(1)
      }
    }
    throw NotKept(source: source.name, time: WallTime(capturedAt: time), kept: span)
  }

  private func passed(_ entry: ReplayRing<KeptPicture>.Entry) async -> PassedPicture? {
    let checking = Task(executorPreference: DecodingQueue.shared) { [options = source.options] in
      EncodedLivePicture(entry, options)
    }
    return await checking.value.flatMap { PassedPicture($0) }
  }

  private func frame(_ path: [KeptPicture], _ reference: Size?) async throws -> Frame {
    guard let sequence = path.last?.sequence else { throw CancellationError() }
    let task = decodings.withLock { decodings in
      if let known = decodings[sequence] { return known }
      let task = Task(executorPreference: DecodingQueue.shared) { [source] in
        defer { self.decodings.withLock { $0[sequence] = nil } }
        guard let picture = path.last else { throw CancellationError() }
        var options = source.options
        options.referenceSize = reference
        let frame = try picture.makeFrame(path).with(color: options.color)
        return try FrameMasker(options).masked(frame)
      }
      decodings[sequence] = task
      return task
    }
    return try await task.value
  }
}

extension SourceFeed {
  /// The newest kept picture at `time` or before. The source need not be open.
  func kept(at time: CaptureInstant, passes: Bool) async throws -> FeedEvent {
    guard let replay else { throw notKept(time) }
    // Masks have no place before their size is known.
    if drawing.reference == nil, !source.options.masks.isEmpty {
      _ = try await frame(capturedAt: .start)
      guard drawing.reference != nil else {
        throw SourceError(
          .unavailable, path: source.name, reason: "has given no picture yet: its masks have no place")
      }
    }
    return try await replay.event(at: time, reference: drawing.reference, passes: passes)
  }
}

extension Preview {
  /// When the kept pictures of the preview's source within `times` were captured, in the order of arrival.
  package func keptTimes(in times: ClosedRange<CaptureInstant>) -> [CaptureInstant] {
    let since = shownSince
    return ((producer as? SourceFeed)?.replay?.buffer.times(in: times) ?? []).filter { $0 >= since }
  }
}
