// What a server permits a client, for tests of users.
package import NATS

extension NATSClient {
  /// Whether the server lets this client publish.
  package func mayPublish(_ subject: String) async throws -> Bool {
    let events = events()
    try publish(subject)
    // A sign that comes after what the server says of the first: nobody may publish there.
    try publish("nobody.\(subject)")
    for await case .permissionViolation(let text) in events {
      if text.contains("\"\(subject)\"") { return false }
      if text.contains("\"nobody.\(subject)\"") { return true }
    }
    throw CancellationError()
  }

  package func maySubscribe(_ pattern: String) async throws -> Bool {
    let subscription = try subscribe(pattern)
    try await flush()
    do throws(NATSError) {
      _ = try await subscription.next(within: .milliseconds(1))
      return true
    } catch {
      if case .permission = error { return false }
      return true
    }
  }
}
