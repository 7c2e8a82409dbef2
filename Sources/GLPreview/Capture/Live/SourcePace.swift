// How fast a source may send: what pours out more than any camera does must not take the cores from everything else.
internal import Glibc

/// What a source has cost of late, in time, and how long it has to rest for it. No clock of its own.
struct SourcePace: Sendable {
  /// What may be spent at once.
  static let burst = Duration.seconds(1)

  private var debt = Duration.zero
  private var last: Duration?

  /// Spends `cost`.
  ///
  /// - Returns: how long to wait before more is taken; zero for a source that sends as cameras do.
  mutating func spend(_ cost: Duration, at now: Duration) -> Duration {
    debt = max(debt - (now - (last ?? now)), .zero) + cost
    last = now
    return max(debt - Self.burst, .zero)
  }
}

extension SourcePace {
  /// Of a picture: a thousand a second.
  static let picture = Duration.milliseconds(1)

  /// Of bytes that are taken: 512 MB a second, more than 4K has uncompressed at 30 pictures a second.
  static func bytes(_ count: Int) -> Duration { .nanoseconds(2 * Int64(count)) }

  /// Of bytes behind which no picture came within a picture's length: 8 MB a second.
  static func strayBytes(_ count: Int) -> Duration { .nanoseconds(125 * Int64(count)) }
}

/// What a stream of bytes may take on its way to pictures: time, and memory for the picture that is not whole yet.
struct StreamIntake: Sendable {
  private let budget: MemoryBudget?
  private let pictureLimit: Int
  /// Whether it is a live stream of which the newest is wanted; others are as fast as they are taken.
  private let isPaced: Bool
  private var lease: MemoryLease?
  private var pace = SourcePace()
  private var sincePicture = 0

  init(_ options: SourceOptions, isPaced: Bool = true) {
    budget = options.memory?.budget
    pictureLimit = options.pictureLimit
    self.isPaced = isPaced && options.live.delivery == .newest
  }

  /// Counts bytes that came.
  ///
  /// - Parameters:
  ///   - count: how many.
  ///   - waiting: bytes that are held for a picture that is not whole yet.
  ///   - foundPicture: whether a picture ended among them.
  ///   - now: the clock.
  /// - Returns: how long to rest.
  /// - Throws: `MemoryBudgetExceeded` where the budget has no room for what waits.
  mutating func took(_ count: Int, waiting: Int, foundPicture: Bool, at now: Duration = CaptureClock.now)
    throws(MemoryBudgetExceeded) -> Duration
  {
    // An array that grows has up to twice as much.
    try hold(2 * waiting)
    sincePicture = foundPicture ? 0 : sincePicture + count
    guard isPaced else { return .zero }
    let isStray = sincePicture > pictureLimit
    return pace.spend(
      isStray ? SourcePace.strayBytes(count) : SourcePace.bytes(count), at: now)
  }

  /// In steps, so that streams of small pictures don't come here for each.
  private static let step = 1 << 20

  private mutating func hold(_ byteCount: Int) throws(MemoryBudgetExceeded) {
    guard let budget else { return }
    let wanted = (byteCount + Self.step - 1) / Self.step * Self.step
    if let lease {
      if lease.byteCount != wanted { try lease.resize(to: wanted) }
    } else if wanted > 0 {
      lease = try budget.reserve(wanted)
    }
  }

  /// Waits on a thread that is the source's own, looking up every tenth of a second.
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
