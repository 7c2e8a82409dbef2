// Sends values to any number of readers.

/// Sends each value to any number of streams. A slow reader receives only the newest 16.
///
/// Protect it by a lock, so that all readers receive the values in one order. Code that runs when a reader's
/// task is cancelled must not take that lock: the runtime calls it with the task locked, and sending a value
/// wakes, and so locks, the task. A reader that has left is removed when the next value is sent, or sooner if
/// the owner calls `remove` from a task.
package struct Broadcast<Element: Sendable>: Sendable {
  private var readers: [Int: AsyncStream<Element>.Continuation] = [:]
  private var lastID = 0
  private var isOver = false

  /// The number of readers.
  package var readerCount: Int { readers.count }

  package init() {}

  /// Returns a stream of `first` and all later values. `whenLeft` is called with the reader's number when it
  /// leaves.
  package mutating func stream(
    after first: Element? = nil, whenLeft: (@Sendable (Int) -> Void)? = nil
  ) -> AsyncStream<Element> {
    let (stream, reader) = AsyncStream.makeStream(of: Element.self, bufferingPolicy: .bufferingNewest(16))
    if let first { reader.yield(first) }
    guard !isOver else {
      reader.finish()
      return stream
    }
    lastID += 1
    if let whenLeft { reader.onTermination = { [lastID] _ in whenLeft(lastID) } }
    readers[lastID] = reader
    return stream
  }

  package mutating func send(_ element: Element) {
    for (id, reader) in readers { if case .terminated = reader.yield(element) { readers[id] = nil } }
  }

  package mutating func remove(_ reader: Int) { readers[reader] = nil }

  /// Ends all streams: no more values follow.
  package mutating func finish() {
    isOver = true
    for reader in readers.values { reader.finish() }
    readers = [:]
  }
}
