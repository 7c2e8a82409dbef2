// What a bucket holds, and each change of it, without gaps: an ordered consumer (NATS ADR-17), which begins anew where it missed
// something.

/// The newest revision of each key, and then each change.
///
/// It goes on over losses of the connection and of the server: what was missed comes then. Each iterator watches for itself,
/// while it is asked for the next change. It ends when the client is closed or the task is cancelled, and throws
/// `JetStreamError.streamNotFound` where the bucket is gone.
package struct KeyValueWatch: AsyncSequence, Sendable {
  package typealias Failure = JetStreamError

  /// What a watcher hears.
  package enum Element: Sendable, Equatable {
    /// A revision, in the order of revisions.
    case entry(KeyValueEntry)
    /// The watcher has heard of all that was there when it began; what follows are changes.
    case current
    /// The bucket was made anew: what was heard before is void, and all keys follow.
    case reset
  }

  enum Content: Sendable {
    case values
    /// Without values.
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

  /// Watches while it is asked.
  package struct Iterator: AsyncIteratorProtocol {
    private let watch: KeyValueWatch
    private var consumer: Consumer?
    /// The last revision that was heard of.
    private var revision: UInt64 = 0
    private var isCurrent = false
    /// Which stream of that name it is.
    private var created: String?
    private var failures = 0

    /// What the server made for this iterator.
    private struct Consumer {
      let messages: NATSSubscription
      /// How many messages came.
      var sequence: UInt64 = 0
      /// How many messages of the beginning are left.
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

    /// Begins, or reads a message. What the watcher hears of that, if anything.
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

    /// The entry of a message; nil where it has none. After a gap there is no consumer.
    private mutating func read(_ message: NATSMessage) throws(NATSError) -> KeyValueEntry? {
      let client = watch.bucket.jetStream.client
      if message.headers.status != nil {
        // Flow control is answered at once, so that the server goes on.
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

    /// Has the server make a consumer behind what was heard. Whether all begins from the beginning.
    private mutating func begin() async throws(JetStreamError) -> Bool {
      let jetStream = watch.bucket.jetStream
      do throws(JetStreamError) {
        let stream = try await jetStream.stream(watch.bucket.streamName)
        let isNew = created != nil && created != stream.created || revision > stream.state.lastSequence
        if isNew { (revision, isCurrent) = (0, false) }
        created = stream.created
        consumer = try await makeConsumer(jetStream)
        return isNew
      } catch .unavailable(let error)
        where error != .closed && error != .cancelled && watch.content == .values
      {
        // No leader, no server, no answer.
      }
      // What all watchers wait for comes to all at once.
      let pause = ReconnectBackoff().pause(before: failures + 1, jitter: .random(in: 0...1))
      failures += 1
      try? await jetStream.client.sleep(pause)
      return false
    }

    private func makeConsumer(_ jetStream: JetStream) async throws(JetStreamError) -> Consumer {
      let inbox = "_INBOX.\(NATSClient.randomToken())"
      let messages: NATSSubscription
      do throws(NATSError) {
        // What doesn't fit is noticed as a gap.
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

  /// A consumer that goes when nobody listens any more.
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
