import Foundation
import Synchronization
import TestSupport
import Testing

@testable import NATS

@Suite("NATS client with a faulty server", .timeLimit(.minutes(15)))
struct FakeServerTests {
  @Test("a client sends CONNECT, exchanges messages, and throws closed after close()")
  func conversation() async throws {
    let server = try await FakeServer()
    var configuration = NATSConfiguration.patient(server.port)
    configuration.authentication = .user("u", password: "p")
    async let greeting = server.accept()
    async let begun = NATSClient.connect(configuration, logger: silent)
    let connection = try await greeting
    let connect = try #require(try await connection.greet())
    let client = try await begun

    #expect(connect.hasPrefix("CONNECT {"))
    let json = try JSONSerialization.jsonObject(with: Data(connect.utf8.dropFirst(8))) as? [String: Any]
    #expect(json?["verbose"] as? Bool == false && json?["headers"] as? Bool == true)
    #expect(json?["no_responders"] as? Bool == true && json?["protocol"] as? Int == 1)
    #expect(json?["user"] as? String == "u" && json?["pass"] as? String == "p")
    #expect(client.currentState == .connected(NATSServerAddress(host: "127.0.0.1", port: server.port)))
    let subscription = try client.subscribe("a.*", queue: "q")
    #expect(await connection.line() == "SUB a.* q 1")
    try await connection.send("PING", "MSG a.b 1 2", "hi")
    #expect(await connection.line() == "PONG")
    #expect(try await subscription.message().text == "hi")
    try client.publish("c", [UInt8](text: "there"), reply: "d")
    #expect(await connection.line() == "PUB c d 5")
    #expect(await connection.line() == "there")
    subscription.unsubscribe()
    #expect(await connection.line() == "UNSUB 1")
    #expect(try await subscription.next() == nil)
    #expect(client.statistics.published == 1 && client.statistics.received == 1)
    await client.close()
    #expect(await connection.line() == nil)
    #expect(client.currentState == .closed(.closed))
    #expect(throws: NATSError.closed) { try client.publish("a") }
    #expect(throws: NATSError.closed) { try client.subscribe("a") }
    await #expect(throws: NATSError.closed) { try await client.request("a") }
  }

  @Test("a closed client is deallocated after lost connections, timeouts and an open attempt")
  func release() async throws {
    let server = try await FakeServer()
    weak let released: NATSClient?
    do {
      let client = try NATSClient(.patient(server.port), logger: silent) { _ in }
      released = client
      async let begun: Void = client.start()
      let connection = try await server.welcome()
      try await begun
      let subscription = try client.subscribe("a")
      _ = try? await client.request("b", timeout: .milliseconds(1))
      await connection.close()
      // The next attempt, which is not answered.
      _ = try await server.accept()
      await client.close()
      #expect(try await subscription.next() == nil)
    }

    await until { released == nil }
  }

  @Test("after a reconnect the client subscribes again before it sends pending messages")
  func reconnect() async throws {
    let server = try await FakeServer()
    try await withConnection(server) { client, connection in
      let events = client.events()
      let subscription = try client.subscribe("a")
      #expect(await connection.line() == "SUB a 1")
      await connection.close()
      try await events.hear { if case .disconnected = $0 { true } else { false } }
      let second = try await server.accept()
      try client.publish("b", [UInt8](text: "waited"))
      let other = try client.subscribe("c")
      _ = try await second.greet()

      #expect(await second.line() == "SUB a 1")
      #expect(await second.line() == "SUB c 2")
      #expect(await second.line() == "PUB b 6")
      #expect(await second.line() == "waited")
      try await second.send("MSG a 1 0", "", "MSG c 2 0", "")
      #expect(try await subscription.message().subject == "a")
      #expect(try await other.message().subject == "c")
      #expect(client.statistics.reconnects == 1)
    }
  }

  @Test("an INFO message right after the greeting is not overwritten by the greeting", arguments: 0..<20)
  func newsAfterGreeting(_ round: Int) async throws {
    let (server, other) = (try await FakeServer(), try await FakeServer())
    var configuration = NATSConfiguration.patient(server.port)
    configuration.firstConnection = .retried
    try await withClient(configuration) { client in
      let events = client.events()
      let connection = try await server.accept()
      try await connection.send("INFO {\"connect_urls\":[\"127.0.0.1:\(server.port)\"]}")
      #expect(await connection.line()?.hasPrefix("CONNECT") == true)
      #expect(await connection.line() == "PING")
      try await connection.send(
        "PONG", "INFO {\"connect_urls\":[\"127.0.0.1:\(other.port)\"],\"ldm\":true}")
      #expect(await connection.line() == "PING")
      try await server.close()
      try await connection.send("PONG")
      _ = try await other.welcome()
      try await events.hear { $0 == .disconnected(.lameDuck) }
    }
  }

  @Test("a client that loses its server tries the others, including one learned from INFO")
  func servers() async throws {
    let servers = [try await FakeServer(), try await FakeServer(), try await FakeServer()]
    let configuration = NATSConfiguration.patient(servers[0].port, servers[1].port)
    try await withConnection(
      servers[0], configuration, info: "{\"connect_urls\":[\"127.0.0.1:\(servers[2].port)\"]}"
    ) { client, connection in
      let events = client.events()
      for server in servers[..<2] { try await server.close() }
      await connection.close()
      _ = try await servers[2].welcome()

      var ports: [Int] = []
      for await event in events {
        if case .reconnecting(let server, _) = event { ports.append(server.port) }
        if case .connected = event { break }
      }
      #expect(ports == [servers[1].port, servers[0].port, servers[2].port])
    }
  }

  @Test("reconnect pauses grow with each round, also if a server accepts and closes the connection")
  func backoff() async throws {
    let port = try ReservedPort()
    var configuration = NATSConfiguration.patient(port.number)
    configuration.firstConnection = .retried
    // A connection that lasts as long as the longest pause begins the rounds anew, and on a starved machine it may last.
    configuration.backoff.longest = .seconds(3600)
    let pauses = Mutex<[Duration]>([])
    let server = Mutex<FakeServer?>(nil)
    let client = try NATSClient(configuration, logger: silent) { pause in
      let count = pauses.withLock {
        $0.append(pause)
        return $0.count
      }
      guard count == 4 else { return }
      let started = try await FakeServer(port: port.number)
      server.withLock { $0 = started }
    }
    let events = client.events()
    try await client.start()
    #expect(client.currentState == .disconnected)
    await until { server.withLock { $0 != nil } }
    let started = try #require(server.withLock { $0 })
    let connection = try await started.welcome()
    try await events.hear { if case .connected = $0 { true } else { false } }
    await connection.close()
    let second = try await started.welcome()

    let all = pauses.withLock { $0 }
    try #require(all.count == 5)
    for (pause, round) in zip(all, [1, 2, 3, 4, 5]) {
      #expect(pause >= configuration.backoff.pause(before: round, jitter: 0))
      #expect(pause <= configuration.backoff.pause(before: round, jitter: 1))
    }
    await client.close()
    #expect(try await second.command() == nil)
  }

  @Test("a required first connection throws after one failed attempt for each server")
  func firstConnection() async throws {
    let reserved = [try ReservedPort(), try ReservedPort()]
    let ports = reserved.map(\.number)
    defer { withExtendedLifetime(reserved) {} }
    let client = try NATSClient(.patient(ports), logger: silent) { _ in }
    let events = client.events()

    await #expect(throws: NATSError.self) { try await client.start() }

    var tried: [Int] = []
    for await case .attemptFailed(let server, .connection) in events { tried.append(server.port) }
    #expect(tried == ports)
    guard case .closed(.connection) = client.currentState else {
      Issue.record("\(client.currentState)")
      return
    }
  }

  @Test("a client closes after authenticationAttempts attempts with rejected credentials")
  func refusedCredentials() async throws {
    let server = try await FakeServer()
    var configuration = NATSConfiguration.patient(server.port)
    configuration.firstConnection = .retried
    configuration.authenticationAttempts = 3
    let client = try NATSClient(configuration, logger: silent) { _ in }
    let events = client.events()
    try await client.start()

    for _ in 0..<3 {
      let connection = try await server.accept()
      try await connection.send("INFO {}")
      #expect(await connection.line()?.hasPrefix("CONNECT") == true)
      try await connection.send("-ERR 'Authorization Violation'")
      while await connection.line() != nil {}
    }

    let refusal = NATSError.authentication("Authorization Violation")
    try await events.hear { $0 == .closed(refusal) }
    #expect(client.currentState == .closed(refusal))
  }

  @Test("a client disconnects from a server that does not answer PING")
  func stale() async throws {
    let server = try await FakeServer()
    var configuration = NATSConfiguration.patient(server.port)
    configuration.pingInterval = .milliseconds(1)
    let client = try NATSClient(configuration, logger: silent) { _ in }
    let events = client.events()
    async let begun: Void = client.start()
    let connection = try await server.welcome()
    try await begun

    try await events.hear { $0 == .disconnected(.stale) }
    #expect(await connection.line() == "PING")
    await client.close()
  }

  @Test("connecting to a server that sends no greeting times out")
  func silence() async throws {
    let server = try await FakeServer()
    var configuration = NATSConfiguration.patient(server.port)
    configuration.connectTimeout = .milliseconds(20)

    await #expect(throws: NATSError.timeout) { try await NATSClient.connect(configuration, logger: silent) }
  }

  @Test(
    "connecting to a server with an invalid greeting throws a protocol violation",
    arguments: [
      ("PING", NATSError.protocolViolation(.noGreeting)), ("INFO {", .protocolViolation(.badInfo)),
      ("HTTP/1.1 400 Bad Request", .protocolViolation(.unknownOperation)),
    ])
  func badGreeting(line: String, error: NATSError) async throws {
    let server = try await FakeServer()
    async let begun = NATSClient.connect(.patient(server.port), logger: silent)
    let connection = try await server.accept()
    try await connection.send(line)

    do {
      _ = try await begun
      Issue.record("it connected")
    } catch let thrown as NATSError {
      #expect(thrown == error)
    }
  }

  @Test("an incoming message above max_payload ends the connection, and publishing one throws")
  func lyingServer() async throws {
    let server = try await FakeServer()
    try await withConnection(server, info: "{\"max_payload\":100}") { client, connection in
      let events = client.events()
      try await connection.send("MSG a 1 101")

      let error = NATSError.protocolViolation(.payloadTooLarge(101, limit: 100))
      try await events.hear { $0 == .disconnected(error) }
      #expect(throws: NATSError.payloadTooLarge(101, limit: 100)) {
        try client.publish("a", [UInt8](repeating: 0, count: 101))
      }
      #expect(throws: Never.self) { try client.publish("a", [UInt8](repeating: 0, count: 100)) }
      #expect(throws: NATSError.payloadTooLarge(101, limit: 100)) {
        try client.publish("a", [UInt8](repeating: 0, count: 83), headers: ["A": "b"])
      }
    }
  }

  @Test("credentials are not sent if required TLS is missing, and plaintext before TLS is rejected")
  func downgrade() async throws {
    let server = try await FakeServer()
    var configuration = NATSConfiguration.patient(server.port)
    configuration.authentication = .token("secret")
    configuration.tls = NATSConfiguration.TLS()
    let refused = Task { [configuration] in try await NATSClient.connect(configuration, logger: silent) }
    let first = try await server.accept()
    try await first.send("INFO {}")
    #expect(await first.line() == nil)
    await #expect(throws: NATSError.self) { try await refused.value }

    async let injected = NATSClient.connect(configuration, logger: silent)
    let second = try await server.accept()
    try await second.send("INFO {\"tls_required\":true}", "PING")
    #expect(await second.line() == nil)
    do {
      _ = try await injected
      Issue.record("it connected")
    } catch {
      #expect(error as? NATSError == .protocolViolation(.bytesBeforeTLS))
    }
  }

  @Test("publishing throws bufferFull when unsent messages exceed maximumPendingBytes")
  func pendingBytes() async throws {
    let server = try await FakeServer()
    var configuration = NATSConfiguration.patient(server.port)
    configuration.maximumPendingBytes = 1 << 20
    try await withConnection(server, configuration) { client, connection in
      try await connection.stopReading()
      let payload = [UInt8](repeating: 0, count: 1 << 18)
      var count = 0
      await #expect(throws: NATSError.bufferFull(limit: 1 << 20)) {
        // The kernel's buffers and the channel's take some of it.
        while count < 10_000 {
          try client.publish("a", payload)
          count += 1
          await Task.yield()
        }
      }
      #expect(client.statistics.published == count)
    }
  }
}

/// A client that is connected to `server`; both are gone afterwards.
func withConnection(
  _ server: FakeServer, _ configuration: NATSConfiguration? = nil, info: String = "{}",
  _ work: (NATSClient, FakeConnection) async throws -> Void
) async throws {
  let client = try NATSClient(configuration ?? .patient(server.port), logger: silent) { _ in }
  async let begun: Void = client.start()
  let connection = try await server.welcome(info)
  try await begun
  do { try await work(client, connection) } catch {
    await client.close()
    throw error
  }
  await client.close()
}
