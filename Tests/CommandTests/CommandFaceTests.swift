// What scripts rely on of the command, in Recorded/command.txt: options of all subcommands, exit statuses, what runs say first.
import Foundation
import TestSupport
import Testing

@testable import GLPreviewServer

@Suite("Recorded command-line interface", .timeLimit(.minutes(15)))
struct CommandFaceTests {
  private static let file = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "Recorded/command.txt")

  private let folder: TestFolder

  init() throws {
    folder = try TestFolder()
    try folder.write(Array("no picture".utf8), to: "bad.jpg")
    try folder.write(Array("bind: nowhere:x\ncolour: red\n".utf8), to: "bad.yaml")
    try folder.write(Array("cameras: {door: {source: \"pattern:smpte\"}}\n".utf8), to: "good.yaml")
    try folder.write(SourceBytes.y4m(0..<3), to: "video.y4m")
  }

  @Test("the options of all subcommands and the results of sample runs match command.txt")
  func face() async throws {
    let help = try await folder.run("--experimental-dump-help")
    let command = try JSONDecoder().decode(Help.self, from: Data(help.output)).command
    var lines = ["# Options", ""] + command.options(of: "glpreview") + ["", "# Runs", ""]
    lines += try await runLines()
    try RecordedFace.compare(lines, with: Self.file)
  }

  /// The lines of all runs, in order. Four processes run at a time: none reads what another one writes.
  private func runLines() async throws -> [String] {
    try await withThrowingTaskGroup(of: (Int, String).self) { group in
      var lines = [String](repeating: "", count: Self.runs.count)
      for (index, run) in Self.runs.enumerated() {
        if index >= 4, let (ended, line) = try await group.next() { lines[ended] = line }
        group.addTask { (index, try await line(of: run.split(separator: " ").map(String.init))) }
      }
      for try await (ended, line) in group { lines[ended] = line }
      return lines
    }
  }

  // MARK: Options

  private struct Help: Decodable {
    let command: Command

    struct Command: Decodable {
      let commandName: String
      var subcommands: [Command]?
      var arguments: [Argument]?

      /// A line for each, as it is typed.
      func options(of path: String) -> [String] {
        (arguments ?? []).map { "\(path) \($0.text)" }
          + (subcommands ?? []).filter { $0.commandName != "help" }.flatMap { $0.options(of: $0.commandName) }
      }
    }

    struct Argument: Decodable {
      struct Name: Decodable {
        let kind: String
        let name: String
      }

      let kind: String
      let isOptional: Bool
      let isRepeating: Bool
      var names: [Name]?
      var valueName: String?
      var defaultValue: String?
      var allValues: [String]?

      var text: String {
        let names = (names ?? []).map { ($0.kind == "long" ? "--" : "-") + $0.name }
        let value = kind == "flag" ? nil : "<\(valueName ?? "")>"
        return
          [
            names.isEmpty ? nil : names.joined(separator: " "), value, isOptional ? nil : "required",
            isRepeating ? "repeatable" : nil, allValues.map { "of \($0.joined(separator: "|"))" },
            defaultValue.map { "default \($0)" },
          ].compactMap(\.self).joined(separator: " ")
      }
    }
  }

  // MARK: Runs

  private static let pattern = "render --renderer reference pattern:smpte,size=8x8"
  /// Arguments have no spaces.
  private static let runs = [
    "", "--version", "--help", "help render", "rendre", "render", "\(pattern) -o a.png",
    "\(pattern) --json -o b.png", "\(pattern) --json -o null:jpg", "\(pattern) --frames 3 -o c-{frame}.jpg",
    "\(pattern) -o no/such.png", "\(pattern) -o a.gif", "\(pattern) --crop 9x9+0+0", "\(pattern) --quality 0",
    "\(pattern) --view a --view a -o {view}.png", "\(pattern) --view a --size 8x8",
    "\(pattern) --max-bytes 10",
    "\(pattern) --sise 8x8", "render --renderer reference pattern:bars",
    "render --renderer reference missing.jpg -o d.png", "render --renderer reference bad.jpg -o d.png",
    "render --renderer reference bad.jpg video.y4m -o {name}.png",
    "render --renderer reference missing.jpg gone.jpg -o {name}.png",
    "render --renderer reference http://127.0.0.1:1/a.jpg -o d.png", "render video.nv12 --input-format nv12",
    "devices all", "devices --gpu fast", "verify --seed x", "bench --frames 0", "serve --check-config",
    "serve --check-config --config good.yaml", "serve --check-config --config bad.yaml",
    "serve --check-config --config gone.yaml", "serve --check-config --bind 0.0.0.0:80", "work",
    "work --nats 127.0.0.1:1", "work --nats 127.0.0.1:1 --sources gone", "submit --nats 127.0.0.1:1",
    "submit a.jpg", "submit --nats 127.0.0.1:1 ../a.jpg", "submit --nats 127.0.0.1:1 a.jpg --to b.mp4",
    "submit --nats 127.0.0.1:1 a.jpg --batch a.b", "submit --nats 127.0.0.1:1 a.jpg",
  ]

  /// The exit status, and the first line on each stream; of JSON the members.
  private func line(of arguments: [String]) async throws -> String {
    let result = try await folder.run(arguments, environment: ["COLUMNS": "80"])
    let output = String(decoding: result.output, as: UTF8.self)
    var texts = ["\(arguments.joined(separator: " "))", "\(result.status)"]
    for (name, text) in [("output", output), ("errors", result.errors)] {
      guard let first = text.split(separator: "\n").first.map(String.init) else { continue }
      let members = RecordedFace.members(of: Array(first.utf8)).sorted()
      texts.append("\(name) \(members.isEmpty ? Self.plain(first) : members.joined(separator: ", "))")
    }
    return texts.joined(separator: " | ")
  }

  /// How small a picture can be is said by the installed libjpeg.
  private static func plain(_ text: String) -> String {
    text.replacing(PreviewServer.version, with: "VERSION").replacing(
      /least [0-9]+ bytes/, with: "least N bytes")
  }
}
