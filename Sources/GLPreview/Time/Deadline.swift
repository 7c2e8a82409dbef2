// Work that is waited for no longer than somebody said, whatever becomes of it.

/// What `work` returns within `limit`. After that, or when the calling task is cancelled, `work` is cancelled but not waited for:
/// a driver that hangs would hold up its caller.
///
/// - Returns: nil after `limit`.
/// - Throws: what `work` throws; `CancellationError`.
package func withDeadline<Value: Sendable>(
  _ limit: Duration, _ work: @escaping @Sendable () async throws -> Value
) async throws -> Value? {
  let result = Watched<Result<Value?, any Error>?>(nil)
  let working = Task {
    do {
      let value = try await work()
      result.update { $0 = $0 ?? .success(value) }
    } catch {
      result.update { $0 = $0 ?? .failure(error) }
    }
  }
  defer { working.cancel() }
  return try await result.first(until: CaptureClock.now + min(limit, longestPause)) { $0 }?.get()
}

/// Waits for `work`, but no longer than `limit`; also where the calling task is cancelled.
package func waitAtMost(_ limit: Duration, for work: @escaping @Sendable () async -> Void) async {
  await Task { _ = try? await withDeadline(limit, work) }.value
}
