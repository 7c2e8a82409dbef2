// Pictures that are waited for no longer than somebody said.

/// What `work` gives within `limit`; `name` is the source's.
///
/// - Throws: what `work` throws; `SourceError` after `limit`; `CancellationError`.
package func withTimeout<Value: Sendable>(
  _ limit: Duration, _ name: String, _ work: @escaping @Sendable () async throws -> Value
) async throws -> Value {
  guard let value = try await withDeadline(limit, work) else {
    throw SourceError(
      .unavailable, path: name, reason: "gave no picture within \(limit / .seconds(1)) s")
  }
  return value
}
