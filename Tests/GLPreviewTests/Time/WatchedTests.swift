import TestSupport
import Testing

@testable import GLPreview

@Suite("Watched values", .timeLimit(.minutes(15)))
struct WatchedTests {
  @Test("Watched.first returns at once if the value already matches")
  func atOnce() async throws {
    let number = Watched(3)

    #expect(try await number.first { $0 } == 3)
    #expect(number.waitingCount == 0)
  }

  @Test("Watched.first waits until an update makes the value match")
  func waits() async throws {
    let number = Watched(0)
    async let three = number.first { $0 == 3 ? "three" : nil }
    await until { number.waitingCount == 1 }

    for _ in 1...3 {
      number.update { $0 += 1 }
      await until { number.value == 3 || number.waitingCount == 1 }
    }

    #expect(try await three == "three")
    #expect(number.waitingCount == 0)
  }

  @Test("a change without update wakes no waiting task")
  func silent() async throws {
    let number = Watched(0)
    async let first = number.first { $0 > 0 ? $0 : nil }
    await until { number.waitingCount == 1 }

    number.withLock { $0 = 1 }
    await letOthersGoOn()
    #expect(number.waitingCount == 1)

    number.update { $0 = 2 }
    #expect(try await first == 2)
  }

  @Test("Watched.first returns nil after its deadline")
  func deadline() async throws {
    let number = Watched(0)

    #expect(try await number.first(until: .start) { $0 > 0 ? $0 : nil } == nil)
    #expect(try await number.first(until: CaptureClock.now + .milliseconds(5)) { $0 > 0 ? $0 : nil } == nil)
    #expect(number.waitingCount == 0)
  }

  @Test("a deadline in the distant future does not trap")
  func farDeadline() async throws {
    let number = Watched(0)
    async let first = number.first(until: .second(Int.max / 2)) { $0 > 0 ? $0 : nil }
    await until { number.waitingCount == 1 }

    number.update { $0 = 1 }

    #expect(try await first == 1)
  }

  @Test("cancelling a task ends its wait, with or without a concurrent update")
  func cancelled() async throws {
    let number = Watched(0)
    for round in 1...200 {
      let waiting = Task { try await number.first { $0 == round ? $0 : nil } }
      if round % 2 == 0 { await until { number.waitingCount == 1 } }
      let canceller = Task { waiting.cancel() }
      if round % 3 == 0 { number.update { $0 = round } }
      await canceller.value

      switch await waiting.result {
      case .success(let value): #expect(value == round)
      case .failure(let error): #expect(error is CancellationError)
      }
      #expect(number.waitingCount == 0)
    }
  }

  @Test("an error thrown by the condition ends the wait")
  func throwing() async throws {
    struct Odd: Error {}
    let number = Watched(0)
    let waiting = Task {
      try await number.first { if $0 % 2 == 1 { throw Odd() } else { $0 > 0 ? $0 : nil } }
    }
    await until { number.waitingCount == 1 }

    number.update { $0 = 1 }

    await #expect(throws: Odd.self) { try await waiting.value }
  }

  @Test("each of 4000 waiting tasks takes one element, and no element is taken twice or lost")
  func crowd() async throws {
    let stock = Watched<[Int]>([])
    let taken = Watched<[Int]>([])

    await withTaskGroup { group in
      for _ in 0..<4000 {
        group.addTask {
          if let number = try? await stock.first({ $0.popLast() }) { taken.update { $0.append(number) } }
        }
      }
      for batch in 0..<40 {
        group.addTask { stock.update { $0 += (0..<100).map { batch * 100 + $0 } } }
      }
    }

    #expect(taken.value.sorted() == Array(0..<4000))
    #expect(stock.value.isEmpty)
  }
}

@Suite("Deadlines", .timeLimit(.minutes(15)))
struct DeadlineTests {
  @Test("withDeadline returns the value, or throws the error, of work that ends in time")
  func within() async throws {
    struct Broken: Error {}

    #expect(try await withDeadline(allTheTimeThereIs) { 7 } == 7)
    #expect(try await withDeadline(.seconds(Int64.max)) { 7 } == 7)
    await #expect(throws: Broken.self) { try await withDeadline(allTheTimeThereIs) { throw Broken() } }
  }

  @Test("withDeadline distinguishes a nil result from a timeout")
  func optional() async throws {
    let given: Int?? = try await withDeadline(allTheTimeThereIs) { Int?.none }

    #expect(given == .some(.none))
  }

  @Test("withDeadline cancels work that never ends and returns nil")
  func late() async throws {
    let hanging = AsyncStream.makeStream(of: Void.self)
    let wasCancelled = Watched(false)

    let result: Int? = try await withDeadline(.milliseconds(5)) {
      await withTaskCancellationHandler {
        // Deaf to its cancellation.
        await Task { for await _ in hanging.stream {} }.value
      } onCancel: {
        wasCancelled.update { $0 = true }
      }
      return 1
    }

    #expect(result == nil)
    _ = try await wasCancelled.first { $0 ? true : nil }
    hanging.continuation.finish()
  }

  @Test("a cancelled withDeadline throws without waiting; a cancelled waitAtMost waits for its work")
  func cancelled() async throws {
    let end = Watched(false)
    let impatient = Task {
      try await withDeadline(allTheTimeThereIs) { _ = try? await end.first { $0 ? $0 : nil } }
    }
    impatient.cancel()
    await #expect(throws: CancellationError.self) { try await impatient.value }

    let hasReturned = Watched(false)
    let patient = Task {
      await waitAtMost(allTheTimeThereIs) { _ = try? await end.first { $0 ? true : nil } }
      hasReturned.update { $0 = true }
      return end.value
    }
    patient.cancel()
    await letOthersGoOn()
    #expect(!hasReturned.value)
    end.update { $0 = true }
    #expect(await patient.value)
  }
}
