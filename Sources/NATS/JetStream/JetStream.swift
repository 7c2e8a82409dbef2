// JetStream's JSON API: streams, consumers, and publishing with an acknowledgement.
internal import FoundationEssentials

/// Access to the streams of a cluster.
///
/// Every call waits up to `timeout` for its reply. While a cluster elects a leader, calls throw
/// `.unavailable`, and the caller decides whether to retry.
package struct JetStream: Sendable {
  /// The connection it uses.
  package let client: NATSClient
  let timeout: Duration
  private let prefix: String

  /// Uses JetStream of the client's servers, or of another `domain` reached through leaf nodes. `timeout`
  /// defaults to `NATSConfiguration.requestTimeout`.
  ///
  /// - Throws: `NATSError.invalidName` for a domain that is not one token.
  package init(_ client: NATSClient, domain: String? = nil, timeout: Duration? = nil) throws(NATSError) {
    if let domain { try NATSSubject.checkName(domain) }
    self.client = client
    self.timeout = timeout ?? client.configuration.requestTimeout
    prefix = domain.map { "$JS.\($0).API." } ?? "$JS.API."
  }

  // MARK: Streams

  /// Creates a stream. It succeeds if the stream exists with the same configuration.
  ///
  /// - Throws: `.nameInUse` if the stream exists with another configuration.
  @discardableResult
  package func createStream(_ stream: StreamConfiguration) async throws(JetStreamError) -> StreamInfo {
    try check(stream.name)
    return try await call("STREAM.CREATE.\(stream.name)", stream)
  }

  /// Changes a stream's configuration.
  @discardableResult
  package func updateStream(_ stream: StreamConfiguration) async throws(JetStreamError) -> StreamInfo {
    try check(stream.name)
    return try await call("STREAM.UPDATE.\(stream.name)", stream)
  }

  /// Returns information about a stream.
  package func stream(_ name: String) async throws(JetStreamError) -> StreamInfo {
    try check(name)
    return try await call("STREAM.INFO.\(name)", Nothing())
  }

  /// Deletes a stream and its messages.
  package func deleteStream(_ name: String) async throws(JetStreamError) {
    try check(name)
    let _: Success = try await call("STREAM.DELETE.\(name)", Nothing())
  }

  // MARK: Publishing

  /// Publishes into a stream, and returns when the message is stored.
  ///
  /// Messages with the same `id` within the stream's `duplicateWindow` are stored once. With `expectedLast`,
  /// the message is stored only if the last message of its subject has that sequence; 0 means that there is
  /// none.
  ///
  /// - Throws: `.conflict` if the last message has another sequence.
  @discardableResult
  package func publish(
    _ subject: String, _ payload: [UInt8], headers: NATSHeaders = NATSHeaders(), id: String? = nil,
    expectedLast: UInt64? = nil
  ) async throws(JetStreamError) -> PublishAcknowledgement {
    var headers = headers
    if let id { headers["Nats-Msg-Id"] = id }
    if let expectedLast { headers["Nats-Expected-Last-Subject-Sequence"] = "\(expectedLast)" }
    return try Self.decode(try await request(subject, payload, headers: headers).payload)
  }

  // MARK: Consumers

  /// Creates a durable consumer, from which workers fetch. It succeeds if the consumer exists with the same
  /// configuration.
  package func createConsumer(
    of stream: String, _ consumer: ConsumerConfiguration
  ) async throws(JetStreamError) -> PullConsumer {
    try check(stream)
    try check(consumer.name)
    let _: ConsumerInfo = try await call(
      "CONSUMER.DURABLE.CREATE.\(stream).\(consumer.name)",
      CreateConsumer(stream_name: stream, config: consumer))
    return PullConsumer(self, stream: stream, name: consumer.name)
  }

  /// Returns an existing durable consumer.
  package func consumer(_ name: String, of stream: String) async throws(JetStreamError) -> PullConsumer {
    try check(stream)
    try check(name)
    let _: ConsumerInfo = try await call("CONSUMER.INFO.\(stream).\(name)", Nothing())
    return PullConsumer(self, stream: stream, name: name)
  }

  /// Deletes a consumer.
  package func deleteConsumer(_ name: String, of stream: String) async throws(JetStreamError) {
    try check(stream)
    try check(name)
    let _: Success = try await call("CONSUMER.DELETE.\(stream).\(name)", Nothing())
  }

  // MARK: The API

  /// Returns the subject of an API call.
  func subject(_ call: String) -> String { prefix + call }

  func check(_ name: String) throws(JetStreamError) {
    do throws(NATSError) { try NATSSubject.checkName(name) } catch { throw .invalid(error) }
  }

  /// Calls the API.
  func call<Answer: Decodable>(
    _ name: String, _ parameters: some Encodable
  ) async throws(JetStreamError) -> Answer {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .withoutEscapingSlashes
    guard let body = try? encoder.encode(parameters) else { throw .malformed("parameters of \(name)") }
    return try Self.decode(try await request(subject(name), Array(body)).payload)
  }

  func request(
    _ subject: String, _ payload: [UInt8], headers: NATSHeaders = NATSHeaders()
  ) async throws(JetStreamError) -> NATSMessage {
    do throws(NATSError) {
      return try await client.request(subject, payload, headers: headers, timeout: timeout)
    } catch {
      throw JetStreamError(error)
    }
  }

  private static func decode<Answer: Decodable>(_ bytes: [UInt8]) throws(JetStreamError) -> Answer {
    let decoder = JSONDecoder()
    if let failure = try? decoder.decode(Failure.self, from: Data(bytes)) {
      throw JetStreamError(failure.error)
    }
    do {
      return try decoder.decode(Answer.self, from: Data(bytes))
    } catch {
      throw .malformed("\(error)")
    }
  }

  private struct Failure: Decodable { let error: APIError }
  private struct Success: Decodable { let success: Bool }
  struct Nothing: Encodable {}
  struct CreateConsumer<Configuration: Encodable>: Encodable {
    let stream_name: String
    let config: Configuration
  }
}

/// The acknowledgement of a stored message.
package struct PublishAcknowledgement: Decodable, Sendable, Equatable {
  /// The stream that stored it.
  package let stream: String
  /// The sequence of the message in the stream; in a bucket, the revision.
  package let sequence: UInt64
  /// Whether a message with the same id was already stored.
  package let isDuplicate: Bool

  private enum CodingKeys: String, CodingKey {
    case stream
    case sequence = "seq"
    case isDuplicate = "duplicate"
  }

  package init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: CodingKeys.self)
    stream = try fields.decode(String.self, forKey: .stream)
    sequence = try fields.decode(UInt64.self, forKey: .sequence)
    isDuplicate = try fields.decodeIfPresent(Bool.self, forKey: .isDuplicate) ?? false
  }
}
