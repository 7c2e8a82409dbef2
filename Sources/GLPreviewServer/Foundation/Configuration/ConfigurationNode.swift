// The content of a configuration file, or of the command's options: a tree that stores the origin of each
// value.

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
