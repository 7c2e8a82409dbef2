// The package's own files, as the tests of the house read them.
import Foundation
import Testing

/// A Swift file of the package.
struct SourceFile {
  /// From the package's root.
  let path: String
  let lines: [Substring]

  static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  /// Every Swift file below a folder of the package, sorted by path.
  static func all(below folder: String = "Sources") throws -> [SourceFile] {
    let base = root.appending(path: folder)
    let names = try #require(FileManager.default.enumerator(atPath: base.path))
    return try names.compactMap { $0 as? String }.filter { $0.hasSuffix(".swift") }.sorted().map { name in
      let text = try String(contentsOf: base.appending(path: name), encoding: .utf8)
      return SourceFile(
        path: "\(folder)/\(name)", lines: text.split(separator: "\n", omittingEmptySubsequences: false))
    }
  }

  /// The modules that it imports.
  var imports: [Substring] {
    lines.compactMap { line in
      let words = line.split(separator: " ")
      guard let index = words.firstIndex(of: "import"), index <= 2, words.count > index + 1,
        !line.hasPrefix("//")
      else { return nil }
      return words[index + 1]
    }
  }
}

extension Process {
  /// Runs it to its end; its status, and all that it wrote.
  func outcome() throws -> (status: Int32, text: String) {
    let output = Pipe()
    (standardOutput, standardError) = (output, output)
    try run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    waitUntilExit()
    return (terminationStatus, text)
  }
}
