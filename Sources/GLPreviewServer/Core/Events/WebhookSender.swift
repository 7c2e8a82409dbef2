// Sends an event per snapshot or motion event to a server.
internal import AsyncHTTPClient
internal import Cryptography
internal import FoundationEssentials
internal import Logging
internal import NIOCore
internal import NIOHTTP1
internal import ServiceLifecycle

/// The events of a service for one server, in their order.
final class WebhookSender: Service {
  typealias Times = DeliveryQueue.Times

  private let configuration: WebhookConfiguration
  private let queue: DeliveryQueue

  init(
    _ configuration: WebhookConfiguration, metrics: ServiceMetrics, logger: Logger,
    schedule: RetrySchedule = RetrySchedule(), times: Times = Times()
  ) {
    self.configuration = configuration
    let target = DeliveryQueue.Target(
      name: "webhook", message: "webhook event", messages: "webhook events", attempts: configuration.attempts,
      capacity: configuration.capacity, retry: .webhookRetry
    ) { .webhook($0) }
    queue = DeliveryQueue(target, metrics: metrics, logger: logger, schedule: schedule, times: times)
  }

  var maximumEventBytes: Int { configuration.maximumEventBytes }

  /// Queues a snapshot for sending, which is dropped once `mayBeSent` returns false.
  func send(_ event: Snapshot.Event, while mayBeSent: @escaping @Sendable () -> Bool) {
    send(type: event.type, body: event.json, while: mayBeSent)
  }

  /// Queues JSON for sending; returns at once. `type` is the value of `X-GLPreview-Event`.
  func send(
    type: String, body: [UInt8], while mayBeSent: @escaping @Sendable () -> Bool = { true }
  ) {
    // It does not change between attempts, so that a receiver can detect duplicates.
    let id = UUID().uuidString.lowercased()
    queue.send(
      Delivery(id: id, while: mayBeSent) { [configuration] in
        try Self.request(type, body, id: id, configuration)
      })
  }

  var status: DeliveryQueue.Status { queue.status }

  func run() async throws { try await queue.run() }

  private static func request(
    _ type: String, _ body: [UInt8], id: String, _ configuration: WebhookConfiguration
  ) throws(CryptographyError) -> HTTPClientRequest {
    var request = HTTPClientRequest(url: configuration.url)
    request.method = .POST
    let timestamp = "\(WallTime.now.sinceEpoch.components.seconds)"
    request.headers.add(name: "Content-Type", value: "application/json")
    request.headers.add(name: "User-Agent", value: "glpreview")
    request.headers.add(name: "X-GLPreview-Event", value: type)
    request.headers.add(name: "X-GLPreview-Delivery", value: id)
    request.headers.add(name: "X-GLPreview-Timestamp", value: timestamp)
    if let secret = configuration.secret {
      let signature = try WebhookSignature.text(of: body, timestamp: timestamp, secret: secret)
      request.headers.add(name: "X-GLPreview-Signature", value: signature)
    }
    request.body = .bytes(ByteBuffer(bytes: body))
    return request
  }
}

/// `X-GLPreview-Signature`, by which a receiver can verify a message's origin and time: HMAC-SHA256 with the
/// shared secret over the timestamp, a dot and the body. The timestamp is signed too, to prevent replays of
/// old messages.
enum WebhookSignature {
  /// Returns `sha256=` and 64 hexadecimal digits.
  static func text(
    of body: [UInt8], timestamp: String, secret: String
  ) throws(CryptographyError) -> String {
    let code = try HashFunction.sha256.authenticationCode(
      of: Array("\(timestamp).".utf8) + body, key: Array(secret.utf8))
    return "sha256=" + Hexadecimal.text(of: code)
  }
}
