// Work that somebody waits for no longer than they said, whatever becomes of it.
internal import PreviewCore

/// What `work` gives within `limit`. After that, or when the task is cancelled, `work` is cancelled and not waited for: a
/// driver that hangs would hold up its caller.
///
/// - Throws: what `work` throws; `SourceError` after `limit`; `CancellationError`.
package func withTimeout<Value: Sendable>(
  _ limit: Duration, _ name: String, _ work: @escaping @Sendable () async throws -> Value
) async throws -> Value {
  let (results, settle) = AsyncStream.makeStream(
    of: Result<Value, any Error>.self, bufferingPolicy: .bufferingOldest(1))
  let working = Task {
    do { settle.yield(.success(try await work())) } catch { settle.yield(.failure(error)) }
  }
  let timer = Task {
    try await pause(limit)
    let reason = "gave no picture within \(limit / .seconds(1)) s"
    settle.yield(.failure(SourceError(.unavailable, path: name, reason: reason)))
  }
  defer {
    working.cancel()
    timer.cancel()
  }
  for await result in results { return try result.get() }
  throw CancellationError()
}
