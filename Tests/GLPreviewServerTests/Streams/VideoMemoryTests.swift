// Encoders and readers of recordings count against the service's memory, and what has no room is told to come again.
import Foundation
import GLPreview
import NIOHTTP1
import Testing

@testable import GLPreviewServer

@Suite("Memory of video encoders", .timeLimit(.minutes(15)))
struct VideoMemoryTests {
  @Test(
    "a video whose encoder exceeds the memory budget returns 503, and a smaller one returns 200",
    .enabled(if: hasEncoder))
  func encoders() async throws {
    var configuration = StreamTests.configuration()
    configuration.limits.memory = 64 << 20

    try await withService(configuration) { service in
      let budget = service.inside.registry.budget
      let refused = try await service.get("/cameras/camera/main.mp4?size=2400x1600&mode=stretch&duration=0.1")
      #expect(refused.status == 503, "\(refused.text)")
      #expect(refused.headers["Retry-After"] == ["1"])
      #expect(budget.refusals > 0)

      #expect(try await service.get("/cameras/camera/main.mp4?duration=0.1").status == 200)
      let metrics = try await service.get("/metrics").text
      #expect(metrics.contains("glpreview_memory_uncounted_bytes "))
    }
  }
}
