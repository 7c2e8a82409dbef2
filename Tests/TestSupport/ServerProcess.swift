// A server program in a folder of its own, which is gone with its last user.
package import Foundation
import Testing

/// A running server. Killed with its last user; then its folder is removed.
package final class ServerProcess: Sendable {
  package let process: ChildProcess
  package let folder: URL
  private let hasEnded: Task<Int32, Never>

  /// A server that has ended before it was ready.
  package struct Failed: Error {
    package let log: String
  }

  /// Starts a program, and returns when `isReady`. Its log is the file `log` in `folder`.
  package init(
    _ path: String, _ arguments: [String], in folder: URL, isReady: (ChildProcess) -> Bool
  ) async throws {
    signal(SIGPIPE, SIG_IGN)
    let process = try ChildProcess(path, arguments, environment: [:], in: folder.path, writingTo: nil)
    let status = Status()
    (self.process, self.folder) = (process, folder)
    hasEnded = Task {
      let code = await ChildProcess.status(of: process.id)
      await status.end()
      return code
    }
    var isUp = false
    await until {
      isUp = isReady(process)
      if isUp { return true }
      return await status.hasEnded
    }
    guard isUp else {
      throw Failed(log: (try? String(contentsOf: folder.appending(path: "log"), encoding: .utf8)) ?? "no log")
    }
  }

  deinit {
    kill(process.id, SIGKILL)
    let (folder, hasEnded) = (folder, hasEnded)
    Task {
      _ = await hasEnded.value
      try? FileManager.default.removeItem(at: folder)
    }
  }

  /// Ends it at once, and returns when it is gone.
  package func kill9() async {
    kill(process.id, SIGKILL)
    _ = await hasEnded.value
  }

  private actor Status {
    private(set) var hasEnded = false
    func end() { hasEnded = true }
  }
}
