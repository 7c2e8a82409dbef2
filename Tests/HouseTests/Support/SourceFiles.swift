// The package's own files, as the tests of the house read them.
import Foundation
import Testing

/// A Swift file of the package.
struct SourceFile {
  /// From the package's root.
  let path: String
  let text: String
  let lines: [Substring]

  static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  /// The modules that it imports.
  let imports: [Substring]

  private init(path: String, text: String) {
    (self.path, self.text) = (path, text)
    lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    imports = lines.compactMap { line in
      // Words before `import` are attributes and access levels.
      guard let first = line.utf8.first(where: { $0 != UInt8(ascii: " ") }), "@fip".utf8.contains(first)
      else { return nil }
      let words = line.split(separator: " ")
      guard let index = words.firstIndex(of: "import"), index <= 2, words.count > index + 1 else {
        return nil
      }
      return words[index + 1]
    }
  }

  /// Those of the folder `Sources`, which many tests read.
  private static let sources = Result { try read(below: "Sources") }

  /// Every Swift file below a folder of the package, sorted by path.
  static func all(below folder: String = "Sources") throws -> [SourceFile] {
    try folder == "Sources" ? sources.get() : read(below: folder)
  }

  private static func read(below folder: String) throws -> [SourceFile] {
    let base = root.appending(path: folder)
    let names = try #require(FileManager.default.enumerator(atPath: base.path))
    return try names.compactMap { $0 as? String }.filter { $0.hasSuffix(".swift") }.sorted().map { name in
      SourceFile(
        path: "\(folder)/\(name)", text: try String(contentsOf: base.appending(path: name), encoding: .utf8))
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
