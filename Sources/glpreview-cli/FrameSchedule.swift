// Which frames of a source are rendered.
import GLPreview

/// The words `--frames`, `--every` and `--loop`.
struct FrameSchedule: Equatable {
  /// The most frames to render; nil is all.
  let limit: Int?
  /// Render one frame in this many.
  let every: Int
  /// How often a file is played.
  let loops: Int
}

/// A frame that is due, and its number among all frames of the source, loops and skipped ones counted.
typealias ScheduledFrame = (frame: Frame, number: Int)

/// Gives the frames of a source that are due, one at a time, counted from 0 through all loops.
struct ScheduledFrames {
  private let source: any FrameSource
  private let schedule: FrameSchedule
  private var loop = 0
  private var given = 0
  private var position = 0

  init(_ source: any FrameSource, _ schedule: FrameSchedule) {
    self.source = source
    self.schedule = schedule
  }

  /// The next frame that is due; nil after the last.
  mutating func next() async throws -> ScheduledFrame? {
    guard given < schedule.limit ?? .max else { return nil }
    while true {
      try Task.checkCancellation()
      guard let frame = try await source.nextFrame() else {
        loop += 1
        guard loop < schedule.loops, position > 0 else { return nil }
        try await source.rewind()
        continue
      }
      defer { position += 1 }
      guard position % schedule.every == 0 else { continue }
      given += 1
      return (frame, position)
    }
  }
}
