// A file's tree against the shape that it should have: unknown keys, and values of another kind, each with its place.
internal import PreviewCore

/// A tree that becomes a layer, as far as it has the shape that it should have.
struct ConfigurationCheck {
  private(set) var layer: ConfigurationLayer
  private(set) var problems: [ConfigurationProblem] = []
  private let variables: VariableExpansion

  /// Checks a whole file's tree; `environment` is what `${NAME}` stands for.
  init(_ root: ConfigurationNode, environment: [String: String]) {
    layer = ConfigurationLayer(name: "file")
    variables = VariableExpansion(environment)
    check(root, .service, [])
  }

  private mutating func refuse(_ location: ConfigurationNode.Location, _ path: [String], _ reason: String) {
    problems.append(
      ConfigurationProblem(
        origin: location.description, key: path.isEmpty ? nil : path.joined(separator: "."), reason))
  }

  private mutating func check(_ node: ConfigurationNode, _ shape: ConfigurationShape, _ path: [String]) {
    switch (shape, node.content) {
    case (.word, .word(let text)), (.secret, .word(let text)):
      guard let word = expanded(text, node.location, path) else { return }
      // What comes from a variable was kept out of the file for a reason.
      let isSecret = if case .secret = shape { true } else { word != text }
      layer.set(path, ConfigurationLayer.Entry(.word(word), [.file(node.location)], isSecret: isSecret))
    case (.words, .word), (.words, .list), (.pairs, .word), (.pairs, .list), (.pairs, .members):
      checkWords(node, shape, path)
    case (.keys(let shapes), .members(let members)):
      if !path.isEmpty { layer.declare(path, at: .file(node.location)) }
      checkKeys(members, shapes, path)
    case (.named(let shape), .members(let members)):
      layer.declare(path)
      for member in members { checkNamed(member.value, member.location, shape, path + [member.key]) }
    case (.list(let shape), .list(let items)):
      for (index, item) in items.enumerated() {
        checkNamed(item, item.location, shape, path + ["\(index)"])
      }
    case (.word, .nothing), (.secret, .nothing):
      refuse(node.location, path, "has no value; one that begins with '#' is quoted: '#...'")
    // As good as not said.
    case (_, .nothing): break
    case (.word, _), (.secret, _): refuse(node.location, path, "is one value, not \(node.content.kind)")
    case (.words, _): refuse(node.location, path, "is a list of words, not \(node.content.kind)")
    case (.list, _): refuse(node.location, path, "is a list, not \(node.content.kind)")
    case (.pairs, _), (.keys, _), (.named, _):
      refuse(
        node.location, path,
        "\(path.isEmpty ? "a configuration has" : "has") keys, as 'key: value', and is not \(node.content.kind)"
      )
    }
  }

  /// Something of the user's, which is there even if nothing is said of it; unless it is another kind of thing.
  private mutating func checkNamed(
    _ node: ConfigurationNode, _ location: ConfigurationNode.Location, _ shape: ConfigurationShape,
    _ path: [String]
  ) {
    switch node.content {
    case .members, .nothing: layer.declare(path, at: .file(location))
    case .word, .list: break
    }
    check(node, shape, path)
  }

  private mutating func checkKeys(
    _ members: [ConfigurationNode.Member], _ shapes: [(String, ConfigurationShape)], _ path: [String]
  ) {
    for member in members {
      if let shape = shapes.first(where: { $0.0 == member.key })?.1 {
        check(member.value, shape, path + [member.key])
      } else {
        let names = shapes.map(\.0)
        let nearest = names.nearest(to: member.key).map { "; is '\($0)' meant?" } ?? ""
        refuse(
          member.location, path + [member.key],
          "is not known\(nearest) (there are \(names.joined(separator: ", ")))")
      }
    }
  }

  private mutating func checkWords(
    _ node: ConfigurationNode, _ shape: ConfigurationShape, _ path: [String]
  ) {
    var words: [String] = []
    var origins: [ConfigurationOrigin] = []
    var isSecret = path.last == "headers"
    func add(_ text: String, _ location: ConfigurationNode.Location) {
      guard let word = expanded(text, location, path) else { return }
      words.append(word)
      isSecret = isSecret || word != text
      origins.append(.file(location))
    }
    let separator: String? = if case .pairs(let separator) = shape { separator } else { nil }
    func addMembers(_ members: [ConfigurationNode.Member]) {
      for member in members {
        switch member.value.content {
        case .word(let text): add(member.key + (separator ?? "") + text, member.location)
        case .nothing: add(member.key, member.location)
        default:
          refuse(
            member.value.location, path + [member.key], "is one value, not \(member.value.content.kind)")
        }
      }
    }
    switch node.content {
    case .word(let text): add(text, node.location)
    case .members(let members): addMembers(members)
    case .list(let items):
      for item in items {
        switch item.content {
        case .word(let text): add(text, item.location)
        case .members(let members) where separator != nil: addMembers(members)
        default: refuse(item.location, path, "is a list of words; this one is \(item.content.kind)")
        }
      }
    case .nothing: break
    }
    layer.set(path, ConfigurationLayer.Entry(.words(words), origins, isSecret: isSecret))
  }

  private mutating func expanded(
    _ text: String, _ location: ConfigurationNode.Location, _ path: [String]
  ) -> String? {
    do throws(WordError) {
      return try variables.expand(text)
    } catch {
      refuse(location, path, error.description)
      return nil
    }
  }
}

extension ConfigurationNode.Content {
  /// In words for whoever wrote it.
  fileprivate var kind: String {
    switch self {
    case .word: "one word"
    case .nothing: "nothing"
    case .list: "a list"
    case .members: "keys with values"
    }
  }
}
