// The frames of a source that are due, one at a time.
import GLPreview

/// A frame that is due, and its number among all frames of the source, loops and skipped ones counted.
typealias ScheduledFrame = (frame: Frame, number: Int)

/// Gives the frames of a source that are due, one at a time, counted from 0 through all loops.
struct ScheduledFrames {
  private let source: any FrameSource
  private let schedule: FrameSchedule
  private var loop = 0
  private var given = 0
  private var position = 0
  private var isWarm = false
  /// What the next frame must be at least.
  private var next = (number: 0, time: Duration.zero)
  /// Of the first frame that was given.
  private var start: Duration?
  /// When a live source has been watched for long enough, though nothing may come from it.
  private var deadline: ContinuousClock.Instant?

  init(_ source: any FrameSource, _ schedule: FrameSchedule) {
    self.source = source
    self.schedule = schedule
  }

  /// The next frame that is due; nil after the last.
  mutating func next() async throws -> ScheduledFrame? {
    guard given < schedule.limit ?? .max, try await warmUp(), let due = try await frame() else { return nil }
    let time = due.frame.timestamp
    if start == nil {
      start = time
      deadline = schedule.duration.map { ContinuousClock.now + $0 }
    }
    let elapsed = time - (start ?? time)
    if let duration = schedule.duration, elapsed >= duration { return nil }
    next.number = due.number + schedule.every
    // Counted from the start, so that an hour of intervals does not drift.
    if let interval = schedule.interval, interval > .zero {
      next.time = time - elapsed + interval * ((elapsed / interval).rounded(.down) + 1)
    }
    given += 1
    return due
  }

  /// False where that was all that there is.
  private mutating func warmUp() async throws -> Bool {
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

  /// The first frame that is not before what is due.
  private mutating func frame() async throws -> ScheduledFrame? {
    while true {
      try Task.checkCancellation()
      if let live = source as? LiveSource {
        return try await liveFrame(live).map { ($0, $0.sequence) }
      }
      guard let frame = try await source.nextFrame() else {
        loop += 1
        guard loop < schedule.loops, position > 0 else { return nil }
        try await source.rewind()
        // A file's time begins anew with it.
        (next.time, start) = (.zero, nil)
        continue
      }
      defer { position += 1 }
      if position >= next.number, frame.timestamp >= next.time { return (frame, position) }
    }
  }

  private func liveFrame(_ live: LiveSource) async throws -> Frame? {
    let due = next
    guard let deadline else { return try await live.nextFrame(from: due.number, capturedAt: due.time) }
    return try await withDeadline(ContinuousClock.now.duration(to: deadline)) {
      try await live.nextFrame(from: due.number, capturedAt: due.time)
    } ?? nil
  }
}
