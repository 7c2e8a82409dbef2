// Resets of the GPU, as its driver tells them.
import Synchronization
import TestSupport
import Testing

@testable import GLPreview

@Suite("Resets of the GPU", .timeLimit(.minutes(15)))
struct GLResetTests {
  @Test("a driver that has lost nothing tells that no reset is under way")
  func none() async throws {
    #expect(try await withContext { GLReset.ofCurrentContext().isUnderWay() } == false)
  }

  @Test("a reset is waited for until it is over")
  func over() async {
    let polls = Atomic(0)
    await GLReset { polls.add(1, ordering: .relaxed).newValue < 4 }.wait()
    #expect(polls.load(ordering: .relaxed) == 4)
  }

  @Test("a reset that does not end is waited for no longer than its limit")
  func endless() async {
    let polls = Atomic(0)
    await GLReset(limit: .milliseconds(1)) { polls.add(1, ordering: .relaxed).newValue > 0 }.wait()
    #expect(polls.load(ordering: .relaxed) > 0)
  }
}
