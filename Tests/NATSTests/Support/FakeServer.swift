// A NATS server that says what a test has it say.
import NIOCore
import NIOPosix

/// Listens on loopback, and hands each connection to the test.
final class FakeServer: Sendable {
  let port: Int
  private let listener: any Channel
  private let incoming: AsyncStream<FakeConnection>

  /// With a port, one that was free before.
  init(port: Int = 0) async throws {
    let (incoming, sender) = AsyncStream.makeStream(of: FakeConnection.self)
    self.incoming = incoming
    listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          let (lines, heard) = AsyncStream.makeStream(of: String.self)
          try channel.pipeline.syncOperations.addHandler(LineReader(heard))
          sender.yield(FakeConnection(channel, lines))
        }
      }
      .bind(host: "127.0.0.1", port: port).get()
    self.port = listener.localAddress?.port ?? 0
  }

  deinit { listener.close(promise: nil) }

  /// The next connection of a client, before anything was said.
  func accept() async throws -> FakeConnection {
    for await connection in incoming { return connection }
    throw CancellationError()
  }

  /// The next connection, greeted.
  func welcome(_ info: String = "{}") async throws -> FakeConnection {
    let connection = try await accept()
    _ = try await connection.greet(info)
    return connection
  }

  /// Takes no more connections.
  func close() async throws { try await listener.close() }
}

/// A connection of a client.
final class FakeConnection: Sendable {
  private let channel: any Channel
  private let lines: AsyncStream<String>

  init(_ channel: any Channel, _ lines: AsyncStream<String>) { (self.channel, self.lines) = (channel, lines) }

  /// Says the text, each line of which ends in CR LF.
  func send(_ lines: String...) async throws {
    let text = lines.map { $0 + "\r\n" }.joined()
    try await channel.writeAndFlush(ByteBuffer(string: text))
  }

  /// The client's next line; nil where it has left.
  func line() async -> String? {
    for await line in lines { return line }
    return nil
  }

  /// The client's next line that isn't PING, which is answered.
  func command() async throws -> String? {
    while let line = await line() {
      guard line == "PING" else { return line }
      try await send("PONG")
    }
    return nil
  }

  /// Greets the client. What it answered.
  func greet(_ info: String = "{}") async throws -> String? {
    try await send("INFO \(info)")
    let answer = await line()
    if await line() == "PING" { try await send("PONG") }
    return answer
  }

  /// Ends the connection, and returns when it has ended.
  func close() async {
    try? await channel.close()
  }

  /// Reads nothing more from the client.
  func stopReading() async throws { try await channel.setOption(.autoRead, value: false).get() }
}

/// Cuts a client's bytes at CR LF.
private final class LineReader: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  private let heard: AsyncStream<String>.Continuation
  private var rest: [UInt8] = []

  init(_ heard: AsyncStream<String>.Continuation) { self.heard = heard }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    rest += unwrapInboundIn(data).readableBytesView
    while let end = rest.firstIndex(of: 0x0A) {
      heard.yield(String(decoding: rest[..<end].filter { $0 != 0x0D }, as: UTF8.self))
      rest.removeFirst(end + 1)
    }
  }

  func channelInactive(context: ChannelHandlerContext) { heard.finish() }
}
