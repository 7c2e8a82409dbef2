// What is said beside the pictures: results on standard output, errors and progress on standard error.
import FoundationEssentials
import GLPreview
import Glibc
import Synchronization

enum StandardOutput {
  static let isTerminal = isatty(STDOUT_FILENO) == 1

  /// Writes a line.
  ///
  /// - Throws: `WriteError` where nobody takes it: a result that is lost is a failure.
  static func print(_ line: String) throws {
    try PictureFile.write(Array((line + "\n").utf8), to: STDOUT_FILENO, named: "standard output")
  }
}

enum StandardError {
  /// A terminal that can erase a line.
  static let isTerminal =
    isatty(STDERR_FILENO) == 1 && ![nil, "", "dumb"].contains(ProcessInfo.processInfo.environment["TERM"])

  /// Whether a line of progress stands there, to be written over.
  private static let holdsProgress = Atomic(false)

  /// Writes progress in place of what was said of it before.
  static func show(progress: String) {
    holdsProgress.store(true, ordering: .relaxed)
    write("\r\(progress)\u{1B}[K")
  }

  /// Lets progress stand.
  static func endProgress() {
    if holdsProgress.exchange(false, ordering: .relaxed) { write("\n") }
  }

  /// Writes a line, in place of progress, without secrets of addresses; where nobody reads, nothing is lost.
  static func print(_ line: String) {
    let erasing = holdsProgress.exchange(false, ordering: .relaxed) ? "\r\u{1B}[K" : ""
    write(erasing + Redaction.message(line) + "\n")
  }

  private static func write(_ text: String) {
    try? PictureFile.write(Array(text.utf8), to: STDERR_FILENO, named: "standard error")
  }
}

extension String {
  /// With a mark in place of what would break the line or paint the terminal: names of files can hold anything.
  var onOneLine: String {
    String(
      String.UnicodeScalarView(
        unicodeScalars.map { $0.properties.generalCategory == .control ? "\u{FFFD}" : $0 }))
  }
}
