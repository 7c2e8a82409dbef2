// Another server is told of snapshots: signed, in order, again where it does not listen, and never for ever.
import GLPreview
import HTTPTypes
import Hummingbird
import NIOCore
import ServiceLifecycle
import Synchronization
import TestSupport
import Testing

@testable import ServiceCore
@testable import ServiceFoundation

@Suite("Webhook", .timeLimit(.minutes(15)))
struct WebhookTests {
  /// One message as it came.
  struct Received: Sendable {
    let fields: HTTPFields
    let body: String
  }

  /// A receiver: what it got, and what it answers, in order; then 204.
  final class Receiver: Sendable {
    private let state: Mutex<(received: [Received], answers: [Response])>

    init(_ answers: [Response]) { state = Mutex(([], answers)) }

    var received: [Received] { state.withLock { $0.received } }
    var bodies: [String] { received.map(\.body) }

    func answer(to request: Request) async throws -> Response {
      let body = String(buffer: try await request.body.collect(upTo: 1 << 20))
      return state.withLock { state in
        state.received.append(Received(fields: request.headers, body: body))
        return state.answers.isEmpty ? Response(status: .noContent) : state.answers.removeFirst()
      }
    }
  }

  /// Sends to a receiver that answers `answers`, until `isOver`, and `isReached` of the sender; then ends the service.
  private static func send(
    _ bodies: [String], answers: [Response] = [], metrics: ServiceMetrics = ServiceMetrics(),
    configure: @escaping @Sendable (inout WebhookConfiguration) -> Void = { _ in },
    schedule: RetrySchedule = RetrySchedule(first: .milliseconds(1), longest: .milliseconds(4)),
    answersWithin limit: Duration = allTheTimeThereIs,
    reaching isReached: @escaping @Sendable (WebhookSender) -> Bool = { _ in true },
    until isOver: @escaping @Sendable (Receiver, String) -> Bool
  ) async throws -> Receiver {
    let receiver = Receiver(answers)
    let router = Router(context: ServiceContext.self)
    router.post("/hook") { request, _ in try await receiver.answer(to: request) }
    router.post("/elsewhere") { request, _ in try await receiver.answer(to: request) }
    try await withServer(of: router) { server in
      var configuration = WebhookConfiguration(url: "http://localhost:\(server.port)/hook")
      configure(&configuration)
      let records = LogRecords()
      let sender = WebhookSender(
        configuration, metrics: metrics, logger: records.logger, schedule: schedule,
        times: .init(connects: allTheTimeThereIs, answers: limit, ends: allTheTimeThereIs))
      for body in bodies { sender.send(type: "snapshot", body: Array(body.utf8)) }
      let group = ServiceGroup(services: [sender], logger: records.logger)
      async let run: Void = group.run()
      await until { isReached(sender) && isOver(receiver, metrics.text) }
      await group.triggerGracefulShutdown()
      try await run
    }
    return receiver
  }

  @Test(
    "events are sent in order, with their type, a timestamp and a signature",
    .timeLimit(.minutes(15)))
  func signed() async throws {
    func seconds() -> Int { Int(CaptureClock.timeSince1970(CaptureClock.now) / .seconds(1)) }
    let before = seconds()
    let metrics = ServiceMetrics()

    let receiver = try await Self.send(["{\"n\":1}", "{\"n\":2}"], metrics: metrics) {
      $0.secret = "schlüssel"
    } until: { _, text in
      text.contains(#"glpreview_webhook_events_total{result="done"} 2"#)
    }

    #expect(receiver.bodies == ["{\"n\":1}", "{\"n\":2}"])
    let first = try #require(receiver.received.first)
    #expect(first.fields[.contentType] == "application/json")
    #expect(first.fields[named: "X-GLPreview-Event"] == "snapshot")
    let timestamp = try #require(first.fields[named: "X-GLPreview-Timestamp"])
    #expect((before...seconds()).contains(try #require(Int(timestamp))))

    let signature = try WebhookSignature.text(
      of: Array("{\"n\":1}".utf8), timestamp: timestamp, secret: "schlüssel")
    #expect(first.fields[named: "X-GLPreview-Signature"] == signature)
    #expect(Set(receiver.received.map { $0.fields[named: "X-GLPreview-Delivery"] }).count == 2)
  }

  @Test("WebhookSignature equals the HMAC-SHA256 that openssl computes")
  func signature() throws {
    // printf 1700000000.hello | openssl dgst -sha256 -hmac key
    let text = try WebhookSignature.text(of: Array("hello".utf8), timestamp: "1700000000", secret: "key")
    #expect(text == "sha256=4d583a269f4f276a3fa80ff31b5a01879a848096983222a17893d198418939aa")
  }

  @Test(
    "an event that gets 503 or 429 is retried with the same delivery ID before the next event",
    .timeLimit(.minutes(15)))
  func retries() async throws {
    let metrics = ServiceMetrics()
    let receiver = try await Self.send(
      ["a", "b"],
      answers: [
        Response(status: .serviceUnavailable, headers: [.retryAfter: "0"]),
        Response(status: .tooManyRequests),
      ],
      metrics: metrics
    ) { _, text in text.contains(#"glpreview_webhook_events_total{result="done"} 2"#) }

    #expect(receiver.bodies == ["a", "a", "a", "b"])
    #expect(Set(receiver.received.prefix(3).map { $0.fields[named: "X-GLPreview-Delivery"] }).count == 1)
    #expect(metrics.text.contains("glpreview_webhook_retries_total 2"))
    #expect(receiver.received[0].fields[named: "X-GLPreview-Signature"] == nil)
  }

  @Test(
    "an event that gets 400, 410 or a redirect fails without a retry",
    .timeLimit(.minutes(15)), arguments: [HTTPResponse.Status.badRequest, .gone, .found, .temporaryRedirect])
  func refused(status: HTTPResponse.Status) async throws {
    let receiver = try await Self.send(
      ["a", "b"], answers: [Response(status: status, headers: [.location: "/elsewhere"])]
    ) { _, text in
      text.contains(#"result="failed"} 1"#) && text.contains(#"result="done"} 1"#)
    }
    #expect(receiver.bodies == ["a", "b"])
  }

  @Test(
    "an event is given up after the configured attempts, and the next event is sent", .timeLimit(.minutes(15))
  )
  func attempts() async throws {
    let receiver = try await Self.send(
      ["a", "b"], answers: (0..<3).map { _ in Response(status: .badGateway) },
      configure: { $0.attempts = 3 }
    ) { _, text in text.contains(#"result="done"} 1"#) }
    #expect(receiver.bodies == ["a", "a", "a", "b"])
  }

  @Test("an endless response does not delay the next event")
  func slowAnswer() async throws {
    let drops = Watched(0)
    let slow = ResponseBody { writer in
      while true {
        try await writer.write(ByteBuffer(string: "a"))
        var looks = 0
        await until {
          looks += 1
          return looks > 1
        }
        drops.update { $0 += 1 }
      }
    }
    let receiver = try await Self.send(
      ["a", "b"], answers: [Response(status: .ok, body: slow)], answersWithin: .seconds(1)
    ) { receiver, _ in receiver.bodies.contains("b") }
    #expect(receiver.bodies.first == "a")
    // Of more it would have taken no more by itself.
    #expect(drops.value < 64 << 10)
  }

  @Test("events above the queue's capacity push out the oldest, which are counted", .timeLimit(.minutes(15)))
  func capacity() async throws {
    let metrics = ServiceMetrics()
    let receiver = try await Self.send(
      ["a", "b", "c", "d", "e"], metrics: metrics, configure: { $0.capacity = 2 }
    ) { receiver, _ in receiver.received.count == 2 }
    #expect(receiver.bodies == ["d", "e"])
    #expect(metrics.text.contains(#"glpreview_webhook_events_total{result="dropped"} 3"#))
  }

  @Test(
    "a shutdown retries a waiting event at once and sends the remaining events",
    .timeLimit(.minutes(15)))
  func ending() async throws {
    let metrics = ServiceMetrics()
    let receiver = try await Self.send(
      ["a", "b"], answers: [Response(status: .serviceUnavailable)], metrics: metrics,
      schedule: RetrySchedule(first: .seconds(3600), longest: .seconds(3600)),
      reaching: { $0.status.problem != nil }
    ) { _, text in text.contains("glpreview_webhook_retries_total 0") }
    #expect(receiver.bodies == ["a", "a", "b"])
    #expect(metrics.text.contains("glpreview_webhook_retries_total 1"))
  }

  @Test(
    "an unreachable webhook does not delay shutdown, and the lost event is counted",
    .timeLimit(.minutes(15)))
  func nobody() async throws {
    let metrics = ServiceMetrics()
    let receiver = try await Self.send(
      ["a"], metrics: metrics, configure: { $0.url = "http://127.0.0.1:1/" },
      schedule: RetrySchedule(first: .seconds(3600), longest: .seconds(3600))
    ) { _, _ in true }

    #expect(receiver.bodies.isEmpty)
    let text = metrics.text
    #expect(
      text.contains(#"glpreview_webhook_events_total{result="failed"} 1"#)
        || text.contains(#"glpreview_webhook_events_total{result="dropped"} 1"#))
  }

  @Test(
    "an event that may not be sent any more is not sent again, and the next one is sent",
    .timeLimit(.minutes(15)))
  func hidden() async throws {
    let receiver = Receiver([Response(status: .serviceUnavailable)])
    let (mayBeSent, metrics, records) = (Watched(true), ServiceMetrics(), LogRecords())
    let router = Router(context: ServiceContext.self)
    router.post("/hook") { request, _ in
      let response = try await receiver.answer(to: request)
      // The sender learns of it before the answer.
      mayBeSent.update { $0 = false }
      return response
    }
    try await withServer(of: router) { server in
      let sender = WebhookSender(
        WebhookConfiguration(url: "http://localhost:\(server.port)/hook"), metrics: metrics,
        logger: records.logger, schedule: RetrySchedule(first: .milliseconds(1), longest: .milliseconds(4)),
        times: .init(connects: allTheTimeThereIs, answers: allTheTimeThereIs, ends: allTheTimeThereIs))
      for _ in 0..<2 {
        sender.send(type: "snapshot", body: Array("snapshot".utf8)) { mayBeSent.value }
      }
      sender.send(type: "motion", body: Array("motion".utf8))
      let group = ServiceGroup(services: [sender], logger: records.logger)
      async let run: Void = group.run()
      await until { metrics.text.contains(#"glpreview_webhook_events_total{result="done"} 1"#) }
      await group.triggerGracefulShutdown()
      try await run
      #expect(sender.status == DeliveryQueue.Status(sent: 1, dropped: 2))
    }
    #expect(receiver.bodies == ["snapshot", "motion"])
    #expect(metrics.text.contains("glpreview_webhook_retries_total 0"))
    #expect(metrics.text.contains(#"glpreview_webhook_events_total{result="dropped"} 2"#))
    #expect(
      records.lines.filter { $0.contains("dropped") }
        == ["webhook events dropped: reason=may no longer be shown"])
  }

  @Test("retry delays double up to 60 s with jitter, and follow Retry-After up to 60 s")
  func schedule() {
    let schedule = RetrySchedule()
    #expect(
      (1...8).map { schedule.wait(after: $0, chance: 1) }
        == [1, 2, 4, 8, 16, 32, 60, 60].map { .seconds($0) })
    #expect(schedule.wait(after: 3, chance: 0) == .seconds(2))
    #expect(schedule.wait(after: 1, retryAfter: .seconds(30), chance: 1) == .seconds(30))
    #expect(schedule.wait(after: 1, retryAfter: .seconds(3600), chance: 1) == .seconds(60))
    #expect(schedule.wait(after: 5, retryAfter: .seconds(1), chance: 1) == .seconds(16))

    // The date of RFC 9110, 5.6.7, is 784111777 seconds after 1970.
    let now = WallTime(sinceEpoch: .seconds(784_111_700))
    #expect(RetrySchedule.retryAfter("Sun, 06 Nov 1994 08:49:37 GMT", now: now) == .seconds(77))
    #expect(
      RetrySchedule.retryAfter(
        "Thu, 29 Feb 2024 00:00:00 GMT", now: WallTime(sinceEpoch: .seconds(1_709_164_790)))
        == .seconds(10))
    #expect(RetrySchedule.retryAfter("Sun, 06 Nov 1983 08:49:37 GMT", now: now) == .zero)
    #expect(RetrySchedule.retryAfter("Sun, 6 Nov 1994 8:49:37 GMT", now: now) == .seconds(77))
    #expect(RetrySchedule.retryAfter("120") == .seconds(120))
    #expect(RetrySchedule.retryAfter("-5") == .zero)
    for text in [
      "", "soon", "Sun, 06 Foo 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49 GMT",
      "Sun, 06 Nov 1994 25:00:00 GMT",
    ] {
      #expect(RetrySchedule.retryAfter(text, now: now) == nil)
    }
  }
}
