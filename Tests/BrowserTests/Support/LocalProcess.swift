// A program that runs beside the tests, and says on its output where it listens.
import Foundation
import Synchronization
import TestSupport

/// A process that was started; ended, and waited for, by `end`.
final class LocalProcess: Sendable {
  private let child: ChildProcess
  private let heard = Lines()
  private let status: Task<Int32, Never>
  private let hasEnded: Flag
  private let path: String

  /// Starts `path`.
  init(_ path: String, _ arguments: [String]) throws {
    self.path = path
    let child = try ChildProcess(
      path, arguments, environment: ProcessInfo.processInfo.environment,
      in: FileManager.default.temporaryDirectory.path, writingTo: nil)
    self.child = child
    let hasEnded = Flag()
    self.hasEnded = hasEnded
    status = Task {
      let status = await ChildProcess.status(of: child.id)
      hasEnded.raise()
      return status
    }
    // Read on threads of their own: a program whose output nobody reads stands still.
    for stream in [child.output, child.errors] {
      Thread.detachNewThread { [heard] in
        var rest: [UInt8] = []
        while case let bytes = stream.read(), !bytes.isEmpty {
          rest += bytes
          while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            heard.append(String(decoding: rest[..<end], as: UTF8.self))
            rest.removeFirst(end + 1)
          }
        }
      }
    }
  }

  /// What it has said.
  var output: String { heard.all.joined(separator: "\n") }

  /// What `pattern` captures of the first line that has it.
  ///
  /// - Throws: `NotThere` where it ends without having said so, or says nothing for a very long time.
  func said(_ pattern: sending Regex<(Substring, Substring)>) async throws -> String {
    try await awaited("\(path) to say where it listens") { [self] in
      for line in heard.all {
        if let match = line.firstMatch(of: pattern) { return String(match.1) }
      }
      guard !hasEnded.isRaised else { throw NotThere("\(path) ended:\n\(output)") }
      return nil
    } orElse: { [self] in
      output
    }
  }

  /// Asks it to end, unless it has, and waits until then.
  @discardableResult
  func end() async -> Int32 {
    if !hasEnded.isRaised { kill(child.id, SIGTERM) }
    return await status.value
  }

  /// Waits for its own end.
  func ended() async -> Int32 { await status.value }
}

/// Something that happens once.
private final class Flag: Sendable {
  private let value = Mutex(false)
  var isRaised: Bool { value.withLock { $0 } }
  func raise() { value.withLock { $0 = true } }
}

/// Lines that one thread writes and others read.
private final class Lines: Sendable {
  private let lines = Mutex<[String]>([])
  var all: [String] { lines.withLock { $0 } }
  func append(_ line: String) { lines.withLock { $0.append(line) } }
}

/// Something that did not come to be.
struct NotThere: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

/// Asks again and again until there is an answer. The limit is for what will never come, not for what is slow.
@discardableResult
func awaited<Value>(
  _ what: String, isolation: isolated (any Actor)? = #isolation,
  _ answer: () async throws -> Value?, orElse state: () async -> String = { "" }
) async throws -> Value {
  let limit = ContinuousClock.now + .seconds(900)
  while true {
    if let value = try await answer() { return value }
    guard ContinuousClock.now < limit else { throw NotThere("waited in vain for \(what): \(await state())") }
    try await Task.sleep(for: .milliseconds(40))
  }
}
