// Connects pipeline stages: processes several elements concurrently, and delivers the results in order.

/// Processes elements concurrently, and delivers the results in order, each as soon as possible.
///
/// `width` tasks form a ring. Each takes an element on its turn, processes it, and delivers the result on its
/// turn. So one task takes and one delivers while the others work. At most `width` elements are in progress:
/// a slow stage slows the stages before it.
///
/// - Parameters:
///   - width: the maximum number of elements in progress; 1 processes them one after another.
///   - take: returns the next element, nil after the last. Runs one call at a time.
///   - work: processes an element. Runs up to `width` calls at a time.
///   - give: receives the results. Runs one call at a time.
/// - Throws: the first error in the elements' order, after all earlier results are delivered. Later elements
///   are cancelled and awaited. `CancellationError` if the task is cancelled.
package func orderedMap<Input: Sendable, Output: Sendable>(
  width: Int, from take: @escaping @Sendable () async throws -> Input?,
  _ work: @escaping @Sendable (Input) async throws -> Output,
  to give: @escaping @Sendable (Output) async throws -> Void
) async throws {
  let (taking, giving) = (Turns(of: width), Turns(of: width))
  try await withThrowingDiscardingTaskGroup { group in
    for place in 0..<width {
      group.addTask {
        while try await taking.wait(at: place) {
          let result: Result<Output, any Error>
          do {
            guard let element = try await take() else {
              taking.end()
              // A cancelled `take` may return nil too early.
              return try Task.checkCancellation()
            }
            taking.pass(from: place)
            result = .success(try await work(element))
          } catch {
            // After an error, take no more elements.
            taking.end()
            result = .failure(error)
          }
          _ = try await giving.wait(at: place)
          try await give(result.get())
          giving.pass(from: place)
        }
      }
    }
  }
}

/// Passes turns around a ring of tasks.
private struct Turns: Sendable {
  private let places: [(stream: AsyncStream<Void>, continuation: AsyncStream<Void>.Continuation)]

  /// Gives the first turn to the first of `count` tasks.
  init(of count: Int) {
    places = (0..<count).map { _ in AsyncStream.makeStream(of: Void.self) }
    places.first?.continuation.yield()
  }

  /// Waits for the turn of the task at `place`; false if there are no more turns.
  ///
  /// - Throws: `CancellationError`.
  func wait(at place: Int) async throws -> Bool {
    var turns = places[place].stream.makeAsyncIterator()
    let isTurn = await turns.next() != nil
    try Task.checkCancellation()
    return isTurn
  }

  func pass(from place: Int) { places[(place + 1) % places.count].continuation.yield() }

  func end() { for place in places { place.continuation.finish() } }
}
