// Limits how fast a source may send, so that a flood of data does not take the cores from everything else.
internal import Glibc

/// The recent cost of a source, in time, and the pause that it requires. Has no clock of its own.
struct SourcePace: Sendable {
  /// The cost that may be spent at once.
  static let burst = Duration.seconds(1)

  private var debt = Duration.zero
  private var last: CaptureInstant?

  /// Spends `cost`; returns how long to wait before more is read: zero for a source that sends as a camera does.
  mutating func spend(_ cost: Duration, at now: CaptureInstant) -> Duration {
    debt = max(debt - (now - (last ?? now)), .zero) + cost
    last = now
    return max(debt - Self.burst, .zero)
  }
}

extension SourcePace {
  /// The cost of a picture: 1000 per second.
  static let picture = Duration.milliseconds(1)

  /// The cost of accepted bytes: 500 MB per second, more than uncompressed 4K at 30 pictures per second.
  static func bytes(_ count: Int) -> Duration { .nanoseconds(2 * Int64(count)) }

  /// The cost of bytes after more than a picture's length without a picture: 8 MB per second.
  static func strayBytes(_ count: Int) -> Duration { .nanoseconds(125 * Int64(count)) }
}

/// Limits a stream of bytes on its way to pictures: its pace, and the memory of an incomplete picture.
package struct StreamIntake: Sendable {
  private let budget: MemoryBudget?
  private let pictureLimit: Int
  /// Whether it is a live stream of which the newest picture is wanted; others are as fast as their reader.
  private let isPaced: Bool
  private var lease: MemoryLease?
  private var pace = SourcePace()
  private var sincePicture = 0

  package init(_ options: SourceOptions, isPaced: Bool = true) {
    budget = options.memory?.budget
    pictureLimit = options.pictureLimit
    self.isPaced = isPaced && options.live.delivery == .newest
  }

  /// Counts `count` bytes that arrived, in which a picture may have ended, and the `waiting` bytes that are held for an
  /// incomplete one. Returns how long to pause.
  package mutating func took(_ count: Int, waiting: Int, foundPicture: Bool, at now: CaptureInstant = .now)
    throws(MemoryBudget.Exceeded) -> Duration
  {
    // A growing array may take twice its size.
    try hold(2 * waiting)
    sincePicture = foundPicture ? 0 : sincePicture + count
    guard isPaced else { return .zero }
    let isStray = sincePicture > pictureLimit
    return pace.spend(isStray ? SourcePace.strayBytes(count) : SourcePace.bytes(count), at: now)
  }

  /// The lease changes in steps, so that a stream of small pictures does not change it for each.
  private static let step = 1 << 20

  private mutating func hold(_ byteCount: Int) throws(MemoryBudget.Exceeded) {
    guard let budget else { return }
    let wanted = (byteCount + Self.step - 1) / Self.step * Self.step
    if let lease {
      if lease.byteCount != wanted { try lease.resize(to: wanted) }
    } else if wanted > 0 {
      lease = try budget.reserve(wanted)
    }
  }

  /// Waits on the source's own thread; checks for cancellation every 100 ms.
  static func rest(_ pause: Duration) throws {
    var left = pause
    while left > .zero {
      try Task.checkCancellation()
      let step = min(left, .milliseconds(100))
      usleep(useconds_t(max(step / .microseconds(1), 1)))
      left -= step
    }
  }
}
