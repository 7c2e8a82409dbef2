// A subscription, and the bounded buffer between the event loop and its reader.
internal import NIOCore
internal import Synchronization

/// The messages of a subscription, in order. It survives lost connections, but misses messages that are
/// published during them.
///
/// The sequence ends after `unsubscribe`, when the client is closed, and when the reading task is cancelled.
/// It throws `NATSError.permission` if the server refuses the subscription. Releasing the object
/// unsubscribes. If several tasks read, each message goes to one of them.
package final class NATSSubscription: AsyncSequence, Sendable {
  package typealias Element = NATSMessage
  package typealias Failure = NATSError

  /// The subscribed pattern.
  package let pattern: String
  private let id: UInt64
  private let client: NATSClient
  private let buffer: SubscriptionBuffer

  init(_ pattern: String, id: UInt64, _ buffer: SubscriptionBuffer, of client: NATSClient) {
    (self.pattern, self.id, self.buffer, self.client) = (pattern, id, buffer, client)
  }

  deinit { client.unsubscribe(id) }

  /// The number of messages dropped because the reader was too slow (`NATSBufferLimit`).
  package var dropped: Int { buffer.dropped }

  /// The number of messages waiting for the reader.
  package var waiting: Int { buffer.count }

  /// Ends the subscription. Buffered messages can still be read.
  package func unsubscribe() { client.unsubscribe(id) }

  /// Ends the subscription without losing messages: returns when everything that the server sent is in the
  /// buffer.
  package func drain() async throws(NATSError) {
    client.stopDelivery(id)
    defer { client.unsubscribe(id) }
    try await client.flush()
  }

  /// Returns the next message, or nil at the end.
  ///
  /// - Throws: `NATSError.timeout` if no message arrives within `timeout`.
  package func next(within timeout: Duration? = nil) async throws(NATSError) -> NATSMessage? {
    try await buffer.next(within: timeout.map { ($0.timeAmount, client.eventLoop) })
  }

  package func makeAsyncIterator() -> Iterator { Iterator(self) }

  /// An iterator, which keeps the subscription alive. A message counts as being processed until the next one
  /// is requested or the iterator is released. `NATSClient.drain` waits for that.
  package final class Iterator: AsyncIteratorProtocol {
    private let subscription: NATSSubscription
    private var isProcessing = false

    fileprivate init(_ subscription: NATSSubscription) { self.subscription = subscription }

    deinit { release() }

    package func next() async throws(NATSError) -> NATSMessage? { try await next(isolation: #isolation) }

    package func next(isolation actor: isolated (any Actor)?) async throws(NATSError) -> NATSMessage? {
      release()
      let message = try await subscription.buffer.next(within: nil, isProcessed: false)
      isProcessing = message != nil
      return message
    }

    private func release() {
      if isProcessing { subscription.buffer.processed() }
      isProcessing = false
    }
  }
}

/// The buffer of a subscription. Readers are resumed outside the lock: the runtime calls cancellation
/// handlers while the task is locked, and the handlers take this lock.
final class SubscriptionBuffer: Sendable {
  private typealias Answer = Result<NATSMessage?, NATSError>

  private struct Reader {
    let id: UInt64
    /// Whether a message counts as processed when it is taken.
    let isProcessed: Bool
    let continuation: CheckedContinuation<Answer, Never>
  }

  private struct Contents {
    var messages = CircularBuffer<NATSMessage>()
    var bytes = 0
    var dropped = 0
    /// Whether messages were dropped since the buffer was last empty.
    var isOverflowing = false
    /// Set at the end: the result for readers once the buffer is empty.
    var end: Answer?
    var readers: [Reader] = []
    var lastReader: UInt64 = 0
    /// The number of messages that readers took and are still processing.
    var processing = 0
    /// Whether waiting for messages that are still being processed has been abandoned.
    var isAbandoned = false
    /// Tasks that wait until everything has been read and processed.
    var emptied: [CheckedContinuation<Void, Never>] = []

    mutating func takeFirst() -> NATSMessage? {
      guard let message = messages.popFirst() else { return nil }
      bytes -= message.cost
      return message
    }
  }

  private let limit: NATSBufferLimit
  private let contents = Mutex(Contents())

  init(_ limit: NATSBufferLimit) { self.limit = limit }

  var count: Int { contents.withLock { $0.messages.count } }
  var dropped: Int { contents.withLock { $0.dropped } }

  /// Adds a message. Returns the total number of dropped messages if this is the first drop since the buffer
  /// was empty.
  func push(_ message: NATSMessage) -> Int? {
    let (reader, lost) = contents.withLock { contents -> (Reader?, Int?) in
      guard contents.end == nil else { return (nil, nil) }
      guard contents.readers.isEmpty else {
        let reader = contents.readers.removeFirst()
        if !reader.isProcessed { contents.processing += 1 }
        return (reader, nil)
      }
      let before = contents.dropped
      append(message, to: &contents)
      guard contents.dropped > before, !contents.isOverflowing else { return (nil, nil) }
      contents.isOverflowing = true
      return (nil, contents.dropped)
    }
    reader?.continuation.resume(returning: .success(message))
    return lost
  }

  private func append(_ message: NATSMessage, to contents: inout Contents) {
    func isFull() -> Bool {
      contents.messages.count >= limit.messages || contents.bytes + message.cost > limit.bytes
    }
    while limit.overflow == .oldest, isFull(), contents.takeFirst() != nil { contents.dropped += 1 }
    // An empty buffer accepts a message of any size.
    guard !isFull() || contents.messages.isEmpty else { return contents.dropped += 1 }
    contents.messages.append(message)
    contents.bytes += message.cost
  }

  /// Ends the sequence after the buffered messages. Later ends are ignored.
  func finish(_ error: NATSError? = nil) {
    let (readers, emptied, end) = contents.withLock { contents in
      contents.end = contents.end ?? error.map { .failure($0) } ?? .success(nil)
      defer { contents.readers = [] }
      return (contents.readers, Self.takeEmptied(&contents), contents.end ?? .success(nil))
    }
    for reader in readers { reader.continuation.resume(returning: end) }
    for waiter in emptied { waiter.resume() }
  }

  /// Ends the sequence and discards the buffered messages.
  func abandon() {
    contents.withLock { contents in
      contents.messages = []
      contents.bytes = 0
      contents.isAbandoned = true
    }
    finish()
  }

  /// Records that a message was processed.
  func processed() {
    let done = contents.withLock { contents in
      contents.processing -= 1
      return Self.takeEmptied(&contents)
    }
    for waiter in done { waiter.resume() }
  }

  /// Waits until the sequence has ended and the last message has been read and processed.
  func isReadToEnd() async {
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
      let done = contents.withLock { contents in
        contents.emptied.append(continuation)
        return Self.takeEmptied(&contents)
      }
      for waiter in done { waiter.resume() }
    }
  }

  private static func takeEmptied(_ contents: inout Contents) -> [CheckedContinuation<Void, Never>] {
    guard contents.end != nil, contents.messages.isEmpty, contents.processing == 0 || contents.isAbandoned
    else { return [] }
    defer { contents.emptied = [] }
    return contents.emptied
  }

  /// Returns the next message, or nil at the end and if the task is cancelled. Unless `isProcessed` is true,
  /// the caller must call `processed` after handling a message.
  func next(
    within limit: (time: TimeAmount, loop: any EventLoop)?, isProcessed: Bool = true
  ) async throws(NATSError) -> NATSMessage? {
    let id = contents.withLock { contents in
      contents.lastReader += 1
      return contents.lastReader
    }
    let deadline = limit.map { NIODeadline.now() + $0.time }
    let timer = limit.map { limit in
      limit.loop.scheduleTask(in: limit.time) { self.giveUp(id, .failure(.timeout)) }
    }
    let answer = await withTaskCancellationHandler {
      await withCheckedContinuation {
        wait(Reader(id: id, isProcessed: isProcessed, continuation: $0))
        // The timer may have fired before the continuation was registered.
        if let deadline, NIODeadline.now() >= deadline { giveUp(id, .failure(.timeout)) }
      }
    } onCancel: {
      giveUp(id, .success(nil))
    }
    timer?.cancel()
    return try answer.get()
  }

  private func wait(_ reader: Reader) {
    let (answer, emptied) = contents.withLock { contents -> (Answer?, [CheckedContinuation<Void, Never>]) in
      if let message = contents.takeFirst() {
        if contents.messages.isEmpty { contents.isOverflowing = false }
        if !reader.isProcessed { contents.processing += 1 }
        return (.success(message), Self.takeEmptied(&contents))
      }
      if let end = contents.end { return (end, []) }
      if Task.isCancelled { return (.success(nil), []) }
      contents.readers.append(reader)
      return (nil, [])
    }
    if let answer { reader.continuation.resume(returning: answer) }
    for waiter in emptied { waiter.resume() }
  }

  private func giveUp(_ id: UInt64, _ answer: Answer) {
    let reader = contents.withLock { contents in
      contents.readers.firstIndex { $0.id == id }.map { contents.readers.remove(at: $0).continuation }
    }
    reader?.resume(returning: answer)
  }
}
