// Text output: results on standard output, errors and progress on standard error.
import FoundationEssentials
import GLPreview
import Glibc
import Synchronization

enum StandardOutput {
  static let isTerminal = isatty(STDOUT_FILENO) == 1

  /// Writes a line.
  ///
  /// - Throws: `WriteError` if the line can't be written, because a lost result is a failure.
  static func print(_ line: String) throws {
    try PictureFile.write(Array((line + "\n").utf8), to: STDOUT_FILENO, named: "standard output")
  }
}

enum StandardError {
  /// Whether standard error is a terminal that can erase a line.
  static let isTerminal =
    isatty(STDERR_FILENO) == 1 && ![nil, "", "dumb"].contains(ProcessInfo.processInfo.environment["TERM"])

  /// Whether the current line shows progress, which the next output replaces.
  private static let holdsProgress = Atomic(false)

  /// Shows progress, replacing the previous one.
  static func show(progress: String) {
    holdsProgress.store(true, ordering: .relaxed)
    write("\r\(progress)\u{1B}[K")
  }

  /// Completes the line with the current progress.
  static func endProgress() {
    if holdsProgress.exchange(false, ordering: .relaxed) { write("\n") }
  }

  /// Writes a line in place of the progress, without secrets in addresses. Write errors are ignored.
  static func print(_ line: String) {
    let erasing = holdsProgress.exchange(false, ordering: .relaxed) ? "\r\u{1B}[K" : ""
    write(erasing + Redaction.message(line) + "\n")
  }

  private static func write(_ text: String) {
    try? PictureFile.write(Array(text.utf8), to: STDERR_FILENO, named: "standard error")
  }
}

/// A table whose columns are as wide as their longest cell.
struct TextTable: CustomStringConvertible {
  let description: String

  /// Creates a table. The columns in `right` are right-aligned.
  init(_ rows: [[String]], right: Range<Int> = 0..<0) {
    let widths = (rows.first ?? []).indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
    description = rows.map { row in
      let line = row.indices.map { column in
        let padding = String(repeating: " ", count: widths[column] - row[column].count)
        return right.contains(column) ? padding + row[column] : row[column] + padding
      }.joined(separator: "  ")
      return String(line.reversed().drop { $0 == " " }.reversed())
    }.joined(separator: "\n")
  }
}
