// What each stage of a frame's way over the GPU costs, one after another: for `glpreview bench`.
internal import Glibc
internal import PreviewCore

/// What one frame cost, stage by stage.
///
/// Stages are kept apart: the GPU has finished one before the next begins, so that what a driver puts off is counted
/// where it was asked for. Their sum is therefore more than what a frame costs in a row of them.
package struct RenderMeasurement: Sendable {
  /// What one stage cost.
  package struct Stage: Sendable {
    /// From its first command to its last one's end.
    package var wall: Duration = .zero
    /// Of all the process's threads meanwhile: drivers have some of their own.
    package var cpu: Duration = .zero
    /// Bytes that were moved; of the passes the least that they must read and write: each byte of a plane and each
    /// byte of a picture once.
    package var byteCount = 0
    /// By the GPU's own clock: of passes alone, and nil where it has none that can be trusted, or was interrupted.
    package var gpu: Duration?

    /// Nothing yet.
    package init() {}
  }

  /// The frame's planes, as far as the plan reads them, into textures.
  package var upload = Stage()
  /// Programs, tables and triangles.
  package var passes = Stage()
  /// Framebuffers into memory.
  package var readback = Stage()
}

/// Time of all the process's threads.
package enum ProcessorClock {
  /// Since the process began.
  package static var now: Duration {
    var time = timespec()
    unsafe clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
  }
}

/// Keeps the stages of one frame apart.
final class RenderStopwatch: UploadObserver {
  private(set) var measurement = RenderMeasurement()
  private var stage: WritableKeyPath<RenderMeasurement, RenderMeasurement.Stage> = \.passes
  private var start: (wall: ContinuousClock.Instant, cpu: Duration)
  private let clock: PassClock
  private let timer: PassTimer?

  /// Begins with the passes.
  init(_ clock: PassClock) throws(GLError) {
    GLPipeline.finish()
    self.clock = clock
    timer = try clock.timer()
    start = (.now, ProcessorClock.now)
  }

  /// From now on it is another stage.
  func enter(_ next: WritableKeyPath<RenderMeasurement, RenderMeasurement.Stage>) throws(GLError) {
    if stage == \.passes { timer?.pause() }
    GLPipeline.finish()
    let end = (wall: ContinuousClock.now, cpu: ProcessorClock.now)
    measurement[keyPath: stage].wall += end.wall - start.wall
    measurement[keyPath: stage].cpu += end.cpu - start.cpu
    stage = next
    start = (.now, ProcessorClock.now)
    if stage == \.passes { try timer?.resume() }
  }

  /// A plane that goes up in the middle of the passes.
  func upload(byteCount: Int, _ body: () throws -> Void) throws {
    try enter(\.upload)
    try body()
    try enter(\.passes)
    measurement.upload.byteCount += byteCount
  }

  /// The end of the frame, and of its readback.
  func finish(_ pictures: [Picture]) throws(GLError) -> RenderMeasurement {
    try enter(\.upload)
    measurement.passes.gpu = clock.time(of: timer)
    measurement.readback.byteCount = pictures.reduce(0) { $0 + $1.bytes.count }
    measurement.passes.byteCount = measurement.upload.byteCount + measurement.readback.byteCount
    return measurement
  }
}
