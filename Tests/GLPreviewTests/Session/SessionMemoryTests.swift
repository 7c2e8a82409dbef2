// What a session holds when nobody looks.
import PreviewCore
import TestSupport
import Testing

@testable import GLPreview

@Suite("Memory of a session", .timeLimit(.minutes(15)))
struct SessionMemoryTests {
  @Test("an idle source reserves at most the memory of four RGBA frames")
  func atRest() async throws {
    let budget = MemoryBudget(capacity: 1 << 30)
    var options = PreviewSession.Options.tested(linger: .zero)
    options.budget = budget
    let session = try PreviewSession(
      [SessionSource("pattern:counter,size=640x360,fps=200")], options: options)
    let preview = try session.addPreview(ViewConfiguration(width: 64, filter: .lanczos))

    for _ in 0..<2 {
      var count = 0
      for try await _ in preview.pictures {
        count += 1
        if count == 30 { break }
      }
    }

    // The source's last frame; the renderer's last one, and a buffer for frames made elsewhere; targets and tables.
    await until { budget.reserved <= 4 * 640 * 360 * 4 }
    await session.close()
  }
}
