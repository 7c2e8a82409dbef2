// Sleeping for any duration.

/// About thirty years. `Task.sleep` traps on durations whose nanoseconds overflow.
let longestSleep = Duration.seconds(1_000_000_000)

/// Sleeps for `time`, but at most `longestSleep`.
///
/// - Throws: `CancellationError`.
func pause(_ time: Duration) async throws { try await Task.sleep(for: min(time, longestSleep)) }
