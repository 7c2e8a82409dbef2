// A stage that works on several elements at a time, such as a renderer with several frames in flight.

/// Takes elements, works on them, and gives the results on: in order, none lost, each as soon as it is there.
struct OverlappedStage {
  /// The most that are worked on at the same time; with 1 the next one is taken when the last one's result is.
  let width: Int

  /// Works in tasks of their own where `width` is more than 1.
  ///
  /// - Throws: the first error in the elements' order, when all results before it are given on; what is worked on behind it
  ///   is cancelled and waited for.
  func run<Input: Sendable, Output: Sendable>(
    from input: Handover<Input>, into output: Handover<Output>,
    _ work: @escaping @Sendable (Input) async throws -> Output
  ) async throws {
    guard width > 1 else {
      while let element = try await input.take() { try await output.give(work(element)) }
      return
    }
    // One is waited for, one waits to be taken, and the others are in between.
    try await Handover<Promise<Output>>.run(ahead: width - 2) { promises in
      // An error of the input comes behind what is worked on, and does not cancel it.
      let end = await withDiscardingTaskGroup(returning: Result<Void, any Error>.self) { group in
        do {
          while let element = try await input.take() {
            let promise = Promise<Output>()
            group.addTask { await promise.keep { try await work(element) } }
            try await promises.give(promise)
          }
          return .success(())
        } catch {
          return .failure(error)
        }
      }
      try end.get()
    } to: { promises in
      while let promise = try await promises.take() { try await output.give(promise.value()) }
    }
  }
}

/// A result that will be there, or an error.
private struct Promise<Value: Sendable>: Sendable {
  private let result = AsyncThrowingStream.makeStream(of: Value.self)

  func keep(_ work: () async throws -> Value) async {
    do {
      result.continuation.yield(try await work())
      result.continuation.finish()
    } catch {
      result.continuation.finish(throwing: error)
    }
  }

  /// Waits for it; once.
  func value() async throws -> Value {
    var results = result.stream.makeAsyncIterator()
    guard let value = try await results.next() else { throw CancellationError() }
    return value
  }
}
