// The joint between two stages of a pipeline: one task makes, the next one takes.

/// Hands elements from one task to another: in order, none lost, and never more than one on the way, or as many more as
/// are said.
///
/// Who gives waits until what it gave is taken. So each stage holds one element, whatever their number, and a stage
/// that is slow slows those before it, never those behind it.
struct Handover<Element: Sendable>: Sendable {
  private let elements:
    (
      stream: AsyncThrowingStream<Element, any Error>,
      input: AsyncThrowingStream<Element, any Error>.Continuation
    )
  private let receipts: (stream: AsyncStream<Void>, input: AsyncStream<Void>.Continuation)

  private init() {
    let (elements, receipts) = (
      AsyncThrowingStream.makeStream(of: Element.self), AsyncStream.makeStream(of: Void.self)
    )
    self.elements = (elements.stream, elements.continuation)
    self.receipts = (receipts.stream, receipts.continuation)
  }

  /// Runs both ends at the same time.
  ///
  /// `giver` waits for the receipt of the element before the last `ahead` ones that it gave; of its last one by default.
  /// What `giver` throws reaches `taker` behind all that was given. When `taker` is done, or has thrown, `giver` is
  /// cancelled and waited for.
  static func run(
    ahead: Int = 0, from giver: @escaping @Sendable (Handover) async throws -> Void,
    to taker: (Handover) async throws -> Void
  ) async throws {
    let handover = Handover()
    // A receipt in advance for each.
    for _ in 0..<ahead { handover.receipts.input.yield() }
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        do {
          try await giver(handover)
          handover.elements.input.finish()
        } catch {
          handover.elements.input.finish(throwing: error)
        }
      }
      try await taker(handover)
      group.cancelAll()
    }
  }

  /// Gives `element`; returns when it is taken, or one before it where `run` says so.
  ///
  /// - Throws: `CancellationError` where nobody will take it any more.
  func give(_ element: Element) async throws {
    elements.input.yield(element)
    var receipts = receipts.stream.makeAsyncIterator()
    guard await receipts.next() != nil else { throw CancellationError() }
  }

  /// Waits for the next element; nil after the last.
  ///
  /// - Throws: what the giver threw; `CancellationError` where the task is cancelled.
  func take() async throws -> Element? {
    var elements = elements.stream.makeAsyncIterator()
    guard let element = try await elements.next() else {
      // A stream ends too where its task is cancelled.
      try Task.checkCancellation()
      return nil
    }
    receipts.input.yield()
    return element
  }
}
