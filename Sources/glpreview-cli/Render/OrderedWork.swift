// Work on several cores at a time whose results come in order all the same.

/// Does the same for each number below `count`.
struct OrderedWork {
  let count: Int
  /// The most that are worked on at the same time.
  let width: Int

  /// Works in tasks of their own; `finish` takes each result as soon as it and all before it are there.
  ///
  /// - Throws: the first error in the order of the numbers, when all before it are finished; nothing behind it is.
  func run<Value: Sendable>(
    _ work: @escaping @Sendable (Int) throws -> Value, finish: (Int, Value) throws -> Void
  ) async throws {
    try await withThrowingTaskGroup(of: (Int, Result<Value, any Error>).self) { group in
      var (started, finished) = (0, 0)
      var results: [Int: Result<Value, any Error>] = [:]
      while finished < count {
        while started < min(count, finished + width) {
          let number = started
          group.addTask { (number, Result { try work(number) }) }
          started += 1
        }
        guard let (number, result) = try await group.next() else { break }
        results[number] = result
        while let result = results.removeValue(forKey: finished) {
          try finish(finished, result.get())
          finished += 1
        }
      }
    }
  }
}
