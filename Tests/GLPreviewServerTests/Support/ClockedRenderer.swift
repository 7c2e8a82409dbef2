// A renderer whose pictures take as much of a GPU's time as a test wants.
import PreviewCore
import Synchronization

@testable import GLPreview

/// Draws on the CPU, as if that were a GPU with timer queries.
final class ClockedRenderer: DeviceRenderer {
  typealias Failure = RenderError

  private let renderer = CPUDrawing()
  /// The time for one drawing; nil where the clock was interrupted.
  let time = Mutex<Duration?>(nil)

  init(_ time: Duration?) { self.time.withLock { $0 = time } }

  /// Options of a session that draws on it.
  var options: PreviewSession.Options {
    var options = PreviewSession.Options()
    options.renderers = SharedRenderers { _ in self }
    return options
  }

  var device: GPUDevice { renderer.device }
  var tuning: RenderTuning { renderer.tuning }
  var cachedByteCount: Int { renderer.cachedByteCount }
  var programCount: Int { renderer.programCount }

  func render(_ frame: Frame, _ plan: RenderPlan) async throws(RenderError) -> [Picture] {
    try await renderer.render(frame, plan)
  }

  func render(_ frames: [Frame?], _ plan: ScenePlan) async throws(RenderError) -> Picture {
    try await renderer.render(frames, plan)
  }

  func render(
    _ frame: Frame, _ plan: RenderPlan, within budget: MemoryBudget?
  ) async throws(RenderError) -> DrawnFrame {
    (try await renderer.render(frame, plan, within: budget).pictures, time.withLock { $0 })
  }

  func render(
    _ frames: [Frame?], _ plan: ScenePlan, within budget: MemoryBudget?
  ) async throws(RenderError) -> DrawnFrame {
    (try await renderer.render(frames, plan, within: budget).pictures, time.withLock { $0 })
  }

  func measure(
    _ frame: Frame, _ plan: RenderPlan
  ) async throws(RenderError) -> (pictures: [Picture], measurement: RenderMeasurement) {
    try await renderer.measure(frame, plan)
  }

  func lendMemory(to pool: FramePool) {}
  func removeUnheldMemory() {}
  func removeCached() {}
  func removePrograms() {}
  func close() {}
}
