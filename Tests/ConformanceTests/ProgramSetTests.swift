// Whatever is asked for, a renderer needs no more programs than there are.
import PreviewCore
import Testing

@testable import Conformance
@testable import GLPreview

@Suite struct ProgramSetTests {
  @Test("600 random plans need at most 62 GL programs, or three times as many where compute shaders draw")
  func closedSet() async throws {
    let renderer = try await GLRenderer.open(on: GPUDevice.chooseForGL())
    let planner = RenderPlanner(tuning: renderer.tuning)

    for conformanceCase in ConformanceSuite.mixed(count: 600) {
      _ = try await renderer.picture(of: conformanceCase.subject, conformanceCase.frames(), planner)
    }

    let count = await renderer.programCount()
    // docs/decisions/028-closed-set-of-programs.md lists them.
    #expect(count <= (renderer.device.passes == .compute ? 186 : 62))
    await renderer.close()
  }
}

extension GLRenderer {
  fileprivate func programCount() -> Int { GLLedger.livingOnThisThread[.program] ?? 0 }
}
