// What a connection has to do in time, and HTTP/1.1's rule of one Host: what Hummingbird leaves to its users.
internal import NIOCore
internal import NIOHTTP1
internal import NIOHTTPTypes

/// Gives a request of HTTP/1.1 that has no Host an empty one, which `HostMiddleware` refuses (RFC 9112, 3.2). Stands before
/// the version is lost.
final class HostFieldHandler: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias InboundOut = HTTPServerRequestPart

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard case .head(var head) = unwrapInboundIn(data), head.version == .http1_1,
      !head.headers.contains(name: "host")
    else { return context.fireChannelRead(data) }
    head.headers.add(name: "Host", value: "")
    context.fireChannelRead(wrapInboundOut(.head(head)))
  }
}

/// Ends connections whose request does not come to its end: a body has a time to come in, and one that nobody wants any more,
/// since its answer is out, a shorter one, and few bytes (nginx's `client_body_timeout` and `lingering_close`).
final class BodyDeadlineHandler: ChannelDuplexHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPRequestPart
  typealias InboundOut = HTTPRequestPart
  typealias OutboundIn = HTTPResponsePart
  typealias OutboundOut = HTTPResponsePart

  private let comesWithin: TimeAmount
  private let lingersFor: TimeAmount
  private let lingeringBytes: Int
  /// Runs while a body is not whole.
  private var timer: Scheduled<Void>?
  /// Requests that have begun and whose answers are not out: clients may send the next one before.
  private var unanswered = 0
  private var unreadBytes = 0

  /// - Parameters:
  ///   - comesWithin: from the head of a request to its end.
  ///   - lingersFor: from the end of an answer to the end of its request.
  ///   - lingeringBytes: after the answer.
  init(
    comesWithin: TimeAmount = .seconds(60), lingersFor: TimeAmount = .seconds(5),
    lingeringBytes: Int = 1 << 20
  ) {
    self.comesWithin = comesWithin
    self.lingersFor = lingersFor
    self.lingeringBytes = lingeringBytes
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
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

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    if case .end = unwrapOutboundIn(data) {
      unanswered -= 1
      if unanswered == 0, timer != nil { wait(lingersFor, context) }
    }
    context.write(data, promise: promise)
  }

  func handlerRemoved(context: ChannelHandlerContext) { timer?.cancel() }

  private func wait(_ time: TimeAmount, _ context: ChannelHandlerContext) {
    timer?.cancel()
    timer = context.eventLoop.assumeIsolated().scheduleTask(in: time) { context.close(promise: nil) }
  }
}
