// Ends waiting requests when the service shuts down.
internal import HTTPTypes
internal import ServiceLifecycle

/// The result of `work`, unless the service shuts down first.
///
/// - Throws: the errors of `work`; `Problem` 503 if the service shuts down.
func beforeShutdown<Value: Sendable>(_ work: @Sendable @escaping () async throws -> Value) async throws
  -> Value
{
  do {
    return try await cancelWhenGracefulShutdown(work)
  } catch is CancellationError where Task.isShuttingDownGracefully {
    throw Problem.busy(.serviceUnavailable, "the service is shutting down", retryAfter: 5)
  }
}
