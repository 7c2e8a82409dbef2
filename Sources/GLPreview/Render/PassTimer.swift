// What the passes of a frame take by the GPU's own clock, without the uploads between them.

/// Is told of samples that go up in the middle of the passes.
protocol UploadObserver: AnyObject {
  /// Does `body`, which moves `byteCount` bytes to the GPU.
  func upload(byteCount: Int, _ body: () throws -> Void) throws
}

/// The timer queries of one frame: a stretch of passes each.
final class PassTimer: UploadObserver {
  /// How often the clock had been interrupted when it began.
  let epoch: Int
  private var stretches: [Stretch] = []

  /// A query that can be kept in an array.
  private final class Stretch {
    var query: TimerQuery

    init() throws(GLError) { query = try TimerQuery() }
  }

  init(epoch: Int) { self.epoch = epoch }

  /// From now on it is passes.
  func resume() throws(GLError) { stretches.append(try Stretch()) }

  /// From now on it is something else.
  func pause() { stretches.last?.query.end() }

  func upload(byteCount: Int, _ body: () throws -> Void) throws {
    pause()
    try body()
    try resume()
  }

  /// The sum of all stretches, once the GPU is done with them; nil where one of them is not known.
  var elapsed: Duration? {
    var sum = Duration.zero
    for stretch in stretches {
      guard let result = stretch.query.result else { return nil }
      sum += result
    }
    return stretches.isEmpty ? nil : sum
  }
}

/// Gives timers, where the device's clock is to be asked and there is one.
final class PassClock {
  private let isWanted: Bool
  /// Asked when it is first needed: there are hundreds of extensions to go through.
  private lazy var isRunning = isWanted && TimerQuery.isSupported
  private var interruptions = 0

  init(isWanted: Bool) { self.isWanted = isWanted }

  /// A timer for a frame that begins with its passes, if there is a clock.
  func timer() throws(GLError) -> PassTimer? {
    guard isRunning else { return nil }
    let timer = PassTimer(epoch: interruptions)
    try timer.resume()
    return timer
  }

  /// The time of a frame that the GPU is done with; nil where the clock was interrupted meanwhile.
  func time(of timer: PassTimer?) -> Duration? {
    guard let timer else { return nil }
    // Asking takes the flag back, which is about all timers of that time.
    if TimerQuery.wasDisjoint() { interruptions += 1 }
    return timer.epoch == interruptions ? timer.elapsed : nil
  }
}
