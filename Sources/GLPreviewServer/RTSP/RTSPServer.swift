// The service's RTSP server: listens, and runs a connection for each client.
internal import HTTPTypes
internal import Logging
internal import NIOCore
internal import NIOPosix
internal import ServiceLifecycle

package final class RTSPServer: ServiceFeature, Service, CustomStringConvertible {
  /// The parts that connections share.
  struct Parts: Sendable {
    let videos: VideoStreams
    let directory: ViewDirectory
    let access: AccessControl
    /// Shared with HTTP.
    let limiter: RateLimiter
    let sessions: AdmissionLimit
    let firstPicture: Duration
    let idle: Duration
    let stalled: Duration
    let logger: Logger
  }

  private let parts: Parts
  private let listen: ListenAddress?
  private let gate = AdmissionLimit(capacity: 400, subject: "RTSP connections", retryAfter: 5)
  private let state = Watched(State())

  private struct State {
    var port: Int?
    var isOver = false
    /// Connections since their acceptance, including those that will be refused.
    var accepted = 0
    /// Connections that are served.
    var channels: [ObjectIdentifier: any Channel] = [:]
  }

  private typealias Client = NIOAsyncChannel<ByteBuffer, ByteBuffer>

  package init(_ core: ServiceCore) {
    listen = core.configuration.rtsp.address
    let limits = core.configuration.limits
    parts = Parts(
      videos: core.videos, directory: core.directory, access: core.access, limiter: core.limiter,
      sessions: AdmissionLimit(capacity: 200, subject: "RTSP sessions", retryAfter: 5),
      firstPicture: core.registry.timeouts.firstPicture, idle: limits.idleConnection,
      stalled: limits.stalledClient, logger: core.logger)
  }

  /// The port, once it listens.
  var port: Int? { state.value.port }

  /// The number of connections that are served.
  var clientCount: Int { state.value.channels.count }

  /// The most connections of one client.
  var connectionsPerClient: Int { gate.share }

  private func endAll() {
    for channel in state.value.channels.values { channel.close(promise: nil) }
  }

  package func run() async throws {
    guard let listen, case .host(let host, let port) = listen else {
      try? await gracefulShutdown()
      return
    }
    let listener: any Channel
    do {
      listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
        .childChannelInitializer { [self] channel in accept(channel) }
        .bind(host: host, port: port).get()
    } catch {
      throw ListenError(error, at: listen) ?? error
    }
    state.update { $0.port = listener.localAddress?.port }
    parts.logger.info("RTSP server started", metadata: ["address": "\(listen)"])
    await withTaskCancellationOrGracefulShutdownHandler {
      try? await listener.closeFuture.get()
    } onCancelOrGracefulShutdown: { [self] in
      listener.close(promise: nil)
      state.update { $0.isOver = true }
      endAll()
    }
    _ = try? await state.first { $0.accepted == 0 ? true : nil }
  }

  /// Gives a connection its own task at once. NIO ends the process if an accepted `NIOAsyncChannel` is
  /// released without `executeThenClose`. With a loop over a listener's sequence, that can happen to some
  /// when the listener closes.
  private func accept(_ channel: any Channel) -> EventLoopFuture<Void> {
    channel.eventLoop.makeCompletedFuture {
      let client = try Client(wrappingChannelSynchronously: channel)
      state.update { $0.accepted += 1 }
      Task {
        try? await client.executeThenClose { inbound, _ in await serve(channel, inbound) }
        state.update { $0.accepted -= 1 }
      }
    }
  }

  private func serve(_ channel: any Channel, _ inbound: NIOAsyncChannelInboundStream<ByteBuffer>) async {
    let address = ClientGroup(channel.remoteAddress?.ipAddress ?? "")
    let sender = RequestClient(address: address)
    let permit = RequestClient.$current.withValue(sender) { try? gate.enter() }
    guard let permit else { return }
    channel.limitUnsentBytes(16 << 10)
    let id = ObjectIdentifier(channel)
    let isOver = state.update { state in
      state.channels[id] = channel
      return state.isOver
    }
    // A connection accepted at that moment was not among those that were closed.
    if isOver { channel.close(promise: nil) }
    defer {
      withExtendedLifetime(permit) {}
      state.update { $0.channels[id] = nil }
    }
    await RTSPConnection(parts, channel, address).run(inbound)
  }
}

/// Two UDP ports of this side, for a client's session.
struct RTSPPorts: Sendable {
  private let rtp: any Channel
  private let rtcp: any Channel
  let numbers: String

  /// Reports datagrams from the client's address.
  private final class Reports: ChannelInboundHandler {
    typealias InboundIn = AddressedEnvelope<ByteBuffer>
    private let client: String?
    private let onReport: @Sendable () -> Void

    init(_ client: String?, _ onReport: @escaping @Sendable () -> Void) {
      (self.client, self.onReport) = (client, onReport)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      if unwrapInboundIn(data).remoteAddress.ipAddress == client { onReport() }
    }
  }

  /// Opens an even port and the next one, at the address that the client has reached.
  static func open(
    _ connection: any Channel, onReport: @escaping @Sendable () -> Void
  ) async throws -> RTSPPorts {
    guard let host = connection.localAddress?.ipAddress else { throw ChannelError.unknownLocalAddress }
    let client = connection.remoteAddress?.ipAddress
    let bootstrap = DatagramBootstrap(group: connection.eventLoop).channelInitializer { channel in
      channel.eventLoop.makeCompletedFuture {
        try channel.pipeline.syncOperations.addHandler(Reports(client, onReport))
      }
    }
    for _ in 0..<16 {
      let rtp = try await bootstrap.bind(host: host, port: 0).get()
      guard let port = rtp.localAddress?.port, port.isMultiple(of: 2),
        let rtcp = try? await bootstrap.bind(host: host, port: port + 1).get()
      else {
        try? await rtp.close()
        continue
      }
      return RTSPPorts(rtp: rtp, rtcp: rtcp, numbers: "\(port)-\(port + 1)")
    }
    throw Problem.busy(.serviceUnavailable, "no free pair of UDP ports", retryAfter: 1)
  }

  /// Sends to the client of `connection` only.
  func send(_ packets: [[UInt8]], to port: Int, of connection: any Channel, isReport: Bool) async throws {
    guard let host = connection.remoteAddress?.ipAddress else { throw ChannelError.ioOnClosedChannel }
    let address = try SocketAddress(ipAddress: host, port: port)
    let channel = isReport ? rtcp : rtp
    // Nothing is queued: packets that the socket can't take now are lost, as packets on their way may be.
    guard channel.isWritable else { return }
    for packet in packets {
      let envelope = AddressedEnvelope(remoteAddress: address, data: ByteBuffer(bytes: packet))
      channel.write(envelope, promise: nil)
    }
    channel.flush()
  }

  func close() {
    rtp.close(promise: nil)
    rtcp.close(promise: nil)
  }
}
