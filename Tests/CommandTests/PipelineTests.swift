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

  @Test(
    "a stage that works on several at a time gives them on in order, and holds no more",
    arguments: [1, 2, 3, 8])
  func overlappedOrder(width: Int) async throws {
    let census = Census()
    var delivered: [Int] = []
    try await Handover<Int>.run { input in
      for number in 0..<500 { try await input.give(number) }
    } to: { input in
      try await Handover<Int>.run { output in
        try await OverlappedStage(width: width).run(from: input, into: output) { number in
          census.enter()
          // The first of each few takes longest.
          for _ in 0..<(number % 4 == 0 ? 20 : 1) { await Task.yield() }
          census.leave()
          return number
        }
      } to: { output in
        while let number = try await output.take() { delivered.append(number) }
      }
    }
    #expect(delivered == Array(0..<500))
    #expect(census.most <= width)
    #expect(width == 1 || census.most > 1, "nothing overlaps")
  }

  @Test(
    "a stage gives on what is before an error, in the work or of the input, and then the error",
    arguments: [1, 2, 3, 8], [true, false])
  func overlappedFailure(width: Int, inWork: Bool) async throws {
    var delivered: [Int] = []
    await #expect(throws: Failure(number: 5)) {
      try await Handover<Int>.run { input in
        for number in 0..<(inWork ? 20 : 5) { try await input.give(number) }
        throw Failure(number: inWork ? 20 : 5)
      } to: { input in
        try await Handover<Int>.run { output in
          try await OverlappedStage(width: width).run(from: input, into: output) { number in
            if inWork, number == 5 || number == 6 { throw Failure(number: number) }
            for _ in 0..<10 { await Task.yield() }
            try Task.checkCancellation()
            return number
          }
        } to: { output in
          while let number = try await output.take() { delivered.append(number) }
        }
      }
    }
    #expect(delivered == [0, 1, 2, 3, 4])
  }

  @Test(
    "a result is given on as soon as it is there, though the next element does not come",
    arguments: [1, 2, 3])
  func overlappedLatency(width: Int) async throws {
    // The input waits for what came of its first element.
    let (results, result) = AsyncStream.makeStream(of: Int.self)
    try await Handover<Int>.run { input in
      try await input.give(7)
      var results = results.makeAsyncIterator()
      #expect(await results.next() == 8)
    } to: { input in
      try await Handover<Int>.run { output in
        try await OverlappedStage(width: width).run(from: input, into: output) { $0 + 1 }
      } to: { output in
        while let number = try await output.take() { result.yield(number) }
      }
    }
  }

  @Test("a stage whose results nobody takes any more ends, and its work is waited for")
  func overlappedTakerFails() async throws {
    let present = Mutex(0)
    await #expect(throws: Failure(number: 2)) {
      try await Handover<Int>.run { input in
        var number = 0
        while true {
          try await input.give(number)
          number += 1
        }
      } to: { input in
        try await Handover<Int>.run { output in
          try await OverlappedStage(width: 4).run(from: input, into: output) { number in
            present.withLock { $0 += 1 }
            defer { present.withLock { $0 -= 1 } }
            await Task.yield()
            return number
          }
        } to: { output in
          while let number = try await output.take(), number < 2 {}
          throw Failure(number: 2)
        }
      }
    }
    #expect(present.withLock { $0 } == 0)
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
