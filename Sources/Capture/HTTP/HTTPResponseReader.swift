// Converts the bytes of a connection to response parts, for the handlers that follow it in the pipeline.
internal import NIOCore
internal import NIOHTTP1
internal import NIOSSL

/// Emits the responses that `HTTPResponseParser` parses, with the body's actual compression.
final class HTTPResponseReader: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = HTTPClientResponsePart

  private var parser = HTTPResponseParser()
  /// A head that declares a compressed body. It waits for the body's first byte, which is more reliable than
  /// the declaration.
  private var waiting: HTTPResponseHead?

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    pass(parser.take(Array(unwrapInboundIn(data).readableBytesView)[...]), context)
  }

  func channelInactive(context: ChannelHandlerContext) {
    pass(parser.finish(), context)
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    // Many cameras end TLS by closing the connection. The body's length shows whether it is complete.
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

/// The error of a server that does not speak HTTP. The description is worded to follow a colon.
struct HTTPResponseFailure: Error, CustomStringConvertible {
  let description: String
}

/// The compression that a server declares for a body (RFC 9110, 8.4.1).
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

  /// Returns this head with the coding that `body`, its first bytes, actually has: none, or one that the
  /// decompressor supports. The missing header (RFC 1950) is prepended to raw deflate (RFC 1951).
  fileprivate func settled(by body: inout [UInt8]) -> HTTPResponseHead {
    guard let coding = ContentCoding(self), let first = body.first else { return self }
    var head = self
    let isGzip = first == 0x1F
    let isZlib = first & 0x0F == 8
    // Block type 3 does not exist, so such bytes are not compressed.
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
