// Parses YAML into a configuration's tree. Only this file uses libyaml.
internal import CYAML

/// The supported subset of YAML: mappings, lists and scalars. Anchors, aliases, tags and multiple documents
/// are rejected. No text is converted to numbers, Booleans or dates: `no` and `1_000` stay strings.
@safe struct YAMLDocument: ~Copyable {
  /// The file's name, for messages.
  private let file: String
  /// The absolute path of the folder that relative paths in the file refer to.
  private let folder: String
  private let text: String
  private let reader: OpaquePointer

  /// Parses the text of a file.
  ///
  /// - Throws: `ConfigurationError` with the first place that is invalid YAML or not supported.
  static func tree(of text: String, file: String, folder: String) throws(ConfigurationError)
    -> ConfigurationNode
  {
    let bytes = Array(text.utf8)
    return try unsafe bytes.withUnsafeBufferPointer { bytes throws(ConfigurationError) in
      guard let start = bytes.baseAddress, let reader = unsafe glp_yaml_open(start, bytes.count) else {
        throw ConfigurationError(at: file, "there is no memory to read it")
      }
      let document = unsafe YAMLDocument(file: file, folder: folder, text: text, reader: reader)
      return try document.root()
    }
  }

  deinit { unsafe glp_yaml_close(reader) }

  private func root() throws(ConfigurationError) -> ConfigurationNode {
    guard try next().kind == GLP_YAML_DOCUMENT else { throw ConfigurationError(at: file, "is empty") }
    let root = try node(try next(), depth: 0)
    let end = try next()
    guard end.kind == GLP_YAML_END else {
      throw refusal(end.place, "invalid YAML: another document begins here; a file is one document")
    }
    return root
  }

  private func next() throws(ConfigurationError) -> Event {
    var event = unsafe glp_yaml_event()
    guard unsafe glp_yaml_next(reader, &event) else { throw failure() }
    return unsafe Event(event)
  }

  /// The most lists and mappings within one another. libyaml has no limit of its own.
  private static let mostLevels = 64

  /// Converts a node that begins with `event`, within `depth` others.
  private func node(_ event: Event, depth: Int) throws(ConfigurationError) -> ConfigurationNode {
    let place = event.place
    guard event.kind != GLP_YAML_ALIAS, !event.hasAnchor else {
      throw refusal(place, Self.noAliases)
    }
    if let tag = event.tag, event.isPlain || tag != Self.stringTag {
      throw refusal(place, "the tag \(tag) is not supported; tags are not allowed")
    }
    guard depth <= Self.mostLevels else {
      throw refusal(place, "is nested more than \(Self.mostLevels) levels deep")
    }
    let content: ConfigurationNode.Content
    switch event.kind {
    case GLP_YAML_LIST: content = .list(try list(depth: depth + 1))
    case GLP_YAML_MAPPING: content = .members(try members(depth: depth + 1))
    default:
      let isNothing = event.isPlain && ["", "~", "null", "Null", "NULL"].contains(event.text)
      content = isNothing ? .nothing : .scalar(event.text)
    }
    return ConfigurationNode(content: content, origin: origin(place))
  }

  private func list(depth: Int) throws(ConfigurationError) -> [ConfigurationNode] {
    var items: [ConfigurationNode] = []
    while true {
      let event = try next()
      if event.kind == GLP_YAML_CLOSE { return items }
      items.append(try node(event, depth: depth))
    }
  }

  private func members(depth: Int) throws(ConfigurationError) -> [ConfigurationNode.Member] {
    var members: [ConfigurationNode.Member] = []
    var first: [String: glp_yaml_place] = [:]
    var repeated: Set<String> = []
    while true {
      let event = try next()
      if event.kind == GLP_YAML_CLOSE { break }
      let place = event.place
      guard event.kind == GLP_YAML_SCALAR || event.kind == GLP_YAML_ALIAS else {
        throw refusal(place, "a key must be a scalar, not a list or a mapping")
      }
      // Rejects names and tags.
      _ = try node(event, depth: depth)
      let key = event.text
      if first[key] == nil { first[key] = place } else { repeated.insert(key) }
      let value = try node(try next(), depth: depth)
      members.append(.init(key: key, origin: origin(place), value: value))
    }
    let names = repeated.sorted()
    guard let name = names.first, let place = first[name] else { return members }
    let list = names.map { "'\($0)'" }.joined(separator: ", ")
    throw refusal(place, "duplicate key \(list), first set here")
  }

  private func origin(_ place: glp_yaml_place) -> ConfigurationOrigin {
    .file(file, folder: folder, line: max(place.line, 1), column: max(place.column, 1))
  }

  // MARK: Errors

  private static let stringTag = "tag:yaml.org,2002:str"
  private static let noAliases =
    "anchors and aliases (&name, *name) are not supported: repeat the value, or quote a plain text"

  private func refusal(_ place: glp_yaml_place, _ reason: String) -> ConfigurationError {
    ConfigurationError(at: origin(place).description, reason)
  }

  private func failure() -> ConfigurationError {
    let failure = unsafe glp_yaml_why(reader)
    let problem = unsafe failure.problem.map { unsafe String(cString: $0) } ?? "there is no memory to read it"
    guard unsafe failure.has_place else {
      let lines = String(decoding: text.utf8.prefix(unsafe failure.offset), as: UTF8.self).split(
        omittingEmptySubsequences: false, whereSeparator: \.isNewline)
      let place = "\(file):\(lines.count):\((lines.last?.count ?? 0) + 1)"
      return ConfigurationError(at: place, "invalid YAML: \(problem)")
    }
    let place = unsafe failure.place
    let line = text.split(separator: "\n", omittingEmptySubsequences: false).dropFirst(place.line - 1).first
    let hasTab = line?.prefix { $0 == " " || $0 == "\t" }.contains("\t") == true
    let within = unsafe failure.context.map {
      unsafe " (\(String(cString: $0)), line \(failure.context_place.line))"
    }
    return refusal(
      place, "invalid YAML: \(problem)\(within ?? "")\(hasTab ? "; indent with spaces, not with tabs" : "")")
  }
}

/// An event of libyaml's parser.
private struct Event {
  let kind: glp_yaml_kind
  let place: glp_yaml_place
  /// The unquoted text of a scalar; empty for others.
  let text: String
  /// Whether a scalar is neither quoted nor a block.
  let isPlain: Bool
  let hasAnchor: Bool
  let tag: String?

  init(_ event: glp_yaml_event) {
    unsafe (kind, place, isPlain, hasAnchor) = (event.kind, event.place, event.is_plain, event.has_anchor)
    tag = unsafe event.tag.map { unsafe String(cString: $0) }
    text = unsafe String(decoding: UnsafeBufferPointer(start: event.text, count: event.count), as: UTF8.self)
  }
}
