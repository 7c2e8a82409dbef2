// What happened is told to all who listen, in order, once, and who fell behind knows it.
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import TestSupport
import Testing

@testable import ServiceCore

@Suite("Events", .timeLimit(.minutes(15)))
struct EventTests {
  private static func data(_ number: Int) -> [UInt8] { Array("{\"n\":\(number)}".utf8) }

  /// The numbers of the events that are there, and of those lost in negative.
  private static func read(_ subscription: EventSubscription, _ count: Int) async -> [Int] {
    var numbers: [Int] = []
    while numbers.count < count {
      switch await subscription.next(within: allTheTimeThereIs) {
      case .event(let event): numbers.append(event.id.number)
      case .lost(let count): numbers.append(-count)
      case .nothing, .end: return numbers
      }
    }
    return numbers
  }

  private static func fields(_ name: String, _ value: String) throws -> HTTPFields {
    [try #require(HTTPField.Name(name)): value]
  }

  /// A service with a log, and its answer to a GET when the log ends after what `meanwhile` does.
  private static func answer(
    of log: EventLog, _ uri: String, _ headers: HTTPFields = [:], keepAlive: Duration = allTheTimeThereIs,
    meanwhile: @escaping @Sendable () async throws -> Void = {}
  ) async throws -> LiveServer.Answer {
    let router = Router(context: ServiceContext.self)
    EventRoutes(log: log, keepAlive: keepAlive).add(to: ServiceRoutes(router))
    return try await withServer(of: router) { server in
      async let response = server.execute(uri: uri, method: .get, headers: headers)
      await until { log.subscriberCount > 0 }
      try await meanwhile()
      log.finish()
      return try await response
    }
  }

  @Test("each subscriber gets the same new events in order")
  func telling() async throws {
    let log = EventLog(epoch: "e")
    log.publish(type: "camera", data: Self.data(0))
    let (one, other) = (try log.subscribe(), try log.subscribe())
    #expect(one.lastID == "e-1")
    async let first = Self.read(one, 3)
    async let second = Self.read(other, 3)
    for number in 1...3 { log.publish(type: "snapshot", data: Self.data(number)) }
    #expect(await first == [2, 3, 4])
    #expect(await second == [2, 3, 4])
  }

  @Test(
    "a subscriber resumes after its last event ID, or gets all buffered events if it is unknown",
    arguments: [
      ("e-3", [4, 5]), ("e-5", []), ("e-1", [-1, 3, 4, 5]), ("e-2", [3, 4, 5]), ("f-4", [3, 4, 5]),
      ("e-9", [3, 4, 5]), ("nonsense", [3, 4, 5]), ("e-0", [3, 4, 5]), ("", [3, 4, 5]),
    ])
  func replay(lastID: String, expected: [Int]) async throws {
    let log = EventLog(capacity: 3, epoch: "e")
    for number in 1...5 { log.publish(type: "camera", data: Self.data(number)) }
    let subscription = try log.subscribe(after: lastID)
    log.publish(type: "camera", data: Self.data(6))
    // The sixth pushes the third out of the log.
    let kept = expected.first == 3 ? [-1, 4, 5, 6] : expected.first == -1 ? [-2, 4, 5, 6] : expected + [6]
    #expect(await Self.read(subscription, kept.count) == kept)
  }

  @Test("a slow subscriber loses the oldest events, gets their number, and delays no other subscriber")
  func slow() async throws {
    let log = EventLog(capacity: 4, epoch: "e")
    let slow = try log.subscribe()
    let quick = try log.subscribe()
    for number in 1...10 {
      log.publish(type: "camera", data: Self.data(number))
      #expect(await Self.read(quick, 1) == [number])
    }
    #expect(await Self.read(slow, 5) == [-6, 7, 8, 9, 10])
  }

  @Test("EventLog is limited in bytes, and keeps the last event whatever its size")
  func bytes() async throws {
    let log = EventLog(capacity: 100, maximumBytes: 1000, epoch: "e")
    let early = try log.subscribe()
    for _ in 1...3 { log.publish(type: "camera", data: [UInt8](repeating: 0x20, count: 400)) }
    #expect(await Self.read(early, 3) == [-1, 2, 3])
    log.publish(type: "camera", data: [UInt8](repeating: 0x20, count: 5000))
    #expect(await Self.read(try log.subscribe(after: "f-1"), 1) == [4])
  }

  @Test("an event is written as a server-sent event, with a `data` field for each line")
  func text() {
    let event = ServerEvent(
      id: EventID(epoch: "e", number: 7), type: "view", data: Array("{\n\"a\": 1}\r".utf8))
    #expect(String(buffer: event.text) == "id: e-7\nevent: view\ndata: {\ndata: \"a\": 1}\ndata: \n\n")
    #expect(EventID("a-b-7") == EventID(epoch: "a-b", number: 7))
    #expect(EventLog().epoch.count == 16)
  }

  @Test("buffered motion events lose their box, score and zones when a view changes")
  func places() async throws {
    let log = EventLog(epoch: "e")
    for data in [
      #"{"best":"t","box":[0.1,0.2],"camera":"a","label":"\"box\":[1]","score":0.5,"type":"motion","zones":["x"]}"#,
      #"{"box":[1]}"#, #"{"camera":"a"}"#, #"{"box":[1"#,
    ] { log.publish(type: "motion", data: Array(data.utf8)) }
    log.publish(type: "view", data: [])
    let subscription = try log.subscribe(after: "e-0")
    var texts: [String] = []
    while texts.count < 4, case .event(let event) = await subscription.next(within: allTheTimeThereIs) {
      texts.append(String(buffer: event.text).split(separator: "\n").last.map(String.init) ?? "")
    }
    #expect(
      texts == [
        #"data: {"camera":"a","label":"\"box\":[1]","type":"motion"}"#, "data: {}", #"data: {"camera":"a"}"#,
        #"data: {"box":[1"#,
      ])
  }

  @Test("EventLog rejects subscribers above its limit, and accepts one after another leaves")
  func subscribers() throws {
    let log = EventLog(maximumSubscribers: 1)
    do {
      let held = try log.subscribe()
      #expect(throws: Problem.self) { try log.subscribe() }
      withExtendedLifetime(held) {}
    }
    #expect(log.subscriberCount == 0)
    _ = try log.subscribe()
  }

  @Test(
    "waiting for an event ends on cancellation, and when the subscription or the log ends",
    .timeLimit(.minutes(15)))
  func ends() async throws {
    let log = EventLog()
    let cancelled = try log.subscribe()
    let task = Task { await cancelled.next(within: allTheTimeThereIs) }
    task.cancel()
    guard case .end = await task.value else {
      Issue.record("goes on")
      return
    }

    let ended = try log.subscribe()
    async let step = ended.next(within: allTheTimeThereIs)
    ended.end()
    guard case .end = await step else {
      Issue.record("goes on")
      return
    }

    let last = try log.subscribe()
    async let end = last.next(within: allTheTimeThereIs)
    log.finish()
    guard case .end = await end else {
      Issue.record("goes on")
      return
    }

    log.publish(type: "camera", data: [])
    let late = try log.subscribe(after: "")
    guard case .end = await late.next(within: allTheTimeThereIs) else {
      Issue.record("goes on")
      return
    }
  }

  @Test("GET /api/events sends missed and new events as an event stream that proxies do not buffer")
  func route() async throws {
    let log = EventLog(epoch: "e")
    log.publish(type: "camera", data: Self.data(1))
    log.publish(type: "snapshot", data: Self.data(2))

    let answer = try await Self.answer(of: log, "/api/events", try Self.fields("Last-Event-ID", "e-1")) {
      log.publish(type: "view", data: Self.data(3))
    }

    #expect(answer.status == .ok)
    #expect(answer.headers[.contentType] == "text/event-stream")
    #expect(answer.headers[.cacheControl] == "no-store")
    #expect(answer.headers[try #require(HTTPField.Name("X-Accel-Buffering"))] == "no")
    let text = String(buffer: answer.body)
    #expect(
      text == "retry: 3000\n\nid: e-2\nevent: snapshot\ndata: {\"n\":2}\n\n"
        + "id: e-3\nevent: view\ndata: {\"n\":3}\n\n")

    let query = try await Self.answer(of: EventLog(epoch: "e"), "/api/events?last_event_id=f-1")
    #expect(String(buffer: query.body) == "retry: 3000\n\n")
  }

  @Test("`types` selects events; an unknown type returns 400 with a list of the known types")
  func types() async throws {
    let log = EventLog(epoch: "e")
    let answer = try await Self.answer(of: log, "/api/events?types=view,snapshot") {
      for type in ["camera", "snapshot", "camera", "view"] { log.publish(type: type, data: Array("1".utf8)) }
    }

    #expect(
      String(buffer: answer.body)
        == "retry: 3000\nid: e-0\n\nid: e-2\nevent: snapshot\ndata: 1\n\nid: e-4\nevent: view\ndata: 1\n\n")

    let router = Router(context: ServiceContext.self)
    EventRoutes(log: EventLog()).add(to: ServiceRoutes(router))
    let wrong = try await Application(router: router).test(.router) { client in
      try await client.execute(uri: "/api/events?types=snapshot,smell", method: .get)
    }

    #expect(wrong.status == .badRequest)
    let types = "camera,motion,move,recording,schedule,service,snapshot,view"
    #expect(String(buffer: wrong.body).contains(types))
  }

  @Test("an idle event stream sends keep-alive comments", .timeLimit(.minutes(15)))
  func keepAlive() async throws {
    let log = EventLog(epoch: "e")
    try await Self.withConnection(to: log, keepAlive: .milliseconds(1)) { connection in
      try await connection.waits(for: "retry: 3000\nid: e-0\n\n")
      try await connection.waits(for: ": still here\n\n")
      log.publish(type: "view", data: [])
      try await connection.waits(for: "id: e-1\nevent: view\ndata: \n\n")
      log.finish()
    }
  }

  @Test("a client that disconnects from an idle event stream is unsubscribed", .timeLimit(.minutes(15)))
  func gone() async throws {
    let log = EventLog()
    try await Self.withConnection(to: log, keepAlive: allTheTimeThereIs) { connection in
      try await connection.waits(for: "retry")
      #expect(log.subscriberCount == 1)
      try await connection.close()
      await until { log.subscriberCount == 0 }
    }
  }

  private static func withConnection(
    to log: EventLog, keepAlive: Duration, _ test: @escaping @Sendable (RawConnection) async throws -> Void
  ) async throws {
    let router = Router(context: ServiceContext.self)
    EventRoutes(log: log, keepAlive: keepAlive).add(to: ServiceRoutes(router))
    try await withServer(of: router) { server in
      let request = "GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n"
      try await test(RawConnection(to: server.port, sending: request))
    }
  }
}
