// A YAML file to a tree, or to what is wrong with it: Yams reads it, and nothing of Yams leaves this file.
internal import Yams

/// What is taken of YAML: mappings, lists and words. Anchors, aliases and tags are refused, as are several documents.
struct YAMLDocument {
  /// Reads a file's text.
  ///
  /// - Parameters:
  ///   - text: of the file.
  ///   - file: its name, for messages.
  ///   - folder: absolute; what paths in it are relative to.
  /// - Returns: all that it says.
  /// - Throws: `ConfigurationError` with the first place that is no YAML, or more of YAML than is taken.
  static func tree(of text: String, file: String, folder: String) throws(ConfigurationError)
    -> ConfigurationNode
  {
    if let mark = YAMLAliases.first(in: text) {
      throw ConfigurationError(
        ConfigurationProblem(
          origin: "\(file):\(mark.line):\(mark.column)",
          "anchors and aliases (&name, *name) are not taken; say it again, or quote what is a word"))
    }
    do {
      // Without Yams' rules nothing is taken for a number, a truth value or a date: `no` and `1_000` stay words.
      let parser = try Parser(yaml: text, resolver: .basic, encoding: .utf8)
      guard let root = try parser.singleRoot() else {
        throw ConfigurationError(ConfigurationProblem(origin: file, "is empty"))
      }
      // Anchors live as long as the parser.
      return try withExtendedLifetime(parser) { try YAMLDocument(file: file, folder: folder).node(root) }
    } catch let error as ConfigurationError {
      throw error
    } catch let error as YamlError {
      throw ConfigurationError(problem(error, file, text))
    } catch {
      throw ConfigurationError(ConfigurationProblem(origin: file, "\(error)"))
    }
  }

  private let file: String
  private let folder: String

  private init(file: String, folder: String) { (self.file, self.folder) = (file, folder) }

  private func location(_ mark: Mark?) -> ConfigurationNode.Location {
    ConfigurationNode.Location(
      file: file, folder: folder, line: max(mark?.line ?? 1, 1), column: max(mark?.column ?? 1, 1))
  }

  private func refusal(_ mark: Mark?, _ reason: String) -> ConfigurationError {
    ConfigurationError(ConfigurationProblem(origin: location(mark).description, reason))
  }

  /// The parser has bounded the depth, and without aliases there is no more than the file has.
  private func node(_ node: Node) throws(ConfigurationError) -> ConfigurationNode {
    guard node.anchor == nil else { throw refusal(node.mark, "anchors (&name) are not taken") }
    guard node.tag.description.hasPrefix("tag:yaml.org,2002:") else {
      throw refusal(node.mark, "the tag \(node.tag) is not known; no tags are")
    }
    let content: ConfigurationNode.Content
    switch node {
    case .scalar(let scalar):
      let isNothing = scalar.style == .plain && ["", "~", "null", "Null", "NULL"].contains(scalar.string)
      content = isNothing ? .nothing : .word(scalar.string)
    case .sequence(let sequence):
      var list: [ConfigurationNode] = []
      for item in sequence { list.append(try self.node(item)) }
      content = .list(list)
    case .mapping(let mapping):
      var members: [ConfigurationNode.Member] = []
      for (key, value) in mapping {
        guard case .scalar(let scalar) = key else {
          throw refusal(key.mark, "a key is a word, not a list or a mapping")
        }
        members.append(
          ConfigurationNode.Member(
            key: scalar.string, location: location(key.mark), value: try self.node(value)))
      }
      content = .members(members)
    case .alias(let alias): throw refusal(alias.mark, "aliases (*name) are not taken")
    }
    return ConfigurationNode(content: content, location: location(node.mark))
  }

  // MARK: What Yams says

  private static func problem(_ error: YamlError, _ file: String, _ text: String) -> ConfigurationProblem {
    func told(_ mark: Mark, _ reason: String) -> ConfigurationProblem {
      let line = text.split(separator: "\n", omittingEmptySubsequences: false).dropFirst(mark.line - 1).first
      let hasTab = line?.prefix { $0 == " " || $0 == "\t" }.contains("\t") == true
      let hint = hasTab ? "; a tab can't indent, spaces can" : ""
      return ConfigurationProblem(origin: "\(file):\(mark.line):\(mark.column)", reason + hint)
    }
    switch error {
    case .scanner(let context, let problem, let mark, _), .parser(let context, let problem, let mark, _),
      .composer(let context, let problem, let mark, _):
      let within = context.map { " (\($0.text), line \($0.mark.line))" } ?? ""
      return told(mark, "is not YAML: \(problem)\(within)")
    case .duplicatedKeysInMapping(let keys, let context):
      let names = keys.sorted().map { "'\($0)'" }.joined(separator: ", ")
      return told(context.mark, "\(names): said twice; the first time here")
    case .reader(let problem, let offset, _, _):
      let mark = place(ofCharacter: offset ?? 0, in: text)
      return ConfigurationProblem(origin: "\(file):\(mark.line):\(mark.column)", "is not YAML: \(problem)")
    default: return ConfigurationProblem(origin: file, "is not YAML: \(error)")
    }
  }

  private static func place(ofCharacter offset: Int, in text: String) -> (line: Int, column: Int) {
    var (line, column) = (1, 1)
    for character in text.prefix(offset) {
      (line, column) = character.isNewline ? (line + 1, 1) : (line, column + 1)
    }
    return (line, column)
  }
}
