// Measures the passes of a frame with the GPU's clock, excluding uploads between them.

/// Is notified of what else is done in the middle of the passes.
protocol PassObserver: AnyObject {
  /// Runs `body`, which uploads `byteCount` bytes to the GPU.
  func upload(byteCount: Int, _ body: () throws -> Void) throws

  /// Runs `body`, which compiles a program.
  func compile<Value>(_ body: () throws(ShaderError) -> Value) throws(ShaderError) -> Value
}

/// The timer queries of one frame, one per stretch of passes.
final class PassTimer: PassObserver {
  /// The number of clock interruptions when it began.
  let epoch: Int
  private var stretches: [Stretch] = []

  /// A query that can be stored in an array.
  private final class Stretch {
    var query: TimerQuery

    init() { query = TimerQuery() }
  }

  init(epoch: Int) { self.epoch = epoch }

  /// Passes follow: starts a stretch.
  func resume() { stretches.append(Stretch()) }

  /// Something else follows: ends the stretch.
  func pause() { stretches.last?.query.end() }

  func upload(byteCount: Int, _ body: () throws -> Void) throws {
    pause()
    try body()
    resume()
  }

  /// The GPU may be idle meanwhile.
  func compile<Value>(_ body: () throws(ShaderError) -> Value) throws(ShaderError) -> Value {
    pause()
    defer { resume() }
    return try body()
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
  /// Is notified of what else is done in the middle of the passes that are being drawn.
  private var observer: (any PassObserver)?
  private let isWanted: Bool
  /// Queried at first use, because there are hundreds of extensions to search.
  private lazy var isRunning = isWanted && TimerQuery.isSupported
  private var interruptions = 0

  init(isWanted: Bool) { self.isWanted = isWanted }

  func observed<Result>(by observer: (any PassObserver)?, _ passes: () throws -> Result) rethrows -> Result {
    self.observer = observer
    defer { self.observer = nil }
    return try passes()
  }

  func upload(byteCount: @autoclosure () -> Int, _ body: () throws -> Void) throws {
    guard let observer else { return try body() }
    try observer.upload(byteCount: byteCount(), body)
  }

  func compile<Value>(_ body: () throws(ShaderError) -> Value) throws(ShaderError) -> Value {
    guard let observer else { return try body() }
    return try observer.compile(body)
  }

  /// A timer for a frame that begins with its passes; nil without a clock.
  func timer() -> PassTimer? {
    guard isRunning else { return nil }
    let timer = PassTimer(epoch: interruptions)
    timer.resume()
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
