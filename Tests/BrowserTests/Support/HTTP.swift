// Requests of the tests' own, to the service and to the browser's driver.
import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1

/// What came back.
struct HTTPAnswer: Sendable {
  let status: Int
  let body: Data
  var text: String { String(decoding: body, as: UTF8.self) }
}

/// Not URLSession: it fails on headers without a space after the colon, as the driver writes them.
enum HTTP {
  /// `HTTPClient.shared` gives up where nothing is read for 90 s.
  private static let client = {
    var configuration = HTTPClient.Configuration.singletonConfiguration
    configuration.timeout = .init(connect: .hours(1), read: nil)
    return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
  }()

  static func ask(
    _ method: String, _ url: String, _ headers: [String: String], _ body: Data? = nil
  ) async throws -> HTTPAnswer {
    var request = HTTPClientRequest(url: url)
    request.method = HTTPMethod(rawValue: method)
    for (name, value) in headers { request.headers.add(name: name, value: value) }
    if let body { request.body = .bytes(ByteBuffer(bytes: body)) }
    let response = try await client.execute(request, timeout: .hours(1))
    let buffer = try await response.body.collect(upTo: 64 << 20)
    return HTTPAnswer(status: Int(response.status.code), body: Data(buffer.readableBytesView))
  }
}
