// Watches a bucket without gaps, with an ordered consumer (NATS ADR-17) that is replaced whenever it has
// missed a message.

/// The newest revision of each key, and then each change.
///
/// A watch survives lost connections and servers: missed changes follow. The sequence ends when the client is
/// closed or the task is cancelled, and throws `JetStreamError.streamNotFound` if the bucket does not exist.
/// Each iterator has its own consumer and works only while its next change is requested. Of several changes
/// of one key during an interruption, only those in the bucket's history are reported.
package struct KeyValueWatch: AsyncSequence, Sendable {
  package typealias Failure = JetStreamError

  /// An element that a watch reports.
  package enum Element: Sendable, Equatable {
    /// A revision, in ascending order.
    case entry(KeyValueEntry)
    /// The initial revisions are complete; changes follow.
    case current
    /// The bucket was replaced by a new one. Discard everything reported before; all keys follow.
    case reset
  }

  enum Content: Sendable {
    case values
    /// Keys without values.
    case keys
  }

  let bucket: KeyValue
  let pattern: String
  let content: Content
  let heartbeat: Duration

  init(_ bucket: KeyValue, pattern: String, content: Content, heartbeat: Duration) {
    (self.bucket, self.pattern, self.content, self.heartbeat) = (bucket, pattern, content, heartbeat)
  }

  package func makeAsyncIterator() -> Iterator { Iterator(self) }

  /// The iterator of a watch.
  package struct Iterator: AsyncIteratorProtocol {
    private let watch: KeyValueWatch
    private var consumer: Consumer?
    /// The last revision that was reported.
    private var revision: UInt64 = 0
    private var isCurrent = false
    /// The creation time of the stream, which identifies it.
    private var created: String?
    private var failures = 0

    /// The consumer of this iterator at the server.
    private struct Consumer {
      let messages: NATSSubscription
      /// The number of messages received.
      var sequence: UInt64 = 0
      /// The number of initial messages still to come.
      var pending: UInt64
    }

    init(_ watch: KeyValueWatch) { self.watch = watch }

    package mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(JetStreamError) -> Element? { try await next() }

    package mutating func next() async throws(JetStreamError) -> Element? {
      do throws(JetStreamError) {
        while !Task.isCancelled {
          if let element = try await step() { return element }
        }
      } catch .unavailable(.closed) {} catch .unavailable(.cancelled) {}
      return nil
    }

    /// Creates the consumer or reads one message. Returns the element to report, if any.
    private mutating func step() async throws(JetStreamError) -> Element? {
      guard let current = consumer else { return try await begin() ? .reset : nil }
      guard isCurrent || current.pending > 0 else {
        isCurrent = true
        return .current
      }
      do throws(NATSError) {
        guard let message = try await current.messages.next(within: watch.heartbeat * 2) else {
          throw NATSError.closed
        }
        return try read(message).map { .entry($0) }
      } catch .timeout {
        consumer = nil
        return nil
      } catch {
        throw JetStreamError(error)
      }
    }

    /// Returns the entry of a message, or nil if there is none to report. Drops the consumer after a gap.
    private mutating func read(_ message: NATSMessage) throws(NATSError) -> KeyValueEntry? {
      let client = watch.bucket.jetStream.client
      if message.headers.status != nil {
        // Replies to flow control messages, so that the server continues.
        if message.reply != nil { try client.respond(to: message) }
        if let stalled = message.headers["Nats-Consumer-Stalled"] { try client.publish(stalled) }
        let last = message.headers["Nats-Last-Consumer"].flatMap { UInt64($0) }
        if let last, last != consumer?.sequence { consumer = nil }
        return nil
      }
      guard let stored = JetStreamMessage(message, of: client),
        stored.consumerSequence == (consumer?.sequence ?? 0) + 1
      else {
        consumer = nil
        return nil
      }
      consumer?.sequence = stored.consumerSequence
      consumer?.pending = stored.pending
      failures = 0
      guard stored.sequence > revision else { return nil }
      revision = stored.sequence
      return KeyValueEntry(
        message, subject: message.subject, revision: stored.sequence, in: watch.bucket.bucket)
    }

    /// Creates a consumer that continues after the last revision. Returns whether the bucket was replaced.
    private mutating func begin() async throws(JetStreamError) -> Bool {
      let jetStream = watch.bucket.jetStream
      do throws(JetStreamError) {
        let stream = try await jetStream.stream(watch.bucket.streamName)
        let isNew = created != nil && created != stream.created || revision > stream.state.lastSequence
        if isNew { (revision, isCurrent) = (0, false) }
        created = stream.created
        let new = try await makeConsumer(jetStream)
        // A server whose copy of the stream is broken makes consumers that never have a message. The next consumer
        // may be at another server.
        let isBlind = revision == 0 && new.pending == 0 && stream.state.messages > 0 && watch.pattern == ">"
        if !isBlind || isNew {
          consumer = isBlind ? nil : new
          return isNew
        }
      } catch .unavailable(let error)
        where error != .closed && error != .cancelled && watch.content == .values
      {
        // No leader, no server or no reply: retry.
      }
      // Uses jitter, because all watchers of a bucket retry at the same time.
      let pause = ReconnectBackoff().pause(before: failures + 1, jitter: .random(in: 0...1))
      failures += 1
      try? await jetStream.client.sleep(pause)
      return false
    }

    private func makeConsumer(_ jetStream: JetStream) async throws(JetStreamError) -> Consumer {
      let inbox = jetStream.client.inboxes + NATSClient.randomToken()
      let messages: NATSSubscription
      do throws(NATSError) {
        // Messages that do not fit are detected as a gap.
        messages = try jetStream.client.subscribe(inbox, buffer: NATSBufferLimit(overflow: .newest))
      } catch {
        throw JetStreamError(error)
      }
      let configuration = Configuration(
        deliver_subject: inbox, filter_subject: "$KV.\(watch.bucket.bucket).\(watch.pattern)",
        deliver_policy: revision > 0 ? "by_start_sequence" : "last_per_subject",
        opt_start_seq: revision > 0 ? revision + 1 : nil, headers_only: watch.content == .keys,
        idle_heartbeat: watch.heartbeat.nanoseconds)
      let info: ConsumerInfo = try await jetStream.call(
        "CONSUMER.CREATE.\(watch.bucket.streamName)",
        JetStream.CreateConsumer(stream_name: watch.bucket.streamName, config: configuration))
      return Consumer(messages: messages, pending: info.num_pending ?? 0)
    }
  }

  /// An ephemeral consumer, which the server removes when it has no subscriber.
  private struct Configuration: Encodable {
    let deliver_subject: String
    let filter_subject: String
    let deliver_policy: String
    let opt_start_seq: UInt64?
    let headers_only: Bool
    let idle_heartbeat: Int64
    var ack_policy = "none"
    var flow_control = true
    var max_deliver = 1
    var mem_storage = true
    var num_replicas = 1
  }
}
