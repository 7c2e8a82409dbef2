// Limits how fast a source may send, so that a flood of data does not take the CPU from everything else.
internal import Glibc

/// The recent cost of a source, as a duration, and the pause that it requires. Has no clock of its own.
struct SourcePace: Sendable {
  /// The cost that may be spent without a pause.
  static let burst = Duration.seconds(1)

  private var debt = Duration.zero
  private var last: CaptureInstant?

  /// Spends `cost`. Returns how long to wait before more is read: zero for a source that sends at the rate of
  /// a camera.
  mutating func spend(_ cost: Duration, at now: CaptureInstant) -> Duration {
    debt = max(debt - (now - (last ?? now)), .zero) + cost
    last = now
    return max(debt - Self.burst, .zero)
  }
}

extension SourcePace {
  /// The cost of a picture: allows 1000 per second.
  static let picture = Duration.milliseconds(1)

  /// Returns the cost of accepted bytes: allows 500 MB per second, more than uncompressed 4K at 30 pictures
  /// per second.
  static func bytes(_ count: Int) -> Duration { .nanoseconds(2 * Int64(count)) }

  /// Returns the cost of bytes after more than a picture's length without a picture: allows 8 MB per second.
  static func strayBytes(_ count: Int) -> Duration { .nanoseconds(125 * Int64(count)) }
}

/// Limits a stream of bytes that is split into pictures: its rate, and the memory of an incomplete picture.
package struct StreamIntake: Sendable {
  private let budget: MemoryBudget?
  private let pictureLimit: Int
  /// Whether it is a live stream whose newest picture is wanted. Other streams are read as fast as their
  /// reader takes them.
  private let isPaced: Bool
  private var lease: MemoryLease?
  private var pace = SourcePace()
  private var sincePicture = 0

  package init(_ options: SourceOptions, isPaced: Bool = true) {
    budget = options.memory?.budget
    pictureLimit = options.pictureLimit
    self.isPaced = isPaced && options.live.delivery == .newest
  }

  /// Counts `count` bytes that arrived, `waiting` bytes that are stored for an incomplete picture, and
  /// whether a picture ended. Returns how long to pause.
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

  /// The lease changes in steps, so that it is not resized for each small picture.
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
