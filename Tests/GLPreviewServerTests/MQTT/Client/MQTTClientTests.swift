// An MQTT server that does what no good one does, and a client that bears it.
import GLPreview
import Logging
import NIOCore
import NIOPosix
import Synchronization
import TestSupport
import Testing

@testable import MQTT
@testable import ServiceFoundation

@Suite("MQTT client", .timeLimit(.minutes(15)))
struct MQTTClientTests {
  private static func client(of server: FakeMQTTServer, _ times: MQTTTimes, _ log: LogRecords) throws
    -> MQTTClient
  {
    var configuration = MQTTConfiguration()
    configuration.server = .init(host: "127.0.0.1", port: server.port)
    return try MQTTClient(
      configuration, id: "me", will: MQTTMessage(topic: "w", payload: [1], isRetained: true),
      subscribingTo: ["a"], times: times, counting: ServiceMetrics(), logger: log.logger)
  }

  /// Runs a client of a server that answers CONNECT so, by the number of the connection and the first bytes.
  private func withClient(
    answer: Duration = allTheTimeThereIs, silence: Duration = allTheTimeThereIs,
    answering: @escaping @Sendable (Int, [UInt8]) -> [UInt8]?,
    _ work: @escaping @Sendable (MQTTClient, FakeMQTTServer, LogRecords) async throws -> Void
  ) async throws {
    let server = try await FakeMQTTServer(answering: answering)
    let times = MQTTTimes(answer: answer, silence: silence, longestPause: .milliseconds(5))
    let log = LogRecords()
    let client = try Self.client(of: server, times, log)
    let running = Task { await client.run() }
    try await work(client, server, log)
    running.cancel()
    client.end()
    await running.value
    try await server.close()
  }

  @Test(
    "the client connects with MQTT 5 when the broker refuses an earlier version",
    arguments: [[0x20, 2, 0, 1], [0x20, 3, 0, 0x84, 0]] as [[UInt8]])
  func version(refusal: [UInt8]) async throws {
    try await withClient { _, bytes in
      // The level stands after the name.
      bytes.count > 8 && bytes[8] == 5 ? [0x20, 3, 0, 0, 0] : refusal
    } _: { client, _, _ in
      try await client.connected()
    }
  }

  @Test("the client keeps reconnecting to a broker that never answers, and logs the loss once")
  func silent() async throws {
    try await withClient(answer: .milliseconds(5)) { _, _ in
      []
    } _: { client, server, log in
      await until { server.connections >= 5 }
      #expect(!client.isConnected && log.messages == ["MQTT server lost"])
    }
  }

  @Test("the client reconnects when a connected broker falls silent")
  func dead() async throws {
    try await withClient(silence: .milliseconds(50)) { number, _ in
      number == 1 ? [0x20, 2, 0, 0] : nil
    } _: { _, server, log in
      await until { server.connections >= 2 }
      #expect(log.messages.prefix(2) == ["MQTT server connected", "MQTT server lost"])
    }
  }

  @Test("the client logs once, and retries, when the broker speaks HTTP or closes the connection")
  func other() async throws {
    try await withClient { _, _ in
      Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8)
    } _: { _, server, log in
      await until { server.connections >= 5 }
      #expect(log.messages == ["MQTT server lost"])
    }
    try await withClient { _, _ in
      nil
    } _: { client, server, log in
      await until { server.connections >= 5 }
      #expect(!client.isConnected && log.messages == ["MQTT server lost"])
    }
  }

  @Test("repeated SUBACK refusals are logged at most once per connection, and the client reconnects")
  func answersTooOften() async throws {
    let refusal: [UInt8] = [0x90, 3, 0, 1, 0x80]
    try await withClient { _, _ in
      [0x20, 2, 0, 0] + Array(repeatElement(refusal, count: 1000).joined())
    } _: { _, server, log in
      await until { server.connections >= 3 }
      #expect(log.messages.count { $0.contains("MQTT subscription refused") } <= server.connections)
    }
  }

  @Test(
    "the client exchanges messages with mosquitto in MQTT 3.1.1 and 5, and ends without a will",
    .enabled(if: Mosquitto.isInstalled, Mosquitto.isMissing), arguments: [MQTTVersion.v3_1_1, .v5])
  func versions(version: MQTTVersion) async throws {
    let server = try await Mosquitto()
    var configuration = MQTTConfiguration()
    configuration.server = .init(host: "127.0.0.1", port: server.port)
    let client = try MQTTClient(
      configuration, id: "me", will: MQTTMessage(topic: "will", payload: [1], isRetained: true),
      subscribingTo: ["asked"], times: MQTTTimes(answer: allTheTimeThereIs, silence: allTheTimeThereIs),
      version: version, counting: ServiceMetrics(),
      logger: LogRecords().logger)
    let running = Task { await client.run() }
    let heard = try server.subscribe()
    let text = String(repeating: "x", count: 100_000)
    client.update { $0.put("said", Array(text.utf8)) }
    await heard.hears("said", saying: text)
    await until { client.update { $0.isEmpty } }

    let later = Task {
      for await message in client.messages { return message.payload.count }; return 0
    }
    // The subscription may still be on its way.
    var isHeard = false
    let asking = Task { while !Task.isCancelled { try await server.publish("asked", "now") } }
    isHeard = await later.value == 3
    asking.cancel()
    #expect(isHeard)
    client.end()
    await running.value
    // An end in good order has no will.
    #expect(heard.newest["will"] == nil)
  }

  @Test("MQTT errors name the password key, the duplicate client id or the unknown code")
  func reasons() {
    #expect("\(MQTTError.refused(5))".contains("mqtt.password"))
    #expect("\(MQTTError.refused(0x86))".contains("mqtt.password"))
    #expect("\(MQTTError.closed(0x8E))".contains("same id"))
    #expect("\(MQTTError.refused(99))".contains("99"))
  }

  @Test("the client buffers 16 unread commands and drops the others")
  func flood() async throws {
    let commands = (0..<100).flatMap { _ in [0x30, 3, 0, 1, 0x61] as [UInt8] }
    try await withClient { number, _ in
      number == 1 ? [0x20, 2, 0, 0] + commands + [0x20, 2, 0, 5] : nil
    } _: { client, server, _ in
      await until { server.connections >= 2 }
      client.end()
      var count = 0
      for await message in client.messages { count += message.topic == "a" ? 1 : 0 }
      #expect(count == 16)
    }
  }
}

/// It answers the first bytes of each connection, and then says nothing; nil closes the connection.
final class FakeMQTTServer: Sendable {
  let port: Int
  private let channel: any Channel
  private let count: Counter

  var connections: Int { count.value.withLock { $0 } }

  private final class Counter: Sendable {
    let value = Mutex(0)
  }

  init(answering: @escaping @Sendable (Int, [UInt8]) -> [UInt8]?) async throws {
    let count = Counter()
    self.count = count
    channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          let number = count.value.withLock { count in
            count += 1
            return count
          }
          try channel.pipeline.syncOperations.addHandler(Answer(number, answering))
        }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    port = try #require(channel.localAddress?.port)
  }

  func close() async throws { try await channel.close() }

  private final class Answer: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let number: Int
    private let answer: @Sendable (Int, [UInt8]) -> [UInt8]?
    private var isGiven = false

    init(_ number: Int, _ answer: @escaping @Sendable (Int, [UInt8]) -> [UInt8]?) {
      (self.number, self.answer) = (number, answer)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      guard !isGiven else { return }
      isGiven = true
      guard let bytes = answer(number, Array(unwrapInboundIn(data).readableBytesView)) else {
        return context.close(promise: nil)
      }
      context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: bytes)), promise: nil)
    }
  }
}
