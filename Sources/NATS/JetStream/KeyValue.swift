// A bucket of keys: a stream of which each subject is a key, and each message a revision (NATS ADR-8).
internal import FoundationEssentials

/// The configuration of a bucket.
package struct KeyValueConfiguration: Sendable, Equatable {
  /// One token (`NATSSubject.isToken`).
  package var bucket: String
  /// How many revisions of a key are kept, 1...64.
  package var history = 1
  /// How long a revision is kept; nil: for ever. Watchers hear nothing of an expiry, and servers before 2.9.11 may give out
  /// an expired value: let nothing depend on when exactly a key is gone.
  package var maximumAge: Duration?
  /// Of all values together; -1: no limit.
  package var maximumBytes = -1
  /// Of one value; -1: the server's limit.
  package var maximumValueSize = -1
  package var storage = StreamConfiguration.Storage.file
  /// On so many servers: 1, 3 or 5.
  package var replicas = 1

  /// A bucket on one server, with one revision of each key.
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
  /// What a revision did.
  package enum Operation: Sendable, Equatable {
    case put
    case delete
    /// As `delete`, and without the revisions before.
    case purge
  }

  package let key: String
  /// Empty where the key was deleted.
  package let value: [UInt8]
  /// Grows with each change in the bucket.
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
/// `create` and `update` are the base for leases and for all that only one may do: of several that try, one succeeds, and the others
/// get `JetStreamError.conflict`.
package struct KeyValue: Sendable {
  /// Who answers `get`.
  package enum Reader: Sendable {
    /// Any server that has the bucket, which may not have heard of the newest revision.
    case anyReplica
    /// The one that writes.
    case leader
  }

  package let bucket: String
  let jetStream: JetStream
  var streamName: String { "KV_\(bucket)" }

  // MARK: Reading

  /// The newest revision of a key; nil where there is none or it was deleted.
  package func get(_ key: String, from reader: Reader = .anyReplica) async throws(JetStreamError)
    -> KeyValueEntry?
  {
    let entry = try await last(key, from: reader)
    return entry?.operation == .put ? entry : nil
  }

  /// The newest revision, deletions too.
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
          else { throw .malformed("a stored message that is no base64") }
          return NATSMessage(subject, headers: headers, payload: Array(payload))
        }
      }
    }
  }

  /// All keys that have a value.
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

  /// The newest revision of each key that matches `pattern`, and then each change.
  ///
  /// The server sends a sign of life every `heartbeat`. After twice that time of silence the watch resumes on a new consumer.
  ///
  /// - Throws: `.invalid` if the pattern is not valid.
  package func watch(
    _ pattern: String = ">", heartbeat: Duration = .seconds(5)
  ) throws(JetStreamError) -> KeyValueWatch {
    do throws(NATSError) { try NATSSubject.checkPattern(pattern) } catch { throw .invalid(error) }
    return KeyValueWatch(self, pattern: pattern, content: .values, heartbeat: heartbeat)
  }

  // MARK: Writing

  /// Sets a key, whatever it is now. Its new revision.
  @discardableResult
  package func put(_ key: String, _ value: [UInt8]) async throws(JetStreamError) -> UInt64 {
    try await jetStream.publish(try subject(key), value).sequence
  }

  /// Sets a key that has no value: never had one, or was deleted. Its new revision.
  ///
  /// - Throws: `.conflict` where it has one.
  @discardableResult
  package func create(_ key: String, _ value: [UInt8]) async throws(JetStreamError) -> UInt64 {
    do throws(JetStreamError) {
      return try await update(key, value, revision: 0)
    } catch .conflict(let revision) {
      // A deletion is a revision too.
      guard let last = try await last(key, from: .leader), last.operation != .put else {
        throw .conflict(revision: revision)
      }
      return try await update(key, value, revision: last.revision)
    }
  }

  /// Sets a key whose newest revision is still this one. Its new revision.
  ///
  /// - Throws: `.conflict` where it is not.
  @discardableResult
  package func update(_ key: String, _ value: [UInt8], revision: UInt64) async throws(JetStreamError)
    -> UInt64
  {
    try await jetStream.publish(try subject(key), value, expectedLast: revision).sequence
  }

  /// Deletes a key, with `revision` only if that is still its newest one. Earlier revisions stay in its history.
  ///
  /// - Throws: `.conflict` if another revision is the newest.
  package func delete(_ key: String, revision: UInt64? = nil) async throws(JetStreamError) {
    try await jetStream.publish(
      try subject(key), [], headers: ["KV-Operation": "DEL"], expectedLast: revision)
  }

  /// Deletes a key and its history, with `revision` only if that is still its newest one.
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
  /// Creates a bucket. The same configuration again is no error.
  ///
  /// - Throws: `.nameInUse` where there is another bucket of that name.
  package func createBucket(_ configuration: KeyValueConfiguration) async throws(JetStreamError) -> KeyValue {
    try check(configuration.bucket)
    try await createStream(configuration.stream)
    return KeyValue(bucket: configuration.bucket, jetStream: self)
  }

  /// A bucket by its name; whether it is there shows when it is used.
  package func bucket(_ name: String) throws(JetStreamError) -> KeyValue {
    try check(name)
    return KeyValue(bucket: name, jetStream: self)
  }

  /// Deletes a bucket with all keys.
  package func deleteBucket(_ name: String) async throws(JetStreamError) {
    try check(name)
    try await deleteStream("KV_\(name)")
  }
}
