// The options for several sources in one picture.
import ArgumentParser
import GLPreview

struct SceneOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Show all SOURCEs in one picture. The layout is grid, spotlight, inset or free, optionally followed by :KEY=VALUE,... with size=WxH (default 1280x720), gap=PIXELS, radius=PIXELS, aspect=W:H, background=#RRGGBB, #RRGGBB-#RRGGBB or blur:NAME; for spotlight main=N (from 0), edge=bottom, share=0.2; for inset corner=bottomRight, share=0.25, margin=16.",
      valueName: "LAYOUT[:KEY=VALUE,...]"))
  var scene: String?

  @Option(
    help: ArgumentHelp(
      "How a source is shown in the scene: the keys of a view except its size (such as background=blur), at=WxH+X+Y (in the layout free), z=N, radius=PIXELS, opacity=0...1. Repeatable.",
      valueName: "NAME:KEY=VALUE,..."))
  var tile: [String] = []

  @Option(help: ArgumentHelp("The labels in the scene.", valueName: "WORDS"))
  var labels = SceneLabels.none

  @Option(help: ArgumentHelp("A source to mark with a green border. Repeatable.", valueName: "NAME"))
  var speaking: [String] = []

  @Option(
    help: ArgumentHelp(
      "A source that is off: it is not opened, and a fallback picture is shown. Repeatable.",
      valueName: "NAME"))
  var off: [String] = []

  @Option(
    help: ArgumentHelp(
      "The picture to show while a source is off or lost. Repeatable.", valueName: "NAME=FILE"))
  var avatar: [String] = []

  /// Rejects options that need `--scene`.
  func checkAbsent() throws {
    let given: [(String, Bool)] = [
      ("--tile", !tile.isEmpty), ("--labels", labels != .none), ("--speaking", !speaking.isEmpty),
      ("--off", !off.isEmpty), ("--avatar", !avatar.isEmpty),
    ]
    if let option = given.first(where: \.1)?.0 { throw UsageError("\(option) goes with --scene") }
  }

  /// The scene described by `text`, checked before anything is opened.
  func scene(_ text: String, of sources: [NamedSource]) throws -> Scene {
    var scene = try Scene(parsing: text)
    scene.tiles = try tiles(of: sources)
    for name in off { try NamedSource.check(name, "--off", sources) }
    if labels.contains(.time) {
      scene.labels = [Label(.time(), background: Label.Background(), position: .topRight, margin: 16)]
    }
    _ = try scene.composed(
      Dictionary(sources.map { ($0.name, .live) }) { $1 }, at: WallClockTime(secondsSince1970: 0), text: nil)
    return scene
  }

  private func tiles(of sources: [NamedSource]) throws -> [Tile] {
    var said: [String: Tile] = [:]
    for text in tile {
      let parsed = try Tile(parsing: text)
      try NamedSource.check(parsed.source, "--tile", sources)
      guard said.updateValue(parsed, forKey: parsed.source) == nil else {
        throw UsageError("--tile is given twice for '\(parsed.source)'")
      }
    }
    for name in speaking { try NamedSource.check(name, "--speaking", sources) }
    return sources.map { source in
      var tile = said[source.name] ?? Tile(source.name)
      tile.isSpeaking = speaking.contains(source.name)
      if labels.contains(.names) { tile.label = Label(name: source.name) }
      return tile
    }
  }

  /// The files of fallback pictures, by source name.
  func avatars(of sources: [NamedSource]) throws -> [String: String] {
    let pairs = try avatar.map { try NamedSource.halves($0, at: "=", "--avatar", of: sources) }
    return try Dictionary(pairs.map { ($0.name, $0.rest) }) { _, _ in
      throw UsageError("--avatar is given twice for one source")
    }
  }
}

/// The labels of a scene.
struct SceneLabels: OptionSet, ExpressibleByArgument {
  let rawValue: Int

  static let none: SceneLabels = []
  /// The source's name, at the bottom left of each tile.
  static let names = SceneLabels(rawValue: 1)
  /// The scene's time, at the top right.
  static let time = SceneLabels(rawValue: 2)

  private static let words: [(String, SceneLabels)] = [
    ("none", .none), ("names", .names), ("time", .time), ("all", [.names, .time]),
  ]

  init(rawValue: Int) { self.rawValue = rawValue }

  init?(argument: String) {
    guard let labels = SceneLabels.words.first(where: { $0.0 == argument })?.1 else { return nil }
    self = labels
  }

  /// The text on the command line.
  var defaultValueDescription: String { SceneLabels.words.first { $0.1 == self }?.0 ?? "" }

  static var allValueStrings: [String] { words.map(\.0) }
}
