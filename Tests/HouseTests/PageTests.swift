// What the pages name exists: files, headings, targets of make, options, keys, addresses, metrics, code, fuzz targets.
import Foundation
import TestSupport
import Testing

@Suite("Documentation pages")
struct PageTests {
  private static func exists(_ path: String) -> Bool {
    FileManager.default.fileExists(atPath: SourceFile.root.appending(path: path).path)
  }

  private static func text(_ path: String) throws -> String {
    try String(contentsOf: SourceFile.root.appending(path: path), encoding: .utf8)
  }

  // MARK: Files

  @Test("a link in a page leads to an existing file and heading")
  func links() throws {
    let pages = try Page.all()
    let anchors = Dictionary(uniqueKeysWithValues: pages.map { ($0.path, $0.anchors) })
    for page in pages {
      for (number, line) in page.lines.enumerated() where line.contains("](") {
        for link in line.matches(of: /\]\(([^)\s]+)\)/).map(\.1) where !link.contains("://") {
          let parts = link.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
          let file = URL(filePath: "/" + page.path).deletingLastPathComponent().appending(
            path: String(parts[0]))
          let target = parts[0].isEmpty ? page.path : String(file.standardized.path.dropFirst())
          #expect(Self.exists(target), "\(page.path):\(number + 1): \(link)")
          if parts.count == 2, let known = anchors[target] {
            #expect(known.contains(String(parts[1])), "\(page.path):\(number + 1): \(link)")
          }
        }
      }
    }
  }

  @Test("a repository path in a page exists")
  func paths() throws {
    let folders = [
      ".ci", "Benchmarks", "Examples", "Resources", "Sources", "Tests", "docs", "packaging", "scripts",
    ]
    for page in try Page.current() {
      for (number, line) in page.lines.enumerated() where line.contains("/") {
        let words = line.split { !($0.isLetter || $0.isNumber || "/._+-*{".contains($0)) }
        for word in words where word.contains("/") && !word.contains(/[*{]/) {
          guard let first = word.split(separator: "/").first, folders.contains(String(first)) else {
            continue
          }
          let path = word.hasSuffix(".") ? word.dropLast() : word
          #expect(Self.exists(String(path)), "\(page.path):\(number + 1): \(word)")
        }
      }
    }
  }

  // MARK: Commands

  @Test("a make target in a page exists")
  func makeTargets() throws {
    let rules = try Self.text("Makefile").matches(of: /(?m)^([a-z][a-z -]*):(?!=)/)
    let targets = Set(rules.flatMap { $0.1.split(separator: " ") })
    for code in try Page.code() where code.text.contains("make ") {
      for match in code.text.matches(of: /\bmake (?:[A-Z_]+=\S+ )*([a-z][a-z-]*)/) {
        #expect(targets.contains(match.1), "\(code.place): make \(match.1)")
      }
    }
  }

  /// The options that the command declares: `var maxBytes` after `@Option` is `max-bytes`.
  private static func options() throws -> Set<String> {
    var options: Set = ["help", "version", "generate-completion-script"]
    for file in try SourceFile.all(below: "Sources/glpreview-cli") {
      var isNext = false
      for line in file.lines {
        if line.contains("@Option") || line.contains("@Flag") { isNext = true }
        for match in line.matches(of: /customLong\("([^"]+)"\)/) { options.insert(String(match.1)) }
        if isNext, let name = line.firstMatch(of: /\bvar (\w+)/)?.1 {
          options.insert(name.map { $0.isUppercase ? "-\($0.lowercased())" : "\($0)" }.joined())
          isNext = false
        }
      }
    }
    return options
  }

  /// Options of other programs that a page names alone.
  private static let others = ["build-arg", "disable-default-traits"]

  @Test("an option in a page exists in the command or in a script")
  func optionNames() throws {
    let options = try Self.options()
    let scripts = try ["Benchmarks", "Tests/Cluster", "Tests/Soak", "Tests/CameraVM", "scripts"].flatMap {
      folder in
      try #require(FileManager.default.enumerator(atPath: SourceFile.root.appending(path: folder).path))
        .compactMap { $0 as? String }.filter { !$0.hasSuffix(".md") }.compactMap {
          try? Self.text("\(folder)/\($0)")
        }
    }.joined()
    for code in try Page.code() where code.text.contains("--") {
      for command in Self.commands(in: code) {
        let words = command.split(separator: " ").drop {
          $0.contains("=") && !$0.hasPrefix("-") || $0 == "sudo"
        }
        guard let first = words.first else { continue }
        let isOurs = first == "glpreview" || first.hasSuffix("/glpreview")
        guard isOurs || first.hasPrefix("--") || Self.exists(String(first)) else { continue }
        for option in command.matches(of: /(?:^|[\s\[])--([a-z][a-z0-9-]*)/).map({ String($0.1) }) {
          // Benchmarks/matrix makes its options of words.
          let isOfScript =
            scripts.contains("--\(option)")
            || code.place.hasPrefix("Benchmarks/") && scripts.contains("\"\(option)\"")
          #expect(
            options.contains(option) || !isOurs && isOfScript || Self.others.contains(option),
            "\(code.place): --\(option)")
        }
      }
    }
  }

  /// The commands of a line, without what is quoted, for another program (behind ` -- `), or a comment.
  private static func commands(in code: Page.Code) -> [Substring] {
    guard code.isBlock else { return [code.text[...]] }
    let text = code.text.replacing(/'[^']*'|"[^"]*"/, with: "").replacing(#/ (#|--) .*/#, with: "")
    return text.split { "|;&(".contains($0) }
  }

  // MARK: The service

  /// The keys in docs/configuration.md, which ConfigurationKeyTests holds; each also without what has a name of its own.
  private static func keys() throws -> Set<String> {
    var keys: Set<String> = []
    var section = ""
    for line in try text("docs/configuration.md").split(separator: "\n") {
      if let name = line.firstMatch(of: /<!-- keys: (\S+) -->/)?.1 { section = String(name) }
      guard line.hasPrefix("| `") else { continue }
      let cell = line.split(separator: "|").first ?? ""
      for key in cell.matches(of: /`([^`]+)`/).map({ $0.1.replacing("[]", with: "") }) {
        let parts = key.split(separator: ".")
        for count in 1...parts.count {
          let part = parts.prefix(count).joined(separator: ".")
          keys.formUnion(section.contains("NAME") ? [part, "\(section).\(part)"] : [part])
        }
      }
    }
    return keys
  }

  /// Members of `/api/cameras` that look like keys.
  private static let members = ["video.running"]

  @Test("a configuration key in a page exists")
  func keyNames() throws {
    let keys = try Self.keys()
    let groups = Set(keys.map { $0.prefix { $0 != "." } })
    try #require(keys.count > 100)
    for code in try Page.code() where !code.isBlock && !Self.members.contains(code.text) {
      let word = code.text.prefix { $0 != ":" }.description.replacing("*", with: "NAME").replacing(
        "[]", with: "")
      guard let match = word.wholeMatch(of: /([a-z-]+)(?:\.[A-Za-z-]+)+/), groups.contains(match.1),
        ![".js", ".md"].contains(where: word.hasSuffix)
      else { continue }
      #expect(keys.contains(word), "\(code.place): \(code.text)")
    }
  }

  @Test("a URL path in a page is a route of the service")
  func addresses() throws {
    let files = try SourceFile.all(below: "Sources/GLPreviewServer").filter { file in
      ["Routes.swift", "Feature.swift"].contains { file.path.hasSuffix($0) }
    }
    let routes = files.flatMap(\.lines).flatMap { line in
      line.matches(of: /"\/?([a-z][A-Za-z0-9.:\/]*)"/).map { $0.1.split(separator: "/") }
    }
    var count = 0
    for code in try Page.code() where code.text.contains("/") {
      let addresses = code.text.matches(
        of:
          /(?:^|[\s'"(]|https?:\/\/[\w.:-]+)\/((?:api|cameras|recordings)\/[\w{}.\/-]*|healthz|readyz|metrics)/
      )
      for address in addresses.map(\.1) {
        count += 1
        let parts = address.split(separator: "/")
        let isServed = routes.contains { route in
          route.count == parts.count && zip(route, parts).allSatisfy { $0.hasPrefix(":") || $0 == $1 }
        }
        #expect(isServed, "\(code.place): /\(address)")
      }
    }
    #expect(count > 100)
  }

  // MARK: Length

  @Test("pages have at most 200 lines, decisions 15 and an index entry, CONTRIBUTING.md 80 lines")
  func lengths() throws {
    for page in try Page.all() where page.path.hasPrefix("docs/") && page.path != "docs/configuration.md" {
      #expect(page.lines.count <= 200, "\(page.path)")
    }
    let index = try Self.text("docs/decisions/README.md")
    for page in try Page.all() where page.path.firstMatch(of: /^docs\/decisions\/[0-9]{3}-/) != nil {
      let isListed = index.contains("](\(page.path.split(separator: "/")[2]))")
      #expect(page.lines.count <= 15 && isListed, "\(page.path)")
    }
    let contributing = try #require(try Page.all().first { $0.path == "CONTRIBUTING.md" })
    #expect(contributing.lines.count <= 80)
  }

  // MARK: Features

  @Test("the feature table in README.md lists every feature of the service")
  func features() throws {
    let manifest = try Self.text("Package.swift")
    let list = try #require(manifest.firstMatch(of: /let features\b[^=]*= \[([^\]]*)\]/)).1
    let features = Set(list.matches(of: /"(\w+)"/).map { String($0.1) })
    let readme = try Self.text("README.md")
    let head = /\| Feature of the service .*\n\|[-|]+\n((?:\|.*\n)+)/
    let table = try #require(readme.firstMatch(of: head)).1
    let rows = Set(table.matches(of: /(?m)^\| \[([^\]]+)\]\(docs\//).map { String($0.1) })

    #expect(!features.isEmpty && features.isSubset(of: rows), "missing: \(features.subtracting(rows))")
  }

  @Test("README.md and CHANGELOG.md have the version of the command")
  func version() throws {
    let server = try Self.text("Sources/GLPreviewServer/Service/PreviewServer.swift")
    let version = String(try #require(server.firstMatch(of: /static let version = "([0-9.]+)"/)).1)
    let readme = try Self.text("README.md")
    let versions = readme.matches(of: /(?:glpreview_|Status: )([0-9]+\.[0-9]+\.[0-9]+)/).map { String($0.1) }

    #expect(Set(versions) == [version] && versions.count == 3)
    #expect(try Self.text("CHANGELOG.md").contains("\n## \(version) - "))
  }

  // MARK: Code

  @Test("a metric or type in a page exists in the code")
  func names() throws {
    let files = try ["Sources", "Tests", "Benchmarks"].flatMap { try SourceFile.all(below: $0) }
    var wanted: [String: [String]] = [:]
    for code in try Page.code() {
      let metrics = code.text.matches(of: /\bglpreview_[a-z_]*[a-z]\b/).map { String($0.0) }
      // A capital after a small letter: other words are no types, or may be.
      let types = code.text.matches(of: /(?:^|[^\w.\/{$-])([A-Z]\w*[a-z]\w*[A-Z]\w+(?:\+\w+)?)/).map {
        String($0.1)
      }
      // The pages name classes of AVFoundation, which are not declared here.
      let ours = types.filter { !$0.hasPrefix("AVCapture") }
      for name in metrics + (code.isBlock ? [] : ours) { wanted[name, default: []].append(code.place) }
    }
    for file in files {
      for part in file.path.split(separator: "/") { wanted[String(part).replacing(".swift", with: "")] = nil }
      for line in file.lines {
        for word in line.utf8.split(whereSeparator: { !Self.isOfName($0) }) where word.count > 4 {
          wanted[String(Substring(word))] = nil
        }
      }
    }
    for (name, places) in wanted.sorted(by: { $0.key < $1.key }) {
      Issue.record("\(places[0]): \(name)")
    }
  }

  private static func isOfName(_ byte: UInt8) -> Bool {
    byte == 95 || (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte)
  }

  @Test("every metric is on a documentation page")
  func metrics() throws {
    let pages = try Page.all().filter { $0.path.hasPrefix("docs/") }.flatMap(\.lines).joined(separator: "\n")
    let lines = try SourceFile.all(below: "Sources/GLPreviewServer").flatMap(\.lines)
    let names = Set(lines.flatMap { $0.matches(of: /"(glpreview_[a-z_]+)"/).map { String($0.1) } })

    #expect(names.count > 60)
    for name in names.sorted() { #expect(pages.contains(name), "\(name)") }
  }

  @Test("the table in docs/fuzzing.md lists exactly the existing fuzz targets")
  func fuzzTargets() throws {
    let targets = try SourceFile.all(below: "Tests/FuzzTests/Targets").flatMap { file in
      file.lines.joined(separator: "\n").matches(of: /FuzzTarget\(\s*name: "([^"]+)"/).map { String($0.1) }
    }
    let page = try Self.text("docs/fuzzing.md")
    let table = try #require(page.firstMatch(of: /\| target \| input \| promise \|\n\|[-|]+\n((?:\|.*\n)+)/))
      .1
    let rows = table.matches(of: /(?m)^\| `([^`]+)`/).map { String($0.1) }

    #expect(Set(rows) == Set(targets) && rows.count == targets.count)
  }
}
