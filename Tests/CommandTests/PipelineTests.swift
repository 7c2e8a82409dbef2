// The joints of the pipeline by themselves: order, bounds, errors, ends.
import Synchronization
import Testing

@testable import glpreview_cli

@Suite("Pipeline")
struct PipelineTests {
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

  @Test("ten thousand frames come through three stages in order, and never more than three are there")
  func boundAndOrder() async throws {
    let census = Census()
    var delivered: [Int] = []
    try await Handover<Int>.run { read in
      for number in 0..<10_000 {
        census.enter()
        try await read.give(number)
      }
    } to: { read in
      try await Handover<Int>.run { drawn in
        while let number = try await read.take() { try await drawn.give(number) }
      } to: { drawn in
        while let number = try await drawn.take() {
          delivered.append(number)
          await Task.yield()
          census.leave()
        }
      }
    }
    #expect(delivered == Array(0..<10_000))
    #expect(census.most <= 3)
  }

  @Test("what was given before an error is taken before it")
  func errorBehind() async throws {
    var taken: [Int] = []
    await #expect(throws: Failure(number: 3)) {
      try await Handover<Int>.run { frames in
        for number in 0..<3 { try await frames.give(number) }
        throw Failure(number: 3)
      } to: { frames in
        while let number = try await frames.take() { taken.append(number) }
      }
    }
    #expect(taken == [0, 1, 2])
  }

  @Test("a taker that fails ends the giver, though the giver would never end")
  func takerFails() async throws {
    let given = Mutex(0)
    await #expect(throws: Failure(number: 2)) {
      try await Handover<Int>.run { frames in
        while true {
          try await frames.give(given.withLock { $0 })
          given.withLock { $0 += 1 }
        }
      } to: { frames in
        while let number = try await frames.take(), number < 2 {}
        throw Failure(number: 2)
      }
    }
    #expect(given.withLock { $0 } <= 3)
  }

  @Test("cancelling ends both who gives and who takes")
  func cancelling() async throws {
    let (started, start) = AsyncStream.makeStream(of: Void.self)
    let task = Task {
      try await Handover<Int>.run { frames in
        try await frames.give(0)
        // Nobody takes this one.
        try await frames.give(1)
      } to: { frames in
        _ = try await frames.take()
        start.finish()
        try await Handover<Int>.run { nothing in
          for await _ in AsyncStream<Void>.makeStream().stream {}
        } to: { nothing in
          _ = try await nothing.take()
        }
      }
    }
    for await _ in started {}
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test("results of parallel work come in order, whichever is ready first", arguments: [1, 2, 3, 16])
  func orderedWork(width: Int) async throws {
    let census = Census()
    var finished: [Int] = []
    try await OrderedWork(count: 40, width: width).run { number in
      census.enter()
      defer { census.leave() }
      // The first of each few takes longest.
      return (0..<(number % 4 == 0 ? 20_000 : 10)).reduce(number) { sum, term in sum ^ term ^ term }
    } finish: { number, value in
      #expect(value == number)
      finished.append(number)
    }
    #expect(finished == Array(0..<40))
    #expect(census.most <= width)
  }

  @Test("of parallel work that fails twice, the first in order decides, and what is before it is finished")
  func orderedFailure() async throws {
    var finished: [Int] = []
    await #expect(throws: Failure(number: 5)) {
      try await OrderedWork(count: 10, width: 4).run { number in
        guard number != 5, number != 6 else { throw Failure(number: number) }
        return number
      } finish: { number, _ in
        finished.append(number)
      }
    }
    #expect(finished == [0, 1, 2, 3, 4])
  }

  @Test("after a result that can't be finished, none behind it is")
  func finishFails() async throws {
    var finished: [Int] = []
    await #expect(throws: Failure(number: 2)) {
      try await OrderedWork(count: 10, width: 4).run {
        $0
      } finish: { number, _ in
        guard number < 2 else { throw Failure(number: number) }
        finished.append(number)
      }
    }
    #expect(finished == [0, 1])
  }
}
