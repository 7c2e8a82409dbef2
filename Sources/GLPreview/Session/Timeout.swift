// Limits the wait for a picture.

/// The result of `work` within `limit`; `name` is the source's.
///
/// - Throws: the errors of `work`; `SourceError` after `limit`; `CancellationError`.
package func withTimeout<Value: Sendable>(
  _ limit: Duration, _ name: String, _ work: @escaping @Sendable () async throws -> Value
) async throws -> Value {
  guard let value = try await withDeadline(limit, work) else {
    throw SourceError(
      .unavailable, path: name, reason: "gave no picture within \(limit / .seconds(1)) s")
  }
  return value
}
