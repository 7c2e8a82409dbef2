// The UDP port of all WebRTC sessions: it assigns datagrams to their sessions.
internal import Logging
internal import NIOCore
internal import NIOPosix

/// An open port.
final class WHEPPort: Sendable {
  /// The address where it listens.
  let address: SocketAddress
  let identity: WebRTCIdentity
  private let channel: any Channel
  private let exchange: NIOLoopBound<WHEPExchange>

  private init(
    _ channel: any Channel, _ address: SocketAddress, _ identity: WebRTCIdentity,
    _ exchange: NIOLoopBound<WHEPExchange>
  ) {
    (self.channel, self.address, self.identity, self.exchange) = (channel, address, identity, exchange)
  }

  /// Datagrams are no larger than an Ethernet frame.
  private static let datagramBytes = 2048
  private static let datagramsAtATime = 32
  /// Enough for a keyframe for a hundred clients.
  private static let socketBytes = 4 << 20

  /// - Throws: `WebRTCError` without libraries; errors of binding.
  static func open(
    host: String, port: Int, counting counters: WebRTCCounters, logger: Logger
  ) async throws -> WHEPPort {
    let identity = try WebRTCIdentity()
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    let exchange = try await loop.submit {
      NIOLoopBound(WHEPExchange(counting: counters, logger: logger), eventLoop: loop)
    }.get()
    let allocator = FixedSizeRecvByteBufferAllocator(capacity: datagramBytes * datagramsAtATime)
    let channel = try await DatagramBootstrap(group: loop)
      .channelOption(.datagramVectorReadMessageCount, value: datagramsAtATime)
      .channelOption(.recvAllocator, value: allocator)
      .channelOption(.socketOption(.so_sndbuf), value: socketBytes)
      .channelOption(.socketOption(.so_rcvbuf), value: socketBytes)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(exchange.value)
        }
      }
      .bind(host: host, port: port).get()
    guard let address = channel.localAddress else { throw ChannelError.unknownLocalAddress }
    return WHEPPort(channel, address, identity, exchange)
  }

  var isOpen: Bool { channel.isActive }

  /// Adds a session, which is made on the port's event loop. `pictures` begins to read its view, from a
  /// keyframe on.
  func add(_ make: @escaping @Sendable () -> WHEPSession, pictures: @escaping WHEPFeed.Pictures) async throws
  {
    try await channel.eventLoop.submit { [exchange, channel] in
      guard channel.isActive else { throw ChannelError.ioOnClosedChannel }
      exchange.value.add(make(), pictures)
    }.get()
  }

  /// Returns what `take` reads from a session; nil if there is no such session.
  func find<Result: Sendable>(
    _ id: String, _ take: @escaping @Sendable (WHEPSession) -> Result
  ) async throws -> Result? {
    try await channel.eventLoop.submit { [exchange] in exchange.value.session(id).map(take) }.get()
  }

  /// Ends the sessions that `reason` gives a reason for.
  func end(_ reason: @escaping @Sendable (WHEPSession) -> String?) {
    channel.eventLoop.execute { [exchange] in exchange.value.end(reason) }
  }

  func close() async {
    try? await channel.eventLoop.submit { [exchange] in exchange.value.close("the service is shutting down") }
      .get()
    try? await channel.close()
  }
}
