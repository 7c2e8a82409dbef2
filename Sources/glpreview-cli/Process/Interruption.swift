// Handles SIGINT and SIGTERM: the task is cancelled or stops by itself, finished files stay, the current one
// is deleted. A second signal, or a time limit, ends the process immediately.
import Dispatch
import GLPreview
import Glibc
import Synchronization

enum Interruption {
  private static let received = Atomic<Int32>(0)

  /// 128 plus the signal's number, as in shells.
  static var status: Int32 { 128 + max(received.load(ordering: .relaxed), SIGINT) }

  /// Ends the process immediately, without leaving an unfinished file.
  private static func end(_ signal: Int32) -> Never {
    PictureFile.removeUnfinished()
    LiveSource.killCommands()
    _exit(128 + signal)
  }

  /// Runs `work` in a task that a signal cancels. A second signal, or two seconds, ends the process
  /// immediately.
  static func cancelling(_ work: @escaping @Sendable () async throws -> Void) async throws {
    // If the reader of a pipe goes away, a write error is thrown instead of a signal.
    signal(SIGPIPE, SIG_IGN)
    let interrupted = AsyncStream.makeStream(of: Void.self)
    var sources: [any DispatchSourceSignal] = []
    for number in [SIGINT, SIGTERM] {
      sources.append(await source(of: number) { interrupted.continuation.yield() })
    }
    defer { for source in sources { source.cancel() } }
    let task = Task(operation: work)
    let canceller = Task {
      for await _ in interrupted.stream { task.cancel() }
    }
    defer { canceller.cancel() }
    try await task.value
  }

  /// Runs `work`, which ends by itself once `isStopping` is true, after the first signal. A second signal, or
  /// half a minute, ends the process immediately.
  static func stopping(_ work: @escaping @Sendable (_ isStopping: Watched<Bool>) async throws -> Void)
    async throws
  {
    signal(SIGPIPE, SIG_IGN)
    let isStopping = Watched(false)
    var sources: [any DispatchSourceSignal] = []
    for number in [SIGINT, SIGTERM] {
      sources.append(await source(of: number, within: .seconds(30)) { isStopping.update { $0 = true } })
    }
    defer { for source in sources { source.cancel() } }
    try await work(isStopping)
  }

  /// Installs a signal handler. Until this returns, a signal ends the process, which has written nothing yet.
  private static func source(
    of number: Int32, within limit: DispatchTimeInterval = .seconds(2),
    _ onSignal: @escaping @Sendable () -> Void
  ) async -> any DispatchSourceSignal {
    let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
    source.setEventHandler {
      if received.exchange(number, ordering: .relaxed) != 0 { end(number) }
      onSignal()
      // The reader of the process's output may never read again, and a blocked write does not notice
      // cancellation.
      DispatchQueue.global().asyncAfter(deadline: .now() + limit) { end(number) }
    }
    // Dispatch installs its handler asynchronously, on a thread of its own.
    await withCheckedContinuation { installed in
      source.setRegistrationHandler { installed.resume() }
      source.resume()
    }
    return source
  }
}
