// SIGINT and SIGTERM: the task is cancelled, finished files stay, the current one goes. The second signal ends the
// process at once.
import Dispatch
import Glibc
import Synchronization

enum Interruption {
  private static let received = Atomic<Int32>(0)

  /// 128 and the signal's number, as shells have it.
  static var status: Int32 { 128 + max(received.load(ordering: .relaxed), SIGINT) }

  /// Runs `work` in a task that a signal cancels.
  static func cancelling(_ work: @escaping @Sendable () async throws -> Void) async throws {
    let task = Task(operation: work)
    let sources = [SIGINT, SIGTERM].map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler {
        if received.exchange(number, ordering: .relaxed) != 0 { _exit(128 + number) }
        task.cancel()
      }
      source.resume()
      return source
    }
    // Who reads our pictures may go: that is an error of a write, not a signal.
    signal(SIGPIPE, SIG_IGN)
    defer { for source in sources { source.cancel() } }
    try await task.value
  }
}
