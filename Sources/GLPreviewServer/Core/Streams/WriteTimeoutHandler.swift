// Closes connections whose clients do not read their answers, because unread answers occupy memory.
package import NIOCore
package import NIOHTTPTypes

/// Resets a connection whose client reads nothing for too long. This covers everything that passes the HTTP
/// encoder, such as snapshots and events; streams bypass it and use `StreamConnection`. At shutdown, it
/// covers every connection, and resets it sooner, so that clients that read nothing do not delay the
/// shutdown.
package final class WriteTimeoutHandler: ChannelDuplexHandler, RemovableChannelHandler {
  package typealias InboundIn = HTTPRequestPart
  package typealias OutboundIn = HTTPResponsePart

  private var stalledAfter: Duration
  private let stalledAtShutdown: Duration
  private var isShuttingDown = false
  private let metrics: ServiceMetrics
  /// The next check, while data is waiting.
  private var watch: Scheduled<Void>?
  /// The bytes of answers since the last check.
  private var written = 0
  /// The bytes that waited at the last check.
  private var waiting = 0
  private var progressed = CaptureInstant.start

  package init(
    cutOffAfter stalledAfter: Duration, atShutdownAfter stalledAtShutdown: Duration,
    counting metrics: ServiceMetrics
  ) {
    self.stalledAfter = stalledAfter
    self.stalledAtShutdown = stalledAtShutdown
    self.metrics = metrics
  }

  package func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    if case .body(let bytes) = unwrapOutboundIn(data) { written += bytes.readableBytes }
    context.write(data, promise: promise)
  }

  package func flush(context: ChannelHandlerContext) {
    context.flush()
    guard watch == nil else { return }
    begin(context)
    if waiting > 0 { scheduleCheck(context) }
  }

  package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if event is ChannelShouldQuiesceEvent {
      (isShuttingDown, stalledAfter) = (true, min(stalledAfter, stalledAtShutdown))
      watch?.cancel()
      begin(context)
      scheduleCheck(context)
    }
    context.fireUserInboundEventTriggered(event)
  }

  private func begin(_ context: ChannelHandlerContext) {
    waiting = Self.waitingBytes(context)
    (written, progressed) = (0, CaptureClock.now)
  }

  package func handlerRemoved(context: ChannelHandlerContext) {
    watch?.cancel()
    watch = nil
  }

  private func scheduleCheck(_ context: ChannelHandlerContext) {
    let pause = TimeAmount.nanoseconds(Int64(max(stalledAfter / 4, .milliseconds(10)) / .nanoseconds(1)))
    watch = context.eventLoop.assumeIsolated().scheduleTask(in: pause) { self.check(context) }
  }

  private func check(_ context: ChannelHandlerContext) {
    watch = nil
    guard context.channel.isActive else { return }
    let now = CaptureClock.now
    let left = Self.waitingBytes(context)
    // At shutdown, data that bypasses this handler may follow, such as the last frame of a WebSocket.
    guard left > 0 || isShuttingDown else { return }
    // Newly added data must not hide that the client has read some.
    if left == 0 || left < waiting + written { progressed = now }
    (waiting, written) = (left, 0)
    guard now - progressed < stalledAfter else {
      metrics.countCutOff()
      return context.reset()
    }
    scheduleCheck(context)
  }

  /// Returns the number of bytes that the socket has not accepted.
  private static func waitingBytes(_ context: ChannelHandlerContext) -> Int {
    (try? context.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
  }
}
