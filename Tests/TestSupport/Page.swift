// The package's pages, as tests read them.
package import Foundation
import Testing

/// A Markdown file.
package struct Page {
  /// The package's root.
  package static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  /// From the package's root.
  package let path: String
  package let lines: [Substring]

  /// Code in a page: what stands between backticks, or a line of a block.
  package struct Code {
    package let place: String
    package let text: String
    package let isBlock: Bool
  }

  /// A block of code: lines behind each other that are indented, or between fences.
  package struct Block {
    /// Of the first line, as `page:line`.
    package let place: String
    /// Behind the opening fence; empty for an indented block.
    package let language: String
    /// Without the indentation.
    package let lines: [String]
  }

  /// Every page, sorted by path.
  package static func all() throws -> [Page] {
    let files = FileManager.default
    var paths = try files.contentsOfDirectory(atPath: root.path)
    for folder in ["Benchmarks", "Sources", "Tests", "docs"] {
      let names = try #require(files.enumerator(atPath: root.appending(path: folder).path))
      paths += names.compactMap { $0 as? String }.map { "\(folder)/\($0)" }
    }
    return try paths.filter { $0.hasSuffix(".md") }.sorted().map { path in
      let text = try String(contentsOf: root.appending(path: path), encoding: .utf8)
      return Page(path: path, lines: text.split(separator: "\n", omittingEmptySubsequences: false))
    }
  }

  /// Those that say how things are: a changelog also has names that are gone.
  package static func current() throws -> [Page] { try all().filter { $0.path != "CHANGELOG.md" } }

  /// The code of the current pages.
  package static func code() throws -> [Code] { try current().flatMap(\.code) }

  package var code: [Code] {
    var found: [Code] = []
    var isFenced = false
    for (number, line) in lines.enumerated() {
      let place = "\(path):\(number + 1)"
      if line.trimmingPrefix(while: { $0 == " " }).hasPrefix("```") {
        isFenced.toggle()
      } else if isFenced || line.hasPrefix("    ") {
        found.append(Code(place: place, text: String(line), isBlock: true))
      } else {
        let parts = line.split(separator: "`", omittingEmptySubsequences: false).enumerated()
        found += parts.filter { $0.offset % 2 == 1 }.map {
          Code(place: place, text: String($0.element), isBlock: false)
        }
      }
    }
    return found
  }

  package var blocks: [Block] {
    var found: [Block] = []
    var open: (first: Int, language: String, lines: [String])?
    func close() {
      if let open {
        found.append(Block(place: "\(path):\(open.first)", language: open.language, lines: open.lines))
      }
      open = nil
    }
    var isFenced = false
    for (number, line) in lines.enumerated() {
      if line.hasPrefix("```") {
        close()
        isFenced.toggle()
        if isFenced { open = (number + 2, line.drop { $0 == "`" }.description, []) }
      } else if isFenced {
        open?.lines.append(String(line))
      } else if line.hasPrefix("    ") {
        if open == nil { open = (number + 1, "", []) }
        open?.lines.append(String(line.dropFirst(4)))
      } else if !line.isEmpty {
        close()
      }
    }
    close()
    return found
  }

  /// The names by which links lead to its headings, as GitHub makes them.
  package var anchors: [String] {
    lines.filter { $0.hasPrefix("#") }.map { line in
      line.drop { $0 == "#" }.dropFirst().lowercased().filter {
        $0.isLetter || $0.isNumber || "-_ ".contains($0)
      }
      .replacing(" ", with: "-")
    }
  }
}
