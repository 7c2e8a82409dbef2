// Requests to one address of one server, on a separate thread, so that a server that floods it delays no
// other source.
internal import NIOCore
internal import NIOHTTP1
internal import NIOHTTPCompression
internal import NIOPosix
internal import Synchronization

/// One connection, made on demand. Requests are sent one at a time.
final class HTTPSession: Sendable {
  /// The largest expansion of compressed bodies. Those that expand by more are refused.
  private static let compressionLimit = 50

  private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
  private let dialling: Dialling
  /// The connection, from the start of the connection attempt.
  private let connection = Mutex<(any Channel)?>(nil)

  /// Creates a session that is not connected yet. `address` is a numeric address of the server's host.
  /// Without `tls`, it uses plain HTTP. The limit includes TLS's handshake.
  init(
    to server: HTTPAddress.Server, at address: String, tls: TLSVerification?, connectsWithin limit: Duration
  ) {
    dialling = Dialling(
      host: server.host, address: address, port: server.port, tls: tls,
      limit: .nanoseconds(Int64(limit / .nanoseconds(1))))
  }

  /// Requests `address`. All errors are reported by the response. An unfinished previous response is dropped
  /// with its connection.
  func get(_ address: HTTPAddress, _ headers: HTTPHeaders) -> HTTPAnswer {
    let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: address.target, headers: headers)
    let answer = HTTPAnswer()
    let loop = group.next()
    loop.execute { [self] in
      connected(on: loop).flatMap { $0.writeAndFlush(AnswerReader.Request(head: head, answer: answer)) }
        .whenFailure { answer.end(.failure($0)) }
    }
    return answer
  }

  /// Closes the connection, even one that is being made, and ends the thread. Called once.
  func end() async {
    if let channel = connection.withLock({ $0 }) {
      try? await channel.eventLoop.submit { Dialling.close(channel) }.get()
    }
    try? await group.shutdownGracefully()
  }

  /// Returns the current connection if it can take a request, otherwise a new one.
  private func connected(on loop: any EventLoop) -> EventLoopFuture<any Channel> {
    if let channel = connection.withLock({ $0 }) {
      let reader = try? channel.pipeline.syncOperations.handler(type: AnswerReader.self)
      if channel.isActive, reader?.isIdle == true { return loop.makeSucceededFuture(channel) }
      Dialling.close(channel)
    }
    return dialling.connect(on: loop) { channel in
      self.connection.withLock { $0 = channel }
    } addHandlers: { channel in
      let pipeline = channel.pipeline.syncOperations
      try pipeline.addHandler(HTTPRequestEncoder())
      try pipeline.addHandler(NIOHTTPRequestHeadersValidator())
      try pipeline.addHandler(HTTPResponseReader())
      try pipeline.addHandler(NIOHTTPResponseDecompressor(limit: .ratio(Self.compressionLimit)))
      try pipeline.addHandler(AnswerReader())
    }
  }
}

/// Sends requests, and delivers responses no faster than they are read.
private final class AnswerReader: ChannelDuplexHandler {
  typealias InboundIn = HTTPClientResponsePart
  typealias OutboundIn = Request
  typealias OutboundOut = HTTPClientRequestPart

  struct Request: Sendable {
    let head: HTTPRequestHead
    let answer: HTTPAnswer
  }

  private var answer: HTTPAnswer?
  private var isKeptAlive = true
  private var isFull = false
  private var wantsRead = false

  var isIdle: Bool { answer == nil && isKeptAlive }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    let request = unwrapOutboundIn(data)
    answer = request.answer
    context.write(wrapOutboundOut(.head(request.head)), promise: nil)
    context.write(wrapOutboundOut(.end(nil)), promise: promise)
  }

  func read(context: ChannelHandlerContext) {
    if isFull { wantsRead = true } else { context.read() }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head):
      // No request is pending, so this response and all later ones can't be matched to requests.
      guard let answer else { return context.close(promise: nil) }
      isKeptAlive = head.isKeepAlive
      answer.begin(head)
    case .body(let bytes):
      let loop = context.eventLoop
      let bound = NIOLoopBound((reader: self, context: context), eventLoop: loop)
      let hasRoom = answer?.add(bytes) {
        loop.execute { bound.value.reader.resume(bound.value.context) }
      }
      isFull = hasRoom == false
    case .end:
      answer?.end(.success(()))
      answer = nil
      if !isKeptAlive { context.close(promise: nil) }
    }
  }

  private func resume(_ context: ChannelHandlerContext) {
    isFull = false
    guard wantsRead else { return }
    wantsRead = false
    context.read()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    // The compressed bytes end early, or other bytes follow them: the body ends with what has been
    // decompressed.
    if error is NIOHTTPDecompression.ExtraDecompressionError { answer?.end(.success(())) }
    fail(error)
    context.close(promise: nil)
  }

  func channelInactive(context: ChannelHandlerContext) {
    fail(HTTPConnectionClosed())
    context.fireChannelInactive()
  }

  func handlerRemoved(context: ChannelHandlerContext) { fail(HTTPConnectionClosed()) }

  private func fail(_ error: any Error) {
    answer?.end(.failure(error))
    answer = nil
    isKeptAlive = false
  }
}
