// Reads the configuration keys of all layers, and collects all problems in one pass, including unknown keys
// and values of the wrong kind.

/// The place of a key, with its values in options and files.
package struct ConfigurationPlace: Sendable {
  let path: [String]
  let option: ConfigurationNode?
  var file: ConfigurationNode?

  /// Whether items have user-chosen names or are listed without names.
  package enum Items: Sendable {
    case named, listed

    /// The path component that stands for an item in documentation.
    var mark: String { self == .named ? "NAME" : "[]" }
  }

  /// The place of a key below this one.
  subscript(key: String) -> ConfigurationPlace {
    ConfigurationPlace(path: path + [key], option: option?[key], file: file?[key])
  }

  /// Whether an option or a file names the key, perhaps without a value.
  var isNamed: Bool { option != nil || file != nil }

  /// Whether an option or a file sets a key below this place.
  var hasKeys: Bool { option?.members.isEmpty == false || file?.members.isEmpty == false }
}

/// Reads a configuration once. Options override the environment, which overrides files.
package struct ConfigurationReader {
  private(set) var problems: [ConfigurationProblem] = []
  /// The origins of the keys read so far; for a part, the place where it begins.
  private var origins: [[String]: ConfigurationOrigin] = [:]
  private let environment: ConfigurationEnvironment
  /// The folder that relative paths outside files refer to.
  private let workingFolder: String

  init(environment: [String: String], workingFolder: String) {
    self.environment = ConfigurationEnvironment(environment)
    self.workingFolder = workingFolder
  }

  // MARK: Parts

  /// Reads all keys of a part, and reports unknown keys in files.
  mutating func read<Target>(
    _ keys: [ConfigurationKey<Target>], at place: ConfigurationPlace, into target: inout Target
  ) {
    if isGroup(place.file, place.path), let file = place.file {
      let names = keys.filter { !$0.entries.isEmpty }.map(\.name)
      for member in file.members where !names.contains(member.key) {
        let nearest = names.nearest(to: member.key).map { "; did you mean '\($0)'?" } ?? ""
        refuse(
          place.path + [member.key], at: member.origin,
          "unknown key\(nearest) (known: \(names.joined(separator: ", ")))")
      }
    }
    note(place.path, (place.option ?? place.file)?.origin)
    for key in keys { key.read(&self, place, &target) }
  }

  /// Returns the places of the items. Those of options come first.
  mutating func items(of place: ConfigurationPlace, _ items: ConfigurationPlace.Items) -> [ConfigurationPlace]
  {
    let options = place.option?.members ?? []
    let filed = fileItems(of: place, items).filter { isGroup($0.value, place.path + [$0.key]) }
    let others = filed.filter { member in !options.contains { $0.key == member.key } }
    return (options + others).map { member in
      let path = place.path + [member.key]
      note(path, member.origin)
      let file = options.isEmpty ? member.value : filed.first { $0.key == member.key }?.value
      return ConfigurationPlace(path: path, option: place.option?[member.key], file: file)
    }
  }

  private mutating func fileItems(
    of place: ConfigurationPlace, _ items: ConfigurationPlace.Items
  ) -> [ConfigurationNode.Member] {
    guard let file = place.file else { return [] }
    switch (file.content, items) {
    case (.list(let nodes), .listed):
      return nodes.enumerated().map { .init(key: "\($0)", origin: $1.origin, value: $1) }
    case (_, .named): return isGroup(file, place.path) ? file.members : []
    case (.nothing, .listed): return []
    case (_, .listed):
      refuse(place.path, at: file.origin, "must be a list, not \(file.kind)")
      return []
    }
  }

  /// Returns whether a value is a mapping, empty or absent; reports it otherwise.
  private mutating func isGroup(_ file: ConfigurationNode?, _ path: [String]) -> Bool {
    switch file?.content {
    case .members, .nothing, nil: return true
    case .scalar, .list:
      let subject = path.isEmpty ? "a configuration must be" : "must be"
      refuse(path, at: file?.origin, "\(subject) a mapping ('key: value'), not \(file?.kind ?? "")")
      return false
    }
  }

  // MARK: Values

  /// The text of a value, and its origin.
  private struct SourcedText {
    let text: String
    let origin: ConfigurationOrigin
    /// Whether the text contains the value of a variable, which may be a secret.
    var isSecret = false

    /// The items of a list. In an environment variable they are separated by semicolons, because masks
    /// contain commas.
    var items: [SourcedText] {
      guard case .variable = origin else { return [self] }
      return text.split(separator: ";", omittingEmptySubsequences: false).map { item in
        let text = String(item.drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
        return SourcedText(text: text, origin: origin)
      }
    }
  }

  /// Returns the value of a key; nil if it is not set or invalid. Variables in the file's text are checked
  /// even if it is overridden.
  mutating func value<Value>(of place: ConfigurationPlace, _ format: ConfigurationFormat<Value>) -> Value? {
    let filed = place.file.flatMap { fileScalar($0, place.path) }
    guard let found = overridingScalar(of: place) ?? filed else { return nil }
    note(place.path, found.origin)
    return parsed(found, format, place.path)
  }

  /// Returns the values of a list; nil if it is not set. Invalid values are reported and omitted.
  mutating func values<Value>(
    of place: ConfigurationPlace, _ format: ConfigurationFormat<Value>, joinedBy sign: String?
  ) -> [Value]? {
    let filed = place.file.flatMap { fileScalars($0, place.path, joinedBy: sign) }
    guard let found = overridingScalar(of: place)?.items ?? filed else { return nil }
    note(place.path, found.first?.origin)
    return found.compactMap { parsed($0, format, place.path) }
  }

  /// Whether any layer sets the key.
  func isSet(_ place: ConfigurationPlace) -> Bool { valueOrigin(of: place) != nil }

  /// Returns the origin of the value that takes precedence; nil if the key is not set.
  func valueOrigin(of place: ConfigurationPlace) -> ConfigurationOrigin? {
    let filed = place.file?.content == .nothing ? nil : place.file
    return overridingScalar(of: place)?.origin ?? filed?.origin
  }

  /// Returns the text of an option, otherwise of the environment; nil if neither sets the key.
  private func overridingScalar(of place: ConfigurationPlace) -> SourcedText? {
    if let option = place.option, case .scalar(let text) = option.content {
      return SourcedText(text: text, origin: option.origin)
    }
    guard let (variable, text) = environment.value(for: place.path) else { return nil }
    return SourcedText(text: text, origin: .variable(variable))
  }

  private mutating func fileScalar(_ file: ConfigurationNode, _ path: [String]) -> SourcedText? {
    switch file.content {
    case .scalar(let text): return expanded(text, file.origin, path)
    case .nothing:
      refuse(path, at: file.origin, "has no value; quote a value that begins with '#'")
    case .list, .members: refuse(path, at: file.origin, "must be a single value, not \(file.kind)")
    }
    return nil
  }

  /// Returns the texts of a list, or of a single value. If there is a `sign`, it joins the names and values
  /// of a mapping.
  private mutating func fileScalars(
    _ file: ConfigurationNode, _ path: [String], joinedBy sign: String?, isItem: Bool = false
  ) -> [SourcedText]? {
    switch file.content {
    case .scalar(let text): return expanded(text, file.origin, path).map { [$0] } ?? []
    case .nothing where !isItem: return nil
    case .list(let items) where !isItem:
      return items.flatMap { fileScalars($0, path, joinedBy: sign, isItem: true) ?? [] }
    case .members(let members) where sign != nil:
      return members.compactMap { pair($0, path, joinedBy: sign ?? "") }
    default:
      refuse(
        path, at: file.origin, "must be a list of values\(isItem ? "; this item is" : ", not") \(file.kind)")
      return nil
    }
  }

  private mutating func pair(_ member: ConfigurationNode.Member, _ path: [String], joinedBy sign: String)
    -> SourcedText?
  {
    switch member.value.content {
    case .scalar(let text): return expanded(member.key + sign + text, member.origin, path)
    case .nothing: return expanded(member.key, member.origin, path)
    case .list, .members:
      refuse(path + [member.key], at: member.value.origin, "must be a single value, not \(member.value.kind)")
      return nil
    }
  }

  private mutating func expanded(_ text: String, _ origin: ConfigurationOrigin, _ path: [String])
    -> SourcedText?
  {
    do throws(ParameterError) {
      let value = try environment.expand(text)
      return SourcedText(text: value, origin: origin, isSecret: value != text)
    } catch {
      refuse(path, at: origin, error.description)
      return nil
    }
  }

  private mutating func parsed<Value>(
    _ found: SourcedText, _ format: ConfigurationFormat<Value>, _ path: [String]
  ) -> Value? {
    let folder = if case .file(_, let folder, _, _) = found.origin { folder } else { workingFolder }
    do {
      return try format.read(found.text, folder)
    } catch {
      var reason = "\(error)"
      // Omits the key, which the message already names.
      if let error = error as? ParameterError, error.key == path.last || error.key == "mask" {
        reason = error.reason
      }
      if found.isSecret || format.isSecret, !found.text.isEmpty {
        reason = reason.replacing(
          found.text, with: path.last == "source" ? Redaction.source(found.text) : "***")
      }
      refuse(path, at: found.origin, reason)
      return nil
    }
  }

  // MARK: Problems

  /// Reports a problem at the key's origin; if the key is not set, at its nearest parent.
  mutating func refuse(_ place: ConfigurationPlace, _ reason: String) {
    refuse(place.path, at: origins[place.path] ?? valueOrigin(of: place) ?? origin(of: place.path), reason)
  }

  /// Reports a part that is named although none of its keys is set.
  mutating func refuseEmpty(_ place: ConfigurationPlace, _ keys: [ConfigurationEntry]) {
    guard place.isNamed, !place.hasKeys else { return }
    guard !keys.contains(where: { isSet($0.path.reduce(place) { $0[$1] }) }) else { return }
    refuse(
      place,
      "is empty, which has no effect; set one of \(keys.map { $0.path.joined(separator: ".") }.joined(separator: ", "))"
    )
  }

  /// Returns whether a required key is set; reports it otherwise.
  @discardableResult
  mutating func needs(_ key: String, at place: ConfigurationPlace) -> Bool {
    if isSet(place[key]) { return true }
    refuse(place, "has no \(key)")
    return false
  }

  /// Returns the origin of a key; if it is not set, that of its nearest parent.
  func origin(of path: [String]) -> ConfigurationOrigin? {
    stride(from: path.count, to: 0, by: -1).lazy.compactMap { origins[Array(path[..<$0])] }.first
  }

  private mutating func refuse(_ path: [String], at origin: ConfigurationOrigin?, _ reason: String) {
    problems.append(ConfigurationProblem(origin: origin?.description, path: path, reason))
  }

  private mutating func note(_ path: [String], _ origin: ConfigurationOrigin?) {
    if origins[path] == nil { origins[path] = origin }
  }
}
