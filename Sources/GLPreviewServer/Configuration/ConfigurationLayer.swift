// What one place says, a file or the command's options, as swift-configuration reads it.
internal import Configuration

/// Who said something.
enum ConfigurationOrigin: Sendable, Hashable, CustomStringConvertible {
  case file(ConfigurationNode.Location)
  /// Such as `--bind`.
  case option(String)
  /// Such as `GLPREVIEW_BIND`.
  case variable(String)

  /// How far up it stands: a layer wins over those of lower numbers.
  var layer: Int {
    switch self {
    case .file: 0
    case .variable: 1
    case .option: 2
    }
  }

  var description: String {
    switch self {
    case .file(let location): location.description
    case .option(let name), .variable(let name): name
    }
  }
}

/// Words by their keys, with who said them.
///
/// A provider of its own, as swift-configuration's know neither lines nor which keys there are.
struct ConfigurationLayer: Sendable {
  /// What a key has.
  struct Entry: Sendable, Hashable {
    enum Value: Sendable, Hashable {
      case word(String)
      case words([String])
    }

    let value: Value
    /// Of a list's words, one each.
    let origins: [ConfigurationOrigin]
    let isSecret: Bool

    init(_ value: Value, _ origins: [ConfigurationOrigin], isSecret: Bool = false) {
      self.value = value
      self.origins = origins
      self.isSecret = isSecret
    }
  }

  private let name: String
  private var entries: [[String]: Entry] = [:]
  private var names: [[String]: [String]] = [:]
  private var places: [[String]: ConfigurationOrigin] = [:]

  init(name: String) { self.name = name }

  /// Sets a key.
  mutating func set(_ path: [String], _ entry: Entry) {
    declare(path, at: entry.origins.first)
    entries[path] = entry
  }

  /// Says that there is something by this name, even if nothing is said of it.
  mutating func declare(_ path: [String], at origin: ConfigurationOrigin? = nil) {
    for count in path.indices where names[Array(path[..<count])]?.contains(path[count]) != true {
      names[Array(path[..<count]), default: []].append(path[count])
    }
    if let origin, places[path] == nil { places[path] = origin }
  }

  subscript(path: [String]) -> Entry? { entries[path] }

  /// What is said below a key, in order.
  func names(below path: [String]) -> [String] { names[path] ?? [] }

  /// Where a key is said first.
  func place(of path: [String]) -> ConfigurationOrigin? { places[path] }
}

extension ConfigurationLayer: ConfigSnapshot {
  var providerName: String { name }

  func value(forKey key: AbsoluteConfigKey, type: ConfigType) throws -> LookupResult {
    let content: ConfigContent? =
      switch (entries[key.components]?.value, type) {
      case (.word(let word), .string): .string(word)
      case (.word(let word), .stringArray): .stringArray([word])
      case (.words(let words), .stringArray): .stringArray(words)
      default: nil
      }
    let isSecret = entries[key.components]?.isSecret == true
    return LookupResult(
      encodedKey: key.components.joined(separator: "."),
      value: content.map { ConfigValue($0, isSecret: isSecret) })
  }
}

extension ConfigurationLayer: ConfigProvider {
  nonisolated(nonsending) func fetchValue(forKey key: AbsoluteConfigKey, type: ConfigType) async throws
    -> LookupResult
  {
    try value(forKey: key, type: type)
  }

  nonisolated(nonsending) func watchValue<Return: ~Copyable>(
    forKey key: AbsoluteConfigKey, type: ConfigType,
    updatesHandler:
      nonisolated(nonsending) (_ updates: ConfigUpdatesAsyncSequence<Result<LookupResult, any Error>, Never>)
      async throws -> Return
  ) async throws -> Return {
    try await watchValueFromValue(forKey: key, type: type, updatesHandler: updatesHandler)
  }

  func snapshot() -> any ConfigSnapshot { self }

  nonisolated(nonsending) func watchSnapshot<Return: ~Copyable>(
    updatesHandler:
      nonisolated(nonsending) (_ updates: ConfigUpdatesAsyncSequence<any ConfigSnapshot, Never>) async throws
      -> Return
  ) async throws -> Return {
    try await watchSnapshotFromSnapshot(updatesHandler: updatesHandler)
  }
}
