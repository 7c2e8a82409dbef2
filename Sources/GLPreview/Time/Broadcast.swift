// Values for any number of readers, each of which gets all of them.

/// Passes values to any number of streams. A slow reader keeps only the newest 16.
///
/// Belongs behind a lock, so that all readers get the values in one order. Code that runs when a reader's task is
/// cancelled must not take that lock: the runtime calls it with the task locked, and a value wakes, and so locks, the
/// task. A reader that has left is therefore only found when the next value is sent.
struct Broadcast<Element: Sendable>: Sendable {
  private var readers: [AsyncStream<Element>.Continuation] = []
  private var isOver = false

  /// The values from now on, after `first`.
  mutating func stream(after first: Element? = nil) -> AsyncStream<Element> {
    let (stream, reader) = AsyncStream.makeStream(of: Element.self, bufferingPolicy: .bufferingNewest(16))
    if let first { reader.yield(first) }
    if isOver { reader.finish() } else { readers.append(reader) }
    return stream
  }

  mutating func send(_ element: Element) {
    readers.removeAll { if case .terminated = $0.yield(element) { true } else { false } }
  }

  /// Ends all streams: no more values follow.
  mutating func finish() {
    isOver = true
    for reader in readers { reader.finish() }
    readers = []
  }
}
