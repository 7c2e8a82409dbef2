// Comments and pages are plain English: the usual riddles are found by their words.
import Foundation
import TestSupport
import Testing

@Suite("Plain English")
struct EnglishTests {
  /// Where a doc comment is a riddle until its end.
  private static let beginnings = ["The same", "One that", "Those", "What", "Whoever", "It is"]
  private static let words = [
    "anew": "again, or from the beginning",
    "told": "gets, knows, is notified of, reports",
    "lent": "borrowed from, provided by",
    "nobody": "no client, no viewer, no task, no one",
    "somebody": "a client, a viewer, a task",
  ]
  /// Words before which 'is no' is plain.
  private static let plainAfterNo: Set<Substring> = [
    "better", "earlier", "higher", "larger", "later", "less", "longer", "lower", "more", "newer", "older",
    "one",
    "other", "slower", "smaller", "wider",
  ]

  /// Text as people read it.
  private struct Line {
    let place: String
    let text: String
    var beginsComment = false

    private static func words(_ text: String) -> [Substring] { text.lowercased().split { !$0.isLetter } }

    /// Advice for each phrase that is not plain.
    var advice: [String] {
      let words = Self.words(
        text.split(separator: "`", omittingEmptySubsequences: false).enumerated()
          .map { $0.offset % 2 == 0 ? String($0.element) : "code" }.joined())
      var advice = words.compactMap { word in
        EnglishTests.words[String(word)].map { "'\(word)': \($0)" }
      }
      if beginsComment, let start = EnglishTests.beginnings.first(where: { text.hasPrefix("\($0) ") }) {
        advice.append("'\(start)': begin with the noun that it is, or the verb that it does")
      }
      for (index, word) in words.enumerated().dropFirst() {
        let (before, after) = (words[index - 1], index + 1 < words.count ? words[index + 1] : "")
        if word == "on", ["rest", "rests"].contains(before) {
          advice.append("'\(before) on': depends on, is built on")
        }
        if word == "no", ["is", "are"].contains(before), index < 2 || words[index - 2] != "there",
          !after.isEmpty,
          !EnglishTests.plainAfterNo.contains(after)
        {
          advice.append("'\(before) no \(after)': as in 'is not a JPEG'")
        }
      }
      return advice
    }
  }

  @Test("comments, pages and scripts contain none of the obscure phrases")
  func plain() throws {
    let marked = try (Self.comments() + Self.prose() + Self.scripts()).filter { !$0.advice.isEmpty }
    for line in marked {
      Issue.record("\(line.place): write plainly: \(line.advice.joined(separator: "; "))\n  \(line.text)")
    }
  }

  @Test(
    "the rules mark obscure sentences and accept plain ones",
    arguments: [
      ("One that waits.", true), ("A body is no picture.", true), ("He was told.", true),
      ("There is no picture.", false), ("A view, which is no longer here, and no larger.", false),
      ("A `told` event.", false), ("What a client sends.", true), ("The views that rest on it.", true),
      ("A view.", false),
    ])
  func examples(text: String, isMarked: Bool) {
    #expect(Line(place: "", text: text, beginsComment: true).advice.isEmpty != isMarked)
  }

  /// Comments of the sources.
  private static func comments() throws -> [Line] {
    try SourceFile.all().flatMap { file in
      var wasDoc = false
      return file.lines.enumerated().compactMap { number, line -> Line? in
        // Most lines are code alone.
        guard line.utf8.contains(UInt8(ascii: "/")) else {
          wasDoc = false
          return nil
        }
        let code = line.drop { $0 == " " }
        let isDoc = code.hasPrefix("///")
        defer { wasDoc = isDoc }
        guard let start = code.hasPrefix("//") ? code.startIndex : line.firstRange(of: " // ")?.lowerBound
        else { return nil }
        let text = String(line[start...].drop { " /".contains($0) })
        return Line(place: "\(file.path):\(number + 1)", text: text, beginsComment: isDoc && !wasDoc)
      }
    }
  }

  /// What `make` and the scripts print, and their comments.
  private static func scripts() throws -> [Line] {
    let folder = SourceFile.root.appending(path: "scripts")
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    return try (["Makefile", ".ci/run"] + names.map { "scripts/\($0)" }).flatMap { path in
      let text = try String(contentsOf: SourceFile.root.appending(path: path), encoding: .utf8)
      return text.split(separator: "\n", omittingEmptySubsequences: false).enumerated().map {
        Line(place: "\(path):\($0.offset + 1)", text: String($0.element))
      }
    }
  }

  /// Pages for users without code blocks.
  private static func prose() throws -> [Line] {
    try Page.all().filter { ["README.md", "CHANGELOG.md"].contains($0.path) || $0.path.hasPrefix("docs/") }
      .flatMap { page in
        var isCode = false
        return page.lines.enumerated().compactMap { number, line -> Line? in
          if line.hasPrefix("```") { isCode.toggle() }
          guard !isCode, !line.hasPrefix("    ") else { return nil }
          return Line(place: "\(page.path):\(number + 1)", text: String(line))
        }
      }
  }
}
