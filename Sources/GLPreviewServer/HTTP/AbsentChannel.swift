// A channel for requests that have no connection of their own.
internal import NIOCore
internal import NIOPosix

/// A channel that is closed. It has an event loop, and whatever is written to it fails.
final class AbsentChannel: Channel, ChannelCore {
  static let shared = AbsentChannel()

  let eventLoop: any EventLoop = MultiThreadedEventLoopGroup.singleton.any()

  var closeFuture: EventLoopFuture<Void> { eventLoop.makeSucceededVoidFuture() }
  var pipeline: ChannelPipeline { ChannelPipeline(channel: self) }
  var allocator: ByteBufferAllocator { ByteBufferAllocator() }
  var localAddress: SocketAddress? { nil }
  var remoteAddress: SocketAddress? { nil }
  var parent: (any Channel)? { nil }
  var isWritable: Bool { false }
  var isActive: Bool { false }
  var _channelCore: any ChannelCore { self }

  func setOption<Option: ChannelOption>(_ option: Option, value: Option.Value) -> EventLoopFuture<Void> {
    eventLoop.makeFailedFuture(ChannelError.ioOnClosedChannel)
  }

  func getOption<Option: ChannelOption>(_ option: Option) -> EventLoopFuture<Option.Value> {
    eventLoop.makeFailedFuture(ChannelError.ioOnClosedChannel)
  }

  func localAddress0() throws -> SocketAddress { throw ChannelError.ioOnClosedChannel }
  func remoteAddress0() throws -> SocketAddress { throw ChannelError.ioOnClosedChannel }
  func register0(promise: EventLoopPromise<Void>?) { promise?.fail(ChannelError.ioOnClosedChannel) }
  func registerAlreadyConfigured0(promise: EventLoopPromise<Void>?) {
    promise?.fail(ChannelError.ioOnClosedChannel)
  }
  func bind0(to: SocketAddress, promise: EventLoopPromise<Void>?) {
    promise?.fail(ChannelError.ioOnClosedChannel)
  }
  func connect0(to: SocketAddress, promise: EventLoopPromise<Void>?) {
    promise?.fail(ChannelError.ioOnClosedChannel)
  }
  func write0(_ data: NIOAny, promise: EventLoopPromise<Void>?) {
    promise?.fail(ChannelError.ioOnClosedChannel)
  }
  func flush0() {}
  func read0() {}
  func close0(error: any Error, mode: CloseMode, promise: EventLoopPromise<Void>?) {
    promise?.fail(ChannelError.alreadyClosed)
  }
  func triggerUserOutboundEvent0(_ event: Any, promise: EventLoopPromise<Void>?) {
    promise?.fail(ChannelError.ioOnClosedChannel)
  }
  func channelRead0(_ data: NIOAny) {}
  func errorCaught0(error: any Error) {}
}
