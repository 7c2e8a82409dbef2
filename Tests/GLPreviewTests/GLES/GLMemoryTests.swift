// What OpenGL's objects count against, and what becomes of a picture for which there is no room.
import PreviewCore
import Testing

@testable import GLPreview

@Suite("GLMemory", .timeLimit(.minutes(15)))
struct GLMemoryTests {
  private static let size = Size(width: 256, height: 256)

  private static func renderer() async throws -> GLRenderer {
    try await GLRenderer.open(on: GPUDevice.chooseForGL())
  }

  private static func frame() throws -> Frame {
    try Frame(
      tight: Frame.Format(.grey, size, color: .jfif), bytes: [UInt8](repeating: 90, count: size.pixelCount))
  }

  private static func plan(_ frame: Frame, width: Int) throws -> RenderPlan {
    try RenderPlanner(tuning: RenderTuning(maximumTargetSide: 4096)).plan(
      frame.format, [ViewRequest(ViewConfiguration(width: width, height: width), as: .rgba)])
  }

  @Test(
    "OpenGL objects count against the budget, and cached ones are freed to make room")
  func counted() async throws {
    let (renderer, frame) = (try await Self.renderer(), try Self.frame())
    let wide = MemoryBudget(capacity: 1 << 30)

    _ = try await renderer.render(frame, Self.plan(frame, width: 255), within: wide)
    let needed = wide.peak
    #expect(needed >= 4 * Self.size.pixelCount)
    #expect(wide.reserved > 0)

    await renderer.removeCached()
    // Programs' tables are small, and stay.
    #expect(wide.reserved < 64 << 10)

    // Each of two sizes has room, but not what is kept of the other beside it.
    let budget = MemoryBudget(capacity: needed + 64 << 10)
    for width in [255, 254, 255, 253] {
      let drawn = try await renderer.render(frame, Self.plan(frame, width: width), within: budget)
      #expect(drawn.pictures.first?.bytes.first == 90)
    }
    #expect(budget.refusals > 0)

    await renderer.close()
    #expect(budget.reserved == 0)
    #expect(wide.reserved == 0)
  }

  @Test("a render without enough budget throws a shortage, and succeeds once there is room")
  func noRoom() async throws {
    let (renderer, frame) = (try await Self.renderer(), try Self.frame())
    let plan = try Self.plan(frame, width: 256)
    let budget = MemoryBudget(capacity: 1 << 30)
    let others = try budget.reserve(budget.capacity - 4096)

    let error = await #expect(throws: RenderError.self) {
      try await renderer.render(frame, plan, within: budget)
    }
    #expect(error?.shortage != nil)
    #expect(error?.isContextLost == false)

    try others.resize(to: 0)
    #expect(try await renderer.render(frame, plan, within: budget).pictures.first?.bytes.first == 90)
    await renderer.close()
    #expect(budget.reserved == 0)
  }
}
