import Glibc
import TestSupport
import Testing

@testable import GLPreview

/// Counts on a thread of its own.
private actor Counter {
  private let thread: GPUThread
  private(set) var numbers: [Int] = []

  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe thread.asUnownedSerialExecutor() }

  init() throws { thread = try GPUThread(named: "a-name-of-more-than-15-bytes") }

  func add(_ number: Int) { numbers.append(number) }
  func addWhenIdle(_ number: Int) async {
    await thread.idle()
    add(number)
  }
  /// Starts jobs in this order, from a job of its own, so that all are there before the first one runs.
  func startAll() async {
    let tasks = [
      Task { await self.addWhenIdle(2) }, Task { self.add(0) }, Task { await self.addWhenIdle(3) },
      Task { self.add(1) },
    ]
    for task in tasks { await task.value }
  }
  func identity() -> Int { ThreadIdentity.current }
  func name() -> String { text(of: "/proc/thread-self/comm") }
  /// Of these signals, those that the thread leaves to others.
  func blocked(of signals: [CInt]) -> [CInt] {
    var mask = sigset_t()
    unsafe pthread_sigmask(SIG_BLOCK, nil, &mask)
    return signals.filter { unsafe sigismember(&mask, $0) == 1 }
  }
}

/// A small file of /proc.
private func text(of path: String) -> String {
  let file = unsafe open(path, O_RDONLY)
  defer { close(file) }
  var bytes = [UInt8](repeating: 0, count: 8192)
  let count = unsafe read(file, &bytes, bytes.count)
  return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
}

private func threadCount() -> Int {
  let line = text(of: "/proc/self/status").split(separator: "\n").first { $0.hasPrefix("Threads:") }
  return line.flatMap { Int($0.drop { !$0.isNumber }) } ?? 0
}

@Suite struct GPUThreadTests {
  @Test("a GPU thread runs jobs in the order in which they are submitted")
  func order() async throws {
    let counter = try Counter()
    for number in 0..<10_000 { await counter.add(number) }
    #expect(await counter.numbers == Array(0..<10_000))
  }

  @Test("a GPU thread runs every job submitted concurrently by many tasks")
  func crowd() async throws {
    let counter = try Counter()
    await withTaskGroup { group in
      for number in 0..<5_000 { group.addTask { await counter.add(number) } }
    }
    #expect(await counter.numbers.sorted() == Array(0..<5_000))
  }

  @Test("callers that wait for an idle GPU thread resume after all queued jobs, in order")
  func idle() async throws {
    let counter = try Counter()
    await counter.startAll()
    #expect(await counter.numbers == [0, 1, 2, 3])
    // And at once where there is nothing to do.
    await counter.addWhenIdle(4)
    #expect(await counter.numbers == [0, 1, 2, 3, 4])
  }

  @Test("a GPU thread blocks SIGINT and SIGTERM but not fault signals")
  func signals() async throws {
    let counter = try Counter()
    #expect(await counter.blocked(of: [SIGINT, SIGTERM, SIGSEGV, SIGABRT, SIGTRAP]) == [SIGINT, SIGTERM])
  }

  @Test("an actor's GPU thread stays the same and differs from another actor's")
  func identity() async throws {
    let (one, other) = (try Counter(), try Counter())
    let first = await one.identity()
    await Task.yield()
    #expect(await one.identity() == first)
    #expect(await other.identity() != first)
    // Both live until here: a thread that has ended may pass its identity on.
    withExtendedLifetime((one, other)) {}
  }

  @Test("a GPU thread's name is truncated to 15 bytes")
  func name() async throws { #expect(try await Counter().name() == "a-name-of-more-\n") }

  @Test(
    "opening and closing 50 GPU threads leaks no thread and no OpenGL object", .oneProcessAtATime,
    .timeLimit(.minutes(15))
  )
  func closing() async throws {
    // In a process of its own, where no other test makes threads.
    await #expect(processExitsWith: .success) {
      func openAndClose() async throws {
        let counter = try Counter()
        await counter.add(1)
        let context = try await TestContext(chosenPlatform())
        _ = await context.end()
      }

      for _ in 0..<4 { try await openAndClose() }
      let before = threadCount()
      for _ in 0..<50 { try await openAndClose() }

      // A thread that released itself takes a moment to go.
      await until { threadCount() <= before }
      #expect(GLLedger.living == [:])
    }
  }
}
