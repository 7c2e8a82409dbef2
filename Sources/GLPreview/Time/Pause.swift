// Waiting, for however long somebody said.

/// Thirty years: `Task.sleep` traps on what its nanoseconds can't hold.
let longestPause = Duration.seconds(1_000_000_000)

/// Waits for `time`, or for `longestPause` where that is shorter.
///
/// - Throws: `CancellationError`.
func pause(_ time: Duration) async throws { try await Task.sleep(for: min(time, longestPause)) }
