import TestSupport
import Testing

@testable import NATS

@Suite("NATS server selection")
struct ServerPoolTests {
  private static func address(_ name: String) -> NATSServerAddress { NATSServerAddress(host: name) }

  private static func pool(_ names: String..., attempts: Int = 2) -> ServerPool {
    ServerPool(names.map(address), backoff: ReconnectBackoff(), authenticationAttempts: attempts)
  }

  @Test("reconnect pauses double from 250 ms up to 10 s, and jitter shortens them by at most half")
  func pauses() {
    let backoff = ReconnectBackoff()

    #expect(
      [0, 1, 2, 3, 6, 7, 1000].map { backoff.pause(before: $0, jitter: 1) } == [
        .milliseconds(100), .milliseconds(250), .milliseconds(500), .seconds(1), .seconds(8), .seconds(10),
        .seconds(10),
      ])
    #expect(backoff.pause(before: 0, jitter: 0) == .zero)
    #expect(backoff.pause(before: 1, jitter: 0) == .milliseconds(125))
  }

  @Test("a round tries each server once, and pauses are only between rounds")
  func rounds() {
    var pool = Self.pool("a", "b")
    var attempts: [String] = []
    for _ in 0..<6 {
      guard let next = pool.next(jitter: 1) else { break }
      attempts.append("\(next.server.host) \(next.pause)")
      pool.failed(next.server, .other)
    }

    #expect(
      attempts == [
        "a 0.0 seconds", "b 0.0 seconds", "a 0.25 seconds", "b 0.0 seconds", "a 0.5 seconds", "b 0.0 seconds",
      ])
  }

  @Test("after a lost connection the other servers are tried first, after a short random pause")
  func loss() {
    var pool = Self.pool("a", "b", "c")
    _ = pool.next(jitter: 1)
    pool.connected(to: Self.address("a"))

    let next = pool.next(jitter: 0.5)

    #expect(next?.server.host == "b" && next?.pause == .milliseconds(50))
    #expect(pool.servers.map(\.host) == ["c", "a", "b"])
  }

  @Test(
    "a server is removed after two consecutive failures with its credentials"
  )
  func credentials() {
    var pool = Self.pool("a", "b")
    pool.failed(Self.address("a"), .credentials)
    pool.failed(Self.address("a"), .other)
    pool.failed(Self.address("a"), .credentials)
    #expect(pool.servers.count == 2)
    pool.failed(Self.address("a"), .credentials)
    #expect(pool.servers.map(\.host) == ["b"])
    pool.failed(Self.address("b"), .credentials)
    pool.failed(Self.address("b"), .credentials)
    #expect(pool.next(jitter: 0) == nil)
  }

  @Test("reconnect pauses start over after a long connection, and keep growing after short ones")
  func shortConnections() {
    var pool = Self.pool("a")
    var pauses: [Duration] = []
    for seconds in [1, 1, 1, 60, 1] {
      pauses.append(pool.next(jitter: 1)?.pause ?? .zero)
      pool.connected(to: Self.address("a"))
      pool.lost(after: .seconds(seconds))
    }

    #expect(
      pauses == [.zero, .milliseconds(100), .milliseconds(250), .milliseconds(500), .milliseconds(100)])
  }

  @Test("up to 64 servers learned from INFO are added and removed; configured servers stay")
  func learning() {
    var pool = Self.pool("a", "b")
    let a = Self.address("a")
    pool.learn(["a:4222", "c:1", "nonsense::", "d:2"], from: a)
    #expect(pool.servers.map(\.description) == ["a:4222", "b:4222", "c:1", "d:2"])
    pool.learn(["d:2"], from: a)
    #expect(pool.servers.map(\.description) == ["a:4222", "b:4222", "d:2"])
    pool.learn([], from: a)
    #expect(pool.servers.count == 3)
    pool.learn((1...1000).map { "e:\($0)" }, from: a)
    #expect(pool.servers.count == 66)
  }

  @Test("KeepAlive allows a number of unanswered PINGs and then declares the server stale")
  func keepAlive() {
    var keepAlive = KeepAlive(allowed: 2)
    let first = [keepAlive.intervalPassed(), keepAlive.intervalPassed()]
    keepAlive.received()
    let second = (0..<3).map { _ in keepAlive.intervalPassed() }

    #expect(first == [true, true])
    #expect(second == [true, true, false])
  }
}

@Suite("Subscription buffer", .timeLimit(.minutes(15)))
struct SubscriptionBufferTests {
  private static func message(_ number: Int, bytes: Int = 0) -> NATSMessage {
    NATSMessage("s.\(number)", payload: [UInt8](repeating: 0, count: bytes))
  }

  private static func read(_ buffer: SubscriptionBuffer) async throws -> [String] {
    buffer.finish()
    var subjects: [String] = []
    while let message = try await buffer.next(within: nil) { subjects.append(message.subject) }
    return subjects
  }

  @Test("a full buffer drops the oldest messages, and reports it once until the reader catches up")
  func oldest() async throws {
    let buffer = SubscriptionBuffer(NATSBufferLimit(messages: 2))
    let told = (1...5).map { buffer.push(Self.message($0)) }

    #expect(told == [nil, nil, 1, nil, nil])
    #expect(buffer.dropped == 3 && buffer.count == 2)
    _ = try await buffer.next(within: nil)
    _ = try await buffer.next(within: nil)
    #expect((6...8).map { buffer.push(Self.message($0)) } == [nil, nil, 4])
    #expect(try await Self.read(buffer) == ["s.7", "s.8"])
  }

  @Test("a full buffer with overflow .newest drops the newest messages")
  func newest() async throws {
    let buffer = SubscriptionBuffer(NATSBufferLimit(messages: 2, overflow: .newest))

    #expect((1...4).map { buffer.push(Self.message($0)) } == [nil, nil, 1, nil])
    #expect(try await Self.read(buffer) == ["s.1", "s.2"])
  }

  @Test("a buffer is limited in bytes too, but accepts a single message of any size")
  func bytes() async throws {
    let buffer = SubscriptionBuffer(NATSBufferLimit(messages: 100, bytes: 1000))
    for number in 1...3 { _ = buffer.push(Self.message(number, bytes: 400)) }
    #expect(buffer.count == 2 && buffer.dropped == 1)
    _ = buffer.push(Self.message(4, bytes: 5000))
    #expect(try await Self.read(buffer) == ["s.4"])
    #expect(buffer.dropped == 3)
  }

  @Test("the end of a buffer follows its messages, and only the first end counts")
  func end() async throws {
    let buffer = SubscriptionBuffer(NATSBufferLimit())
    _ = buffer.push(Self.message(1))
    buffer.finish(.permission("no"))
    buffer.finish()
    #expect(buffer.push(Self.message(2)) == nil)

    #expect(try await buffer.next(within: nil)?.subject == "s.1")
    await #expect(throws: NATSError.permission("no")) { try await buffer.next(within: nil) }
  }

  @Test("a cancelled reader gets nil, and the next message goes to the next reader")
  func cancellation() async throws {
    let buffer = SubscriptionBuffer(NATSBufferLimit())
    let reader = Task { try await buffer.next(within: nil) }
    await letOthersGoOn()
    reader.cancel()
    #expect(try await reader.value == nil)
    _ = buffer.push(Self.message(1))

    #expect(try await buffer.next(within: nil)?.subject == "s.1")
  }

  @Test("the messages of a buffer are divided among concurrent readers")
  func sharing() async throws {
    let buffer = SubscriptionBuffer(NATSBufferLimit())
    let readers = (0..<4).map { _ in
      Task {
        var count = 0
        while try await buffer.next(within: nil) != nil { count += 1 }
        return count
      }
    }
    for number in 0..<1000 { _ = buffer.push(Self.message(number)) }
    buffer.finish()

    var sum = 0
    for reader in readers { sum += try await reader.value }
    #expect(sum == 1000)
    await buffer.isReadToEnd()
  }
}
