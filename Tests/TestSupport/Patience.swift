// Waiting in tests: for what must happen, for as long as a starved machine takes. A hang is ended by the test's time limit.
package import Testing

/// Longer than any test runs: for time limits of the product, in tests that are not about them.
package let allTheTimeThereIs = Duration.seconds(3600)

/// Returns when `condition` holds, or when the test has been cancelled.
package func until(_ condition: () async throws -> Bool) async rethrows {
  while !Task.isCancelled, try await !condition() { try? await Task.sleep(for: .milliseconds(1)) }
}

/// Lets other tasks go on for a while. What must not happen gets the chance to happen here, before it is counted; nothing
/// that must happen is awaited so.
package func letOthersGoOn() async { for _ in 0..<200 { await Task.yield() } }

/// Lets one test at a time run that starts a process of its own. `processExitsWith` blocks a thread of Swift's pool until the
/// process ends; two such tests at once would block both threads of a machine with two processors, and with them all other tests.
package struct OneProcessAtATime: TestTrait, TestScoping {
  package func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    await Turn.shared.take()
    let result: Result<Void, any Error>
    do { result = .success(try await function()) } catch { result = .failure(error) }
    await Turn.shared.give()
    try result.get()
  }

  private actor Turn {
    static let shared = Turn()
    private var isTaken = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    func take() async {
      if isTaken { await withCheckedContinuation { waiting.append($0) } }
      isTaken = true
    }

    /// Where somebody waits the turn is theirs, and stays taken.
    func give() { if waiting.isEmpty { isTaken = false } else { waiting.removeFirst().resume() } }
  }
}

extension Trait where Self == OneProcessAtATime {
  package static var oneProcessAtATime: Self { Self() }
}
