// Configuration and information of streams. The API's durations are in nanoseconds.

/// The configuration of a stream.
package struct StreamConfiguration: Sendable, Equatable, Encodable {
  /// The rule by which messages are removed.
  package enum Retention: String, Sendable, Codable {
    /// When a limit is reached.
    case limits
    /// When they are acknowledged. Each message has one consumer.
    case workQueue = "workqueue"
    /// When all consumers have acknowledged them.
    case interest
  }

  /// The storage of messages.
  package enum Storage: String, Sendable, Codable {
    case file, memory
  }

  /// The messages that are discarded when a limit is reached.
  package enum Discard: String, Sendable, Codable {
    case old
    /// New messages are refused.
    case new
  }

  /// The name: one token (`NATSSubject.isToken`).
  package var name: String
  /// The subjects it stores.
  package var subjects: [String]
  package var retention = Retention.limits
  package var storage = Storage.file
  package var discard = Discard.old
  /// The number of servers that store it: 1, 3 or 5.
  package var replicas = 1
  /// The maximum number of messages; -1 for no limit.
  package var maximumMessages = -1
  /// The maximum number of messages per subject; -1 for no limit.
  package var maximumMessagesPerSubject = -1
  /// The maximum number of bytes; -1 for no limit.
  package var maximumBytes = -1
  /// The maximum size of a message, in bytes; -1 for the server's limit.
  package var maximumMessageSize = -1
  /// The maximum age of messages; nil if they never expire.
  package var maximumAge: Duration?
  /// How long message ids are remembered to detect duplicates.
  package var duplicateWindow = Duration.seconds(120)
  /// Whether all replicas answer reads (`KeyValue.get`).
  package var allowsDirect = false
  /// Whether a message may replace all earlier ones of its subject or of the stream.
  package var allowsRollup = false
  /// Whether deleting single messages is forbidden.
  package var deniesDelete = false

  /// Creates a configuration with the defaults.
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
    // Servers refuse a window that is longer than the maximum age.
    let window = min(duplicateWindow, maximumAge ?? duplicateWindow)
    try fields.encode(window.nanoseconds, forKey: .duplicate_window)
    try fields.encode(allowsDirect, forKey: .allow_direct)
    try fields.encode(allowsRollup, forKey: .allow_rollup_hdrs)
    try fields.encode(deniesDelete, forKey: .deny_delete)
  }
}

/// Information about a stream.
package struct StreamInfo: Decodable, Sendable, Equatable {
  /// The contents of a stream.
  package struct Contents: Decodable, Sendable, Equatable {
    package let messages: UInt64
    package let bytes: UInt64
    /// The sequence of the first message; one more than the last if there are none.
    package let firstSequence: UInt64
    /// The sequence of the last message ever stored.
    package let lastSequence: UInt64

    private enum CodingKeys: String, CodingKey {
      case messages, bytes
      case firstSequence = "first_seq"
      case lastSequence = "last_seq"
    }
  }

  /// The servers of a stream.
  package struct Cluster: Decodable, Sendable, Equatable {
    /// The name of the leader; nil while there is none.
    package let leader: String?
  }

  /// The time of creation, in the server's format. It distinguishes a stream from an earlier one with the
  /// same name.
  package let created: String
  package let state: Contents
  /// Nil if the server is not in a cluster.
  package let cluster: Cluster?
}
