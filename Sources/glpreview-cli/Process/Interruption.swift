// SIGINT and SIGTERM: the task is cancelled, finished files stay, the current one goes. The second signal, or two
// seconds, end the process at once.
import Dispatch
import GLPreview
import Glibc
import Synchronization

enum Interruption {
  private static let received = Atomic<Int32>(0)

  /// 128 and the signal's number, as shells have it.
  static var status: Int32 { 128 + max(received.load(ordering: .relaxed), SIGINT) }

  /// Ends the process without waiting for anything; no unfinished file stays.
  private static func end(_ signal: Int32) -> Never {
    PictureFile.removeUnfinished()
    LiveSource.killCommands()
    _exit(128 + signal)
  }

  /// Runs `work` in a task that a signal cancels.
  static func cancelling(_ work: @escaping @Sendable () async throws -> Void) async throws {
    let task = Task(operation: work)
    let sources = [SIGINT, SIGTERM].map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler {
        if received.exchange(number, ordering: .relaxed) != 0 { end(number) }
        task.cancel()
        // Whoever should take our bytes may never do so, and a write does not hear of cancellation.
        DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(2)) { end(number) }
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
