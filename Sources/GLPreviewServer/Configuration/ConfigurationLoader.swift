// Loads the configuration from files, the environment and a command's options, at start and at each reload.
internal import FoundationEssentials
internal import GLPreview

/// Loads a configuration.
///
/// ```swift
/// let loader = ConfigurationLoader(files: ["glpreview.yaml"])
/// let configuration = try loader.load()
/// ```
package struct ConfigurationLoader: Sendable {
  /// YAML files. Each key of a later file overrides earlier ones. docs/configuration.md lists all keys.
  package let files: [String]
  private let options: ConfigurationOptions
  private let environment: [String: String]
  private let workingFolder: String

  /// The size limit of a file, in bytes.
  package static let largestFile = 1 << 20

  /// Creates a loader of `files`. By default there are none.
  ///
  /// - Parameters:
  ///   - files: their paths. Relative ones refer to the working folder at the time of this call.
  ///   - options: the command's options, which override everything else.
  ///   - environment: `GLPREVIEW_...` overrides files, and `${NAME}` in files is replaced by its value. Nil is the
  ///     process's environment.
  package init(
    files: [String] = [], options: ConfigurationOptions = ConfigurationOptions(),
    environment: [String: String]? = nil
  ) {
    self.files = files
    self.options = options
    self.environment = environment ?? ProcessInfo.processInfo.environment
    workingFolder = FileManager.default.currentDirectoryPath
  }

  /// Loads the configuration. Each call reads the files again.
  ///
  /// - Throws: `ConfigurationError` with all problems and their places.
  package func load() throws(ConfigurationError) -> ValidatedConfiguration {
    var reading = ConfigurationReader(environment: environment, workingFolder: workingFolder)
    var configuration = ServerConfiguration()
    let root = ConfigurationPlace(path: [], option: options.root, file: try root())
    reading.read(ConfigurationKeys.service, at: root, into: &configuration)
    let mistakes = options.problems + reading.problems
    let problems = mistakes + told(configuration.faults, reading, after: mistakes)
    guard problems.isEmpty else { throw ConfigurationError(problems) }
    return try ValidatedConfiguration(configuration)
  }

  /// Merges all files into one tree.
  private func root() throws(ConfigurationError) -> ConfigurationNode {
    let origin = ConfigurationOrigin.file("", folder: workingFolder, line: 1, column: 1)
    var root = ConfigurationNode(content: .members([]), origin: origin)
    var problems: [ConfigurationProblem] = []
    for file in files {
      do throws(ConfigurationError) {
        root.merge(try tree(of: file))
      } catch {
        problems += error.problems
      }
    }
    guard problems.isEmpty else { throw ConfigurationError(problems) }
    return root
  }

  private func tree(of file: String) throws(ConfigurationError) -> ConfigurationNode {
    let (text, folder): (String, String)
    do throws(WordError) {
      let path = try ConfigurationPaths.resolved(file, in: workingFolder)
      text = try ConfigurationPaths.text(of: path, limit: Self.largestFile)
      folder = String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
    } catch {
      throw ConfigurationError(ConfigurationProblem(origin: file, error.description))
    }
    return try YAMLDocument.tree(of: text, file: file, folder: folder.isEmpty ? "/" : folder)
  }

  /// The problems of the configuration as a whole, without those that only follow from another mistake.
  private func told(
    _ faults: [ConfigurationFault], _ reading: ConfigurationReader, after mistakes: [ConfigurationProblem]
  ) -> [ConfigurationProblem] {
    faults.filter { fault in
      !mistakes.contains { mistake in
        let key = mistake.key ?? ""
        return fault.path == ["bind"]
          ? ["bind", "access", "token", "user"].contains { key.hasPrefix($0) }
          : key.hasPrefix(fault.path.joined(separator: "."))
      }
    }.map { fault in
      ConfigurationProblem(
        origin: reading.origin(of: fault.path)?.description, key: fault.path.joined(separator: "."),
        fault.reason)
    }
  }
}
