// A store of pictures beside a server that a test directs.
import AsyncHTTPClient
import GLPreview
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import ServiceLifecycle
import Synchronization
import TestSupport
import Testing

@testable import Schedules
@testable import ServiceCore
@testable import ServiceFoundation

extension PictureStoreTests {
  static let secret = "5ECRET"
  static let noon = seconds("2026-11-30 12:00")

  static func s3(_ url: String) -> StoreConfiguration {
    var configuration = StoreConfiguration(name: "bucket")
    (configuration.kind, configuration.url) = (.s3, url)
    (configuration.accessKey, configuration.secretKey) = ("AKIAEXAMPLE", "\(secret)key/+")
    return configuration
  }

  static func put(_ url: String) -> StoreConfiguration {
    var configuration = StoreConfiguration(name: "web")
    (configuration.url, configuration.token) = (url, "\(secret)token")
    return configuration
  }

  // MARK: - A server

  /// A picture as a server received it.
  struct Received: Sendable {
    let path: String
    let host: String
    let fields: HTTPFields
    let body: [UInt8]

    var name: String { String(path.dropFirst("/cams/".count)) }
    var text: String { String(decoding: body, as: UTF8.self) }
  }

  /// A server of pictures: what it received, and its answers, in their order; then 201.
  final class Receiver: Sendable {
    private struct State {
      var received: [Received] = []
      var answers: [Response]
    }

    private let state: Mutex<State>
    /// The name of pictures that are not answered, and of those whose bodies are not read, before `isReleased` is true.
    private let held, unread: String?
    let isReleased = Watched(false)
    /// Whether a picture has come whose body is not read yet.
    let isAsked = Watched(false)

    init(_ answers: [Response] = [], holding held: String? = nil, leavingUnread unread: String? = nil) {
      state = Mutex(State(answers: answers))
      (self.held, self.unread) = (held, unread)
    }

    var all: [Received] { state.withLock { $0.received } }
    var names: [String] { all.map(\.name) }

    func answer(to request: Request) async throws -> Response {
      if request.uri.path == unread.map({ "/cams/\($0)" }) {
        isAsked.update { $0 = true }
        _ = try await isReleased.first { $0 ? true : nil }
      }
      let body = Array(try await request.body.collect(upTo: 1 << 20).readableBytesView)
      let received = Received(
        path: request.uri.string, host: request.head.authority ?? "", fields: request.headers, body: body)
      let answer = state.withLock { state in
        state.received.append(received)
        return state.answers.isEmpty ? Response(status: .created) : state.answers.removeFirst()
      }
      if received.name == held { _ = try await isReleased.first { $0 ? true : nil } }
      return answer
    }
  }

  /// A store at a receiver.
  struct Running: Sendable {
    let store: PictureStore
    let metrics: ServiceMetrics
    let records: LogRecords
    let budget: MemoryBudget
    let port: Int

    func put(_ text: String, as names: String...) { store.put(Array(text.utf8), as: [names]) }

    /// The log lines of dropped pictures.
    var drops: [String] { records.lines.filter { $0.hasPrefix("pictures for store web dropped: ") } }

    /// Waits until a line is in the metrics.
    func shows(_ line: String) async { await until { metrics.text.contains("glpreview_" + line + "\n") } }
  }

  /// Runs `work` beside a store at `receiver`, and ends that. Pictures that `before` puts wait when the store begins.
  static func run(
    at receiver: Receiver = Receiver(), _ configure: (inout StoreConfiguration) -> Void = { _ in },
    make: (String) -> StoreConfiguration = put,
    schedule: RetrySchedule = RetrySchedule(first: .milliseconds(1), longest: .milliseconds(4)),
    before: @escaping @Sendable (Running) -> Void = { _ in },
    _ work: @escaping @Sendable (Running) async throws -> Void
  ) async throws -> Running {
    let router = Router(context: ServiceContext.self)
    router.put("/cams/**") { request, _ in try await receiver.answer(to: request) }
    router.put("/elsewhere") { request, _ in try await receiver.answer(to: request) }
    var configuration = make("")
    configure(&configuration)
    return try await withServer(of: router) { [configuration] server in
      var configuration = configuration
      if configuration.url.isEmpty { configuration.url = "http://localhost:\(server.port)/cams" }
      let (records, metrics, budget) = (LogRecords(), ServiceMetrics(), MemoryBudget(capacity: 1 << 20))
      var logger = records.logger
      logger.logLevel = .trace
      let store = PictureStore(
        configuration, within: budget, metrics: metrics, logger: logger, schedule: schedule,
        times: .init(connects: allTheTimeThereIs, answers: allTheTimeThereIs, ends: allTheTimeThereIs))
      let running = Running(
        store: store, metrics: metrics, records: records, budget: budget, port: server.port)
      before(running)
      let group = ServiceGroup(services: [store], logger: logger)
      async let run: Void = group.run()
      let result: Result<Void, any Error>
      do { result = .success(try await work(running)) } catch { result = .failure(error) }
      await group.triggerGracefulShutdown()
      try await run
      try result.get()
      #expect(!records.lines.contains { $0.contains(Self.secret) }, "\(records.lines)")
      return running
    }
  }
}
