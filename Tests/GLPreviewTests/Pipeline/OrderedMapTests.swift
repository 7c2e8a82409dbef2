// The joint of the pipeline by itself: order, bounds, errors, ends.
import Synchronization
import Testing

@testable import GLPreview

@Suite("orderedMap")
struct OrderedMapTests {
  private struct Failure: Error, Equatable {
    let number: Int
  }

  /// Counts what was made and is not yet done with.
  private final class Census: Sendable {
    private let counts = Mutex((present: 0, most: 0))

    func enter() {
      counts.withLock {
        $0.present += 1
        $0.most = max($0.most, $0.present)
      }
    }

    func leave() { counts.withLock { $0.present -= 1 } }

    var most: Int { counts.withLock { $0.most } }
  }

  /// Numbers from 0, one after another.
  private final class Numbers: Sendable {
    private let end: Int
    private let failure: Failure?
    private let next = Mutex(0)

    /// Those below `end`, and behind them an error, where there is one.
    init(_ end: Int = .max, then failure: Failure? = nil) {
      self.end = end
      self.failure = failure
    }

    func take() throws -> Int? {
      let number = next.withLock { next in
        defer { next += 1 }
        return next
      }
      guard number < end else {
        if number == end, let failure { throw failure }
        return nil
      }
      return number
    }

    /// How many times somebody has asked.
    var asked: Int { next.withLock { $0 } }
  }

  /// What was given, in its order.
  private final class Results: Sendable {
    private let numbers = Mutex<[Int]>([])

    func give(_ number: Int) { numbers.withLock { $0.append(number) } }

    var all: [Int] { numbers.withLock { $0 } }
  }

  @Test(
    "10,000 elements come out in order, with at most `width` of them in the pipeline",
    arguments: [1, 3])
  func boundAndOrder(width: Int) async throws {
    let (census, numbers, results) = (Census(), Numbers(10_000), Results())

    try await orderedMap(width: width) {
      let number = try numbers.take()
      if number != nil { census.enter() }
      return number
    } _: { number in
      number
    } to: { number in
      results.give(number)
      await Task.yield()
      census.leave()
    }

    #expect(results.all == Array(0..<10_000))
    #expect(census.most <= width)
  }

  @Test("input and output run one at a time while up to `width` transforms overlap", arguments: [1, 2, 3, 8])
  func overlaps(width: Int) async throws {
    let (taking, working, giving) = (Census(), Census(), Census())
    let (numbers, results) = (Numbers(500), Results())

    try await orderedMap(width: width) {
      taking.enter()
      await Task.yield()
      taking.leave()
      return try numbers.take()
    } _: { number in
      working.enter()
      // The first of each few takes longest.
      for _ in 0..<(number % 4 == 0 ? 20 : 1) { await Task.yield() }
      working.leave()
      return number
    } to: { number in
      giving.enter()
      await Task.yield()
      results.give(number)
      giving.leave()
    }

    #expect(results.all == Array(0..<500))
    #expect(taking.most == 1)
    #expect(giving.most == 1)
    #expect(working.most <= width)
    #expect(width == 1 || working.most > 1, "nothing overlaps")
  }

  @Test(
    "results before an error of the input or the transform are delivered, and none after it",
    arguments: [1, 2, 3, 8], [true, false])
  func failure(width: Int, inWork: Bool) async throws {
    let numbers = Numbers(inWork ? 20 : 5, then: Failure(number: inWork ? 20 : 5))
    let results = Results()

    await #expect(throws: Failure(number: 5)) {
      try await orderedMap(width: width) {
        try numbers.take()
      } _: { number in
        if inWork, number == 5 || number == 6 { throw Failure(number: number) }
        for _ in 0..<10 { await Task.yield() }
        try Task.checkCancellation()
        return number
      } to: {
        results.give($0)
      }
    }

    #expect(results.all == [0, 1, 2, 3, 4])
    #expect(inWork || numbers.asked == 6, "nothing is asked for behind an error")
  }

  @Test(
    "an output error ends an infinite input after all running transforms have finished", arguments: [1, 2, 4])
  func giveFails(width: Int) async throws {
    let (numbers, results) = (Numbers(), Results())
    let present = Mutex(0)

    await #expect(throws: Failure(number: 2)) {
      try await orderedMap(width: width) {
        try numbers.take()
      } _: { number in
        present.withLock { $0 += 1 }
        defer { present.withLock { $0 -= 1 } }
        await Task.yield()
        return number
      } to: { number in
        guard number < 2 else { throw Failure(number: number) }
        results.give(number)
      }
    }

    #expect(results.all == [0, 1])
    #expect(numbers.asked <= 2 + width)
    #expect(present.withLock { $0 } == 0)
  }

  @Test("cancellation ends waiting inputs and transforms", arguments: [1, 2, 3])
  func cancelling(width: Int) async throws {
    let (started, start) = AsyncStream.makeStream(of: Void.self)
    let numbers = Numbers(2)
    let task = Task {
      try await orderedMap(width: width) {
        if let number = try numbers.take() { return number }
        for await _ in AsyncStream<Void>.makeStream().stream {}
        return nil as Int?
      } _: { number in
        if number == 1 { for await _ in AsyncStream<Void>.makeStream().stream {} }
        return number
      } to: { _ in
        start.finish()
      }
    }

    for await _ in started {}
    task.cancel()

    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test(
    "a result is delivered without waiting for the next input element",
    arguments: [1, 2, 3])
  func latency(width: Int) async throws {
    // The input waits for what came of its first element.
    let (results, result) = AsyncStream.makeStream(of: Int.self)
    let numbers = Numbers(1)

    try await orderedMap(width: width) {
      if let number = try numbers.take() { return number }
      var results = results.makeAsyncIterator()
      #expect(await results.next() == 1)
      return nil
    } _: { number in
      number + 1
    } to: { number in
      result.yield(number)
    }
  }
}
