// Work for a client that ends when the client leaves.
internal import HTTPTypes
package import NIOCore
package import NIOHTTPTypes

/// Notices that a client leaves.
///
/// The end of what a client sends looks the same whether it has closed the connection or only that half of it. nginx and Go take
/// both for a departure at once. Here a client that has closed its half gets an answer that is ready within `lingers`.
package final class DepartureHandler: ChannelInboundHandler, RemovableChannelHandler {
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
  /// nginx's.
  private static let clientClosedRequest = HTTPResponse.Status(
    code: 499, reasonPhrase: "Client Closed Request")

  /// The result of `work`, which is cancelled when the client leaves.
  ///
  /// - Throws: the errors of `work`; `Problem` 499.
  package func whileClientStays<Value: Sendable>(
    _ work: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    guard let channel else { return try await work() }
    let found = channel.eventLoop.submit {
      try channel.pipeline.syncOperations.handler(type: DepartureHandler.self).hasLeft
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
        throw Problem(Self.clientClosedRequest, "the client has closed the connection, or its half of it")
      }
      return value
    }
  }
}
