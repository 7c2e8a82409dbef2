// The joint of the pipeline: several elements are worked on at a time, and what comes of them comes in order all the same.

/// Takes elements one after another, works on them, and gives the results on in order, each as soon as it is there.
///
/// `width` tasks stand in a ring. Each takes an element when it is its turn to take, works on it, and gives the result when
/// it is its turn to give. So one takes and one gives while the others work. There are never more than `width` elements: a
/// stage that is slow slows those before it.
///
/// - Parameters:
///   - width: the most elements at a time; 1 does one thing after another.
///   - take: the next element, nil after the last. Runs once at a time.
///   - work: what is done with each; runs up to `width` times at a time.
///   - give: where the results go. Runs once at a time.
/// - Throws: the first error in the elements' order, when all results before it are given. What is worked on behind it is
///   cancelled and waited for. `CancellationError` where the task is cancelled.
func orderedMap<Input: Sendable, Output: Sendable>(
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
              // What is cancelled may say that this was all.
              return try Task.checkCancellation()
            }
            taking.pass(from: place)
            result = .success(try await work(element))
          } catch {
            // Nothing behind an error is taken.
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

/// Whose turn it is of the tasks in a ring.
private struct Turns: Sendable {
  private let places: [(stream: AsyncStream<Void>, continuation: AsyncStream<Void>.Continuation)]

  /// Begins with the first of `count`.
  init(of count: Int) {
    places = (0..<count).map { _ in AsyncStream.makeStream(of: Void.self) }
    places.first?.continuation.yield()
  }

  /// Waits for the turn of the task at `place`; false where there are no more turns.
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
