// A target's folders are its rooms: a room uses only rooms above it in its table in docs/source-map.md, whose last column `make api`
// writes.
import Foundation
import Testing

@Suite("Source folders")
struct RoomTests {
  /// The targets whose folders are rooms.
  private static let targets =
    ["PreviewCore", "Basics", "VideoFormats", "Codecs", "Capture", "GLPreview", "glpreview-cli", "NATS"]
    + ["Foundation", "Core", "Cluster", "HLS", "Motion", "MQTT", "Recordings", "RTSP", "Service", "WebRTC"]
    .map { "GLPreviewServer/\($0)" }

  /// A row of the table: a room, its purpose, and the rooms of its target that it uses.
  private struct Row {
    let room: String
    let purpose: Substring
    let used: [String]
  }

  private static let page = SourceFile.root.appending(path: "docs/source-map.md")

  /// The rows of a target, in their order: | `room` | purpose | `other`, `another` |
  private static func table(of target: String) throws -> [Row] {
    try String(contentsOf: page, encoding: .utf8).split(separator: "\n").compactMap { line in
      guard let row = row(line), row.room == target || row.room.hasPrefix(target + "/") else { return nil }
      return Row(room: row.room, purpose: row.purpose, used: row.used.map { "\(target)/\($0)" })
    }
  }

  private static func row(_ line: Substring) -> Row? {
    let cells = line.split(separator: "|", omittingEmptySubsequences: false)
    guard cells.count == 5, words(cells[1]).count == 1 else { return nil }
    return Row(room: words(cells[1])[0], purpose: cells[2], used: words(cells[3]))
  }

  /// What stands between backticks.
  private static func words(_ cell: Substring) -> [String] {
    cell.split(separator: "`", omittingEmptySubsequences: false).enumerated()
      .filter { $0.offset % 2 == 1 }.map { String($0.element) }
  }

  /// A file's room: its folder, from `Sources` on.
  private static func room(of file: SourceFile) -> String {
    file.path.split(separator: "/").dropFirst().dropLast().joined(separator: "/")
  }

  /// For each room of a target the rooms that it uses, each with an example.
  private static func arrows(in target: String) throws -> [String: [String: String]] {
    let files = try SourceFile.all(below: "Sources/\(target)").map { ($0, SwiftNames($0.lines)) }
    var rooms: [String: Set<String>] = [:]
    var members: [String: Set<String>] = [:]
    var declarations: [String: Int] = [:]
    for (file, names) in files {
      for name in names.declared { rooms[name, default: []].insert(room(of: file)) }
      declarations.merge(names.declarations, uniquingKeysWith: +)
    }
    for (file, names) in files {
      // What is added to other people's types may have the name of something of theirs.
      for (member, type) in names.added where declarations[member] == 1 && rooms[type] != nil {
        members[member, default: []].insert(room(of: file))
      }
    }
    var arrows: [String: [String: String]] = [:]
    for (file, names) in files {
      let here = room(of: file)
      arrows[here, default: [:]] = arrows[here] ?? [:]
      // A type may be declared twice, for builds with and without a trait; a function's name may be a variable's elsewhere.
      let found =
        names.used.filter { $0.first?.isUppercase == true || declarations[$0] == 1 }.map { ($0, rooms[$0]) }
        + names.usedAsMember.map { ($0, members[$0]) }
      for (name, declaring) in found {
        guard let there = declaring?.first, declaring?.count == 1, there != here else { continue }
        arrows[here]?[there] = "\(file.path) names \(name)"
      }
    }
    return arrows
  }

  @Test(
    "a folder uses only folders above it in docs/source-map.md, which lists all of its uses",
    arguments: targets)
  func rooms(target: String) throws {
    let rows = try Self.table(of: target)
    let arrows = try Self.arrows(in: target)

    #expect(
      Set(rows.map(\.room)) == Set(arrows.keys),
      "the rooms of docs/source-map.md, and the folders with sources")
    let isRecording = ProcessInfo.processInfo.environment["GLPREVIEW_RECORD_API"] != nil
    for (number, row) in rows.enumerated() {
      let above = Set(rows.prefix(number).map(\.room))
      let found = arrows[row.room] ?? [:]
      for (room, example) in found.sorted(by: { $0.key < $1.key }) where !above.contains(room) {
        Issue.record("\(example) of \(room), which is not above \(row.room) in docs/source-map.md")
      }
      if !isRecording {
        #expect(
          Set(row.used) == Set(found.keys),
          "\(row.room): `make api` writes the last column of docs/source-map.md")
      }
    }
  }

  /// Rewrites the last column of all tables. It is one test, as it writes one file.
  @Test(
    "the last column in docs/source-map.md is rewritten if GLPREVIEW_RECORD_API is set",
    .enabled(if: ProcessInfo.processInfo.environment["GLPREVIEW_RECORD_API"] != nil))
  func record() throws {
    var used: [String: [String]] = [:]
    for target in Self.targets {
      for (room, found) in try Self.arrows(in: target) {
        used[room] = found.keys.sorted().map { String($0.dropFirst(target.count + 1)) }
      }
    }
    let lines = try String(contentsOf: Self.page, encoding: .utf8).split(
      separator: "\n", omittingEmptySubsequences: false)
    let written = lines.map { line in
      guard let row = Self.row(line), let rooms = used[row.room] else { return String(line) }
      let column = rooms.isEmpty ? " " : " " + rooms.map { "`\($0)`" }.joined(separator: ", ") + " "
      return "| `\(row.room)` |\(row.purpose)|\(column)|"
    }
    try written.joined(separator: "\n").write(to: Self.page, atomically: true, encoding: .utf8)
  }
}
