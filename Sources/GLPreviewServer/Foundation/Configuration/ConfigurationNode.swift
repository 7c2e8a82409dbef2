// The content of a configuration file, or of the command's options: a tree that stores the origin of each
// value. Only this file uses Yams, which parses YAML into the tree.
internal import Yams

enum ConfigurationOrigin: Sendable, Hashable, CustomStringConvertible {
  /// A place in a file. Line and column start at 1. Relative paths refer to `folder`, which is absolute.
  case file(String, folder: String, line: Int, column: Int)
  /// An option, such as `--bind`.
  case option(String)
  /// An environment variable, such as `GLPREVIEW_BIND`.
  case variable(String)

  var description: String {
    switch self {
    case .file(let name, _, let line, let column): "\(name):\(line):\(column)"
    case .option(let name), .variable(let name): name
    }
  }

  /// The precedence: options override the environment, which overrides files.
  var layer: Int {
    switch self {
    case .file: 0
    case .variable: 1
    case .option: 2
    }
  }
}

/// A scalar, a list, or a mapping of keys to values.
struct ConfigurationNode: Sendable, Hashable {
  /// A key with its origin and value.
  struct Member: Sendable, Hashable {
    let key: String
    let origin: ConfigurationOrigin
    var value: ConfigurationNode
  }

  enum Content: Sendable, Hashable {
    /// The unquoted text of a scalar. Numbers are parsed when they are needed.
    case scalar(String)
    /// A key without a value.
    case nothing
    case list([ConfigurationNode])
    case members([Member])
  }

  var content: Content
  let origin: ConfigurationOrigin

  /// The keys of a mapping, in order; empty for other content.
  var members: [Member] { if case .members(let members) = content { members } else { [] } }

  /// The kind of content, for error messages.
  var kind: String {
    switch content {
    case .scalar: "a single value"
    case .nothing: "nothing"
    case .list: "a list"
    case .members: "a mapping"
    }
  }

  /// Returns the value of a key; nil if the key is absent.
  subscript(key: String) -> ConfigurationNode? { members.first { $0.key == key }?.value }

  /// Merges a later file: each of its keys overrides the earlier one. Lists are replaced as a whole.
  mutating func merge(_ later: ConfigurationNode) {
    switch (content, later.content) {
    case (.members(var members), .members(let others)):
      for other in others {
        if let index = members.firstIndex(where: { $0.key == other.key }) {
          members[index].value.merge(other.value)
        } else {
          members.append(other)
        }
      }
      content = .members(members)
    // A key without a value leaves the earlier keys in place.
    case (.members, .nothing): break
    default: self = later
    }
  }

  /// Stores a node at a path, and creates missing keys.
  mutating func put(_ node: ConfigurationNode, at path: ArraySlice<String>) {
    guard let key = path.first else { return self = node }
    var members = members
    let index = members.firstIndex { $0.key == key } ?? members.endIndex
    if index == members.endIndex {
      let nothing = ConfigurationNode(content: .members([]), origin: node.origin)
      members.append(Member(key: key, origin: node.origin, value: nothing))
    }
    members[index].value.put(node, at: path.dropFirst())
    content = .members(members)
  }
}

/// The supported subset of YAML: mappings, lists and scalars. Anchors, aliases, tags and multiple documents
/// are rejected.
struct YAMLDocument {
  /// The file's name, for messages.
  private let file: String
  /// The absolute path of the folder that relative paths in the file refer to.
  private let folder: String
  private let text: String

  /// Parses the text of a file.
  ///
  /// - Throws: `ConfigurationError` with the first place that is invalid YAML or not supported.
  static func tree(of text: String, file: String, folder: String) throws(ConfigurationError)
    -> ConfigurationNode
  {
    let document = YAMLDocument(file: file, folder: folder, text: text)
    do {
      try document.checkAliases()
      // The basic resolver converts no text to numbers, Booleans or dates: `no` and `1_000` stay strings.
      let parser = try Parser(yaml: text, resolver: .basic, encoding: .utf8)
      guard let root = try parser.singleRoot() else {
        throw ConfigurationError(at: file, "is empty")
      }
      // Anchors are valid only as long as the parser exists.
      return try withExtendedLifetime(parser) { try document.node(root) }
    } catch let error as ConfigurationError {
      throw error
    } catch let error as YamlError {
      throw document.refusal(error)
    } catch {
      throw ConfigurationError(at: file, "\(error)")
    }
  }

  /// Converts a node. The parser limits the depth. An anchor precedes its aliases and is rejected, so no
  /// alias is followed.
  private func node(_ node: Node) throws(ConfigurationError) -> ConfigurationNode {
    guard node.anchor == nil else { throw refusal(node.mark, Self.noAliases) }
    let content: ConfigurationNode.Content
    switch node {
    case .scalar(let scalar):
      // Yams tags quoted scalars and block scalars as strings.
      if scalar.style == .plain || scalar.tag != Tag(.str) { try checkTag(scalar.tag, scalar.mark) }
      let isNothing = scalar.style == .plain && ["", "~", "null", "Null", "NULL"].contains(scalar.string)
      content = isNothing ? .nothing : .scalar(scalar.string)
    case .sequence(let sequence):
      try checkTag(sequence.tag, sequence.mark)
      content = .list(try sequence.map { item throws(ConfigurationError) in try self.node(item) })
    case .mapping(let mapping):
      try checkTag(mapping.tag, mapping.mark)
      content = .members(
        try mapping.map { key, value throws(ConfigurationError) in
          guard case .scalar(let scalar) = key else {
            throw refusal(key.mark, "a key must be a scalar, not a list or a mapping")
          }
          return .init(key: scalar.string, origin: origin(key.mark), value: try self.node(value))
        })
    case .alias(let alias): throw refusal(alias.mark, Self.noAliases)
    }
    return ConfigurationNode(content: content, origin: origin(node.mark))
  }

  /// Throws for an explicit tag. The tag of untagged nodes is implicit until Yams resolves it.
  private func checkTag(_ tag: Tag, _ mark: Mark?) throws(ConfigurationError) {
    guard tag != .implicit else { return }
    throw refusal(mark, "the tag \(tag) is not supported; tags are not allowed")
  }

  private func origin(_ mark: Mark?) -> ConfigurationOrigin {
    .file(file, folder: folder, line: max(mark?.line ?? 1, 1), column: max(mark?.column ?? 1, 1))
  }

  // MARK: Errors

  private static let noAliases =
    "anchors and aliases (&name, *name) are not supported: repeat the value, or quote a plain text"

  /// The most possible aliases of a file with an anchor. Yams expands aliases to compare keys before it
  /// returns any node, so a few lines of aliases could keep it busy for years. 16 aliases expand to at most
  /// 350 times the file (3^(16/3)).
  private static let mostAliases = 16

  /// If the text contains a possible anchor, counts every possible alias, even in quotes and comments.
  private func checkAliases() throws(ConfigurationError) {
    var counts: [UInt8: Int] = [:]
    var (before, sign): (UInt8, UInt8) = (0, 0)
    for byte in text.utf8 {
      // An anchor or alias sign is followed by a name, and not preceded by one.
      if !Self.isWord(before), Self.isWord(byte) { counts[sign, default: 0] += 1 }
      (before, sign) = (sign, byte)
    }
    let aliases = counts[UInt8(ascii: "*")] ?? 0
    guard counts[UInt8(ascii: "&")] != nil, aliases > Self.mostAliases else { return }
    throw ConfigurationError(at: file, "\(Self.noAliases); \(aliases) words look like aliases")
  }

  private static func isWord(_ byte: UInt8) -> Bool {
    switch UnicodeScalar(byte) {
    case "a"..."z", "A"..."Z", "0"..."9", "_", "-": true
    default: false
    }
  }

  private func refusal(_ mark: Mark?, _ reason: String) -> ConfigurationError {
    ConfigurationError(at: origin(mark).description, reason)
  }

  private func refusal(_ error: YamlError) -> ConfigurationError {
    switch error {
    case .composer(_, "found undefined alias", let mark, _): return refusal(mark, Self.noAliases)
    case .scanner(let context, let problem, let mark, _), .parser(let context, let problem, let mark, _),
      .composer(let context, let problem, let mark, _):
      let line = text.split(separator: "\n", omittingEmptySubsequences: false).dropFirst(mark.line - 1).first
      let hasTab = line?.prefix { $0 == " " || $0 == "\t" }.contains("\t") == true
      let within = context.map { " (\($0.text), line \($0.mark.line))" } ?? ""
      return refusal(
        mark, "invalid YAML: \(problem)\(within)\(hasTab ? "; indent with spaces, not with tabs" : "")")
    case .duplicatedKeysInMapping(let keys, let context):
      let names = keys.sorted().map { "'\($0)'" }.joined(separator: ", ")
      return refusal(context.mark, "duplicate key \(names), first set here")
    case .reader(let problem, let offset, _, _):
      let lines = text.prefix(offset ?? 0).split(
        omittingEmptySubsequences: false, whereSeparator: \.isNewline)
      let place = "\(file):\(lines.count):\((lines.last?.count ?? 0) + 1)"
      return ConfigurationError(at: place, "invalid YAML: \(problem)")
    default: return ConfigurationError(at: file, "invalid YAML: \(error)")
    }
  }
}
