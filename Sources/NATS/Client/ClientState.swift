// All that a client knows, behind its lock. Nothing here waits, resumes a task or writes to a socket.
internal import NIOCore

/// The state of a `NATSClient`.
struct ClientState {
  /// A subscription as the server knows it.
  struct Subscription {
    let pattern: String
    let queue: String?
    let sink: Sink
  }

  /// Where messages of a subscription go.
  enum Sink {
    case buffer(SubscriptionBuffer)
    /// To the requests that wait for answers.
    case requests
  }

  typealias Answer = Result<NATSMessage, NATSError>

  var link: NATSLink?
  /// Why the client is closed; nil while it isn't.
  var end: NATSError?
  var isDraining = false
  /// As the last server said; the default of servers before.
  var maximumPayload = 1 << 20
  var servers: ServerPool
  var subscriptions: [UInt64: Subscription] = [:]
  private(set) var lastID: UInt64 = 0
  /// Who waits for answers, by the last token of the subject that they come to.
  var requests: [String: CheckedContinuation<Answer, Never>] = [:]
  var hasInbox = false
  var statistics = NATSClient.Statistics()
  /// The task that connects.
  var work: Task<Void, Never>?

  /// What waits to be sent.
  private var outgoing = ByteBuffer()
  private var isFlushRequested = false

  init(_ servers: ServerPool) { self.servers = servers }

  /// Throws where nothing more is taken.
  func checkOpen() throws(NATSError) { if end != nil { throw .closed } }

  /// A number that no subscription and no request has had.
  mutating func newID() -> UInt64 {
    lastID += 1
    return lastID
  }

  /// Adds a subscription. Without a link it goes out with all the others when there is one.
  mutating func subscribe(
    _ pattern: String, _ queue: String?, _ sink: Sink
  ) throws(NATSError) -> (id: UInt64, link: NATSLink?) {
    try checkOpen()
    lastID += 1
    let command = NATSCommand.subscribe(pattern, queue: queue, id: lastID)
    var told: NATSLink?
    if link != nil {
      told = try enqueue(command)
    } else {
      var unused = ByteBuffer()
      try command.write(into: &unused)
    }
    subscriptions[lastID] = Subscription(pattern: pattern, queue: queue, sink: sink)
    return (lastID, told)
  }

  /// Puts a command behind what waits, of which there may be no more than `limit` bytes then, if there is a limit. The link
  /// that must be told of it, if any.
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

  /// Takes what waits, for a link that is still ours.
  mutating func takeOutgoing(for channel: any Channel) -> ByteBuffer? {
    guard let link, link.channel === channel else { return nil }
    isFlushRequested = false
    defer { outgoing = ByteBuffer() }
    return outgoing
  }

  /// Takes over a connection: subscriptions go before what was published meanwhile.
  mutating func adopt(_ link: NATSLink) {
    var bytes = ByteBuffer()
    for (id, subscription) in subscriptions.sorted(by: { $0.key < $1.key }) {
      let command = NATSCommand.subscribe(subscription.pattern, queue: subscription.queue, id: id)
      // It was checked when it was subscribed.
      do throws(NATSError) { try command.write(into: &bytes) } catch {}
    }
    bytes.writeBuffer(&outgoing)
    (outgoing, isFlushRequested) = (bytes, true)
    self.link = link
    maximumPayload = link.info.maximumPayload
  }

  /// Forgets a connection, and what was not sent by it. Who waited for answers.
  mutating func lose() -> [CheckedContinuation<Answer, Never>] {
    link = nil
    (outgoing, isFlushRequested) = (ByteBuffer(), false)
    defer { requests = [:] }
    return Array(requests.values)
  }
}
