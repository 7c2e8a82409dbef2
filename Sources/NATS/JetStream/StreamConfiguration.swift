// What a stream keeps, and for how long. Servers take times in nanoseconds.

/// The configuration of a stream.
package struct StreamConfiguration: Sendable, Equatable, Encodable {
  /// When a message goes.
  package enum Retention: String, Sendable, Codable {
    /// By the limits alone.
    case limits
    /// When it is acknowledged: each message is one worker's.
    case workQueue = "workqueue"
    /// When all consumers have acknowledged it.
    case interest
  }

  /// Where messages are kept.
  package enum Storage: String, Sendable, Codable {
    case file, memory
  }

  /// What goes when a limit is reached.
  package enum Discard: String, Sendable, Codable {
    case old
    /// What comes is refused.
    case new
  }

  /// One token (`NATSSubject.isToken`).
  package var name: String
  /// What it stores.
  package var subjects: [String]
  package var retention = Retention.limits
  package var storage = Storage.file
  package var discard = Discard.old
  /// On so many servers: 1, 3 or 5.
  package var replicas = 1
  /// -1: no limit.
  package var maximumMessages = -1
  /// -1: no limit.
  package var maximumMessagesPerSubject = -1
  /// -1: no limit.
  package var maximumBytes = -1
  /// Of one message, in bytes; -1: the server's limit.
  package var maximumMessageSize = -1
  /// nil: messages don't expire.
  package var maximumAge: Duration?
  /// How long the ids of messages are kept to find duplicates.
  package var duplicateWindow = Duration.seconds(120)
  /// Whether all replicas answer who asks for a message (`KeyValue.get`).
  package var allowsDirect = false
  /// Whether a message may replace all before it, of its subject or of the stream.
  package var allowsRollup = false
  /// Whether nobody may delete single messages.
  package var deniesDelete = false

  /// A stream of some subjects.
  package init(name: String, subjects: [String]) { (self.name, self.subjects) = (name, subjects) }

  private enum CodingKeys: String, CodingKey {
    case name, subjects, retention, storage, discard
    case num_replicas, max_msgs, max_msgs_per_subject, max_bytes, max_msg_size, max_age, duplicate_window
    case allow_direct, allow_rollup_hdrs, deny_delete, max_consumers
  }

  package func encode(to encoder: any Encoder) throws {
    var fields = encoder.container(keyedBy: CodingKeys.self)
    try fields.encode(name, forKey: .name)
    try fields.encode(subjects, forKey: .subjects)
    try fields.encode(retention, forKey: .retention)
    try fields.encode(storage, forKey: .storage)
    try fields.encode(discard, forKey: .discard)
    try fields.encode(replicas, forKey: .num_replicas)
    try fields.encode(maximumMessages, forKey: .max_msgs)
    try fields.encode(maximumMessagesPerSubject, forKey: .max_msgs_per_subject)
    try fields.encode(maximumBytes, forKey: .max_bytes)
    try fields.encode(maximumMessageSize, forKey: .max_msg_size)
    try fields.encode(-1, forKey: .max_consumers)
    try fields.encode(maximumAge?.nanoseconds ?? 0, forKey: .max_age)
    // No longer than messages are kept: servers refuse that.
    let window = min(duplicateWindow, maximumAge ?? duplicateWindow)
    try fields.encode(window.nanoseconds, forKey: .duplicate_window)
    try fields.encode(allowsDirect, forKey: .allow_direct)
    try fields.encode(allowsRollup, forKey: .allow_rollup_hdrs)
    try fields.encode(deniesDelete, forKey: .deny_delete)
  }
}

/// What a server says of a stream.
package struct StreamInfo: Decodable, Sendable, Equatable {
  /// Its contents.
  package struct Contents: Decodable, Sendable, Equatable {
    package let messages: UInt64
    package let bytes: UInt64
    /// The sequence of the first message; one more than the last where there is none.
    package let firstSequence: UInt64
    /// The sequence of the last message that it ever had.
    package let lastSequence: UInt64

    private enum CodingKeys: String, CodingKey {
      case messages, bytes
      case firstSequence = "first_seq"
      case lastSequence = "last_seq"
    }
  }

  /// Its servers.
  package struct Cluster: Decodable, Sendable, Equatable {
    /// The name of the server that writes; nil while there is none.
    package let leader: String?
  }

  /// When it was created, as the server has it: another time is another stream of the same name.
  package let created: String
  package let state: Contents
  /// nil of a server alone.
  package let cluster: Cluster?
}
