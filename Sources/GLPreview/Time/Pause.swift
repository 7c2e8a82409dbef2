// Waiting, for however long somebody said.

/// Waits for `time`. What is longer than thirty years is that: `Task.sleep` traps on what its nanoseconds can't hold.
///
/// - Throws: `CancellationError`.
func pause(_ time: Duration) async throws { try await Task.sleep(for: min(time, .seconds(1_000_000_000))) }
