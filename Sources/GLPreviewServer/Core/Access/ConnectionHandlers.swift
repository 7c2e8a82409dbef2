// Channel handlers of a connection besides Hummingbird's: limits per client, and deadlines.
package import NIOCore
package import NIOHTTPTypes
internal import Synchronization

/// Counts a new connection, and closes it if the client has too many.
package final class ConnectionHandler: ChannelInboundHandler, RemovableChannelHandler {
  package typealias InboundIn = HTTPRequestPart

  private let limiter: ConnectionLimiter

  package init(_ limiter: ConnectionLimiter) { self.limiter = limiter }

  package func handlerAdded(context: ChannelHandlerContext) {
    if !limiter.admits(context.channel) { context.close(promise: nil) }
  }
}

/// Counts connections per client. The server limits the total number itself, by not accepting more.
package final class ConnectionLimiter: Sendable {
  private let capacity: Int
  private let connections = Mutex<[ClientGroup: Int]>([:])

  /// - Parameter capacity: the most connections per client at a time.
  package init(connectionsPerClient capacity: Int) { self.capacity = capacity }

  /// Counts a connection until it is closed.
  ///
  /// - Returns: false if it exceeds the limit and must be closed at once. Connections to a Unix socket are
  ///   not counted, because the proxy in front of the service makes all of them.
  func admits(_ channel: any Channel) -> Bool {
    let client = ClientGroup(channel.remoteAddress?.ipAddress ?? "unix")
    guard !client.isLocal else { return true }
    guard enter(client) else { return false }
    channel.closeFuture.whenComplete { [weak self] _ in self?.leave(client) }
    return true
  }

  /// Returns the number of connections of `client`.
  func count(of client: ClientGroup) -> Int { connections.withLock { $0[client] ?? 0 } }

  func enter(_ client: ClientGroup) -> Bool {
    connections.withLock { connections in
      let count = connections[client] ?? 0
      guard count < capacity else { return false }
      connections[client] = count + 1
      return true
    }
  }

  func leave(_ client: ClientGroup) {
    connections.withLock { connections in
      guard let count = connections[client] else { return }
      connections[client] = count > 1 ? count - 1 : nil
    }
  }
}

/// Closes connections whose request is never completed. A body must arrive within a time limit. After the
/// answer has been sent, a shorter time and a number of bytes limit the rest (nginx's `client_body_timeout`
/// and `lingering_close`).
package final class BodyDeadlineHandler: ChannelDuplexHandler, RemovableChannelHandler {
  package typealias InboundIn = HTTPRequestPart
  package typealias OutboundIn = HTTPResponsePart

  private let comesWithin: TimeAmount
  private let lingersFor: TimeAmount
  private let lingeringBytes: Int
  /// Runs while a body is incomplete.
  private var timer: Scheduled<Void>?
  /// The number of requests that have begun and are not fully answered; with pipelining there may be several.
  private var unanswered = 0
  private var unreadBytes = 0

  /// - Parameters:
  ///   - comesWithin: the limit from the head of a request to its end.
  ///   - lingersFor: the limit from the end of an answer to the end of its request.
  ///   - lingeringBytes: the most bytes accepted after the answer.
  package init(
    comesWithin: TimeAmount = .seconds(60), lingersFor: TimeAmount = .seconds(5),
    lingeringBytes: Int = 1 << 20
  ) {
    self.comesWithin = comesWithin
    self.lingersFor = lingersFor
    self.lingeringBytes = lingeringBytes
  }

  package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head:
      unanswered += 1
      unreadBytes = 0
      wait(comesWithin, context)
    case .body(let buffer):
      if unanswered == 0 { unreadBytes += buffer.readableBytes }
      guard unreadBytes <= lingeringBytes else { return context.close(promise: nil) }
    case .end:
      timer?.cancel()
      timer = nil
    }
    context.fireChannelRead(data)
  }

  package func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    if case .end = unwrapOutboundIn(data) {
      unanswered -= 1
      if unanswered == 0, timer != nil { wait(lingersFor, context) }
    }
    context.write(data, promise: promise)
  }

  package func handlerRemoved(context: ChannelHandlerContext) { timer?.cancel() }

  private func wait(_ time: TimeAmount, _ context: ChannelHandlerContext) {
    timer?.cancel()
    timer = context.eventLoop.assumeIsolated().scheduleTask(in: time) { context.close(promise: nil) }
  }
}
