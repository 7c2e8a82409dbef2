// What a configuration file says, as a tree that knows where each of its words stands.

/// A value of a file: a word, a list, or keys with values of their own.
struct ConfigurationNode: Sendable, Hashable {
  /// A place in a file.
  struct Location: Sendable, Hashable, CustomStringConvertible {
    /// As it was named by who gave it.
    let file: String
    /// Absolute; what paths in it are relative to.
    let folder: String
    /// From 1.
    let line: Int
    /// From 1, in Unicode's scalars.
    let column: Int

    var description: String { "\(file):\(line):\(column)" }
  }

  /// A key and its value.
  struct Member: Sendable, Hashable {
    let key: String
    /// The key's.
    let location: Location
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
  let location: Location

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
}
