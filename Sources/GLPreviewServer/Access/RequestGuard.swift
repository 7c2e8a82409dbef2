// Connection deadlines and HTTP/1.1's rule of one Host, which Hummingbird leaves to its users.
internal import NIOCore
internal import NIOHTTP1
internal import NIOHTTPTypes

/// Adds an empty Host to an HTTP/1.1 request that has none; `HostMiddleware` then rejects it (RFC 9112, 3.2). It runs
/// here because the version is not available later.
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

/// Closes connections whose request is never completed. A body must arrive within a time limit; after the answer has
/// been sent, within a shorter one and few bytes (nginx's `client_body_timeout` and `lingering_close`).
final class BodyDeadlineHandler: ChannelDuplexHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPRequestPart
  typealias InboundOut = HTTPRequestPart
  typealias OutboundIn = HTTPResponsePart
  typealias OutboundOut = HTTPResponsePart

  private let comesWithin: TimeAmount
  private let lingersFor: TimeAmount
  private let lingeringBytes: Int
  /// Runs while a body is incomplete.
  private var timer: Scheduled<Void>?
  /// Requests that have begun and are not fully answered. With pipelining there may be several.
  private var unanswered = 0
  private var unreadBytes = 0

  /// - Parameters:
  ///   - comesWithin: the limit from the head of a request to its end.
  ///   - lingersFor: the limit from the end of an answer to the end of its request.
  ///   - lingeringBytes: the most bytes accepted after the answer.
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
