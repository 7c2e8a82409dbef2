// Who waits for a camera does not hold up the end of the service.
internal import HTTPTypes
internal import ServiceLifecycle

/// What `work` gives, unless the service ends before.
///
/// - Throws: what `work` throws; `Problem` 503 where the service ends.
func beforeShutdown<Value: Sendable>(_ work: @Sendable @escaping () async throws -> Value) async throws
  -> Value
{
  do {
    return try await cancelWhenGracefulShutdown(work)
  } catch is CancellationError where Task.isShuttingDownGracefully {
    throw Problem.busy(.serviceUnavailable, "the service ends", retryAfter: 5)
  }
}
