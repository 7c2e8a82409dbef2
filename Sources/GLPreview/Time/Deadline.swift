// Runs work with a time limit and without waiting for it afterwards.
internal import PreviewCore

/// The result of `work` if it takes at most `limit`. Otherwise, and when the calling task is cancelled, `work` is
/// cancelled but not awaited, so that a hanging driver does not block the caller.
///
/// - Returns: the result; nil after `limit`.
/// - Throws: the errors of `work`; `CancellationError`.
package func withDeadline<Value: Sendable>(
  _ limit: Duration, _ work: @escaping @Sendable () async throws -> Value
) async throws -> Value? {
  let result = Promise<Value>()
  let working = Task {
    do { result.fulfil(.success(try await work())) } catch { result.fulfil(.failure(error)) }
  }
  defer { working.cancel() }
  return try await result.value(until: CaptureClock.now + min(limit, longestSleep))
}

/// Waits at most `limit` for `work`, even if the calling task is cancelled.
package func waitAtMost(_ limit: Duration, for work: @escaping @Sendable () async -> Void) async {
  await Task { _ = try? await withDeadline(limit, work) }.value
}
