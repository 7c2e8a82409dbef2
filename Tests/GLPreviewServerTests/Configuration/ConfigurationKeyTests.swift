// The table of keys: each is read from files, the environment and options, is refused out of its bounds, and is documented.
import Foundation
import GLPreviewServer
import Testing

@testable import ServiceCore
@testable import ServiceFoundation

@Suite("Configuration keys")
struct ConfigurationKeyTests {
  private let folder: ConfigurationFolder

  init() throws {
    folder = try ConfigurationFolder()
    try folder.write("x", to: "file")
    try folder.write(String(repeating: "y", count: 32), to: "another")
    try folder.write(Self.words["nkey"]?.0 ?? "", to: "seed")
  }

  /// All keys of files.
  private static let entries = ConfigurationSchema.all.service.flatMap(\.entries)

  // MARK: A configuration that has everything which a key may belong to

  private typealias Members = [String: Any]

  private var base: Members {
    let view: Members = [:]
    return [
      "tls": ["certificate": "\(folder.path)/file", "key": "\(folder.path)/file"],
      "public-url": "https://h",
      "access": [
        "tokens": [["token": "a"]], "users": [["name": "b", "password": "c"]],
        "link-keys": ["mail": ["secret": String(repeating: "x", count: 32)]],
      ],
      "cameras": [
        "door": [
          "source": "https://camera/", "node": "barn", "replay": "1h", "lens": "fisheye",
          "views": [
            "main": view, "arc": ["projection": "cylinder", "positions": ["desk": ["yaw": 3, "roll": 2]]],
          ],
          "motion": ["zones": "a=0,0,1,1"], "schedules": ["dusk": ["at": "sunset", "every": "9s"]],
        ]
      ],
      "scenes": ["all": ["schedules": ["dusk": ["at": "sunset", "every": "9s"]]]],
      "recordings": ["path": "\(folder.path)/kept"],
      "mqtt": [
        "server": "mqtts://h", "user": "b", "password": "c", "certificate": "\(folder.path)/file",
        "key": "\(folder.path)/file",
      ],
      "place": "1,2",
      "snapshots": [
        "folder": ["path": "\(folder.path)/kept"], "webhook": ["url": "https://h/x"],
        "stores": [
          "bucket": ["s3": "https://h/b", "access-key": "a", "secret-key": "b"],
          "web": ["put": "https://h/c", "user": "b", "password": "c"],
        ],
      ],
      "cluster": [
        "nats": [
          "servers": ["nats://h"], "user": "b", "password": "c", "certificate": "\(folder.path)/file",
          "key": "\(folder.path)/file",
        ]
      ],
    ]
  }

  /// Where an entry's key is in `base`.
  private static func path(_ entry: ConfigurationEntry) -> [String] {
    var above = ""
    return entry.path.map { part in
      defer { above = part }
      switch part {
      case "[]": return "0"
      case "NAME":
        let isPut = ["put", "user", "password", "token"].contains { entry.path.last?.hasPrefix($0) == true }
        let view = entry.path.contains("positions") ? "arc" : "main"
        return [
          "cameras": "door", "views": view, "scenes": "all", "link-keys": "mail", "schedules": "dusk",
          "positions": "desk",
          "stores": isPut ? "web" : "bucket",
        ][above] ?? part
      default: return part
      }
    }
  }

  /// `value` with a key said, or not; without its twin, which would say the same.
  private static func setting(_ path: ArraySlice<String>, to word: String?, in value: Any) -> Any {
    guard let key = path.first else { return word ?? value }
    if let items = value as? [Any] {
      return items.map { setting(path.dropFirst(), to: word, in: $0) }
    }
    var members = value as? Members ?? [:]
    if path.count == 1 {
      members["\(key)-file"] = nil
      // Of several ways to prove itself to a broker or a store a node has one.
      if members["servers"] ?? members["put"] != nil, key.hasPrefix("token") || key.hasPrefix("nkey") {
        (members["user"], members["password"]) = (nil, nil)
      }
      if key.hasSuffix("-file") { members[String(key.dropLast(5))] = nil }
      members[key] = word
    } else {
      members[key] = setting(path.dropFirst(), to: word, in: members[key] ?? Members())
    }
    return members
  }

  private func file(_ entry: ConfigurationEntry, says word: String?) throws -> String {
    let value = Self.setting(Self.path(entry)[...], to: word, in: base)
    return String(
      decoding: try JSONSerialization.data(withJSONObject: value, options: [.prettyPrinted, .sortedKeys]),
      as: UTF8.self)
  }

  // MARK: Words

  /// A word that a key takes and that is not its default, and words that it refuses.
  private func words(_ entry: ConfigurationEntry) throws -> (good: String, bad: [String]) {
    let form = entry.form.replacing("list of ", with: "")
    if let bounds = form.firstMatch(of: /([0-9.]+?)\.\.\.([0-9.]+)/) {
      let lowest = try #require(Double(bounds.1)), highest = try #require(Double(bounds.2))
      let isWhole = !form.hasPrefix("0.")
      let below = isWhole ? "\(Int(lowest) - 1)" : "\(lowest / 2)"
      return (String(bounds.2), [below, "\(Int(highest) + 1)", "x"])
    }
    let choices = form.matches(of: /`([a-z0-9-]+)`/).map { String($0.1) }
    if !choices.isEmpty, choices.map({ "`\($0)`" }).joined(separator: ", ") == form {
      return (try #require(choices.last { "`\($0)`" != entry.usual }), ["zzz"])
    }
    switch form {
    case "time": return ("7s", ["0s", "x"])
    case "file" where entry.path.last == "nkey-file":
      return ("\(folder.path)/seed", ["\(folder.path)/gone", "\(folder.path)/another"])
    case "file": return ("\(folder.path)/another", ["\(folder.path)/gone"])
    case "path": return ("\(folder.path)/other", [""])
    case "`WxH`": return ("64x48", ["64", "0x1"])
    default:
      return try #require(Self.words[entry.path.last ?? ""], "a word for \(entry.path) is to be said here")
    }
  }

  private static let words: [String: (String, [String])] = [
    "bind": ("127.0.0.1:1", ["x y", ":80"]), "gpu": ("software", ["fast"]),
    "token": ("abc", ["a b", ""]), "name": ("ann", ["a:b"]), "password": ("xyz", [""]),
    "secret": ("0123456789abcdef0123456789abcdef", [""]), "cameras": ("door", ["a:b"]),
    "public-url": ("https://a.example/b", ["a.example", "https://u:p@a.example"]),
    "origins": ("https://a.example", ["a.example"]), "hosts": ("a.example", ["a/b"]),
    "source": ("pattern:smpte", [""]), "controls": ("gain=5", ["gain"]), "headers": ("A: b", ["gain"]),
    "view": ("main", ["a/b", ""]), "masks": ("1x2+3+4", ["what"]), "url": ("https://h/y", ["ftp://x"]),
    "listen": ("127.0.0.1:1", ["x y", "unix:/run/x"]),
    "candidates": ("203.0.113.7", ["a.example", "203.0.113.7:0"]),
    "ice-servers": (
      "turn:ann:secret@a.example", ["a.example", "stun:ann:secret@a.example", "turn:ann@a.example"]
    ),
    "at": ("06:00", ["25:00", "sunrise+1x"]), "between": ("06:00 to sunset", ["6 to 7", "noon"]),
    "views": ("main", ["a/b"]), "to": ("webhook", [""]), "place": ("52.52, 13.4", ["91,0", "1"]),
    "time-zone": ("Europe/Berlin", ["Mars/One", "../UTC"]),
    "s3": ("https://h/d", ["https://a:b@h/b", "https://h/?a"]), "put": ("https://h/d", ["ftp://h"]),
    "region": ("a-1", ["a b"]), "access-key": ("c", ["a/b"]), "secret-key": ("d", [""]),
    "layout": ("grid:gap=8", ["grid:gap=x"]), "tiles": ("door:mode=fit", ["door:mode=x"]),
    "lens": ("fisheye fov 190", ["fish", "fisheye fov 0"]), "projection": ("cylinder", ["round"]),
    "yaw": ("-20.5", ["361", "x"]), "pitch": ("20", ["nan"]), "roll": ("5", ["x"]), "hfov": ("60", ["0"]),
    "corners": ("0,0 9,0 9,9 0,9", ["0,0 9,0", "0,0 9,9 9,0 0,9"]),
    "crop": ("1x1+0+0", ["1x1"]), "rotate": ("1.5", ["361", "x"]), "mirror": ("horizontal", ["x"]),
    "size": ("8x8", ["8"]), "width": ("8", ["0"]), "height": ("8", ["0"]), "mode": ("fit", ["x"]),
    "background": ("#203040", ["red"]), "filter": ("lanczos", ["x"]), "linear": ("true", ["x"]),
    "label": ("door", [String(repeating: "x", count: 201)]), "time": ("utc", ["x", "%Q"]),
    "certificate": ("any", ["12:34", "gone.pem", "\(#filePath)"]),
    "warmup": ("0.5s", ["x", "-1"]), "zones": ("b=0,0 1,0 1,1", ["0,0,1,1", "b=0,0,2,1"]),
    "servers": ("nats://a", ["http://a"]), "user": ("ann", ["a:b"]), "prefix": ("site", ["a.b"]),
    "nkey": ("SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY", ["SU"]), "node": ("shed", ["a/b"]),
    "server": ("mqtts://a:1", ["http://a", "mqtts://ann:hush@a"]), "discovery": ("ha", ["a b", "a/+", ""]),
    "pictures": ("10s", ["x", "500ms"]),
    "peers": ("https://a.example:8080", ["a.example", "http://u:p@a.example", "http://a.example?x"]),
  ]

  @Test("a key is read alike from a file, its environment variable and an option", arguments: entries)
  func layers(entry: ConfigurationEntry) throws {
    let (word, path) = (try words(entry).good, Self.path(entry))
    let said = try folder.load(file(entry, says: word)).configuration
    #expect(said != (try folder.load(baseText)).configuration)

    let unsaid = try file(entry, says: nil)
    // What has no name is not there for a variable or an option to change.
    let isNeeded = path.last == "source"
    let variable = ConfigurationEnvironment.variable(of: path)
    #expect(try folder.load(unsaid, environment: [variable: word]).configuration == said, "\(variable)")

    guard !path.contains("0"), !isNeeded else { return }
    var options = ConfigurationOptions()
    options.set(path, to: word, by: "--option")
    // Parts that options name come first.
    #expect(Self.sorted(try folder.load(unsaid, options: options).configuration) == Self.sorted(said))
  }

  /// The configuration with each camera's views by name.
  private static func sorted(_ configuration: ServerConfiguration) -> ServerConfiguration {
    var sorted = configuration
    for camera in sorted.cameras.indices { sorted.cameras[camera].views.sort { $0.view.name < $1.view.name } }
    return sorted
  }

  private var baseText: String {
    get throws {
      let data = try JSONSerialization.data(withJSONObject: base, options: [.prettyPrinted, .sortedKeys])
      return String(decoding: data, as: UTF8.self)
    }
  }

  @Test("an invalid value of a key is rejected with the name of the key", arguments: entries)
  func bounds(entry: ConfigurationEntry) throws {
    let key = Self.path(entry).joined(separator: ".")
    for word in try words(entry).bad {
      let problems = try folder.problems(file(entry, says: word))
      #expect(problems.contains { $0.contains(": \(key): ") }, "'\(word)': \(problems)")
    }
  }

  @Test("the documented default of a key is its actual default", arguments: entries)
  func defaults(entry: ConfigurationEntry) throws {
    guard entry.usual.hasPrefix("`"), entry.usual.hasSuffix("`"), !entry.usual.contains(" ") else { return }
    let word = entry.usual.replacing("`", with: "")
    #expect(try folder.load(file(entry, says: word)).configuration == folder.load(baseText).configuration)
  }

  @Test("a reload reports a changed key if it needs a restart, and no other key", arguments: entries)
  func restart(entry: ConfigurationEntry) throws {
    let (before, after) = (try folder.load(baseText), try folder.load(file(entry, says: words(entry).good)))

    let names = ConfigurationSchema.all.waitingForRestart(before, after)

    let name = Self.path(entry).joined(separator: ".")
    let isSecret = name.hasSuffix("-file") && entry.purpose.hasSuffix("in one line")
    let setting = isSecret ? String(name.dropLast(5)) : name
    #expect(names.contains(setting) == entry.waitsForRestart, "\(names)")
    let waiting = Self.entries.filter(\.waitsForRestart).map { Self.path($0).joined(separator: ".") }
    #expect(Set(names).isSubset(of: waiting))
    #expect(ConfigurationSchema.all.waitingForRestart(after, after) == [])
  }

  @Test(
    "a reload reopens a camera for a changed key, except for keys that do not affect its source",
    arguments: entries.filter { $0.path.starts(with: ["cameras", "NAME"]) })
  func source(entry: ConfigurationEntry) throws {
    let before = try #require(try folder.load(baseText).cameras.first)
    let after = try #require(try folder.load(file(entry, says: words(entry).good)).cameras.first)
    try #require(before != after, "the word is the one that is there already")

    let others = ["node", "required", "offline", "trigger-delay", "motion", "record", "schedules", "views"]
    #expect(before.isSameSource(as: after) == others.contains(entry.path[2]))
  }

  @Test("names of environment variables follow from keys and are unique")
  func variables() {
    #expect(
      ConfigurationEnvironment.variable(of: ["cameras", "frontDoor", "max-bytes"])
        == "GLPREVIEW_CAMERAS_FRONT_DOOR_MAX_BYTES")
    let names = Self.entries.map { ConfigurationEnvironment.variable(of: Self.path($0)) }
    #expect(Set(names).count == names.count)
  }

  // MARK: Documentation

  private static let page = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().appending(path: "docs/configuration.md")

  @Test("docs/configuration.md has the current table of keys")
  func documentation() throws {
    let recorded = try String(contentsOf: Self.page, encoding: .utf8)
    let mark = /<!-- keys: (\S+) -->\n(?:\|[^\n]*\n)*/
    let sections = recorded.matches(of: mark).map { String($0.1) }

    let text = recorded.replacing(mark) { match in
      "<!-- keys: \(match.1) -->\n" + Self.table(of: String(match.1), among: sections)
    }

    if ProcessInfo.processInfo.environment["GLPREVIEW_RECORD_API"] != nil {
      try text.write(to: Self.page, atomically: true, encoding: .utf8)
    }
    #expect(try text == String(contentsOf: Self.page, encoding: .utf8), "make api writes it")
    for entry in Self.entries {
      #expect(text.contains("`\(Self.shown(entry.path, in: Self.section(of: entry, among: sections)))`"))
    }
  }

  /// The section with the most of a key's path; else that of the service.
  private static func section(of entry: ConfigurationEntry, among sections: [String]) -> String {
    sections.filter { entry.path.starts(with: $0.split(separator: ".").map(String.init)) }
      .max { $0.count < $1.count } ?? "service"
  }

  /// Within what has a name, without that.
  private static func shown(_ path: [String], in section: String) -> String {
    let count = section.contains("NAME") ? section.split(separator: ".").count : 0
    return path.dropFirst(count).joined(separator: ".").replacing(".[]", with: "[]")
  }

  private static func table(of section: String, among sections: [String]) -> String {
    var rows: [(keys: [String], rest: String)] = []
    for entry in entries where self.section(of: entry, among: sections) == section {
      let key = "`\(shown(entry.path, in: section))`" + (entry.waitsForRestart ? " †" : "")
      let rest = " | \(entry.purpose) | \(entry.form) | \(entry.usual) |\n"
      if rows.last?.rest == rest {
        rows[rows.count - 1].keys.append(key)
      } else {
        rows.append(([key], rest))
      }
    }
    return "| key | what it is | accepted values | default |\n|---|---|---|---|\n"
      + rows.map { "| \($0.keys.joined(separator: ", "))\($0.rest)" }.joined()
  }
}
