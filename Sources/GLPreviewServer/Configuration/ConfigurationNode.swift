// What a file says, or the command's options, as a tree that knows who said each of its words.

/// Who said something.
enum ConfigurationOrigin: Sendable, Hashable, CustomStringConvertible {
  /// A place in a file, line and column from 1; paths are relative to `folder`, which is absolute.
  case file(String, folder: String, line: Int, column: Int)
  /// Such as `--bind`.
  case option(String)
  /// Such as `GLPREVIEW_BIND`.
  case variable(String)

  var description: String {
    switch self {
    case .file(let name, _, let line, let column): "\(name):\(line):\(column)"
    case .option(let name), .variable(let name): name
    }
  }

  /// Options win over the environment, and that over files.
  var layer: Int {
    switch self {
    case .file: 0
    case .variable: 1
    case .option: 2
    }
  }
}

/// A word, a list, or keys with values of their own.
struct ConfigurationNode: Sendable, Hashable {
  /// A key, who said it, and its value.
  struct Member: Sendable, Hashable {
    let key: String
    let origin: ConfigurationOrigin
    var value: ConfigurationNode
  }

  enum Content: Sendable, Hashable {
    /// As it is written, without quotes: whoever needs a number reads one.
    case word(String)
    /// A key without a value.
    case nothing
    case list([ConfigurationNode])
    case members([Member])
  }

  var content: Content
  let origin: ConfigurationOrigin

  /// The keys that are said here, in order.
  var members: [Member] { if case .members(let members) = content { members } else { [] } }

  /// In words for whoever wrote it.
  var kind: String {
    switch content {
    case .word: "one word"
    case .nothing: "nothing"
    case .list: "a list"
    case .members: "keys with values"
    }
  }

  /// What a key's value is; nil where nobody says it.
  subscript(key: String) -> ConfigurationNode? { members.first { $0.key == key }?.value }

  /// Has what a later file says win, key by key; lists are replaced as a whole.
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
    // Nothing is said there, so nothing is taken away.
    case (.members, .nothing): break
    default: self = later
    }
  }

  /// Puts a node below keys, which are made where they are not there.
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
