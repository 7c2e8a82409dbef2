// Work or a timer, whichever ends first.

/// Returns the result of `work` if it takes at most `limit`. Otherwise, and when the calling task is
/// cancelled, `work` is cancelled but not awaited, so that a hanging driver does not block the caller.
///
/// - Returns: the result; nil after `limit`. A nil limit never ends.
/// - Throws: the errors of `work`; `CancellationError`.
package func withDeadline<Value: Sendable>(
  _ limit: Duration? = nil, _ work: @escaping @Sendable () async throws -> Value
) async throws -> Value? {
  let result = Promise<Value>()
  let working = Task {
    do { result.fulfil(.success(try await work())) } catch { result.fulfil(.failure(error)) }
  }
  defer { working.cancel() }
  return try await result.value(until: limit.map { CaptureClock.now + min($0, longestSleep) })
}

/// Waits at most `limit` for `work`, even if the calling task is cancelled.
package func waitAtMost(_ limit: Duration, for work: @escaping @Sendable () async -> Void) async {
  await Task { _ = try? await withDeadline(limit, work) }.value
}

/// A result that is set once, later.
package struct Promise<Value: Sendable>: Sendable {
  private let result = Watched<Result<Value?, any Error>?>(nil)

  package init() {}

  /// Sets the result, unless there is one already. No task needs to be waiting for it.
  package func fulfil(_ result: Result<Value?, any Error>) { self.result.update { $0 = $0 ?? result } }

  /// Waits for the result; nil after `deadline`.
  ///
  /// - Throws: the error that was set; `CancellationError`.
  package func value(until deadline: CaptureInstant? = nil) async throws -> Value? {
    try await result.first(until: deadline) { $0 }?.get()
  }
}

/// About thirty years. `Task.sleep` traps on durations whose nanoseconds overflow.
let longestSleep = Duration.seconds(1_000_000_000)

/// Sleeps for `time`, but at most `longestSleep`.
///
/// - Throws: `CancellationError`.
package func pause(_ time: Duration) async throws { try await Task.sleep(for: min(time, longestSleep)) }
