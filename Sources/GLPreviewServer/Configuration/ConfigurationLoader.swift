// From files, the environment and a command's options to what a service is told; again whenever it is asked to reload.
internal import FoundationEssentials
internal import GLPreview

/// Reads a configuration.
///
/// ```swift
/// let loader = ConfigurationLoader(files: ["glpreview.yaml"])
/// let configuration = try loader.load()
/// ```
package struct ConfigurationLoader: Sendable {
  /// YAML files; what a later one says wins, key by key. docs/configuration.md has all keys.
  package let files: [String]
  private let options: ConfigurationOptions
  private let environment: [String: String]
  private let workingFolder: String

  /// The largest file that is read, in bytes.
  package static let largestFile = 1 << 20

  /// A loader of `files`, none unless told.
  ///
  /// - Parameters:
  ///   - files: their paths; relative ones are resolved now.
  ///   - options: what wins over all else.
  ///   - environment: `GLPREVIEW_...` wins over files, and `${NAME}` in files is taken from it; nil is the process's own.
  package init(
    files: [String] = [], options: ConfigurationOptions = ConfigurationOptions(),
    environment: [String: String]? = nil
  ) {
    self.files = files
    self.options = options
    self.environment = environment ?? ProcessInfo.processInfo.environment
    workingFolder = FileManager.default.currentDirectoryPath
  }

  /// Reads the files as they are now.
  ///
  /// - Throws: `ConfigurationError` with everything that is wrong, each with its place.
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

  /// All files as one tree.
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

  /// What makes no sense as a whole, without what only follows from another mistake.
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
