// Tunnels to cameras that speak RTSP over TLS: which clients get the camera, and how a redirect ends.
#if HTTP
  import Foundation
  import NIOCore
  import NIOPosix
  import PreviewCore
  import Synchronization
  import TestSupport
  import Testing

  @testable import CaptureHTTP
  @testable import GLPreview

  @Suite("RTSP tunnels to cameras", .timeLimit(.minutes(15)))
  struct RTSPTunnelTests {
    private func options() throws -> SourceOptions {
      var options = httpOptions(givesUp: .zero)
      options.certificate = .fingerprint(try fingerprint(of: "certificates/own.pem"))
      return options
    }

    @Test("a tunnel accepts one client that knows its secret, and closes all other connections")
    func strangers() async throws {
      let answer = "RTSP/1.0 200 OK\r\nCSeq: 1\r\n\r\n"
      try await withTLSServer(showing: "certificates/own.pem", Array(answer.utf8)) { port in
        let tunnel = try await RTSPTunnel.open("rtsps://localhost:\(port)/live", "camera", options())
        let local = try RTSPSAddress(tunnel.address)
        func request(_ url: String) -> String { "OPTIONS \(url) RTSP/1.0\r\nCSeq: 1\r\n\r\n" }

        let silent = try await Client(to: local.port)
        let stranger = try await Client(to: local.port)
        stranger.send(request("rtsp://127.0.0.1:\(local.port)/live"))
        #expect(await stranger.textAtEnd() == "")

        let client = try await Client(to: local.port)
        client.send(request(tunnel.address))
        await client.wait(for: answer)
        #expect(await silent.textAtEnd() == "", "the tunnel is taken")

        await tunnel.end()
        #expect(await client.textAtEnd() == answer)
      }
    }

    @Test("the error for a rejected certificate shows its fingerprint")
    func refused() async throws {
      try await withTLSServer(showing: "certificates/signed.pem", []) { port in
        let error = await #expect(throws: SourceError.self) {
          try await RTSPTunnel.open("rtsps://ann:hush@localhost:\(port)/live", "camera", options())
        }
        let shown = try fingerprint(of: "certificates/signed.pem")
        #expect(error?.reason.hasSuffix("fingerprint: \(shown)") == true, "\(error?.reason ?? "")")
      }
    }

    #if FFmpeg
      @Test("a redirect of an RTSPS camera with a configured certificate is rejected")
      func redirection() async throws {
        let answer = "RTSP/1.0 302 Found\r\nCSeq: 1\r\nLocation: rtsps://elsewhere.example/x\r\n\r\n"
        try await withTLSServer(showing: "certificates/own.pem", Array(answer.utf8)) { port in
          var options = try options()
          options.redirects = .any
          let source = try await SourceLocator("rtsps://localhost:\(port)/live").open(options)
          let error = await #expect(throws: SourceError.self) { try await source.nextFrame() }
          #expect(
            error?.reason
              == "redirects to elsewhere.example, which certificate does not allow: use that address")
          await source.close()
        }
      }

      @Test("closing a source ends a read from an RTSPS camera that sends nothing")
      func silence() async throws {
        try await withTLSServer(showing: "certificates/own.pem", []) { port in
          let source = try await SourceLocator("rtsps://localhost:\(port)/live").open(options())
          let reading = Task { try await source.nextFrame() }
          await letOthersGoOn()
          await source.close()
          #expect(try await reading.value == nil)
        }
      }
    #endif
  }

  /// A connection to a port of loopback.
  private final class Client: Sendable {
    private let channel: any Channel
    private let heard = Watched("")

    init(to port: Int) async throws {
      channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .channelInitializer { [heard] channel in
          channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(Listener(heard))
          }
        }
        .connect(host: "127.0.0.1", port: port).get()
    }

    func send(_ text: String) { channel.writeAndFlush(ByteBuffer(string: text), promise: nil) }

    func wait(for text: String) async { await until { heard.value == text } }

    /// All that it heard, once the other side has closed it.
    func textAtEnd() async -> String {
      try? await channel.closeFuture.get()
      return heard.value
    }

    private final class Listener: ChannelInboundHandler {
      typealias InboundIn = ByteBuffer

      private let heard: Watched<String>

      init(_ heard: Watched<String>) { self.heard = heard }

      func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let text = String(buffer: unwrapInboundIn(data))
        heard.update { $0 += text }
      }

      func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
  }
#endif
