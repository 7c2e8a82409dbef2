// A server of a few routes on a port of its own. HummingbirdTesting's client gives up after 20 s.
import AsyncHTTPClient
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import NIOHTTP1
import ServiceLifecycle

@testable import ServiceFoundation

struct LiveServer: Sendable {
  let port: Int

  struct Answer: Sendable {
    let status: HTTPResponse.Status
    let headers: HTTPFields
    let body: ByteBuffer
  }

  func execute(
    uri: String, method: HTTPRequest.Method, headers: HTTPFields = [:], body: ByteBuffer? = nil
  ) async throws -> Answer {
    var request = HTTPClientRequest(url: "http://localhost:\(port)\(uri)")
    request.method = .init(rawValue: method.rawValue)
    for field in headers { request.headers.add(name: field.name.rawName, value: field.value) }
    if let body { request.body = .bytes(body) }
    let response = try await HTTPClient.patient.execute(request, timeout: .hours(1))
    var fields = HTTPFields()
    for (name, value) in response.headers {
      if let name = HTTPField.Name(name) { fields.append(HTTPField(name: name, value: value)) }
    }
    return Answer(
      status: .init(code: Int(response.status.code)), headers: fields,
      body: try await response.body.collect(upTo: 64 << 20))
  }
}

/// Runs `work` beside a server of `router`.
func withServer<Result: Sendable>(
  of router: Router<ServiceContext>, _ work: @escaping @Sendable (LiveServer) async throws -> Result
) async throws -> Result {
  let (ports, told) = AsyncStream.makeStream(of: Int.self)
  let application = Application(
    router: router, configuration: .init(address: .hostname("127.0.0.1", port: 0)),
    onServerRunning: { channel in told.yield(channel.localAddress?.port ?? 0) },
    logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
  let group = ServiceGroup(services: [application], logger: application.logger)
  async let running: Void = {
    defer { told.finish() }
    try await group.run()
  }()
  var iterator = ports.makeAsyncIterator()
  let result: Swift.Result<Result, any Error>
  do {
    guard let port = await iterator.next() else { throw CancellationError() }
    result = .success(try await work(LiveServer(port: port)))
  } catch {
    result = .failure(error)
  }
  await group.triggerGracefulShutdown()
  try await running
  return try result.get()
}
