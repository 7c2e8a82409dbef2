// A server with TLS that answers each request with the same bytes, and the certificates that it may show.
#if HTTP
  import Foundation
  import NIOCore
  import NIOPosix
  import NIOSSL
  import Testing

  @testable import GLPreview

  /// Runs `body` beside a server whose key and certificate are in a file of Fixtures.
  func withTLSServer(
    showing file: String, _ answer: [UInt8], endsAbruptly: Bool = false,
    _ body: (_ port: Int) async throws -> Void
  ) async throws {
    let pem = try fixture(file)
    let context = try NIOSSLContext(
      configuration: .makeServerConfiguration(
        certificateChain: try NIOSSLCertificate.fromPEMBytes(pem).map { .certificate($0) },
        privateKey: .privateKey(try NIOSSLPrivateKey(bytes: pem, format: .pem))))
    let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
          try channel.pipeline.syncOperations.addHandler(Answering(answer, endsAbruptly))
        }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    let result: Result<Void, any Error>
    do { result = .success(try await body(try #require(channel.localAddress?.port))) } catch {
      result = .failure(error)
    }
    try await channel.close()
    try result.get()
  }

  /// The fingerprint of the certificate in a file of Fixtures.
  func fingerprint(of file: String) throws -> CertificateFingerprint {
    let certificate = try #require(try NIOSSLCertificate.fromPEMBytes(fixture(file)).first)
    return CertificateFingerprint(of: try certificate.toDERBytes())
  }

  /// Answers each request with the same bytes.
  private final class Answering: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let answer: [UInt8]
    /// Whether it closes the connection afterwards, without TLS's goodbye.
    private let endsAbruptly: Bool

    init(_ answer: [UInt8], _ endsAbruptly: Bool) {
      (self.answer, self.endsAbruptly) = (answer, endsAbruptly)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      guard unwrapInboundIn(data).readableBytesView.suffix(4).elementsEqual("\r\n\r\n".utf8) else { return }
      context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: answer)), promise: nil)
      guard endsAbruptly else { return }
      try? context.pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self).close(promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
  }
#endif
