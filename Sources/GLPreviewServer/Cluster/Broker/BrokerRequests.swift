// Requests to the nodes that have cameras, as messages of the broker.
internal import AsyncHTTPClient
internal import HTTPTypes
internal import NATS
internal import NIOCore
internal import NIOHTTP1

/// A request for another node's camera.
struct BrokerCall: Sendable {
  let camera: String
  /// The node that has it, for messages.
  let node: String
  /// The epoch of its owner.
  let epoch: UInt64?
  let method: String
  /// Path and query.
  let target: String
  let role: Role
  let headers: HTTPHeaders
  let body: ByteBuffer?
}

struct BrokerRequests: Sendable {
  let broker: ClusterBroker

  enum Outcome: Sendable {
    case answer(HTTPClientResponse)
    /// None came in time.
    case timeout
    /// The request was not carried out by the broker, or has to be made again: HTTP can.
    case notHere
  }

  /// No node answers for the camera now; nothing was done.
  struct NobodyAnswers: Error {
    let problem: Problem
  }

  /// Sends a request of this `node`, and waits for the whole answer.
  ///
  /// - Throws: `NobodyAnswers`; `Problem` 502 if nobody knows whether the request was carried out.
  func send(_ call: BrokerCall, from node: String, within limit: Duration) async throws -> Outcome {
    guard broker.isConnected,
      let method = HTTPRequest.Method(rawValue: call.method),
      let kind = BrokerRequest.kind(of: method, call.target, about: call.camera)
    else { return .notHere }
    let subject = "\(broker.prefix).\(kind.rawValue).\(call.camera)"
    guard !broker.isRefused(subject) else { return .notHere }
    let isRepeatable = method == .get || method == .head
    let answer: NATSMessage
    do throws(NATSError) {
      answer = try await broker.client.request(
        subject, call.body.map { Array($0.readableBytesView) } ?? [],
        headers: Self.headers(of: call, node, limit),
        timeout: limit)
    } catch {
      return try Self.outcome(of: error, call, isRepeatable: isRepeatable)
    }
    guard let response = Self.response(answer, to: method) else {
      throw Problem(.badGateway, "node '\(call.node)' answers in another way than a node does")
    }
    guard response.status.code == BrokerAnswer.tooLarge.status else { return .answer(response) }
    guard isRepeatable else {
      throw Problem(.badGateway, "node '\(call.node)' did it, but its answer is too large")
    }
    return .notHere
  }

  private static func outcome(
    of error: NATSError, _ call: BrokerCall, isRepeatable: Bool
  ) throws -> Outcome {
    switch error {
    case .timeout: return .timeout
    case .cancelled: throw CancellationError()
    case .noResponders:
      throw NobodyAnswers(
        problem: .busy(
          .serviceUnavailable, "node '\(call.node)' does not answer for camera '\(call.camera)' now",
          retryAfter: 1))
    case .disconnected where !isRepeatable:
      throw Problem(
        .badGateway, "the connection to node '\(call.node)' broke: it may have done it",
        headers: ["Retry-After": "2"])
    // The message was not accepted, or does no harm a second time.
    default: return .notHere
    }
  }

  private static func headers(of call: BrokerCall, _ node: String, _ limit: Duration) -> NATSHeaders {
    var headers: NATSHeaders = [
      BrokerRequest.Field.method: call.method, BrokerRequest.Field.target: call.target,
      BrokerRequest.Field.role: call.role.rawValue,
      BrokerRequest.Field.node: node,
      BrokerRequest.Field.deadline: "\(max(1, Int64(limit / .milliseconds(1))))",
    ]
    // Only commands need the right owner; any owner gives the same picture.
    if let epoch = call.epoch, call.method != "GET", call.method != "HEAD" {
      headers.add("\(epoch)", for: BrokerRequest.Field.epoch)
    }
    for name in BrokerRequest.fields {
      for value in call.headers[name.canonicalName] { headers.add(value, for: name.rawName) }
    }
    return headers
  }

  /// The answer as one of HTTP; nil if it is none.
  private static func response(_ message: NATSMessage, to method: HTTPRequest.Method) -> HTTPClientResponse? {
    let name = BrokerRequest.Field.status
    guard let status = message.headers[name].flatMap({ Int($0) }), (200..<600).contains(status) else {
      return nil
    }
    var headers = HTTPHeaders()
    for field in message.headers.fields where field.name != name {
      headers.add(name: field.name, value: field.value)
    }
    if method != .head { headers.replaceOrAdd(name: "Content-Length", value: "\(message.payload.count)") }
    return HTTPClientResponse(
      status: .init(statusCode: status), headers: headers, body: .bytes(ByteBuffer(bytes: message.payload)))
  }
}
