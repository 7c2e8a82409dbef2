// A source of a scene, with a given name (`ann=/dev/video0`) or a derived one.
import GLPreview

/// A source, and the name that a scene's other options refer to.
struct NamedSource: Equatable {
  let name: String
  /// The text for `SourceLocator`.
  let text: String

  /// Parses the command line's sources. Unnamed ones are named like their output file: `ann` for `photos/ann.jpg`,
  /// `video0` for `/dev/video0`; a second source of the same name `ann-2`.
  static func all(_ words: [String]) throws -> [NamedSource] {
    guard words.count <= Scene.maximumTiles else {
      throw UsageError("a scene has at most \(Scene.maximumTiles) sources, not \(words.count)")
    }
    let halves = words.map { namedHalves($0) }
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

  /// Splits at the first `=` if the text before it can be a name. In addresses, camera options and paths, one of the
  /// characters `:/,?#` precedes the first `=`: `./a=b.jpg` is a file.
  private static func namedHalves(_ word: String) -> (name: String?, text: String) {
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

  /// Splits an option's value into the name of one of `sources` and the rest.
  static func halves(
    _ text: String, at separator: Character, _ option: String, of sources: [NamedSource]
  ) throws -> (name: String, rest: String) {
    guard let end = text.firstIndex(of: separator) else {
      throw UsageError("\(option) \(text) is not NAME\(separator)...")
    }
    let name = String(text[..<end])
    try check(name, option, sources)
    return (name, String(text[text.index(after: end)...]))
  }

  /// Throws if there is no source of this name.
  static func check(_ name: String, _ option: String, _ sources: [NamedSource]) throws {
    guard !sources.contains(where: { $0.name == name }) else { return }
    let names = sources.map(\.name).joined(separator: ", ")
    throw UsageError("\(option): there is no source '\(name)' (there are: \(names))")
  }
}
