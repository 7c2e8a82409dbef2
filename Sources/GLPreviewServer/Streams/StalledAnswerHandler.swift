// A client that asks and does not read: its answer waits in our memory, so it waits for a while only.
internal import GLPreview
internal import NIOCore
internal import NIOHTTPTypes

/// Resets a connection whose client takes nothing of its answer for long: of snapshots, events and all else that goes through
/// the HTTP encoder. Streams go past it, and have `StreamConnection`.
final class StalledAnswerHandler: ChannelOutboundHandler, RemovableChannelHandler {
  typealias OutboundIn = HTTPResponsePart
  typealias OutboundOut = HTTPResponsePart

  private let stalledAfter: Duration
  private let counters: StreamCounters
  /// Looks again, while something waits.
  private var watch: Scheduled<Void>?
  /// Bytes of answers since the last look.
  private var written = 0
  /// What waited then.
  private var waiting = 0
  private var progressed = Duration.zero

  init(cutOffAfter stalledAfter: Duration, counting counters: StreamCounters) {
    self.stalledAfter = stalledAfter
    self.counters = counters
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    if case .body(let bytes) = unwrapOutboundIn(data) { written += bytes.readableBytes }
    context.write(data, promise: promise)
  }

  func flush(context: ChannelHandlerContext) {
    context.flush()
    guard watch == nil else { return }
    waiting = Self.waitingBytes(context)
    (written, progressed) = (0, CaptureClock.now)
    if waiting > 0 { lookLater(context) }
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    watch?.cancel()
    watch = nil
  }

  private func lookLater(_ context: ChannelHandlerContext) {
    let pause = TimeAmount.nanoseconds(Int64(stalledAfter / 4 / .nanoseconds(1)))
    watch = context.eventLoop.assumeIsolated().scheduleTask(in: pause) { self.look(context) }
  }

  private func look(_ context: ChannelHandlerContext) {
    watch = nil
    guard context.channel.isActive else { return }
    let now = CaptureClock.now
    let left = Self.waitingBytes(context)
    guard left > 0 else { return }
    // What came on top of the rest is no sign that any of the rest was taken.
    if left < waiting + written { progressed = now }
    (waiting, written) = (left, 0)
    guard now - progressed < stalledAfter else {
      counters.countCutOff()
      return context.reset()
    }
    lookLater(context)
  }

  /// Bytes that the socket has not taken.
  private static func waitingBytes(_ context: ChannelHandlerContext) -> Int {
    (try? context.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
  }
}

extension ChannelHandlerContext {
  /// Ends a connection whose client takes nothing. A plain close would leave what it was sent last to the kernel, which offers
  /// it for minutes to a client that does not read, and keeps the end from it meanwhile: this drops it.
  func reset() {
    if let socket = channel as? any SocketOptionProvider {
      _ = socket.unsafeSetSocketOption(level: .socket, name: .so_linger, value: Linger.none)
    }
    close(promise: nil)
  }
}

/// As SO_LINGER takes it; NIO's and the system's `linger` are one name for two things.
private struct Linger {
  let isOn: CInt
  let seconds: CInt

  static let none = Linger(isOn: 1, seconds: 0)
}
