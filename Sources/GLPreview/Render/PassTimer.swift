// Measures the passes of a frame with the GPU's clock, excluding uploads between them.

/// Is notified of uploads in the middle of the passes.
protocol UploadObserver: AnyObject {
  /// Runs `body`, which uploads `byteCount` bytes to the GPU.
  func upload(byteCount: Int, _ body: () throws -> Void) throws
}

/// The timer queries of one frame, one per stretch of passes.
final class PassTimer: UploadObserver {
  /// The number of clock interruptions when it began.
  let epoch: Int
  private var stretches: [Stretch] = []

  /// A query that can be stored in an array.
  private final class Stretch {
    var query: TimerQuery

    init() throws(GLError) { query = try TimerQuery() }
  }

  init(epoch: Int) { self.epoch = epoch }

  /// Passes follow: starts a stretch.
  func resume() throws(GLError) { stretches.append(try Stretch()) }

  /// Something else follows: ends the stretch.
  func pause() { stretches.last?.query.end() }

  func upload(byteCount: Int, _ body: () throws -> Void) throws {
    pause()
    try body()
    try resume()
  }

  /// The sum of all stretches once the GPU has finished them; nil if one is unknown.
  var elapsed: Duration? {
    var sum = Duration.zero
    for stretch in stretches {
      guard let result = stretch.query.result else { return nil }
      sum += result
    }
    return stretches.isEmpty ? nil : sum
  }
}

/// Creates timers, if they are wanted and the device has a clock.
final class PassClock {
  /// Is notified of uploads in the middle of the passes that are being drawn.
  private var observer: (any UploadObserver)?
  private let isWanted: Bool
  /// Queried at first use, because there are hundreds of extensions to search.
  private lazy var isRunning = isWanted && TimerQuery.isSupported
  private var interruptions = 0

  init(isWanted: Bool) { self.isWanted = isWanted }

  func observed<Result>(by observer: (any UploadObserver)?, _ passes: () throws -> Result) rethrows -> Result
  {
    self.observer = observer
    defer { self.observer = nil }
    return try passes()
  }

  func upload(byteCount: @autoclosure () -> Int, _ body: () throws -> Void) throws {
    guard let observer else { return try body() }
    try observer.upload(byteCount: byteCount(), body)
  }

  /// A timer for a frame that begins with its passes; nil without a clock.
  func timer() throws(GLError) -> PassTimer? {
    guard isRunning else { return nil }
    let timer = PassTimer(epoch: interruptions)
    try timer.resume()
    return timer
  }

  /// The time of a finished frame; nil if the clock was interrupted meanwhile.
  func time(of timer: PassTimer?) -> Duration? {
    guard let timer else { return nil }
    // Reading the flag clears it, so count it for all timers of that period.
    if TimerQuery.wasDisjoint() { interruptions += 1 }
    return timer.epoch == interruptions ? timer.elapsed : nil
  }
}
