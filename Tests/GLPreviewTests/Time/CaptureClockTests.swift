// The clock of captures, as tasks sleep by it.
import TestSupport
import Testing

@testable import GLPreview

@Suite("Capture clock", .timeLimit(.minutes(15)))
struct CaptureClockTests {
  @Test("CaptureClock.sleep returns after its deadline, and throws when its task is cancelled")
  func sleeping() async throws {
    let clock = CaptureClock()
    let deadline = clock.now + .milliseconds(2)

    try await clock.sleep(until: .start)
    try await clock.sleep(until: deadline)
    #expect(deadline <= .now)

    let endless = Task { try await clock.sleep(until: .second(Int.max / 2)) }
    endless.cancel()
    await #expect(throws: CancellationError.self) { try await endless.value }
  }
}
