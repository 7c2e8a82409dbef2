// Cancels the work for a client when the client disconnects.
internal import HTTPTypes
package import NIOCore
package import NIOHTTPTypes

/// Detects that a client has disconnected.
///
/// A client that closes its connection looks the same as one that closes only its sending half. nginx and Go
/// treat both as a disconnection at once. Here, a client that has closed its half still gets an answer that
/// is ready within `lingers`.
package final class DisconnectHandler: ChannelInboundHandler, RemovableChannelHandler {
  package typealias InboundIn = HTTPRequestPart

  private let lingers: TimeAmount
  let hasLeft = Watched(false)

  package init(lingers: Duration) { self.lingers = TimeAmount(lingers) }

  package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if event as? ChannelEvent == .inputClosed {
      context.eventLoop.scheduleTask(in: lingers) { [hasLeft] in hasLeft.update { $0 = true } }
    }
    context.fireUserInboundEventTriggered(event)
  }

  package func channelInactive(context: ChannelHandlerContext) {
    hasLeft.update { $0 = true }
    context.fireChannelInactive()
  }
}

extension ServiceContext {
  /// The status 499 of nginx.
  private static let clientClosedRequest = HTTPResponse.Status(
    code: 499, reasonPhrase: "Client Closed Request")

  /// Returns the result of `work`, which is cancelled when the client disconnects.
  ///
  /// - Throws: the errors of `work`; `Problem` 499 if the client disconnects.
  package func whileClientStays<Value: Sendable>(
    _ work: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    guard let channel else { return try await work() }
    let found = channel.eventLoop.submit {
      try channel.pipeline.syncOperations.handler(type: DisconnectHandler.self).hasLeft
    }
    guard let hasLeft = try? await found.get() else { return try await work() }
    return try await withThrowingTaskGroup(of: Value?.self) { group in
      group.addTask { try await work() }
      group.addTask {
        _ = try await hasLeft.first { $0 ? true : nil }
        return nil
      }
      defer { group.cancelAll() }
      guard let first = try await group.next(), let value = first else {
        throw Problem(Self.clientClosedRequest, "the client closed the connection")
      }
      return value
    }
  }
}
