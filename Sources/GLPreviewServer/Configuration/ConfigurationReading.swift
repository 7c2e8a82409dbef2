// Reads values by their keys from all layers, and gathers what is wrong with them.
internal import Configuration
internal import GLPreview
internal import PreviewCore

/// One reading of a configuration: the command's options win over the environment, and that over the files.
struct ConfigurationReading {
  private(set) var problems: [ConfigurationProblem] = []
  private let options: ConfigurationLayer
  private let environment: KeyMappingProvider<EnvironmentVariablesProvider>
  private let file: ConfigurationLayer
  private let reader: ConfigReader
  /// What relative paths are relative to that no file says.
  private let workingFolder: String

  /// What separates a list's words in a variable; masks have commas.
  static let variableSeparator: Character = ";"

  init(
    options: ConfigurationLayer, environment: [String: String], file: ConfigurationLayer,
    workingFolder: String
  ) {
    self.options = options
    self.file = file
    self.workingFolder = workingFolder
    // Containers are given variables that have no value where nothing is meant.
    let set = environment.filter { $0.key.hasPrefix("GLPREVIEW_") && !$0.value.isEmpty }
    self.environment = EnvironmentVariablesProvider(
      environmentVariables: set, secretsSpecifier: .all, arraySeparator: Self.variableSeparator
    ).prefixKeys(with: "glpreview")
    reader = ConfigReader(providers: [options, self.environment, file])
  }

  // MARK: Values

  /// What a key says; nil where nobody says it, or it makes no sense.
  mutating func value<Value>(_ path: [String], _ parse: (String) throws -> Value) -> Value? {
    guard let text = reader.string(forKey: ConfigKey(path), isSecret: true) else { return nil }
    do {
      return try parse(text)
    } catch {
      refuse(path, hiding(text, of: path, in: Self.reason(error, path)))
      return nil
    }
  }

  /// What a key says, in place of the default.
  mutating func read<Value>(_ path: [String], to value: inout Value, _ parse: (String) throws -> Value) {
    if let said = self.value(path, parse) { value = said }
  }

  /// The same of what may be left open.
  mutating func read<Value>(_ path: [String], to value: inout Value?, _ parse: (String) throws -> Value) {
    if let said = self.value(path, parse) { value = said }
  }

  /// A list's words; nil where nobody says it. Those that make no sense are left out, and told.
  mutating func values<Value>(_ path: [String], _ parse: (String) throws -> Value) -> [Value]? {
    guard let words = reader.stringArray(forKey: ConfigKey(path), isSecret: true) else { return nil }
    var values: [Value] = []
    for (index, word) in words.enumerated() {
      do {
        values.append(try parse(word))
      } catch {
        problems.append(
          ConfigurationProblem(
            origin: origin(of: path, word: index)?.description, key: path.joined(separator: "."),
            hiding(word, of: path, in: Self.reason(error, path))))
      }
    }
    return values
  }

  /// Names below a key: those of options first.
  func names(below path: [String]) -> [String] {
    let first = options.names(below: path)
    return first + file.names(below: path).filter { !first.contains($0) }
  }

  /// Whether a key is said, or something below it.
  func has(_ path: [String]) -> Bool { speaker(of: path) != nil || !names(below: path).isEmpty }

  // MARK: Paths

  /// The folder that a path of this key is relative to.
  func folder(of path: [String]) -> String {
    if case .file(let location) = speaker(of: path) { location.folder } else { workingFolder }
  }

  // MARK: Mistakes

  mutating func refuse(_ path: [String], _ reason: String) {
    problems.append(
      ConfigurationProblem(
        origin: origin(of: path)?.description, key: path.isEmpty ? nil : path.joined(separator: "."), reason))
  }

  /// Who says a key; nil where nobody does.
  func speaker(of path: [String], word index: Int = 0) -> ConfigurationOrigin? {
    if let entry = options[path] { return entry.origin(ofWord: index) }
    let key = AbsoluteConfigKey(path)
    if let found = try? environment.value(forKey: key, type: .string), found.value != nil {
      return .variable(found.encodedKey)
    }
    return file[path]?.origin(ofWord: index)
  }

  /// Who says a key, or, where nobody does, what it is of.
  func origin(of path: [String], word index: Int = 0) -> ConfigurationOrigin? {
    if let speaker = speaker(of: path, word: index) { return speaker }
    for count in stride(from: path.count, to: 0, by: -1) {
      let above = Array(path[..<count])
      if let place = options.place(of: above) ?? file.place(of: above) { return place }
    }
    return nil
  }

  /// A reason that does not quote what is secret.
  private func hiding(_ text: String, of path: [String], in reason: String) -> String {
    guard case .file = speaker(of: path), file[path]?.isSecret == true else { return reason }
    return reason.replacing(text, with: path.last == "source" ? Redaction.source(text) : "***")
  }

  /// Without the key that stands before it anyway.
  private static func reason(_ error: any Error, _ path: [String]) -> String {
    switch error {
    case let error as WordError where error.key == path.last || error.key == "mask": error.reason
    default: "\(error)"
    }
  }
}

extension ConfigurationLayer.Entry {
  fileprivate func origin(ofWord index: Int) -> ConfigurationOrigin? {
    origins.indices.contains(index) ? origins[index] : origins.first
  }
}
