// Key-value buckets. A bucket is a stream: each subject is a key, each message a revision (NATS ADR-8).
internal import FoundationEssentials

/// The configuration of a bucket.
package struct KeyValueConfiguration: Sendable, Equatable {
  /// The name: one token (`NATSSubject.isToken`).
  package var bucket: String
  /// The number of revisions stored of each key, 1...64.
  package var history = 1
  /// How long revisions are stored; nil for no limit. Do not use this for leases: before nats-server 2.11,
  /// watchers are not notified of expiry, and replicas have returned expired values (nats-server#3653).
  package var maximumAge: Duration?
  /// The maximum size of the bucket; -1 for no limit.
  package var maximumBytes = -1
  /// The maximum size of a value; -1 for the server's limit.
  package var maximumValueSize = -1
  package var storage = StreamConfiguration.Storage.file
  /// The number of servers that store it: 1, 3 or 5.
  package var replicas = 1

  /// Creates the configuration of a bucket in a file on one server, with one revision of each key.
  package init(bucket: String) { self.bucket = bucket }

  var stream: StreamConfiguration {
    var stream = StreamConfiguration(name: "KV_\(bucket)", subjects: ["$KV.\(bucket).>"])
    stream.maximumMessagesPerSubject = min(max(history, 1), 64)
    stream.maximumAge = maximumAge
    stream.maximumBytes = maximumBytes
    stream.maximumMessageSize = maximumValueSize
    stream.storage = storage
    stream.replicas = replicas
    stream.discard = .new
    (stream.allowsDirect, stream.allowsRollup, stream.deniesDelete) = (true, true, true)
    return stream
  }
}

/// A revision of a key.
package struct KeyValueEntry: Sendable, Equatable {
  /// The kind of a revision.
  package enum Operation: Sendable, Equatable {
    case put
    case delete
    /// Like `delete`, but earlier revisions are removed too.
    case purge
  }

  package let key: String
  /// The value; empty for deletions.
  package let value: [UInt8]
  /// The revision. It increases with every change in the bucket.
  package let revision: UInt64
  package let operation: Operation

  init?(_ message: NATSMessage, subject: String, revision: UInt64, in bucket: String) {
    let prefix = "$KV.\(bucket)."
    guard subject.hasPrefix(prefix) else { return nil }
    key = String(subject.dropFirst(prefix.count))
    self.revision = revision
    operation =
      switch message.headers["KV-Operation"] {
      case "DEL": .delete
      case "PURGE": .purge
      default: .put
      }
    value = operation == .put ? message.payload : []
  }
}

/// A bucket.
///
/// `create` and `update` are compare-and-set operations: one of several concurrent callers succeeds, and the
/// others get `JetStreamError.conflict`.
package struct KeyValue: Sendable {
  /// The server that answers `get`.
  package enum Reader: Sendable {
    /// Any replica, which may lag behind. If the bucket does not exist, there is no reply (`.timeout`).
    case anyReplica
    /// The leader, which has the newest revision.
    case leader
  }

  package let bucket: String
  let jetStream: JetStream
  var streamName: String { "KV_\(bucket)" }

  // MARK: Reading

  /// Returns when the bucket was created, in the server's format.
  package func created() async throws(JetStreamError) -> String {
    try await jetStream.stream(streamName).created
  }

  /// Returns the newest revision of a key, or nil if it has none or was deleted.
  package func get(_ key: String, from reader: Reader = .anyReplica) async throws(JetStreamError)
    -> KeyValueEntry?
  {
    let entry = try await last(key, from: reader)
    return entry?.operation == .put ? entry : nil
  }

  /// Returns the newest revision, including deletions.
  private func last(_ key: String, from reader: Reader) async throws(JetStreamError) -> KeyValueEntry? {
    let subject = try subject(key)
    switch reader {
    case .anyReplica:
      let message = try await jetStream.request(
        jetStream.subject("DIRECT.GET.\(streamName).\(subject)"), [])
      switch message.headers.status {
      case nil: break
      case 404?: return nil
      case let status?: throw .refused(status: status, code: 0, message.headers.statusText)
      }
      guard let sequence = message.headers["Nats-Sequence"].flatMap({ UInt64($0) }) else {
        throw .malformed("a direct answer without its sequence")
      }
      return KeyValueEntry(message, subject: subject, revision: sequence, in: bucket)
    case .leader:
      do throws(JetStreamError) {
        let answer: Stored = try await jetStream.call(
          "STREAM.MSG.GET.\(streamName)", ["last_by_subj": subject])
        return KeyValueEntry(
          try answer.message.decoded, subject: subject, revision: answer.message.seq, in: bucket)
      } catch .refused(404, _, _) {
        return nil
      }
    }
  }

  private struct Stored: Decodable {
    let message: Message

    struct Message: Decodable {
      let subject: String
      let seq: UInt64
      let data: String?
      let hdrs: String?

      var decoded: NATSMessage {
        get throws(JetStreamError) {
          guard let payload = Data(base64Encoded: data ?? ""), let bytes = Data(base64Encoded: hdrs ?? ""),
            let headers = bytes.isEmpty ? NATSHeaders() : NATSHeaders(Array(bytes))
          else { throw .malformed("a stored message that is not base64") }
          return NATSMessage(subject, headers: headers, payload: Array(payload))
        }
      }
    }
  }

  /// Returns all keys that have a value.
  package func keys() async throws(JetStreamError) -> [String] {
    var keys: Set<String> = []
    var watch = KeyValueWatch(self, pattern: ">", content: .keys, heartbeat: .seconds(5)).makeAsyncIterator()
    while let change = try await watch.next() {
      switch change {
      case .entry(let entry):
        if entry.operation == .put { keys.insert(entry.key) } else { keys.remove(entry.key) }
      case .reset: keys = []
      case .current: return keys.sorted()
      }
    }
    throw .unavailable(Task.isCancelled ? .cancelled : .closed)
  }

  /// Reports the newest revision of each key that matches `pattern`, and then each change.
  ///
  /// The server sends a heartbeat every `heartbeat`. After twice that time of silence, the watch resumes on a
  /// new consumer.
  ///
  /// - Throws: `.invalid` if the pattern is not valid.
  package func watch(
    _ pattern: String = ">", heartbeat: Duration = .seconds(5)
  ) throws(JetStreamError) -> KeyValueWatch {
    do throws(NATSError) { try NATSSubject.checkPattern(pattern) } catch { throw .invalid(error) }
    return KeyValueWatch(self, pattern: pattern, content: .values, heartbeat: heartbeat)
  }

  // MARK: Writing

  /// Sets a key. Returns its new revision.
  @discardableResult
  package func put(_ key: String, _ value: [UInt8]) async throws(JetStreamError) -> UInt64 {
    try await jetStream.publish(try subject(key), value).sequence
  }

  /// Sets a key that has no value, because it is new or was deleted. Returns its new revision.
  ///
  /// - Throws: `.conflict` if it has a value.
  @discardableResult
  package func create(_ key: String, _ value: [UInt8]) async throws(JetStreamError) -> UInt64 {
    do throws(JetStreamError) {
      return try await update(key, value, revision: 0)
    } catch .conflict(let revision) {
      // A deleted key has a revision.
      guard let last = try await last(key, from: .leader), last.operation != .put else {
        throw .conflict(revision: revision)
      }
      return try await update(key, value, revision: last.revision)
    }
  }

  /// Sets a key if `revision` is still its newest one. Returns the new revision.
  ///
  /// - Throws: `.conflict` if another revision is the newest.
  @discardableResult
  package func update(_ key: String, _ value: [UInt8], revision: UInt64) async throws(JetStreamError)
    -> UInt64
  {
    try await jetStream.publish(try subject(key), value, expectedLast: revision).sequence
  }

  /// Deletes a key; if `revision` is given, only if that is still its newest one. Earlier revisions stay in
  /// its history.
  ///
  /// - Throws: `.conflict` if another revision is the newest.
  package func delete(_ key: String, revision: UInt64? = nil) async throws(JetStreamError) {
    try await jetStream.publish(
      try subject(key), [], headers: ["KV-Operation": "DEL"], expectedLast: revision)
  }

  /// Deletes a key and its history; if `revision` is given, only if that is still its newest one.
  ///
  /// - Throws: `.conflict` if another revision is the newest.
  package func purge(_ key: String, revision: UInt64? = nil) async throws(JetStreamError) {
    try await jetStream.publish(
      try subject(key), [], headers: ["KV-Operation": "PURGE", "Nats-Rollup": "sub"], expectedLast: revision)
  }

  private func subject(_ key: String) throws(JetStreamError) -> String {
    do throws(NATSError) { try NATSSubject.checkKey(key) } catch { throw .invalid(error) }
    return "$KV.\(bucket).\(key)"
  }
}

extension JetStream {
  /// Creates a bucket. It succeeds if the bucket exists with the same configuration.
  ///
  /// - Throws: `.nameInUse` if the bucket exists with another configuration.
  package func createBucket(_ configuration: KeyValueConfiguration) async throws(JetStreamError) -> KeyValue {
    try check(configuration.bucket)
    try await createStream(configuration.stream)
    return KeyValue(bucket: configuration.bucket, jetStream: self)
  }

  /// Returns a bucket by its name, without checking that it exists.
  package func bucket(_ name: String) throws(JetStreamError) -> KeyValue {
    try check(name)
    return KeyValue(bucket: name, jetStream: self)
  }

  /// Deletes a bucket and its keys.
  package func deleteBucket(_ name: String) async throws(JetStreamError) {
    try check(name)
    try await deleteStream("KV_\(name)")
  }
}
