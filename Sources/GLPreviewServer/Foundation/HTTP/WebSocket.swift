// WebSockets (RFC 6455): upgrades a request to a connection that carries messages both ways, without the HTTP
// codec.
internal import Cryptography
internal import FoundationEssentials
internal import HTTPTypes
package import Hummingbird
package import NIOCore
internal import NIOHTTP1
internal import NIOWebSocket
internal import ServiceLifecycle

/// The server's side of a WebSocket.
package struct WebSocket: Sendable {
  /// The texts that the client sends; ends when the connection closes.
  package let messages: AsyncStream<String>
  private let channel: any Channel
  private let handler: NIOLoopBound<WebSocketHandler>

  /// The longest message of a client, in bytes.
  static let longestMessage = 64 << 10
  /// The most messages of a client that may wait; one more closes the connection.
  static let mostMessages = 64
  /// The interval of pings, which keep the connection open in routers and detect a client that is gone.
  private static let pingsEvery = Duration.seconds(20)

  /// Returns the answer that turns the connection of `request` into a WebSocket. The WebSocket is open until
  /// `serve` returns. If the client reads nothing for `stalledAfter`, its connection is reset.
  ///
  /// - Throws: `Problem` 400 or 426 if the request is not a valid WebSocket request.
  package static func response(
    to request: Request, _ context: ServiceContext, cutOffAfter stalledAfter: Duration,
    onCutOff: @escaping @Sendable () -> Void, serve: @escaping @Sendable (WebSocket) async -> Void
  ) async throws -> Response {
    let headers = request.headers
    guard request.method == .get, request.asksForWebSocket else {
      throw upgradeRequired("this URL requires a WebSocket")
    }
    guard headers[named: "Sec-WebSocket-Version"] == "13" else {
      throw upgradeRequired("only WebSocket version 13 is supported")
    }
    guard let key = headers[named: "Sec-WebSocket-Key"], Data(base64Encoded: key)?.count == 16 else {
      throw Problem(.badRequest, "Sec-WebSocket-Key must be 16 bytes in base64")
    }
    let channel = try context.connection()
    var fields: HTTPFields = [.connection: "Upgrade"]
    fields[named: "Upgrade"] = "websocket"
    fields[named: "Sec-WebSocket-Accept"] = try accept(key)
    let body = ResponseBody { _ in
      // The head of the answer has been written; frames follow.
      let socket = try await begun(on: channel, stalledAfter, onCutOff)
      await withGracefulShutdownHandler {
        await withTaskGroup { group in
          group.addTask { await socket.ping() }
          await serve(socket)
          group.cancelAll()
        }
      } onGracefulShutdown: {
        socket.end(1001)
      }
      await socket.close(1000)
    }
    return Response(status: .switchingProtocols, headers: fields, body: body)
  }

  /// Returns 426 with the protocol and its version (RFC 9110, 15.5.22; RFC 6455, 4.4).
  private static func upgradeRequired(_ detail: String) -> Problem {
    Problem(
      .upgradeRequired, detail,
      headers: ["Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13"])
  }

  /// Returns the proof that the server understood the request (RFC 6455, 4.2.2).
  static func accept(_ key: String) throws(CryptographyError) -> String {
    let text = key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
    return try Data(HashFunction.sha1.hash(of: Array(text.utf8))).base64EncodedString()
  }

  /// Takes the connection's bytes over from the HTTP codec, including those that it already holds: a client
  /// may send its first frames without waiting for the answer.
  private static func begun(
    on channel: any Channel, _ stalledAfter: Duration, _ onCutOff: @escaping @Sendable () -> Void
  ) async throws -> WebSocket {
    let (messages, sender) = makeMessages()
    channel.limitUnsentBytes(16 << 10)
    return try await channel.eventLoop.flatSubmit {
      EarlyBytes.take(from: channel).flatMapThrowing { early in
        let handler = WebSocketHandler(sender, on: channel.eventLoop, stalledAfter, onCutOff)
        let pipeline = channel.pipeline.syncOperations
        // The codec's handler nearest to the socket.
        let http = try pipeline.handler(type: HTTPResponseEncoder.self)
        try pipeline.addHandlers(handlers(before: handler), position: .before(http))
        if let early {
          let frames = try pipeline.handler(type: ByteToMessageHandler<WebSocketFrameDecoder>.self)
          let context = try pipeline.context(handler: frames)
          frames.channelRead(context: context, data: NIOAny(early))
          frames.channelReadComplete(context: context)
        }
        return WebSocket(
          messages: messages, channel: channel, handler: NIOLoopBound(handler, eventLoop: channel.eventLoop))
      }
    }.get()
  }

  static func makeMessages() -> (stream: AsyncStream<String>, continuation: AsyncStream<String>.Continuation)
  {
    AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(mostMessages))
  }

  /// Returns the handlers of a client's bytes, from the socket to `handler`, the last of them.
  static func handlers(before handler: WebSocketHandler) -> [any ChannelHandler] {
    [
      ByteToMessageHandler(WebSocketFrameDecoder(maxFrameSize: longestMessage)),
      NIOWebSocketFrameAggregator(
        minNonFinalFragmentSize: 0, maxAccumulatedFrameCount: 64, maxAccumulatedFrameSize: longestMessage),
      handler,
    ]
  }

  /// Sends a text; returns once the kernel has it.
  ///
  /// - Throws: `ChannelError` if the connection is closed.
  package func send(_ text: String) async throws { try await send(.text, ByteBuffer(string: text)) }

  /// Sends bytes; returns once the kernel has them.
  package func send(_ bytes: ByteBuffer) async throws { try await send(.binary, bytes) }

  /// Sends a close frame with `code`, and begins to close the connection. Nothing can be sent after it.
  package func end(_ code: UInt16) {
    channel.eventLoop.execute { [handler] in handler.value.end(code) }
  }

  /// Sends a close frame, unless one was sent, and returns once the connection is closed. The kernel gets all
  /// data that was sent before.
  func close(_ code: UInt16) async {
    end(code)
    try? await channel.closeFuture.get()
  }

  private func send(_ opcode: WebSocketOpcode, _ payload: ByteBuffer) async throws {
    try await channel.eventLoop.flatSubmit { [handler] in handler.value.write(opcode, payload) }.get()
  }

  private func ping() async {
    while (try? await Task.sleep(for: Self.pingsEvery)) != nil, (try? await send(.ping, ByteBuffer())) != nil
    {}
  }
}

extension Request {
  /// Whether the request asks for an upgrade to a WebSocket.
  package var asksForWebSocket: Bool {
    func has(_ word: String, in field: String?) -> Bool {
      (field ?? "").split(separator: ",").contains { $0.lowercased().trimmed == word }
    }
    return has("websocket", in: headers[named: "Upgrade"]) && has("upgrade", in: headers[.connection])
  }
}

/// The handler between the socket and the HTTP codec, which sees nothing of a WebSocket.
///
/// While a pong or close frame for a client waits, nothing is read from that client, so that its data waits
/// on its side.
final class WebSocketHandler: ChannelDuplexHandler {
  typealias InboundIn = WebSocketFrame
  typealias OutboundIn = ByteBuffer

  private let messages: AsyncStream<String>.Continuation
  private let stalledAfter: Duration
  private let onCutOff: @Sendable () -> Void
  private let loop: any EventLoop
  private var context: ChannelHandlerContext?
  private var isClosing = false
  /// The number of frames that the kernel has not accepted yet.
  private var unwritten = 0
  /// Resets a connection whose client reads nothing for too long.
  private var cut: Scheduled<Void>?
  /// Whether a pong or a close frame waits for the kernel.
  private var isAnswering = false
  /// The newest ping that came meanwhile: only that one must be answered (RFC 6455, 5.5.3).
  private var unanswered: ByteBuffer?
  private var wantsRead = false

  init(
    _ messages: AsyncStream<String>.Continuation, on loop: any EventLoop, _ stalledAfter: Duration,
    _ onCutOff: @escaping @Sendable () -> Void
  ) {
    (self.messages, self.loop, self.stalledAfter, self.onCutOff) = (messages, loop, stalledAfter, onCutOff)
  }

  func handlerAdded(context: ChannelHandlerContext) { self.context = context }

  func handlerRemoved(context: ChannelHandlerContext) {
    self.context = nil
    messages.finish()
  }

  func channelInactive(context: ChannelHandlerContext) {
    messages.finish()
    context.fireChannelInactive()
  }

  // MARK: From the client

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let frame = unwrapInboundIn(data)
    guard !isClosing else { return }
    // A client must mask its frames (RFC 6455, 5.1), and no extension was negotiated (5.2).
    guard frame.maskKey != nil, !frame.rsv1, !frame.rsv2, !frame.rsv3 else { return end(1002) }
    let payload = frame.unmaskedData
    switch frame.opcode {
    case .text:
      guard let text = String(validating: payload.readableBytesView, as: UTF8.self) else { return end(1007) }
      if case .dropped = messages.yield(text) { end(1008) }
    case .ping: answer(payload)
    case .pong: break
    case .connectionClose: end(1000)
    case .binary: end(1003)
    default: end(1002)
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    switch error {
    case NIOWebSocketError.invalidFrameLength, NIOWebSocketFrameAggregator.Error.tooManyFragments,
      NIOWebSocketFrameAggregator.Error.accumulatedFrameSizeIsTooLarge:
      end(1009)
    case is NIOWebSocketError, is NIOWebSocketFrameAggregator.Error: end(1002)
    default: context.fireErrorCaught(error)
    }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    // The client has closed its sending half.
    if case ChannelEvent.inputClosed = event { return context.close(promise: nil) }
    context.fireUserInboundEventTriggered(event)
  }

  func read(context: ChannelHandlerContext) {
    guard !isAnswering else { return wantsRead = true }
    context.read()
  }

  /// Sends a close frame with `code`, closes the connection and ends the messages.
  func end(_ code: UInt16) {
    guard !isClosing, let context else { return }
    isAnswering = true
    let isSent = write(.connectionClose, ByteBuffer(integer: code))
    isClosing = true
    messages.finish()
    let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
    isSent.whenComplete { _ in bound.value.close(promise: nil) }
  }

  /// Answers a ping once the previous answer is written.
  private func answer(_ ping: ByteBuffer) {
    guard !isAnswering else { return unanswered = ping }
    isAnswering = true
    let bound = NIOLoopBound(self, eventLoop: loop)
    write(.pong, ping).whenComplete { _ in bound.value.answered() }
  }

  private func answered() {
    guard !isClosing else { return }
    isAnswering = false
    if let ping = unanswered {
      unanswered = nil
      answer(ping)
    }
    guard !isAnswering, wantsRead else { return }
    wantsRead = false
    context?.read()
  }

  // MARK: To the client

  /// Writes a frame; the result comes once the kernel has accepted it.
  func write(_ opcode: WebSocketOpcode, _ payload: ByteBuffer) -> EventLoopFuture<Void> {
    guard let context, context.channel.isActive, !isClosing else {
      return loop.makeFailedFuture(ChannelError.ioOnClosedChannel)
    }
    let written = context.eventLoop.makePromise(of: Void.self)
    unwritten += 1
    let bound = NIOLoopBound(self, eventLoop: loop)
    written.futureResult.whenComplete { _ in bound.value.wrote() }
    context.writeAndFlush(NIOAny(Self.frame(opcode, payload)), promise: written)
    // The kernel accepts most frames at once.
    if cut == nil { waitForClient() }
    return written.futureResult
  }

  private func wrote() {
    unwritten -= 1
    waitForClient()
  }

  /// Restarts the timeout for the client to read, if anything is unwritten.
  private func waitForClient() {
    cut?.cancel()
    cut = nil
    guard unwritten > 0, let context else { return }
    let bound = NIOLoopBound(context, eventLoop: loop)
    cut = loop.scheduleTask(in: TimeAmount(stalledAfter)) { [onCutOff] in
      onCutOff()
      bound.value.reset()
    }
  }

  /// Encodes a whole message as one unmasked frame (RFC 6455, 5.2).
  private static func frame(_ opcode: WebSocketOpcode, _ payload: ByteBuffer) -> ByteBuffer {
    var buffer = ByteBuffer()
    buffer.reserveCapacity(10 + payload.readableBytes)
    buffer.writeInteger(0x80 | UInt8(webSocketOpcode: opcode))
    switch payload.readableBytes {
    case ..<126: buffer.writeInteger(UInt8(payload.readableBytes))
    case ..<65536:
      buffer.writeInteger(126 as UInt8)
      buffer.writeInteger(UInt16(payload.readableBytes))
    default:
      buffer.writeInteger(127 as UInt8)
      buffer.writeInteger(UInt64(payload.readableBytes))
    }
    buffer.writeImmutableBuffer(payload)
    return buffer
  }
}
