// The state of a client, protected by its lock. Nothing here waits, resumes a task or writes to a socket.
internal import NIOCore

/// The state of a `NATSClient`.
struct ClientState {
  /// A subscription that is sent again on every connection.
  struct Subscription {
    let pattern: String
    let queue: String?
    let sink: Sink
  }

  /// The receiver of a subscription's messages.
  enum Sink {
    case buffer(SubscriptionBuffer)
    /// The requests that wait for replies.
    case requests
  }

  typealias Answer = Result<NATSMessage, NATSError>

  var link: NATSLink?
  /// The reason why the client was closed; nil while it is open.
  var end: NATSError?
  var isDraining = false
  /// The limit of the last server. Before the first connection, the servers' default.
  var maximumPayload = 1 << 20
  var servers: ServerPool
  var subscriptions: [UInt64: Subscription] = [:]
  private(set) var lastID: UInt64 = 0
  /// Requests waiting for their replies, by the last token of their reply subject.
  var requests: [String: CheckedContinuation<Answer, Never>] = [:]
  var hasInbox = false
  var statistics = NATSClient.Statistics()
  /// The task that keeps the client connected.
  var work: Task<Void, Never>?

  /// The bytes waiting to be sent.
  private var outgoing = ByteBuffer()
  private var isFlushRequested = false

  init(_ servers: ServerPool) { self.servers = servers }

  /// Throws if the client is closed.
  func checkOpen() throws(NATSError) { if end != nil { throw .closed } }

  /// Returns a number for a subscription or a request that was never used before.
  mutating func newID() -> UInt64 {
    lastID += 1
    return lastID
  }

  /// Adds a subscription. Without a link, it is sent with all the others on the next one.
  mutating func subscribe(
    _ pattern: String, _ queue: String?, _ sink: Sink
  ) throws(NATSError) -> (id: UInt64, link: NATSLink?) {
    try checkOpen()
    lastID += 1
    let command = NATSCommand.subscribe(pattern, queue: queue, id: lastID)
    var usedLink: NATSLink?
    if link != nil {
      usedLink = try enqueue(command)
    } else {
      var unused = ByteBuffer()
      try command.write(into: &unused)
    }
    subscriptions[lastID] = Subscription(pattern: pattern, queue: queue, sink: sink)
    return (lastID, usedLink)
  }

  /// Appends a command to the waiting bytes, which may not exceed `limit` if there is one. Returns the link
  /// if the caller must flush it.
  mutating func enqueue(_ command: NATSCommand, limit: Int? = nil) throws(NATSError) -> NATSLink? {
    let before = outgoing.writerIndex
    try command.write(into: &outgoing)
    if let limit, outgoing.readableBytes > limit {
      outgoing.moveWriterIndex(to: before)
      throw .bufferFull(limit: limit)
    }
    guard let link, !isFlushRequested else { return nil }
    isFlushRequested = true
    return link
  }

  /// Removes and returns the waiting bytes if the channel is still the current one.
  mutating func takeOutgoing(for channel: any Channel) -> ByteBuffer? {
    guard let link, link.channel === channel else { return nil }
    isFlushRequested = false
    defer { outgoing = ByteBuffer() }
    return outgoing
  }

  /// Adopts a new connection. Subscriptions are sent before the messages published in the meantime.
  mutating func adopt(_ link: NATSLink) {
    var bytes = ByteBuffer()
    for (id, subscription) in subscriptions.sorted(by: { $0.key < $1.key }) {
      let command = NATSCommand.subscribe(subscription.pattern, queue: subscription.queue, id: id)
      // Every pattern was validated when it was subscribed.
      do throws(NATSError) { try command.write(into: &bytes) } catch {}
    }
    bytes.writeBuffer(&outgoing)
    (outgoing, isFlushRequested) = (bytes, true)
    self.link = link
    maximumPayload = link.info.maximumPayload
  }

  /// Removes the subscriptions that the server refuses. Returns their buffers, and the requests that depended
  /// on them.
  mutating func refuse(
    _ isRefused: (String) -> Bool
  ) -> (buffers: [SubscriptionBuffer], requests: [CheckedContinuation<Answer, Never>]) {
    var buffers: [SubscriptionBuffer] = []
    var lost: [CheckedContinuation<Answer, Never>] = []
    for (id, subscription) in subscriptions where isRefused(subscription.pattern) {
      subscriptions[id] = nil
      switch subscription.sink {
      case .buffer(let buffer): buffers.append(buffer)
      case .requests:
        lost = Array(requests.values)
        (requests, hasInbox) = ([:], false)
      }
    }
    return (buffers, lost)
  }

  /// Drops the connection and the bytes that were not sent on it. Returns the requests that get no reply.
  mutating func lose() -> [CheckedContinuation<Answer, Never>] {
    link = nil
    (outgoing, isFlushRequested) = (ByteBuffer(), false)
    defer { requests = [:] }
    return Array(requests.values)
  }
}
