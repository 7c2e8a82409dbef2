// A server on loopback that lets clients begin, and then reads nothing of what they send.
import GLPreview
import NIOCore
import NIOPosix
import Testing

final class SilentServer: Sendable {
  let port: Int
  private let channel: any Channel

  /// Says `greeting` first, and `answer` to the first bytes of a client; without an answer it does not read even these.
  init(greeting: [UInt8] = [], answer: [UInt8]?) async throws {
    channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .childChannelOption(.autoRead, value: answer != nil)
      .childChannelOption(.socketOption(.so_rcvbuf), value: 4096)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(Beginning(greeting, answer ?? []))
        }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    port = try #require(channel.localAddress?.port)
  }

  deinit { channel.close(promise: nil) }

  private final class Beginning: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let greeting: [UInt8]
    private let answer: [UInt8]

    init(_ greeting: [UInt8], _ answer: [UInt8]) { (self.greeting, self.answer) = (greeting, answer) }

    func channelActive(context: ChannelHandlerContext) {
      context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: greeting)), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: answer)), promise: nil)
      context.channel.setOption(.autoRead, value: false).whenComplete { _ in }
    }
  }
}
