// Durable pull consumers: workers fetch messages and acknowledge them.
internal import FoundationEssentials

/// The configuration of a durable consumer.
package struct ConsumerConfiguration: Sendable, Equatable, Encodable {
  /// The name: one token (`NATSSubject.isToken`).
  package var name: String
  /// A pattern of subjects; nil for all subjects of the stream.
  package var filter: String?
  /// The time after which an unacknowledged message is redelivered. `JetStreamMessage.inProgress` restarts
  /// it.
  package var acknowledgeWithin = Duration.seconds(30)
  /// The maximum number of deliveries of a message; -1 for no limit.
  package var maximumDeliveries = -1
  /// The maximum number of messages that are delivered but not yet acknowledged.
  package var maximumPending = 1000

  /// Creates a consumer of all subjects of a stream.
  package init(name: String) { self.name = name }

  private enum CodingKeys: String, CodingKey {
    case durable_name, filter_subject, ack_policy, ack_wait, max_deliver, max_ack_pending, deliver_policy
  }

  package func encode(to encoder: any Encoder) throws {
    var fields = encoder.container(keyedBy: CodingKeys.self)
    try fields.encode(name, forKey: .durable_name)
    try fields.encodeIfPresent(filter, forKey: .filter_subject)
    try fields.encode("explicit", forKey: .ack_policy)
    try fields.encode("all", forKey: .deliver_policy)
    try fields.encode(acknowledgeWithin.nanoseconds, forKey: .ack_wait)
    try fields.encode(maximumDeliveries, forKey: .max_deliver)
    try fields.encode(maximumPending, forKey: .max_ack_pending)
  }
}

/// Information about a consumer.
struct ConsumerInfo: Decodable {
  let name: String
  let num_pending: UInt64?
}

/// A durable consumer, shared by any number of workers.
package struct PullConsumer: Sendable {
  /// The stream it belongs to.
  package let stream: String
  package let name: String
  private let jetStream: JetStream

  init(_ jetStream: JetStream, stream: String, name: String) {
    (self.jetStream, self.stream, self.name) = (jetStream, stream, name)
  }

  private struct Next: Encodable {
    let batch: Int
    let expires: Int64
  }

  /// Fetches up to `count` messages. Returns when it has them, or after `wait` with those that arrived,
  /// possibly none.
  ///
  /// - Throws: `.consumerNotFound`, also while the consumer has no leader; `.unavailable` if there was no
  ///   reply. If messages have arrived, they are returned instead of the error.
  package func fetch(_ count: Int = 1, wait: Duration) async throws(JetStreamError) -> [JetStreamMessage] {
    guard
      let body = try? JSONEncoder().encode(
        Next(batch: max(count, 1), expires: max(wait.nanoseconds, 1_000_000)))
    else { throw .malformed("parameters of fetch") }
    let inbox = jetStream.client.inboxes + NATSClient.randomToken()
    var messages: [JetStreamMessage] = []
    do throws(JetStreamError) {
      let answers = try ask(Array(body), count, inbox)
      while messages.count < count, let answer = try await next(answers, wait) {
        if let message = JetStreamMessage(answer, of: jetStream.client) { messages.append(message) }
      }
    } catch {
      guard messages.isEmpty else { return messages }
      // Servers do not reply if the consumer does not exist, so query it.
      if error == .unavailable(.timeout) { _ = try await jetStream.consumer(name, of: stream) }
      throw error
    }
    return messages
  }

  private func ask(_ body: [UInt8], _ count: Int, _ inbox: String) throws(JetStreamError) -> NATSSubscription
  {
    do throws(NATSError) {
      let answers = try jetStream.client.subscribe(
        inbox, buffer: NATSBufferLimit(messages: count + 16, bytes: .max))
      try jetStream.client.publish(
        jetStream.subject("CONSUMER.MSG.NEXT.\(stream).\(name)"), body, reply: inbox)
      return answers
    } catch {
      throw JetStreamError(error)
    }
  }

  /// Returns the next message of a batch, or nil at its end.
  private func next(
    _ answers: NATSSubscription, _ wait: Duration
  ) async throws(JetStreamError) -> NATSMessage? {
    while true {
      let answer: NATSMessage?
      do throws(NATSError) {
        // The server ends the batch in time, unless the connection was lost.
        answer = try await answers.next(within: wait + jetStream.timeout)
      } catch {
        throw JetStreamError(error)
      }
      guard let answer else { throw .unavailable(Task.isCancelled ? .cancelled : .closed) }
      switch answer.headers.status {
      case nil: return answer
      case 100?: continue
      case 404?, 408?: return nil
      case 409? where answer.headers.statusText.hasPrefix("Consumer Deleted"): throw .consumerNotFound
      case 503? where answer.payload.isEmpty: throw .consumerNotFound
      case let status?: throw .refused(status: status, code: 0, answer.headers.statusText)
      }
    }
  }
}

/// A message of a consumer. Unless it is acknowledged in time, it is delivered again, to any worker.
package struct JetStreamMessage: Sendable {
  /// Subject, headers and payload.
  package let message: NATSMessage
  /// The sequence in the stream.
  package let sequence: UInt64
  /// The number of deliveries, 1 for the first.
  package let deliveries: Int
  /// The number of messages that the consumer had not delivered at that time.
  package let pending: UInt64
  /// The sequence among all deliveries of the consumer.
  let consumerSequence: UInt64
  private let client: NATSClient

  /// Nil if the message is not from a consumer. The reply subject contains its metadata:
  /// `$JS.ACK.[DOMAIN.ACCOUNT.]STREAM.CONSUMER.DELIVERIES.SEQUENCE.CONSUMERSEQUENCE.TIME.PENDING[.RANDOM]`.
  init?(_ message: NATSMessage, of client: NATSClient) {
    let words = (message.reply ?? "").split(separator: ".", omittingEmptySubsequences: false)
    let first = words.count > 10 ? 6 : 4
    guard words.starts(with: ["$JS", "ACK"]), words.count >= first + 5, let deliveries = Int(words[first]),
      let sequence = UInt64(words[first + 1]), let own = UInt64(words[first + 2]),
      let pending = UInt64(words[first + 4])
    else { return nil }
    (self.message, self.client, self.deliveries, self.sequence) = (message, client, deliveries, sequence)
    (consumerSequence, self.pending) = (own, pending)
  }

  /// Acknowledges the message as done.
  package func acknowledge() throws(NATSError) { try answer("+ACK") }

  /// Acknowledges the message and waits until the server has recorded it. The message will then not be
  /// delivered again.
  package func acknowledgeForCertain(timeout: Duration? = nil) async throws(NATSError) {
    _ = try await client.request(message.reply ?? "", Array("+ACK".utf8), timeout: timeout)
  }

  /// Requests redelivery, immediately or after a delay.
  package func reject(retryAfter delay: Duration? = nil) throws(NATSError) {
    try answer(delay.map { "-NAK {\"delay\": \($0.nanoseconds)}" } ?? "-NAK")
  }

  /// Requests more time: `ConsumerConfiguration.acknowledgeWithin` restarts.
  package func inProgress() throws(NATSError) { try answer("+WPI") }

  /// Terminates delivery: the message is not delivered again.
  package func terminate() throws(NATSError) { try answer("+TERM") }

  private func answer(_ text: String) throws(NATSError) { try client.respond(to: message, Array(text.utf8)) }
}
