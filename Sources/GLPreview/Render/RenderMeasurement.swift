// Measures the cost of each stage of a frame on the GPU, for `glpreview bench`.
internal import Glibc

/// The cost of one frame, stage by stage.
///
/// The GPU finishes each stage before the next begins, so that deferred work counts where it was requested.
/// The sum is therefore larger than a frame's cost in a continuous run.
package struct RenderMeasurement: Sendable {
  package struct Stage: Sendable {
    /// From its first command until its last one has finished.
    package var wall: Duration = .zero
    /// CPU time of all threads of the process, since drivers have their own.
    package var cpu: Duration = .zero
    /// The bytes moved; for the passes, the minimum to read and write: each byte of a plane and of a picture
    /// once.
    package var byteCount = 0
    /// GPU time; only for passes, and nil without a reliable clock or after an interruption.
    package var gpu: Duration?

    package init() {}
  }

  /// Uploading the planes that the plan reads.
  package var upload = Stage()
  /// Drawing: programs, tables and triangles.
  package var passes = Stage()
  /// Reading framebuffers into memory.
  package var readback = Stage()
}

/// CPU time of all threads of the process.
package enum ProcessorClock {
  package static var now: Duration {
    var time = timespec()
    unsafe clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
  }
}

final class RenderStopwatch: PassObserver {
  private(set) var measurement = RenderMeasurement()
  private var stage: WritableKeyPath<RenderMeasurement, RenderMeasurement.Stage> = \.passes
  private var start: (wall: ContinuousClock.Instant, cpu: Duration)
  private let clock: PassClock
  private let timer: PassTimer?

  init(_ clock: PassClock) throws(GLError) {
    GLCommands.finish()
    self.clock = clock
    timer = clock.timer()
    start = (.now, ProcessorClock.now)
  }

  func enter(_ next: WritableKeyPath<RenderMeasurement, RenderMeasurement.Stage>) throws(GLError) {
    if stage == \.passes { timer?.pause() }
    GLCommands.finish()
    let end = (wall: ContinuousClock.now, cpu: ProcessorClock.now)
    measurement[keyPath: stage].wall += end.wall - start.wall
    measurement[keyPath: stage].cpu += end.cpu - start.cpu
    stage = next
    start = (.now, ProcessorClock.now)
    if stage == \.passes { timer?.resume() }
  }

  func upload(byteCount: Int, _ body: () throws -> Void) throws {
    try enter(\.upload)
    try body()
    try enter(\.passes)
    measurement.upload.byteCount += byteCount
  }

  /// Programs are part of drawing.
  func compile<Value>(_ body: () throws(ShaderError) -> Value) throws(ShaderError) -> Value { try body() }

  func finish(_ pictures: [Picture]) throws(GLError) -> RenderMeasurement {
    try enter(\.upload)
    measurement.passes.gpu = clock.time(of: timer)
    measurement.readback.byteCount = pictures.reduce(0) { $0 + $1.byteCount }
    measurement.passes.byteCount = measurement.upload.byteCount + measurement.readback.byteCount
    return measurement
  }
}
