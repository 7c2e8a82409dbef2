// What is said beside the pictures: results on standard output, errors and progress on standard error.
import GLPreview
import Glibc

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
  static let isTerminal = isatty(STDERR_FILENO) == 1

  /// Writes a line; where nobody reads, nothing is lost.
  static func print(_ line: String, terminator: String = "\n") {
    try? PictureFile.write(Array((line + terminator).utf8), to: STDERR_FILENO, named: "standard error")
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
