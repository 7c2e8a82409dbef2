// The CPU as a device that sessions draw on.
internal import CPURenderer

/// Draws with the processor's vector instructions. Pictures of different tasks are drawn at the same time.
final class CPUDrawing: DeviceRenderer {
  typealias Failure = RenderError

  private let renderer = CPURenderer()
  let device: GPUDevice

  init(_ device: GPUDevice = .cpu) { self.device = device }

  var tuning: RenderTuning { CPURenderer.tuning }
  var cachedByteCount: Int { renderer.cachedByteCount }
  var programCount: Int { 0 }

  func render(_ frame: Frame, _ plan: RenderPlan) async throws(RenderError) -> [Picture] {
    try await render(frame, plan, within: nil).pictures
  }

  func render(_ frames: [Frame?], _ plan: ScenePlan) async throws(RenderError) -> Picture {
    let drawn = try await render(frames, plan, within: nil)
    guard let picture = drawn.pictures.first else { throw RenderError("the scene has no picture") }
    return picture
  }

  func render(
    _ frame: Frame, _ plan: RenderPlan, within budget: MemoryBudget?
  ) async throws(RenderError) -> DrawnFrame {
    let pictures = try await drawn(within: budget, byteCount: CPURenderer.byteCount(of: plan)) {
      renderer throws(CPUError) in try renderer.render(frame, plan)
    }
    return (pictures, nil)
  }

  func render(
    _ frames: [Frame?], _ plan: ScenePlan, within budget: MemoryBudget?
  ) async throws(RenderError) -> DrawnFrame {
    let picture = try await drawn(within: budget, byteCount: CPURenderer.byteCount(of: plan)) {
      renderer throws(CPUError) in try renderer.render(frames, plan)
    }
    return ([picture], nil)
  }

  /// Draws on a thread for long work, so that Swift's own stay free to pass frames on.
  private func drawn<Value: Sendable>(
    within budget: MemoryBudget?, byteCount: Int,
    _ draw: @escaping @Sendable (CPURenderer) throws(CPUError) -> Value
  ) async throws(RenderError) -> Value {
    do {
      let lease = try budget?.reserve(byteCount)
      defer { withExtendedLifetime(lease) {} }
      return try await Task(executorPreference: DecodingQueue.shared) { [renderer] in
        try draw(renderer)
      }.value
    } catch let error as MemoryBudget.Exceeded {
      throw RenderError("\(device.name): \(error)", shortage: error)
    } catch {
      throw RenderError("\(error)")
    }
  }

  func measure(
    _ frame: Frame, _ plan: RenderPlan
  ) async throws(RenderError) -> (pictures: [Picture], measurement: RenderMeasurement) {
    let start = (wall: ContinuousClock.now, cpu: ProcessorClock.now)
    let pictures = try await render(frame, plan)
    var measurement = RenderMeasurement()
    measurement.passes.wall = ContinuousClock.now - start.wall
    measurement.passes.cpu = ProcessorClock.now - start.cpu
    measurement.passes.byteCount = frame.storage.count + pictures.reduce(0) { $0 + $1.bytes.count }
    return (pictures, measurement)
  }

  func lendMemory(to pool: FramePool) {}

  func removeUnheldMemory() {}

  func removeCached() { renderer.removeCached() }

  func removePrograms() {}

  func close() { renderer.removeCached() }
}
