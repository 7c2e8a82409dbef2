// The tests that need the machine of Tests/CameraVM: its camera, its render node, its root.
import Foundation
import Testing

/// All of them stand in extensions of this suite, and so run one after the other (there is one camera) and only where
/// `make test-camera` runs them.
@Suite(
  .serialized, .timeLimit(.minutes(15)),
  .enabled(
    if: ProcessInfo.processInfo.environment["GLPREVIEW_CAMERA_VM"] == "1",
    "there is no camera here: make test-camera runs it where there is one"))
struct CameraMachine {
  /// The render node of vgem.
  static let renderNode = "/dev/dri/renderD128"
}

/// Runs a program of the machine's to its end.
///
/// - Returns: what it says on standard output and standard error.
/// - Throws: `ProgramFailed` where its exit status is not 0.
@discardableResult
func runProgram(_ words: String...) throws -> String { try run(words) }

/// Runs the built `glpreview`, which lies beside the tests, to its end.
@discardableResult
func runCommand(_ arguments: String...) throws -> String {
  let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
  let command = URL(filePath: tests).deletingLastPathComponent().appending(path: "glpreview")
  return try run([command.path] + arguments)
}

private func run(_ words: [String]) throws -> String {
  let process = Process()
  process.executableURL = URL(filePath: "/usr/bin/env")
  process.arguments = words
  let output = Foundation.Pipe()
  process.standardOutput = output
  process.standardError = output
  try process.run()
  let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
  process.waitUntilExit()
  guard process.terminationStatus == 0 else {
    throw ProgramFailed(words: words, status: process.terminationStatus, output: text)
  }
  return text
}

struct ProgramFailed: Error, CustomStringConvertible {
  let words: [String]
  let status: Int32
  let output: String
  var description: String { "\(words.joined(separator: " ")): status \(status): \(output)" }
}
