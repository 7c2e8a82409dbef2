// A program that runs beside the tests, and says on its output where it listens.
import Foundation
import Synchronization

/// A process that was started; ended, and waited for, by `end`.
final class LocalProcess: Sendable {
  private let process: Mutex<Process>
  private let heard = Lines()
  private let path: String

  /// Starts `path`; it knows nothing of this process's variables but those that it needs, and of `environment`.
  init(_ path: String, _ arguments: [String], environment: [String: String] = [:]) throws {
    self.path = path
    let process = Process()
    // Threads of Dispatch's block signals, and children inherit that: SIGTERM would not end them.
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = ["--default-signal", path] + arguments
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    process.standardInput = FileHandle.nullDevice
    let output = Pipe()
    process.standardOutput = output
    process.standardError = output
    self.process = Mutex(process)
    try self.process.withLock { try $0.run() }
    // Read on a thread of its own: a program whose output nobody reads stands still.
    let reader = output.fileHandleForReading
    Thread.detachNewThread { [heard] in
      var rest: [UInt8] = []
      while case let bytes = reader.availableData, !bytes.isEmpty {
        rest += bytes
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
          let line = String(decoding: rest[..<end], as: UTF8.self)
          heard.append(line)
          rest.removeFirst(end + 1)
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
      guard process.withLock({ $0.isRunning }) else { throw NotThere("\(path) ended:\n\(output)") }
      return nil
    } orElse: { [self] in
      output
    }
  }

  /// Asks it to end, and waits until it has.
  func end() async {
    process.withLock { if $0.isRunning { $0.terminate() } }
    while process.withLock({ $0.isRunning }) { try? await Task.sleep(for: .milliseconds(20)) }
  }
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
  let limit = ContinuousClock.now + .seconds(120)
  while true {
    if let value = try await answer() { return value }
    guard ContinuousClock.now < limit else { throw NotThere("waited in vain for \(what): \(await state())") }
    try await Task.sleep(for: .milliseconds(40))
  }
}
