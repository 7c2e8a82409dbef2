// Turns a connection into a stream: after the head, parts bypass the HTTP encoder and go directly to the
// socket.
internal import HTTPTypes
package import NIOCore
internal import NIOHTTP1
package import NIOHTTPTypes

/// A handler between Hummingbird and the connection's HTTP encoder. It only acts on
/// `multipart/x-mixed-replace` answers, which have neither length nor chunks and end with the connection, as
/// their clients expect. Their parts are the hubs' own buffers and are never copied.
package final class StreamConnection: ChannelDuplexHandler, RemovableChannelHandler {
  package typealias InboundIn = HTTPRequestPart
  package typealias OutboundIn = HTTPResponsePart

  private let stalledAfter: Duration
  private let metrics: ServiceMetrics
  private var context: ChannelHandlerContext?
  /// The context of the HTTP encoder, by which bytes bypass it.
  private var raw: ChannelHandlerContext?
  private var watchers: [StreamWatcher] = []
  /// The tasks that look for the next stream, by the watchers that have ended.
  private var moving: [ObjectIdentifier: Task<Void, Never>] = [:]
  /// The index of the next watcher to serve.
  private var turn = 0
  private var finished: EventLoopPromise<Void>?
  private var blockedSince: CaptureInstant?
  private var isEnding = false
  /// The memory lease of a written part that the socket has not fully accepted.
  private var unsent: MemoryLease?

  package init(cutOffAfter stalledAfter: Duration, counting metrics: ServiceMetrics) {
    self.stalledAfter = stalledAfter
    self.metrics = metrics
  }

  package func handlerAdded(context: ChannelHandlerContext) { self.context = context }

  package func handlerRemoved(context: ChannelHandlerContext) {
    end()
    self.context = nil
  }

  // MARK: The answer

  package func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    let part = unwrapOutboundIn(data)
    switch part {
    case .head(let head) where head.isStream:
      do {
        raw = try context.pipeline.syncOperations.context(handlerType: HTTPResponseEncoder.self)
      } catch {
        promise?.fail(error)
        return context.close(promise: nil)
      }
      write(bytes: head.http1Bytes, promise)
    case .body(let bytes) where raw != nil: write(bytes: bytes, promise)
    case .end where raw != nil:
      promise?.succeed()
      context.close(promise: nil)
    default: context.write(data, promise: promise)
    }
  }

  private func write(bytes: ByteBuffer, _ promise: EventLoopPromise<Void>? = nil) {
    raw?.writeAndFlush(NIOAny(IOData.byteBuffer(bytes)), promise: promise)
  }

  /// Starts streaming; `finished` is fulfilled when the connection is closed. Must be called on its event
  /// loop.
  func begin(
    _ streams: [JoinedStream], finished: EventLoopPromise<Void>
  ) {
    guard let context, context.channel.isActive, raw != nil else { return finished.succeed() }
    self.finished = finished
    context.channel.limitUnsentBytes()
    write(bytes: StreamPart.opening)
    for stream in streams { watch(stream, on: context.eventLoop) }
  }

  private func watch(_ stream: JoinedStream, on loop: any EventLoop) {
    let watcher = StreamWatcher(stream.subscription, every: stream.interval, of: self, next: stream.next)
    watchers.append(watcher)
    if !watcher.hub.add(watcher, on: loop) { ended(watcher) }
  }

  /// Handles the end of a stream. If another stream follows, the client continues with it; after the last
  /// one, the connection is closed.
  func ended(_ watcher: StreamWatcher) {
    guard let index = watchers.firstIndex(where: { $0 === watcher }), let context else { return }
    watchers.remove(at: index)
    if !isEnding, let next = watcher.next {
      let (loop, id) = (context.eventLoop, ObjectIdentifier(watcher))
      let connection = NIOLoopBound(self, eventLoop: loop)
      moving[id] = Task {
        let stream = await next()
        loop.execute { connection.value.moved(id, to: stream) }
      }
    }
    closeWithoutStreams(context)
  }

  private func moved(_ id: ObjectIdentifier, to stream: JoinedStream?) {
    guard moving.removeValue(forKey: id) != nil, let context else { return }
    if let stream { watch(stream, on: context.eventLoop) }
    closeWithoutStreams(context)
  }

  private func closeWithoutStreams(_ context: ChannelHandlerContext) {
    guard watchers.isEmpty, moving.isEmpty else { return }
    isEnding = true
    context.close(promise: nil)
  }

  // MARK: Parts

  func takesPart(at now: CaptureInstant) -> Bool {
    guard let context, !isEnding else { return false }
    guard !context.channel.isWritable else {
      blockedSince = nil
      return true
    }
    let since = blockedSince ?? now
    blockedSince = since
    if now - since > stalledAfter {
      metrics.countCutOff()
      isEnding = true
      // Deferred, because the hub is iterating over its connections.
      context.eventLoop.assumeIsolated().execute { context.reset() }
    }
    return false
  }

  func write(_ part: StreamPart) {
    write(bytes: part.bytes)
    // While the socket has not accepted all bytes, this connection keeps the part in memory.
    unsent = context?.channel.isWritable == false ? part.lease : nil
  }

  package func channelWritabilityChanged(context: ChannelHandlerContext) {
    guard raw != nil else { return context.fireChannelWritabilityChanged() }
    guard context.channel.isWritable else { return }
    (blockedSince, unsent) = (nil, nil)
    // Waiting parts are sent in turn, so that a stream of large pictures does not starve the others.
    for offset in watchers.indices {
      let index = (turn + offset) % watchers.count
      guard let part = watchers[index].takeSlot(at: CaptureClock.now) else { continue }
      turn = index + 1
      metrics.countParts(sent: 1, skipped: 0, bytes: part.bytes.readableBytes)
      return write(part)
    }
  }

  // MARK: The end

  package func channelInactive(context: ChannelHandlerContext) {
    end()
    context.fireChannelInactive()
  }

  package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    // The service is shutting down, and a stream does not end by itself.
    if event is ChannelShouldQuiesceEvent, raw != nil { return context.close(promise: nil) }
    if case ChannelEvent.inputClosed = event, raw != nil {
      // Some clients close their sending half and keep reading. Disconnected ones are detected by writing.
      return
    }
    context.fireUserInboundEventTriggered(event)
  }

  private func end() {
    guard let context else { return }
    for watcher in watchers { watcher.hub.remove(watcher, on: context.eventLoop) }
    for task in moving.values { task.cancel() }
    (watchers, moving, unsent) = ([], [:], nil)
    finished?.succeed()
    finished = nil
  }
}

extension HTTPResponse {
  /// Whether the answer ends only with the connection.
  fileprivate var isStream: Bool {
    headerFields[.contentType]?.hasPrefix("multipart/x-mixed-replace") == true
  }

  /// The head in HTTP/1.1 syntax (RFC 9112).
  fileprivate var http1Bytes: ByteBuffer {
    var buffer = ByteBuffer()
    buffer.writeString("HTTP/1.1 \(status.code) \(status.reasonPhrase)\r\n")
    for field in headerFields { buffer.writeString("\(field.name.rawName): \(field.value)\r\n") }
    buffer.writeString("Connection: close\r\n\r\n")
    return buffer
  }
}
