import Foundation
import Synchronization
import TestSupport
import Testing

@testable import NATS

@Suite(
  "NATS client with a real server",
  .enabled(if: NATSServer.isInstalled, "needs nats-server: scripts/setup cluster"),
  .timeLimit(.minutes(15)))
struct RealServerTests {
  @Test("messages reach every subscriber and one member of each queue group")
  func publishing() async throws {
    let server = try await NATSServer()
    try await withClient(.patient(server.port)) { publisher in
      try await withClient(.patient(server.port)) { subscriber in
        let all = try subscriber.subscribe("a.>")
        let group = [
          try subscriber.subscribe("a.*", queue: "q"), try subscriber.subscribe("a.*", queue: "q"),
        ]
        try await subscriber.flush()
        for number in 0..<100 {
          try publisher.publish("a.\(number)", [UInt8](text: "\(number)"), headers: ["Number": "\(number)"])
        }
        try await publisher.flush()
        // Behind the messages of the same connection.
        try await subscriber.flush()

        for number in 0..<100 {
          let message = try await all.message()
          #expect(message.text == "\(number)" && message.headers["Number"] == "\(number)")
        }
        #expect(group[0].waiting + group[1].waiting == 100)
      }
    }
  }

  @Test("requests are answered, a request without responders throws, and payloads are limited")
  func requests() async throws {
    let server = try await NATSServer()
    try await withClient(.patient(server.port)) { client in
      let service = try client.subscribe("upper.*", queue: "workers")
      let worker = Task {
        for try await request in service {
          try client.respond(to: request, [UInt8](text: request.text.uppercased()), headers: ["Worker": "1"])
        }
      }
      try await withThrowingTaskGroup(of: Bool.self) { group in
        for number in 0..<50 {
          group.addTask {
            let answer = try await client.request("upper.\(number)", [UInt8](text: "a\(number)"))
            return answer.text == "A\(number)" && answer.headers["Worker"] == "1"
          }
        }
        for try await isRight in group { #expect(isRight) }
      }
      await #expect(throws: NATSError.noResponders) { try await client.request("nobody") }
      let long = [UInt8](repeating: 7, count: 1 << 20)
      let echo = try client.subscribe("long")
      try client.publish("long", long)
      #expect(try await echo.message().payload == long)
      #expect(throws: NATSError.payloadTooLarge(1 << 20 + 1, limit: 1 << 20)) {
        try client.publish("long", long + [0])
      }
      worker.cancel()
      try await worker.value
    }
  }

  @Test("tokens, passwords and nkeys authenticate, and wrong credentials throw")
  func authentication() async throws {
    let user = try NKey(seed: NKeyTests.seed)
    let other = NATSAuthentication.token("wrong")
    for (text, right) in [
      ("authorization { token: \"s3cret\" }", NATSAuthentication.token("s3cret")),
      ("authorization { users: [{ user: u, password: \"pass word\" }] }", .user("u", password: "pass word")),
      ("authorization { users: [{ nkey: \(NKeyTests.publicKey) }] }", .nkey(user)),
    ] {
      let server = try await NATSServer(text)
      var configuration = NATSConfiguration.patient(server.port)
      configuration.authentication = right
      try await withClient(configuration) { try await $0.flush() }
      configuration.authentication = other
      await #expect(throws: NATSError.authentication("Authorization Violation")) {
        try await withClient(configuration) { try await $0.flush() }
      }
    }
    let server = try await NATSServer()
    var configuration = NATSConfiguration.patient(server.port)
    configuration.authentication = .nkey(user)
    await #expect(throws: NATSError.self) { try await withClient(configuration) { try await $0.flush() } }
  }

  @Test("denied subscriptions and publications are reported, and the connection stays open")
  func permissions() async throws {
    let server = try await NATSServer(
      "authorization { users: [{ user: u, password: p, permissions: { publish: \"a\", subscribe: \"a\" } }] }"
    )
    var configuration = NATSConfiguration.patient(server.port)
    configuration.authentication = .user("u", password: "p")
    try await withClient(configuration) { client in
      let events = client.events()
      let refused = try client.subscribe("b.*")
      let taken = try client.subscribe("a")
      await #expect(throws: NATSError.permission("Permissions Violation for Subscription to \"b.*\"")) {
        try await refused.next()
      }
      try client.publish("b")
      try await events.hear { $0 == .permissionViolation("Permissions Violation for Publish to \"b\"") }
      try client.publish("a")
      #expect(try await taken.message().subject == "a")
      #expect(client.statistics.reconnects == 0)
    }
  }

  @Test(
    "TLS works with server and client certificates; untrusted and missing certificates throw",
    .enabled(if: Certificates.openssl != nil, "needs openssl"))
  func tls() async throws {
    let certificates = try await Certificates(in: NATSServer.makeFolder())
    defer { try? FileManager.default.removeItem(at: certificates.folder) }
    let files = "cert_file: \"\(certificates.server)\", key_file: \"\(certificates.serverKey)\""
    let server = try await NATSServer("tls { \(files) }")
    var configuration = NATSConfiguration.patient(server.port)

    // The system does not know the authority.
    await #expect(throws: NATSError.self) { try await withClient(configuration) { try await $0.flush() } }
    configuration.tls = NATSConfiguration.TLS(authorities: certificates.authority)
    try await withClient(configuration) { client in
      let echo = try client.subscribe("a")
      try client.publish("a", [UInt8](repeating: 1, count: 300_000))
      #expect(try await echo.message().payload.count == 300_000)
    }
    configuration.servers = [NATSServerAddress(host: "localhost", port: server.port, requiresTLS: true)]
    try await withClient(configuration) { try await $0.flush() }

    let other = try await NATSServer(
      "tls { cert_file: \"\(certificates.folder.path)/other.pem\", key_file: \"\(certificates.folder.path)/other.key\" }"
    )
    configuration.servers = [NATSServerAddress(host: "127.0.0.1", port: other.port)]
    await #expect(throws: NATSError.self) { try await withClient(configuration) { try await $0.flush() } }
    configuration.tls?.serverName = "another.example"
    try await withClient(configuration) { try await $0.flush() }

    let mutual = try await NATSServer(
      "tls { \(files), ca_file: \"\(certificates.authority)\", verify: true }")
    configuration = .patient(mutual.port)
    configuration.tls = NATSConfiguration.TLS(authorities: certificates.authority)
    await #expect(throws: NATSError.self) { try await withClient(configuration) { try await $0.flush() } }
    configuration.tls?.certificate = certificates.client
    configuration.tls?.key = certificates.clientKey
    try await withClient(configuration) { try await $0.flush() }

    let clear = try await NATSServer()
    configuration.servers = [NATSServerAddress(host: "127.0.0.1", port: clear.port)]
    await #expect(throws: NATSError.tls("127.0.0.1:\(clear.port) does not offer it")) {
      try await withClient(configuration) { try await $0.flush() }
    }
    configuration.tls?.authorities = "/nowhere.pem"
    await #expect(throws: NATSError.self) { try await NATSClient.connect(configuration) }
  }

  @Test("a client reconnects to a killed and restarted server and keeps its subscriptions")
  func restart() async throws {
    let first = try await NATSServer()
    try await withClient(.patient(first.port)) { client in
      let events = client.events()
      let echo = try client.subscribe("a")
      try await client.flush()
      await first.kill9()
      try await events.hear { if case .disconnected = $0 { true } else { false } }
      await #expect(throws: NATSError.disconnected) { try await client.flush() }
      try client.publish("a", [UInt8](text: "meanwhile"))

      let second = try await NATSServer(port: first.reserved)
      try await events.hear { if case .connected = $0 { true } else { false } }
      #expect(try await echo.message().text == "meanwhile")
      _ = second
    }
  }

  @Test(
    "a client learns the servers of a cluster, and moves on at lame duck mode and after a kill")
  func cluster() async throws {
    let cluster = try await NATSCluster()
    try await withClient(.patient(cluster.servers[0].port)) { client in
      let ports = Set(cluster.servers.map(\.port))
      await until { Set(client.state.withLock { $0.servers.servers.map(\.port) }) == ports }
      let events = client.events()
      let echo = try client.subscribe("a")
      cluster.servers[0].enterLameDuckMode()
      try await events.hear { $0 == .disconnected(.lameDuck) }
      let second = try await events.first(\.connectedPort)
      #expect(second != cluster.servers[0].port)
      await cluster.servers.first { $0.port == second }?.kill9()
      let third = try await events.first(\.connectedPort)
      #expect(third != second)
      try client.publish("a")
      #expect(try await echo.message().subject == "a")
    }
  }

  @Test("drain processes every message that was published before it")
  func drain() async throws {
    let server = try await NATSServer()
    try await withClient(.patient(server.port)) { publisher in
      try await withClient(.patient(server.port)) { worker in
        let jobs = try worker.subscribe("jobs", buffer: NATSBufferLimit(messages: 10_000))
        let done = try publisher.subscribe("done", buffer: NATSBufferLimit(messages: 10_000))
        try await worker.flush()
        try await publisher.flush()
        for _ in 0..<1000 { try publisher.publish("jobs") }
        try await publisher.flush()
        let work = Task { for try await _ in jobs { try worker.publish("done") } }
        await worker.drain(timeout: allTheTimeThereIs)
        try await work.value
        try await publisher.flush()

        #expect(done.waiting == 1000)
      }
    }
  }
}

extension NATSEvent {
  /// Of the server that took a connection.
  fileprivate var connectedPort: Int? { if case .connected(let server) = self { server.port } else { nil } }
}
