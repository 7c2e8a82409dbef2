// Waiting in tests: for what must happen, for as long as a starved machine takes. A hang is ended by the test's time limit.

/// Longer than any test runs: for time limits of the product, in tests that are not about them.
let allTheTimeThereIs = Duration.seconds(3600)

/// Returns when `condition` holds, or when the test has been cancelled.
func until(_ condition: () async throws -> Bool) async rethrows {
  while !Task.isCancelled, try await !condition() { try? await Task.sleep(for: .milliseconds(1)) }
}

/// Lets other tasks go on for a while. What must not happen gets the chance to happen here, before it is counted; nothing
/// that must happen is awaited so.
func letOthersGoOn() async { for _ in 0..<200 { await Task.yield() } }
