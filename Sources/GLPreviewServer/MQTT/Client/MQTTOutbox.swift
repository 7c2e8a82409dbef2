// Messages to be sent to an MQTT server. A value without I/O or a clock.

/// The newest message of each retained topic, and a bounded queue of events.
///
/// A slow server costs no memory: a newer message of a retained topic replaces the older, and the oldest
/// events are dropped. After each connection all retained messages are sent again, in case the server has
/// lost them.
struct MQTTOutbox: Sendable {
  private struct Entry: Sendable {
    var payload: [UInt8]
    /// The payload's share of the memory budget.
    var lease: MemoryLease?
    var isWaiting = true
    /// An empty payload removes the topic from the server. After that the topic is removed here too.
    var isCleared: Bool { payload.isEmpty }
  }

  private var retained: [String: Entry] = [:]
  /// All retained topics, in the order in which they came.
  private var order: [String] = []
  /// Retained topics that wait to be sent.
  private var waiting: [String] = []
  private var events: [MQTTMessage] = []
  private var eventBytes = 0
  /// Messages that the server has not confirmed, by id. The value is the topic of a retained message, nil for
  /// an event.
  private var inFlight: [UInt16: String?] = [:]
  private var lastID: UInt16 = 0
  private var isConnected = false

  /// The most messages that wait for their confirmation.
  static let window = 16
  private static let mostEvents = 256
  private static let mostEventBytes = 2 << 20

  /// Whether the server has confirmed everything.
  var isEmpty: Bool { waiting.isEmpty && events.isEmpty && inFlight.isEmpty }

  /// The topics that the server should retain.
  var topics: [String] { order.filter { retained[$0]?.isCleared == false } }

  // MARK: From this service

  /// Sets the message of a retained topic.
  mutating func put(_ topic: String, _ payload: [UInt8], holding lease: MemoryLease? = nil) {
    if let entry = retained[topic] {
      guard entry.payload != payload else { return }
      retained[topic]?.payload = payload
      retained[topic]?.lease = lease
      guard !entry.isWaiting else { return }
      retained[topic]?.isWaiting = true
    } else {
      retained[topic] = Entry(payload: payload, lease: lease)
      order.append(topic)
    }
    waiting.append(topic)
  }

  /// Removes from the server a topic that this service has put.
  mutating func clear(_ topic: String) { if retained[topic] != nil { clearRetained(topic) } }

  /// Removes a topic from the server, even if another client has put it.
  mutating func clearRetained(_ topic: String) { put(topic, []) }

  /// Drops a topic that another node has now; the server keeps it.
  mutating func release(_ topic: String) {
    guard retained.removeValue(forKey: topic) != nil else { return }
    order.removeAll { $0 == topic }
    waiting.removeAll { $0 == topic }
  }

  /// Queues an event. Returns how many were dropped: this one without a connection, else the oldest.
  mutating func add(_ event: MQTTMessage) -> Int {
    guard isConnected else { return 1 }
    events.append(event)
    eventBytes += event.payload.count
    var dropped = 0
    while events.count > Self.mostEvents || eventBytes > Self.mostEventBytes {
      eventBytes -= events.removeFirst().payload.count
      dropped += 1
    }
    return dropped
  }

  // MARK: To the server

  /// Reports a new connection: everything retained is to be sent.
  mutating func connected() {
    disconnected()
    isConnected = true
    waiting = order
    for topic in order { retained[topic]?.isWaiting = true }
  }

  /// Reports a lost connection. Retained messages that were not confirmed are sent again at the next one.
  /// Returns how many events were lost.
  @discardableResult
  mutating func disconnected() -> Int {
    let lost = events.count + inFlight.values.count { $0 == nil }
    (inFlight, events, eventBytes, isConnected) = ([:], [], 0, false)
    return lost
  }

  /// The next message to send; nil if there is none, or too many are not yet confirmed.
  mutating func next() -> (id: UInt16, MQTTMessage)? {
    guard isConnected, inFlight.count < Self.window else { return nil }
    let message: MQTTMessage
    var topic: String?
    if !waiting.isEmpty {
      let first = waiting.removeFirst()
      guard let entry = retained[first] else { return next() }
      retained[first]?.isWaiting = false
      message = MQTTMessage(topic: first, payload: entry.payload, isRetained: true)
      topic = first
    } else if !events.isEmpty {
      message = events.removeFirst()
      eventBytes -= message.payload.count
    } else {
      return nil
    }
    repeat { lastID = lastID == .max ? 1 : lastID + 1 } while inFlight[lastID] != nil
    inFlight[lastID] = .some(topic)
    return (lastID, message)
  }

  /// Reports that the server has confirmed a message. Returns false if no message has this id.
  mutating func confirmed(_ id: UInt16) -> Bool {
    guard let topic = inFlight.removeValue(forKey: id) else { return false }
    if let topic, let entry = retained[topic], entry.isCleared, !entry.isWaiting,
      !inFlight.values.contains(topic)
    {
      release(topic)
    }
    return true
  }
}
