// A connection to a server on loopback, as bytes: for answers that never end.
import NIOCore
import NIOPosix
import Synchronization
import TestSupport

/// A connection, and what came over it.
final class RawConnection: Sendable {
  private let channel: any Channel
  private let collector: Collector

  /// Connects to 127.0.0.1 and sends `text`. With `isSmall` the kernel keeps little of what is not read.
  init(to port: Int, sending text: String, isSmall: Bool = false) async throws {
    let collector = Collector()
    var bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
    if isSmall { bootstrap = bootstrap.channelOption(.socketOption(.so_rcvbuf), value: 4096) }
    channel =
      try await bootstrap
      .connectTimeout(.hours(1))
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(Reader(collector))
        }
      }
      .connect(host: "127.0.0.1", port: port).get()
    self.collector = collector
    if !text.isEmpty { try await channel.writeAndFlush(ByteBuffer(string: text)) }
  }

  /// Sends more.
  func send(_ bytes: [UInt8]) async throws { try await channel.writeAndFlush(ByteBuffer(bytes: bytes)) }

  /// All that came so far.
  var received: String { collector.bytes.withLock { String(buffer: $0) } }
  var bytes: [UInt8] { collector.bytes.withLock { Array($0.readableBytesView) } }

  /// Returns when `text` came; throws where the connection ends before.
  func waits(for text: String) async throws { try await waits { received.contains(text) } }

  /// Returns when more than `count` bytes came; throws where the connection ends before.
  func waits(forMoreThan count: Int) async throws {
    try await waits { collector.bytes.withLock { $0.readableBytes } > count }
  }

  private func waits(for condition: () -> Bool) async throws {
    try await until {
      let isActive = channel.isActive
      if condition() { return true }
      guard isActive else { throw ChannelError.eof }
      return false
    }
  }

  /// Reads nothing from now on.
  func stopReading() async throws { try await setReading(false) }

  /// Reads on.
  func readAgain() async throws { try await setReading(true) }

  /// A connection that the other side has closed by now was read to its end by that.
  private func setReading(_ isReading: Bool) async throws {
    do {
      try await channel.setOption(.autoRead, value: isReading).get()
    } catch ChannelError.ioOnClosedChannel {}
  }

  /// Returns when the other side has closed it.
  func waitsForEnd() async throws { try await channel.closeFuture.get() }

  func close() async throws {
    do { try await channel.close() } catch ChannelError.alreadyClosed {}
  }

  /// Says that nothing more is sent, and reads on.
  func endSending() async throws { try await channel.close(mode: .output) }

  private final class Collector: Sendable {
    let bytes = Mutex(ByteBuffer())
  }

  private final class Reader: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private let collector: Collector

    init(_ collector: Collector) { self.collector = collector }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      let buffer = unwrapInboundIn(data)
      collector.bytes.withLock { _ = $0.writeImmutableBuffer(buffer) }
    }
  }
}
