// Selects the frames of a source that are rendered, and returns them one at a time.

/// Which frames of a source a `RenderPipeline` renders. All of them by default.
public struct FrameSchedule: Sendable, Hashable {
  /// The most frames to render; nil for all.
  public var limit: Int?
  /// Renders every Nth frame. Default: 1.
  public var every: Int
  /// How many times a file is played. Default: 1.
  public var loops: Int
  /// The frames to skip before the first one.
  public var warmup: Warmup
  /// The minimum time between rendered frames, by their timestamps; nil for every frame.
  public var interval: Duration?
  /// How long to render, from the first frame on; nil for no limit.
  public var duration: Duration?

  /// Creates a schedule.
  public init(
    limit: Int? = nil, every: Int = 1, loops: Int = 1, warmup: Warmup = .none, interval: Duration? = nil,
    duration: Duration? = nil
  ) {
    (self.limit, self.every, self.loops) = (limit, every, loops)
    (self.warmup, self.interval, self.duration) = (warmup, interval, duration)
  }
}

/// A due frame, and its number among all frames of the source, counting loops and skipped frames.
typealias ScheduledFrame = (frame: Frame, number: Int)

/// Returns the due frames of a source, numbered from 0 through all loops.
actor ScheduledFrames {
  private let source: any FrameSource
  private let schedule: FrameSchedule
  private var loop = 0
  /// The number of frames returned so far.
  private(set) var given = 0
  private var position = 0
  private var isWarm = false
  /// The minimum number and time of the next frame.
  private var next = (number: 0, time: CaptureInstant.start)
  /// The time of the first returned frame.
  private var start: CaptureInstant?
  /// When to stop watching a live source, even if it delivers nothing.
  private var deadline: CaptureInstant?

  init(_ source: any FrameSource, _ schedule: FrameSchedule) {
    self.source = source
    self.schedule = schedule
  }

  /// Returns the next due frame; nil after the last.
  func next() async throws -> ScheduledFrame? {
    guard given < schedule.limit ?? .max, try await warmUp(), let due = try await frame() else { return nil }
    let time = due.frame.timestamp
    if start == nil {
      start = time
      deadline = schedule.duration.map { CaptureClock.now + $0 }
    }
    let elapsed = time - (start ?? time)
    if let duration = schedule.duration, elapsed >= duration { return nil }
    next.number = due.number + schedule.every
    // Computed from the start, so that intervals do not drift.
    if let interval = schedule.interval, interval > .zero {
      next.time = time - elapsed + interval * ((elapsed / interval).rounded(.down) + 1)
    }
    given += 1
    return due
  }

  /// Skips the warm-up. False if the source ended.
  private func warmUp() async throws -> Bool {
    guard !isWarm else { return true }
    isWarm = true
    switch schedule.warmup {
    case .frames(let count): next.number = count
    case .time(let time) where time > .zero:
      guard let first = try await frame() else { return false }
      next = (first.number + 1, first.frame.timestamp + time)
    case .time: break
    }
    return true
  }

  /// Waits for the next frame that is due.
  private func frame() async throws -> ScheduledFrame? {
    while true {
      try Task.checkCancellation()
      if source.isLive { return try await liveFrame().map { ($0, $0.sequence) } }
      guard let frame = try await source.nextFrame() else {
        loop += 1
        guard loop < schedule.loops, position > 0 else { return nil }
        try await source.rewind()
        // The timestamps of a file restart with each loop.
        (next.time, start) = (.start, nil)
        continue
      }
      defer { position += 1 }
      if position >= next.number, frame.timestamp >= next.time { return (frame, position) }
    }
  }

  private func liveFrame() async throws -> Frame? {
    let (source, due) = (source, next)
    guard let deadline else { return try await source.nextFrame(from: due.number, capturedAt: due.time) }
    return try await withDeadline(deadline - CaptureClock.now) {
      try await source.nextFrame(from: due.number, capturedAt: due.time)
    } ?? nil
  }
}
