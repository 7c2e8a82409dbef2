// The package's pages, as the tests of the house read them.
import Foundation
import Testing

/// A Markdown file.
struct Page {
  /// From the package's root.
  let path: String
  let lines: [Substring]

  /// Code in a page: what stands between backticks, or a line of a block.
  struct Code {
    let place: String
    let text: String
    let isBlock: Bool
  }

  /// Every page, sorted by path.
  static func all() throws -> [Page] {
    let files = FileManager.default
    var paths = try files.contentsOfDirectory(atPath: SourceFile.root.path)
    for folder in ["Benchmarks", "Sources", "Tests", "docs"] {
      let names = try #require(files.enumerator(atPath: SourceFile.root.appending(path: folder).path))
      paths += names.compactMap { $0 as? String }.map { "\(folder)/\($0)" }
    }
    return try paths.filter { $0.hasSuffix(".md") }.sorted().map { path in
      let text = try String(contentsOf: SourceFile.root.appending(path: path), encoding: .utf8)
      return Page(path: path, lines: text.split(separator: "\n", omittingEmptySubsequences: false))
    }
  }

  /// Those that say how things are: a changelog also has names that are gone.
  static func current() throws -> [Page] { try all().filter { $0.path != "CHANGELOG.md" } }

  /// The code of the current pages.
  static func code() throws -> [Code] { try current().flatMap(\.code) }

  var code: [Code] {
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

  /// The names by which links lead to its headings, as GitHub makes them.
  var anchors: [String] {
    lines.filter { $0.hasPrefix("#") }.map { line in
      line.drop { $0 == "#" }.dropFirst().lowercased().filter {
        $0.isLetter || $0.isNumber || "-_ ".contains($0)
      }
      .replacing(" ", with: "-")
    }
  }
}
