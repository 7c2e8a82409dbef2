// The bytes of a connection as parts of responses, for the handlers that follow it in the pipeline.
internal import NIOCore
internal import NIOHTTP1
internal import NIOSSL

/// Passes on what `HTTPResponseParser` finds, and settles how a body is compressed.
final class HTTPResponseReader: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = HTTPClientResponsePart

  private var parser = HTTPResponseParser()
  /// A head whose body is called compressed. It waits for the first byte, which is believed more than the name.
  private var waiting: HTTPResponseHead?

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    pass(parser.take(Array(unwrapInboundIn(data).readableBytesView)[...]), context)
  }

  func channelInactive(context: ChannelHandlerContext) {
    pass(parser.finish(), context)
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    // Many cameras end TLS by closing the connection. Whether the body is whole is seen by its length.
    if case .uncleanShutdown? = error as? NIOSSLError { return }
    context.fireErrorCaught(error)
  }

  private func pass(_ events: [HTTPResponseParser.Event], _ context: ChannelHandlerContext) {
    for event in events {
      switch event {
      case .head(let head):
        let response = HTTPResponseHead(head)
        if ContentCoding(response) == nil { fire(.head(response), context) } else { waiting = response }
      case .body(var bytes):
        if let head = waiting.take() { fire(.head(head.settled(by: &bytes)), context) }
        fire(.body(ByteBuffer(bytes: bytes)), context)
      case .end:
        if let head = waiting.take() { fire(.head(head), context) }
        fire(.end(nil), context)
      case .failed(let reason): context.fireErrorCaught(HTTPResponseFailure(description: reason))
      }
    }
  }

  private func fire(_ part: HTTPClientResponsePart, _ context: ChannelHandlerContext) {
    context.fireChannelRead(wrapInboundOut(part))
  }
}

/// The server does not speak HTTP; why, in words that follow a colon.
struct HTTPResponseFailure: Error, CustomStringConvertible {
  let description: String
}

/// What a server says of a body that it has compressed (RFC 9110, 8.4.1).
private enum ContentCoding: String {
  case gzip
  case xGzip = "x-gzip"
  case deflate

  init?(_ head: HTTPResponseHead) {
    guard let name = head.headers.first(name: "content-encoding") else { return nil }
    self.init(rawValue: name.lowercased())
  }
}

extension HTTPResponseHead {
  fileprivate init(_ head: HTTPResponseParser.Head) {
    self.init(
      version: .http1_1, status: HTTPResponseStatus(statusCode: head.status, reasonPhrase: head.reason),
      headers: HTTPHeaders(head.fields.map { ($0.name, $0.value) }))
  }

  /// The same with the coding that `body`, its first bytes, really has: none, or one that the decompressor knows.
  /// Raw deflate (RFC 1951) gets the header that it lacks (RFC 1950).
  fileprivate func settled(by body: inout [UInt8]) -> HTTPResponseHead {
    guard let coding = ContentCoding(self), let first = body.first else { return self }
    var head = self
    let isGzip = first == 0x1F
    let isZlib = first & 0x0F == 8
    // A block of type 3 does not exist: such bytes are not compressed.
    let isRaw = coding == .deflate && first & 6 != 6
    if isGzip || isZlib || isRaw {
      head.headers.replaceOrAdd(name: "content-encoding", value: isGzip ? "gzip" : "deflate")
      if !isGzip, !isZlib { body = [0x78, 0x9C] + body }
    } else {
      head.headers.remove(name: "content-encoding")
    }
    return head
  }
}
