// What is kept of a source, so that pictures from before a request can be drawn: how much, and the pictures themselves.

/// How much of what a source gave is kept.
public struct Replay: Sendable, Hashable {
  /// The time that is kept, counted back from the newest picture.
  public var duration: Duration
  /// The most bytes that are kept, whatever the time. Default: 64 MB.
  public var maximumBytes: Int

  /// Creates limits.
  public init(_ duration: Duration, maximumBytes: Int = 64_000_000) {
    self.duration = duration
    self.maximumBytes = maximumBytes
  }
}

/// Decodes kept samples in the order in which they came.
package protocol KeptDecoder: Sendable {
  /// Decodes samples that follow those that were decoded before, or begin with a key picture; the frame of the last.
  /// Returns early if its task is cancelled.
  func frame(of samples: [VideoSample]) throws -> Frame
}

/// A picture as its source gave it, with nothing hidden: only `ReplayReader`, which burns masks in, and `ClipSamples`, where
/// nothing is to be hidden, may show it.
package enum BufferedPicture: Sendable {
  case jpeg([UInt8], decode: @Sendable () throws -> Frame)
  case h264(VideoSample, openDecoder: @Sendable () -> any KeptDecoder)
  case frame(Frame)
}

/// How much is kept of a source now.
public struct ReplayStatus: Sendable, Hashable {
  /// The times of the earliest and the latest picture.
  public let span: ClosedRange<WallTime>
  /// The number of pictures.
  public let pictureCount: Int
  /// Their bytes.
  public let byteCount: Int

  /// The time from the earliest to the latest picture, in seconds.
  package var seconds: Double { span.upperBound.secondsSinceEpoch - span.lowerBound.secondsSinceEpoch }
}

/// The pictures that are kept of a source while it is opened and closed, lost and found.
package final class ReplayBuffer: Sendable {
  package typealias Entry = ReplayRing<BufferedPicture>.Entry

  private let budget: MemoryBudget?
  private let state: Watched<State>

  private struct State: Sendable {
    var ring: ReplayRing<BufferedPicture>
    /// The number of the next picture.
    var nextSequence = 0
    var warmup = Warmup.none
    /// The first picture since the source was opened, and how many came.
    var start: CaptureInstant?
    var pictureCount = 0
    var lastRaw: CaptureInstant?
    var isOn = true
    var lease: MemoryLease?
  }

  /// Leases change in steps of this many bytes.
  private static let step = 1 << 20

  package init(_ replay: Replay, budget: MemoryBudget?) {
    self.budget = budget
    state = Watched(
      State(ring: ReplayRing(duration: replay.duration, maximumBytes: max(replay.maximumBytes, 1))))
  }

  /// Takes over other limits. What exceeds them goes.
  package func limit(to replay: Replay) {
    state.update { state in
      guard state.ring.duration != replay.duration || state.ring.maximumBytes != max(replay.maximumBytes, 1)
      else { return }
      var ring = ReplayRing<BufferedPicture>(
        duration: replay.duration, maximumBytes: max(replay.maximumBytes, 1))
      for entry in state.ring.entries { ring.put(entry) }
      state.ring = ring
      hold(&state)
    }
  }

  /// The source is being opened: nothing is kept while `warmup` lasts. Its pictures are counted from the number that is
  /// returned, `sequence` or later.
  package func begin(at sequence: Int, _ warmup: Warmup) -> Int {
    state.withLock { state in
      state.nextSequence = max(state.nextSequence, sequence)
      (state.warmup, state.start, state.pictureCount) = (warmup, nil, 0)
      return state.nextSequence
    }
  }

  /// Counts a picture; its number if it is to be kept. Of raw pictures only so many are kept that all of the time has room.
  func admit(
    skipped: Int, at time: CaptureInstant, rawBytes: Int?
  ) -> Int? {
    state.withLock { state in
      let sequence = state.nextSequence + skipped
      state.nextSequence = sequence + 1
      let start = state.start ?? time
      defer { state.pictureCount += 1 }
      state.start = start
      guard state.isOn, !state.warmup.lasts(after: state.pictureCount, from: start, at: time) else {
        return nil
      }
      guard let rawBytes else { return sequence }
      let interval = state.ring.duration * (Double(rawBytes) / Double(state.ring.maximumBytes))
      if let last = state.lastRaw, time >= last, time - last < interval { return nil }
      state.lastRaw = time
      return sequence
    }
  }

  func put(_ entry: Entry) {
    state.update { state in
      guard state.isOn else { return }
      state.ring.put(entry)
      hold(&state)
    }
  }

  /// Keeps nothing while the source is switched off, and forgets what there was.
  package func setOn(_ isOn: Bool) {
    state.withLock { state in
      state.isOn = isOn
      guard !isOn else { return }
      state.ring.removeAll()
      state.lease = nil
    }
  }

  // MARK: Looking up

  /// The newest picture at `time` or before, after those that it rests on.
  package func path(to time: CaptureInstant) -> [Entry] {
    state.withLock { $0.ring.path(to: time) }
  }

  /// The picture of this number, after those that it rests on; empty if it is gone.
  package func path(through sequence: Int) -> [Entry] {
    state.withLock { $0.ring.path(beforeFirst: { $0.sequence > sequence }) }
  }

  /// The number of the newest picture at `time` or before.
  package func sequence(at time: CaptureInstant) -> Int? {
    state.withLock { $0.ring.newest(at: time)?.sequence }
  }

  /// Waits for the first picture within `times` that arrived after the one of the number `last`; nil at `deadline`.
  /// Those that were looked at are not looked at again: `last` moves on.
  package func next(
    after last: inout Int, in times: ClosedRange<CaptureInstant>, until deadline: CaptureInstant
  ) async throws -> Entry? {
    try await state.first(until: deadline) { state in
      for entry in state.ring.suffix(where: { $0.sequence > last }) {
        last = entry.sequence
        if times.contains(entry.timestamp) { return entry }
      }
      return nil
    }
  }

  /// Whether a picture within `times` is kept that arrived after the one of the number `last`.
  package func hasPicture(after last: Int, in times: ClosedRange<CaptureInstant>) -> Bool {
    state.withLock { $0.ring.suffix(where: { $0.sequence > last }).contains { times.contains($0.timestamp) } }
  }

  /// When the pictures within `times` were captured, in the order of arrival.
  package func times(in times: ClosedRange<CaptureInstant>) -> [CaptureInstant] {
    state.withLock { $0.ring.pictures(in: times).map(\.timestamp) }
  }

  /// The time that is kept; nil if there is nothing.
  var span: ClosedRange<CaptureInstant>? { state.withLock { $0.ring.span } }

  /// How much is kept; nil if there is nothing.
  package var status: ReplayStatus? {
    state.withLock { state in
      state.ring.span.map {
        ReplayStatus(
          span: WallTime(capturedAt: $0.lowerBound)...WallTime(capturedAt: $0.upperBound),
          pictureCount: state.ring.count, byteCount: state.ring.byteCount)
      }
    }
  }

  var byteCount: Int { state.withLock { $0.ring.byteCount } }

  // MARK: The budget

  /// Reserves memory for the ring, up to half of the budget. The ring evicts what has no room there.
  private func hold(_ state: inout State) {
    guard let budget else { return }
    let held = state.lease?.byteCount ?? 0
    let wanted = (state.ring.byteCount + Self.step - 1) / Self.step * Self.step
    guard held != wanted else { return }
    let isRoom = wanted < held || budget.reserved + wanted - held <= budget.capacity / 2
    if isRoom, reserve(wanted, &state) { return }
    state.ring.evict(downTo: held)
    if state.ring.byteCount > held { state.ring.removeAll() }
  }

  private func reserve(_ byteCount: Int, _ state: inout State) -> Bool {
    do {
      if let lease = state.lease {
        try lease.resize(to: byteCount)
      } else {
        state.lease = try budget?.reserve(byteCount)
      }
      return true
    } catch {
      return false
    }
  }
}

extension ReplayBuffer: Hashable {
  package static func == (a: ReplayBuffer, b: ReplayBuffer) -> Bool { a === b }

  package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
