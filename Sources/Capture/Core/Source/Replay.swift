// The replay buffer of a source, from which pictures from before a request are drawn: its limits and its
// contents.

/// The limits of a source's replay buffer.
public struct Replay: Sendable, Hashable {
  /// The time that is buffered, counted back from the newest picture.
  public var duration: Duration
  /// The most bytes to buffer, whatever the duration. Default: 64 MB.
  public var maximumBytes: Int

  /// Creates limits.
  public init(_ duration: Duration, maximumBytes: Int = 64_000_000) {
    self.duration = duration
    self.maximumBytes = maximumBytes
  }
}

/// Decodes buffered samples in the order in which they arrived.
package protocol BufferedDecoder: Sendable {
  /// Decodes samples that follow the previously decoded ones, or that begin with a keyframe; returns the
  /// frame of the last one. Returns early if its task is cancelled.
  func frame(of samples: [VideoSample]) throws -> Frame
}

/// A picture as its source delivered it, without masks. Only `ReplayReader`, which burns masks in, and
/// `ClipSamples`, which is used only without masks, may show it.
package enum BufferedPicture: Sendable {
  case jpeg([UInt8], decode: @Sendable () throws -> Frame)
  case h264(VideoSample, openDecoder: @Sendable () -> any BufferedDecoder)
  case frame(Frame)
}

/// The current contents of a source's replay buffer.
public struct ReplayStatus: Sendable, Hashable {
  /// The times of the earliest and the latest picture.
  public let span: ClosedRange<WallTime>
  /// The number of pictures.
  public let pictureCount: Int
  /// The number of their bytes.
  public let byteCount: Int

  /// The time from the earliest to the latest picture, in seconds.
  package var seconds: Double { span.upperBound.secondsSinceEpoch - span.lowerBound.secondsSinceEpoch }
}

/// The replay buffer of a source. It lasts while the source is opened and closed, or lost and found again.
package final class ReplayBuffer: Sendable {
  package typealias Entry = ReplayRing<BufferedPicture>.Entry

  private let budget: MemoryBudget?
  private let state: Watched<State>

  private struct State: Sendable {
    var ring: ReplayRing<BufferedPicture>
    /// The number of the next picture.
    var nextSequence = 0
    var warmup = Warmup.none
    /// The time of the first picture since the source was opened, and the number of pictures since then.
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

  /// Applies other limits. Pictures that exceed them are evicted.
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

  /// Prepares for a source that is being opened: nothing is buffered during `warmup`. Returns the number from
  /// which its pictures are counted, `sequence` or larger.
  package func begin(at sequence: Int, _ warmup: Warmup) -> Int {
    state.withLock { state in
      state.nextSequence = max(state.nextSequence, sequence)
      (state.warmup, state.start, state.pictureCount) = (warmup, nil, 0)
      return state.nextSequence
    }
  }

  /// Counts a picture; returns its number if it is to be buffered. Raw pictures are thinned out so that
  /// `maximumBytes` lasts for the whole duration.
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

  /// Switches buffering on or off with the source. Switching off also clears the buffer.
  package func setOn(_ isOn: Bool) {
    state.withLock { state in
      state.isOn = isOn
      guard !isOn else { return }
      state.ring.removeAll()
      state.lease = nil
    }
  }

  // MARK: Looking up

  /// Returns the newest picture at or before `time`, preceded by those that it depends on.
  package func path(to time: CaptureInstant) -> [Entry] {
    state.withLock { $0.ring.path(to: time) }
  }

  /// Returns the picture of this number, preceded by those that it depends on; empty if it is gone.
  package func path(through sequence: Int) -> [Entry] {
    state.withLock { $0.ring.path(beforeFirst: { $0.sequence > sequence }) }
  }

  /// Returns the number of the newest picture at or before `time`.
  package func sequence(at time: CaptureInstant) -> Int? {
    state.withLock { $0.ring.newest(at: time)?.sequence }
  }

  /// Waits for the first picture within `times` that arrived after number `last`; nil at `deadline`. Advances
  /// `last`, so that no picture is examined twice.
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

  /// Returns whether a picture within `times` is buffered that arrived after number `last`.
  package func hasPicture(after last: Int, in times: ClosedRange<CaptureInstant>) -> Bool {
    state.withLock { $0.ring.suffix(where: { $0.sequence > last }).contains { times.contains($0.timestamp) } }
  }

  /// Returns the capture times of the pictures within `times`, in the order of arrival.
  package func times(in times: ClosedRange<CaptureInstant>) -> [CaptureInstant] {
    state.withLock { $0.ring.pictures(in: times).map(\.timestamp) }
  }

  /// The time span of the buffered pictures; nil if there are none.
  var span: ClosedRange<CaptureInstant>? { state.withLock { $0.ring.span } }

  /// The current contents; nil if empty.
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

  /// Reserves memory for the ring, up to half of the budget. If there is not enough, evicts pictures.
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
