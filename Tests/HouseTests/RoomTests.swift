// The house's rooms: each names only those that stand below it, as the tables of CONTRIBUTING.md say.
import Foundation
import Testing

@Suite("Rooms")
struct RoomTests {
  /// The targets whose folders are rooms.
  private static let targets =
    ["PreviewCore", "Basics", "VideoFormats", "Codecs", "Capture", "GLPreview", "glpreview-cli", "NATS"]
    + ["Foundation", "Core", "Cluster", "HLS", "Motion", "MQTT", "Recordings", "RTSP", "Service", "WebRTC"]
    .map { "GLPreviewServer/\($0)" }

  /// A row of the table: a room, and those of its target that it names.
  private struct Row: Equatable {
    let room: String
    let named: [String]
  }

  /// The rows of a target in CONTRIBUTING.md, in their order: | `room` | what is in it | `other`, `another` |
  private static func table(of target: String) throws -> [Row] {
    let text = try String(contentsOf: SourceFile.root.appending(path: "CONTRIBUTING.md"), encoding: .utf8)
    return text.split(separator: "\n").compactMap { line in
      let cells = line.split(separator: "|", omittingEmptySubsequences: false)
      guard cells.count == 5, let room = words(cells[1]).first, words(cells[1]).count == 1,
        room == target || room.hasPrefix(target + "/")
      else { return nil }
      return Row(room: room, named: words(cells[3]).map { "\(target)/\($0)" })
    }
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

  /// For each room of a target the rooms that it names, each with an example.
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
    "a room names only rooms that stand above it in the table, and the table says which", arguments: targets)
  func rooms(target: String) throws {
    let rows = try Self.table(of: target)
    let arrows = try Self.arrows(in: target)

    #expect(
      Set(rows.map(\.room)) == Set(arrows.keys), "the rooms of CONTRIBUTING.md, and the folders with sources")
    for (number, row) in rows.enumerated() {
      let above = Set(rows.prefix(number).map(\.room))
      let found = arrows[row.room] ?? [:]
      for (room, example) in found.sorted(by: { $0.key < $1.key }) where !row.named.contains(room) {
        Issue.record("\(example) of \(room), which CONTRIBUTING.md does not grant to \(row.room)")
      }
      for room in row.named {
        #expect(above.contains(room), "\(row.room) may name \(room), which does not stand above it")
        #expect(found[room] != nil, "\(row.room) may name \(room), and does not")
      }
    }
  }
}
