import Synchronization
import TestSupport
import Testing

@testable import NATS

@Suite("NATS client protocol", .timeLimit(.minutes(15)))
struct ConversationTests {
  @Test("concurrent requests to one subject each get their own reply")
  func requests() async throws {
    let server = try await FakeServer()
    try await withConnection(server) { client, connection in
      async let first = client.request("a", [UInt8](text: "1"))
      let inbox = try #require(await connection.line())
      let one = try #require(await connection.line()?.split(separator: " "))
      _ = await connection.line()
      async let second = client.request("a", [UInt8](text: "2"))
      let two = try #require(await connection.line()?.split(separator: " "))
      _ = await connection.line()
      let id = try #require(inbox.split(separator: " ").last)

      #expect(inbox.hasPrefix("SUB _INBOX.") && inbox.contains(".* "))
      #expect(one[1] == "a" && one[2] != two[2])
      try await connection.send(
        "MSG \(two[2]) \(id) 1", "2", "MSG \(one[2]) \(id) 1", "1", "MSG \(one[2]) \(id) 1", "3")
      #expect(try await first.text == "1")
      #expect(try await second.text == "2")
    }
  }

  @Test("a failed request throws an error for its cause, such as timeout, disconnected or closed")
  func failedRequests() async throws {
    let server = try await FakeServer()
    try await withConnection(server) { client, connection in
      let nobody = Task { try await client.request("a") }
      let id = try #require(await connection.line()?.split(separator: " ").last)
      let request = try #require(await connection.line()?.split(separator: " "))
      _ = await connection.line()
      try await connection.send("HMSG \(request[2]) \(id) 16 16", "NATS/1.0 503", "", "")
      await #expect(throws: NATSError.noResponders) { try await nobody.value }

      await #expect(throws: NATSError.timeout) { try await client.request("a", timeout: .milliseconds(1)) }
      await #expect(throws: NATSError.invalidSubject("a b")) { try await client.request("a b") }
      let cancelled = Task { try await client.request("a") }
      cancelled.cancel()
      await #expect(throws: NATSError.cancelled) { try await cancelled.value }

      let lost = Task { try await client.request("b") }
      while let line = await connection.line(), !line.hasPrefix("PUB b") {}
      await connection.close()
      await #expect(throws: NATSError.disconnected) { try await lost.value }
      let closed = Task { try await client.request("c") }
      await until { client.state.withLock { $0.requests.count == 1 } }
      await client.close()
      await #expect(throws: NATSError.closed) { try await closed.value }
    }
  }

  @Test("flush waits for PONG, and throws on timeout or disconnection")
  func flush() async throws {
    let server = try await FakeServer()
    try await withConnection(server) { client, connection in
      try client.publish("a")
      async let flushed: Void = client.flush()
      #expect(await connection.line() == "PUB a 0")
      #expect(await connection.line() == "")
      #expect(await connection.line() == "PING")
      try await connection.send("PONG")
      try await flushed

      await #expect(throws: NATSError.timeout) { try await client.flush(timeout: .milliseconds(1)) }
      let lost = Task { try await client.flush() }
      for _ in 0..<2 { #expect(await connection.line() == "PING") }
      await connection.close()
      await #expect(throws: NATSError.disconnected) { try await lost.value }
    }
  }

  @Test("a slow subscriber loses the oldest messages, and a slow consumer event reports it")
  func slowConsumer() async throws {
    let server = try await FakeServer()
    try await withConnection(server) { client, connection in
      let events = client.events()
      let slow = try client.subscribe("a", buffer: NATSBufferLimit(messages: 2))
      _ = await connection.line()
      for number in 0..<5 { try await connection.send("MSG a 1 1", "\(number)") }
      try await connection.send("PING")
      #expect(await connection.line() == "PONG")

      try await events.hear { $0 == .slowConsumer(pattern: "a", dropped: 1) }
      #expect(slow.dropped == 3 && slow.waiting == 2 && client.statistics.dropped == 3)
      #expect(try await slow.message().text == "3")
    }
  }

  @Test("a refused subscription throws, and the connection stays open")
  func permissions() async throws {
    let server = try await FakeServer()
    try await withConnection(server) { client, connection in
      let events = client.events()
      let refused = try client.subscribe("a.>")
      let taken = try client.subscribe("b")
      for _ in 0..<2 { _ = await connection.line() }
      let text = "Permissions Violation for Subscription to \"a.>\""
      try await connection.send(
        "-ERR '\(text)'", "-ERR 'Permissions Violation for Publish to \"c\"'", "MSG b 2 0", "")

      await #expect(throws: NATSError.permission(text)) { try await refused.next() }
      #expect(try await taken.message().subject == "b")
      try await events.hear { $0 == .permissionViolation("Permissions Violation for Publish to \"c\"") }
      guard case .connected = client.currentState else {
        Issue.record("it is not connected")
        return
      }
    }
  }

  @Test("a request throws at once if the server refuses its inbox subscription")
  func refusedInbox() async throws {
    let server = try await FakeServer()
    try await withConnection(server) { client, connection in
      for _ in 0..<2 {
        let request = Task { try await client.request("a") }
        let inbox = try #require(await connection.line()?.split(separator: " "))
        #expect(inbox[0] == "SUB" && inbox[1].hasPrefix("_INBOX."))
        for _ in 0..<2 { _ = await connection.line() }
        let text = "Permissions Violation for Subscription to \"\(inbox[1])\""
        try await connection.send("-ERR '\(text)'")
        await #expect(throws: NATSError.permission(text)) { try await request.value }
      }
    }
  }

  @Test("an error that the server sends before it disconnects is the reason of the disconnection")
  func errors() async throws {
    let server = try await FakeServer()
    try await withConnection(server) { client, connection in
      let events = client.events()
      try await connection.send("-ERR 'Slow Consumer'")
      try await events.hear { $0 == .serverError("Slow Consumer") }
      await connection.close()
      try await events.hear { $0 == .disconnected(.server("Slow Consumer")) }
    }
  }

  @Test("an unreadable message is skipped and reported as an event")
  func unreadable() async throws {
    let server = try await FakeServer()
    try await withConnection(server) { client, connection in
      let events = client.events()
      let subscription = try client.subscribe("a")
      _ = await connection.line()
      try await connection.send("HMSG a 1 2 2", "xx", "MSG a 1 1", "1")

      #expect(try await subscription.message().text == "1")
      try await events.hear { $0 == .unreadableMessage(pattern: "a") }
    }
  }

  @Test("in lame duck mode the client sends pending messages and connects to another server")
  func lameDuck() async throws {
    let servers = [try await FakeServer(), try await FakeServer()]
    try await withConnection(servers[0], .patient(servers.map(\.port))) { client, connection in
      let events = client.events()
      try client.publish("a", [UInt8](text: "last"))
      try await connection.send("INFO {\"ldm\":true}")
      #expect(try await connection.command() == "PUB a 4")
      #expect(try await connection.command() == "last")
      #expect(try await connection.command() == nil)
      _ = try await servers[1].welcome()

      try await events.hear { $0 == .disconnected(.lameDuck) }
      try await events.hear { $0 == .connected(NATSServerAddress(host: "127.0.0.1", port: servers[1].port)) }
    }
  }

  @Test("drain reads received messages, sends published ones and closes the client")
  func drain() async throws {
    let server = try await FakeServer()
    try await withConnection(server) { client, connection in
      let subscription = try client.subscribe("a")
      _ = await connection.line()
      try await connection.send("MSG a 1 1", "1", "PING")
      #expect(await connection.line() == "PONG")
      let drained = Task { await client.drain(timeout: allTheTimeThereIs) }
      #expect(await connection.line() == "UNSUB 1")
      #expect(await connection.line() == "PING")
      // What the server sent before it saw UNSUB.
      try await connection.send("MSG a 1 1", "2", "PONG")

      #expect(throws: NATSError.closed) { try client.subscribe("b") }
      #expect(try await subscription.message().text == "1")
      try client.publish("answer")
      #expect(try await subscription.message().text == "2")
      #expect(try await subscription.next() == nil)
      var rest: [String] = []
      while let line = try await connection.command() { rest.append(line) }
      await drained.value
      #expect(rest.filter { !$0.hasPrefix("UNSUB") } == ["PUB answer 0", ""])
      #expect(client.currentState == .closed(.closed))
    }
  }

  @Test("drain waits until a loop has processed its last message")
  func drainOfLoop() async throws {
    let server = try await FakeServer()
    try await withConnection(server) { client, connection in
      let subscription = try client.subscribe("a")
      _ = await connection.line()
      try await connection.send("MSG a 1 1", "1")
      let messages = subscription.makeAsyncIterator()
      #expect(try await messages.next()?.text == "1")
      let drained = Task { await client.drain(timeout: allTheTimeThereIs) }
      #expect(await connection.line() == "UNSUB 1")
      #expect(await connection.line() == "PING")
      try await connection.send("PONG")
      // The buffer is empty and ended.
      await until { (try? await subscription.next()) == .some(nil) }

      try client.publish("answer")
      #expect(try await messages.next() == nil)

      var rest: [String] = []
      while let line = try await connection.command() { rest.append(line) }
      await drained.value
      #expect(rest.filter { !$0.hasPrefix("UNSUB") } == ["PUB answer 0", ""])
    }
  }

  @Test("drain times out if a subscription is never read")
  func impatientDrain() async throws {
    let server = try await FakeServer()
    try await withConnection(server) { client, connection in
      let subscription = try client.subscribe("a")
      _ = await connection.line()
      try await connection.send("MSG a 1 0", "", "PING")
      #expect(await connection.line() == "PONG")

      await client.drain(timeout: .milliseconds(1))

      #expect(try await subscription.next() == nil)
    }
  }

  @Test("drain times out if a loop never requests its next message")
  func impatientDrainOfLoop() async throws {
    let server = try await FakeServer()
    try await withConnection(server) { client, connection in
      let subscription = try client.subscribe("a")
      _ = await connection.line()
      try await connection.send("MSG a 1 0", "")
      let messages = subscription.makeAsyncIterator()
      #expect(try await messages.next() != nil)

      await client.drain(timeout: .milliseconds(1))

      #expect(try await messages.next() == nil)
    }
  }

  @Test("releasing a subscription sends UNSUB")
  func dropped() async throws {
    let server = try await FakeServer()
    try await withConnection(server) { client, connection in
      _ = try client.subscribe("a")
      #expect(await connection.line() == "SUB a 1")
      #expect(await connection.line() == "UNSUB 1")
    }
  }

  @Test("closing a client ends the loops over its subscriptions")
  func closing() async throws {
    let server = try await FakeServer()
    try await withConnection(server) { client, _ in
      let subscription = try client.subscribe("a")
      let reader = Task {
        var count = 0
        for try await _ in subscription { count += 1 }
        return count
      }
      await client.close()
      #expect(try await reader.value == 0)
    }
  }
}
