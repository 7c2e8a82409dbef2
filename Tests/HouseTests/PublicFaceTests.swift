// The library's public declarations, in docs/api.txt: a change of what users may call shows in review.
import Foundation
import Testing

@Suite("Public API")
struct PublicFaceTests {
  /// The targets that an import of the library brings along.
  private static let library = ["PreviewCore", "Basics", "VideoFormats", "Codecs", "Capture", "GLPreview"]
  private static let file = SourceFile.root.appending(path: "docs/api.txt")

  @Test("docs/api.txt lists the library's public declarations")
  func list() throws {
    let text = try Self.declarations().joined(separator: "\n") + "\n"
    if ProcessInfo.processInfo.environment["GLPREVIEW_RECORD_API"] != nil {
      try text.write(to: Self.file, atomically: true, encoding: .utf8)
    }

    let recorded = try String(contentsOf: Self.file, encoding: .utf8)

    #expect(text == recorded, "make api writes it; the difference shows what users gain or lose")
  }

  @Test("only the library's targets have public types")
  func library() throws {
    let type = try Regex(#"public (?:final |indirect )?(?:struct|class|enum|protocol|actor) "#)
    for file in try SourceFile.all()
    where !Self.library.contains(where: { file.path.hasPrefix("Sources/\($0)/") }) {
      for (number, line) in file.lines.enumerated() where !line.hasPrefix("//") {
        #expect(!line.contains(type), "\(file.path):\(number + 1): package is enough")
      }
    }
  }

  /// One line for each, with the type that it belongs to.
  private static func declarations() throws -> [String] {
    try library.flatMap { try SourceFile.all(below: "Sources/\($0)") }
      .flatMap { declarations(in: $0.lines) }.sorted()
  }

  private static func declarations(in lines: [Substring]) -> [String] {
    var found: [String] = []
    var types: [(name: String, indent: Int)] = []
    var index = 0
    while index < lines.count {
      let line = lines[index]
      index += 1
      let indent = line.prefix { $0 == " " }.count
      let text = line.dropFirst(indent)
      if text.hasPrefix("}") { types.removeAll { $0.indent >= indent } }
      guard !text.hasPrefix("//") else { continue }
      if text.hasPrefix("public "), !text.hasPrefix("public import") {
        var declaration = String(text)
        // The rest of a declaration of several lines; its body begins after a brace at a line's end.
        while !declaration.hasSuffix("{"), index < lines.count, goesOn(declaration, before: lines[index]) {
          declaration += " " + lines[index].drop { $0 == " " }
          index += 1
        }
        found.append((types.map(\.name) + [signature(declaration)]).joined(separator: " . "))
      }
      let words = text.split { !($0.isLetter || $0.isNumber || $0 == "_" || $0 == ".") }
      let kinds: Set<Substring> = ["struct", "class", "enum", "protocol", "actor", "extension"]
      if let kind = words.firstIndex(where: kinds.contains), kind < words.count - 1, line.hasSuffix("{"),
        !words[..<kind].contains("func"), !words[..<kind].contains("var")
      {
        types.append((String(words[kind + 1]), indent))
      }
      // Cases and a protocol's requirements are as public as their type.
      if let type = types.last, indent == type.indent + 2, text.hasPrefix("case "),
        found.contains(where: { $0.hasSuffix("enum " + type.name) || $0.contains("enum \(type.name):") })
      {
        found.append((types.map(\.name) + [String(text)]).joined(separator: " . "))
      }
    }
    return found
  }

  private static func goesOn(_ declaration: String, before next: Substring) -> Bool {
    let isOpen = declaration.count { $0 == "(" } > declaration.count { $0 == ")" }
    let start = next.drop { $0 == " " }
    return isOpen || declaration.hasSuffix(",")
      || ["->", "where", "throws", "async", "{"].contains { start.hasPrefix($0) }
  }

  /// Without the body and the value of a constant.
  private static func signature(_ declaration: String) -> String {
    var text = declaration
    if let body = text.range(of: " {") { text = String(text[..<body.lowerBound]) }
    if text.contains(" let ") || text.contains(" var "), let value = text.range(of: " = ") {
      text = String(text[..<value.lowerBound])
    }
    return text.replacing("( ", with: "(").replacing(" )", with: ")")
  }
}
