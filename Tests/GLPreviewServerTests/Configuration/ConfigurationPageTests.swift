// Configurations in the pages have keys that there are. ConfigurationMistakeTests has those that are files.
import Foundation
import GLPreviewServer
import Testing

@testable import ServiceFoundation

@Suite("Configurations in the documentation")
struct ConfigurationPageTests {
  private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  private static let names = ConfigurationSchema.all.service.filter { !$0.entries.isEmpty }.map(\.name)

  /// The configurations of a page: blocks of code that begin with a key of ours. A comment before that names another program's.
  private static func configurations(in page: String) -> [String] {
    var blocks: [[Substring]] = [[]]
    var isFenced = false
    for line in page.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.hasPrefix("```") {
        isFenced.toggle()
        blocks.append([])
      } else if isFenced {
        blocks[blocks.count - 1].append(line)
      } else if line.hasPrefix("    ") {
        blocks[blocks.count - 1].append(line.dropFirst(4))
      } else {
        blocks.append([])
      }
    }
    return blocks.filter { lines in
      guard lines.first?.hasPrefix("#") != true || lines[0].contains("glpreview") else { return false }
      let first = lines.first { !$0.hasPrefix("#") } ?? ""
      return names.contains { first.hasPrefix("\($0):") }
    }.map { $0.joined(separator: "\n") }
  }

  @Test("a configuration in docs/ has no unknown key")
  func pages() throws {
    let folder = try ConfigurationFolder()
    let docs = Self.root.appending(path: "docs")
    var count = 0
    for name in try FileManager.default.contentsOfDirectory(atPath: docs.path).sorted()
    where name.hasSuffix(".md") {
      let page = try String(contentsOf: docs.appending(path: name), encoding: .utf8)
      for text in Self.configurations(in: page) {
        let unknown = try folder.problems(text).filter { $0.contains("unknown key") }
        #expect(unknown == [], "docs/\(name):\n\(text)")
        count += 1
      }
    }
    #expect(count >= 8, "the pages have configurations")
  }

  @Test("the configuration in scripts/demo is valid")
  func demo() throws {
    let script = try String(contentsOf: Self.root.appending(path: "scripts/demo"), encoding: .utf8)
    let text = try #require(script.firstMatch(of: /<<'CONF'\n((?:.*\n)*?)CONF\n/)).1

    let configuration = try ConfigurationFolder().load(String(text))

    #expect(configuration.cameras.map(\.name) == ["meadow", "counter"])
    #expect(configuration.scenes.count == 1 && configuration.bind == .loopback)
  }
}
