// A store of pictures on another machine: by S3, or by HTTP PUT.
internal import AsyncHTTPClient
internal import Cryptography
internal import Logging
internal import NIOCore
internal import NIOHTTP1
internal import ServiceLifecycle

/// Sends pictures to a store, several at a time, but those with the same name one after another.
final class PictureStore: Service, CustomStringConvertible {
  let configuration: StoreConfiguration
  private let queue: DeliveryQueue
  private let budget: MemoryBudget
  private let target: StoreTarget

  /// How many pictures are sent at a time.
  private static let concurrency = 8
  /// The most memory of waiting pictures, in bytes; less if the budget is small.
  private static let mostBytes = 32 << 20
  /// How long a picture may take to be sent, with the answer: eight of 1 MB by a line of 1 Mbit/s take a minute.
  static let usualTimes = DeliveryQueue.Times(answers: .seconds(90))

  init(
    _ configuration: StoreConfiguration, within budget: MemoryBudget, metrics: ServiceMetrics, logger: Logger,
    schedule: RetrySchedule = RetrySchedule(), times: DeliveryQueue.Times = usualTimes
  ) {
    (self.configuration, self.budget) = (configuration, budget)
    target = StoreTarget(configuration)
    let name = configuration.name
    let store = DeliveryQueue.Target(
      name: "store \(name)", message: "picture for store \(name)", messages: "pictures for store \(name)",
      attempts: configuration.attempts, capacity: configuration.capacity,
      mostBytes: min(Self.mostBytes, budget.capacity / 16), concurrency: Self.concurrency, logsEach: false,
      retry: .uploadRetry(store: name)
    ) { .upload(store: name, $0) }
    queue = DeliveryQueue(store, metrics: metrics, logger: logger, schedule: schedule, times: times)
  }

  var status: DeliveryQueue.Status { queue.status }

  /// Queues a JPEG under each of some paths, which are given by their components; returns at once. It is dropped
  /// once `mayBeSent` returns false.
  func put(
    _ jpeg: [UInt8], as paths: [[String]], while mayBeSent: @escaping @Sendable () -> Bool = { true }
  ) {
    guard let lease = try? budget.reserve(jpeg.count) else {
      return queue.drop(.noMemory, count: paths.count)
    }
    for names in paths {
      let path = names.joined(separator: "/")
      queue.send(
        Delivery(id: path, order: path, holding: lease, while: mayBeSent) { [target] in
          try target.request(jpeg, as: path, at: Int(WallTime.now.sinceEpoch.components.seconds))
        })
    }
  }

  func run() async throws { try await queue.run() }
}

/// All stores. When the service ends, they end at the same time, so that a dead one takes no time of the others.
struct PictureStores: Service, CustomStringConvertible {
  let all: [PictureStore]

  func run() async throws {
    await withTaskGroup { group in
      for store in all { group.addTask { try? await store.run() } }
    }
    try? await gracefulShutdown()
  }
}

/// The requests of a store.
struct StoreTarget: Sendable {
  private let configuration: StoreConfiguration
  /// The scheme with `://`, the host with its port unless that is the scheme's own, and the path without a slash at
  /// its end.
  private let scheme, host, path: String
  private let signature: S3Signature?

  init(_ configuration: StoreConfiguration) {
    self.configuration = configuration
    let scheme = configuration.url.prefix { $0 != ":" }.lowercased()
    let rest = configuration.url.dropFirst(scheme.count + 3)
    let host = String(rest.prefix { $0 != "/" })
    let usual = scheme == "https" ? ":443" : ":80"
    self.scheme = scheme + "://"
    self.host = host.hasSuffix(usual) ? String(host.dropLast(usual.count)) : host
    path = String(rest.drop { $0 != "/" })
    signature = configuration.accessKey.map { key in
      S3Signature(
        accessKey: key, secretKey: configuration.secretKey ?? "",
        region: configuration.region ?? S3Signature.region(ofHost: host) ?? "us-east-1")
    }
  }

  /// Returns the request that stores a JPEG under `name` at `time`, in seconds since 1970.
  func request(_ jpeg: [UInt8], as name: String, at time: Int) throws(CryptographyError) -> HTTPClientRequest
  {
    let path = path + S3Signature.encoded(path: "/" + name)
    var request = HTTPClientRequest(url: scheme + host + path)
    request.method = .PUT
    let type = (name: "content-type", value: "image/jpeg")
    request.headers.add(name: "User-Agent", value: "glpreview")
    request.headers.add(name: type.name, value: type.value)
    if let signature {
      let fields = try signature.fields(
        of: "PUT", host: host, path: path, payload: jpeg, others: [type], at: time)
      for field in fields { request.headers.add(name: field.name, value: field.value) }
    } else if let token = configuration.token {
      request.headers.add(name: "Authorization", value: "Bearer \(token)")
    } else if let user = configuration.user {
      let pair = Array("\(user):\(configuration.password ?? "")".utf8)
      let text = String(decoding: Base64.encoded(pair), as: UTF8.self)
      request.headers.add(name: "Authorization", value: "Basic \(text)")
    }
    request.body = .bytes(ByteBuffer(bytes: jpeg))
    return request
  }
}
