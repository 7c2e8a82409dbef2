// An answer of the service as a NATS message.
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import NATS
internal import NIOCore
internal import Synchronization

/// The header fields and the bytes of an answer.
struct BrokerAnswer: Sendable {
  let status: Int
  private(set) var headers = NATSHeaders()
  private(set) var payload: [UInt8] = []

  /// Reports that the answer is too large for a message and must be requested by HTTP.
  static let tooLarge = BrokerAnswer(status: 303)

  /// Header fields that only browsers use.
  private static let ours: Set<String> = [
    "content-security-policy", "referrer-policy", "strict-transport-security", "vary",
    "x-content-type-options",
  ]

  private init(status: Int) {
    self.status = status
    headers.add("\(status)", for: BrokerRequest.Field.status)
  }

  /// Reads a response to its end. A response of more than `limit` bytes becomes `tooLarge`.
  ///
  /// - Throws: the errors of the body.
  init(_ response: Response, for method: HTTPRequest.Method, atMost limit: Int) async throws {
    self.init(status: response.status.code)
    for field in response.headers where !Self.ours.contains(field.name.canonicalName) {
      headers.add(field.value, for: field.name.rawName)
    }
    guard method != .head else { return }
    let collected = CollectedBody(limit)
    if response.body.contentLength ?? 0 <= limit { try await response.body.write(collected) }
    guard response.body.contentLength ?? 0 <= limit, let bytes = collected.bytes else {
      self = .tooLarge
      return
    }
    payload = bytes
  }

  init(_ problem: Problem, to request: Request, _ context: ServiceContext) async {
    let response = try? problem.response(from: request, context: context)
    if let response, let answer = try? await BrokerAnswer(response, for: .get, atMost: 64 << 10) {
      self = answer
    } else {
      self.init(status: problem.status.code)
    }
  }
}

/// A body in memory. A body that exceeds the limit is discarded.
private struct CollectedBody: ResponseBodyWriter {
  private let limit: Int
  private let kept = Kept()

  private final class Kept: Sendable {
    let bytes = Mutex<[UInt8]?>([])
  }

  init(_ limit: Int) { self.limit = limit }

  /// Nil if the body is too large.
  var bytes: [UInt8]? { kept.bytes.withLock { $0 } }

  mutating func write(_ buffer: ByteBuffer) async throws {
    kept.bytes.withLock { bytes in
      let count = bytes?.count ?? 0
      guard count + buffer.readableBytes <= limit else { return bytes = nil }
      // A picture comes in one piece.
      if count == 0 {
        bytes = Array(buffer.readableBytesView)
      } else {
        bytes?.append(contentsOf: buffer.readableBytesView)
      }
    }
  }

  consuming func finish(_ trailingHeaders: HTTPFields?) async throws {}
}
