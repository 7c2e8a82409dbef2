// The options for several sources in one picture, and the sources' names, given (`ann=/dev/video0`) or
// derived.
import ArgumentParser
package import GLPreview

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
    if let option = given.first(where: \.1)?.0 { throw UsageError("\(option) requires --scene") }
  }

  /// Returns the scene described by `text`, checked before anything is opened.
  func scene(_ text: String, of sources: [NamedSource]) throws -> Scene {
    var scene = try Scene(parsing: text)
    scene.tiles = try tiles(of: sources)
    labels.add(to: &scene)
    for name in off { try NamedSource.check(name, "--off", sources) }
    _ = try scene.composed(
      Dictionary(sources.map { ($0.name, .live) }) { $1 }, at: WallClockTime(secondsSince1970: 0), text: nil)
    return scene
  }

  private func tiles(of sources: [NamedSource]) throws -> [Tile] {
    var given: [String: Tile] = [:]
    for text in tile {
      let parsed = try Tile(parsing: text)
      try NamedSource.check(parsed.source, "--tile", sources)
      guard given.updateValue(parsed, forKey: parsed.source) == nil else {
        throw UsageError("--tile is given twice for '\(parsed.source)'")
      }
    }
    for name in speaking { try NamedSource.check(name, "--speaking", sources) }
    return sources.map { source in
      var tile = given[source.name] ?? Tile(source.name)
      tile.isSpeaking = speaking.contains(source.name)
      return tile
    }
  }

  /// Returns the files of fallback pictures by source name.
  func avatars(of sources: [NamedSource]) throws -> [String: String] {
    try NamedSource.values(avatar, "--avatar", of: sources) { $0 }
  }
}

extension SceneLabels: ExpressibleByArgument {}

/// A source, and the name that a scene's other options refer to.
struct NamedSource: Equatable {
  let name: String
  /// The text for `SourceLocator`.
  let text: String

  /// Parses the command line's sources. Unnamed ones get the names of their output files: `ann` for
  /// `photos/ann.jpg`, `video0` for `/dev/video0`. A second source of the same name becomes `ann-2`.
  static func all(_ words: [String]) throws -> [NamedSource] {
    guard words.count <= Scene.maximumTiles else {
      throw UsageError("a scene has at most \(Scene.maximumTiles) sources, not \(words.count)")
    }
    let halves = words.map { namedHalves($0) }.map { ($0.name, SourceLocator($0.text).text) }
    var taken: Set<String> = []
    for case (let name?, _) in halves where !taken.insert(name).inserted {
      throw UsageError("two sources are called '\(name)'")
    }
    let sources = halves.map { name, text in
      NamedSource(name: name ?? freeName(RenderOutput.stem(of: text), &taken), text: text)
    }
    if let nothing = sources.first(where: \.text.isEmpty) {
      throw UsageError("\(nothing.name)= names no source")
    }
    guard sources.count(where: { $0.text == "-" }) < 2 else {
      throw UsageError("standard input can be used for only one source")
    }
    return sources
  }

  /// Splits at the first `=` if the text before it can be a name. In addresses, camera options and paths, one
  /// of the characters `:/,?#` precedes the first `=`: `./a=b.jpg` is a file.
  static func namedHalves(_ word: String) -> (name: String?, text: String) {
    guard let end = word.firstIndex(of: "="), end > word.startIndex,
      !word[..<end].contains(where: { ":/,?#".contains($0) })
    else { return (nil, word) }
    return (String(word[..<end]), String(word[word.index(after: end)...]))
  }

  private static func freeName(_ stem: String, _ taken: inout Set<String>) -> String {
    var name = stem
    var number = 1
    while !taken.insert(name).inserted {
      number += 1
      name = "\(stem)-\(number)"
    }
    return name
  }

  /// Splits an option's value `NAME=...` into the name of one of `sources` and the rest.
  static func halves(
    _ text: String, _ option: String, of sources: [NamedSource]
  ) throws -> (name: String, rest: String) {
    guard let end = text.firstIndex(of: "=") else { throw UsageError("\(option) \(text) is not NAME=...") }
    let name = String(text[..<end])
    try check(name, option, sources)
    return (name, String(text[text.index(after: end)...]))
  }

  /// Returns the values of an option `NAME=VALUE` by name. A source has at most one.
  static func values<Value>(
    _ texts: [String], _ option: String, of sources: [NamedSource], _ parse: (String) throws -> Value
  ) throws -> [String: Value] {
    var values: [String: Value] = [:]
    for text in texts {
      let (name, rest) = try halves(text, option, of: sources)
      guard values.updateValue(try parse(rest), forKey: name) == nil else {
        throw UsageError("\(option) is given twice for '\(name)'")
      }
    }
    return values
  }

  /// Throws if there is no source of this name.
  static func check(_ name: String, _ option: String, _ sources: [NamedSource]) throws {
    guard !sources.contains(where: { $0.name == name }) else { return }
    let names = sources.map(\.name).joined(separator: ", ")
    throw UsageError("\(option): no source '\(name)' (known: \(names))")
  }
}
