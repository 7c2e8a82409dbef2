// Loads the configuration from files, the environment and a command's options, at start and at each reload.
internal import FoundationEssentials

/// Loads a configuration.
///
/// ```swift
/// let loader = ConfigurationLoader(.all, files: ["glpreview.yaml"])
/// let configuration = try loader.load()
/// ```
package struct ConfigurationLoader: Sendable {
  /// YAML files. Each key of a later file overrides earlier ones. docs/configuration.md lists all keys.
  package let files: [String]
  private let schema: ConfigurationSchema
  private let options: ConfigurationOptions
  private let environment: [String: String]
  private let workingFolder: String

  /// The size limit of a file, in bytes.
  package static let largestFile = 1 << 20

  /// Creates a loader. Relative paths of `files` refer to the working folder at the time of this call.
  /// `options` override everything else. Of `environment` (nil: the process's), `GLPREVIEW_...` overrides
  /// files, and `${NAME}` in files is replaced by its value.
  package init(
    _ schema: ConfigurationSchema, files: [String] = [],
    options: ConfigurationOptions = ConfigurationOptions(), environment: [String: String]? = nil
  ) {
    self.schema = schema
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
    reading.read(schema.service, at: root, into: &configuration)
    // A node without cameras of its own serves those of its peers instead of the default test pattern.
    if configuration.cluster.hasOthers, !root["cameras"].hasKeys { configuration.cameras = [] }
    var problems = options.problems + reading.problems
    do throws(ConfigurationError) {
      let validated = try ValidatedConfiguration(configuration)
      if problems.isEmpty { return validated }
    } catch {
      problems += located(error.problems, reading, after: problems)
    }
    throw ConfigurationError(problems)
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
    do throws(ParameterError) {
      let path = try ConfigurationPaths.resolved(file, in: workingFolder)
      text = try ConfigurationPaths.text(of: path, limit: Self.largestFile)
      folder = String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
    } catch {
      throw ConfigurationError(at: file, error.description)
    }
    return try YAMLDocument.tree(of: text, file: file, folder: folder.isEmpty ? "/" : folder)
  }

  /// Returns the violated rules with the places where their keys are set, except those that only follow from
  /// another problem.
  private func located(
    _ broken: [ConfigurationProblem], _ reading: ConfigurationReader, after mistakes: [ConfigurationProblem]
  ) -> [ConfigurationProblem] {
    let wrong = mistakes.map { $0.key ?? "" }
    return broken.filter { problem in
      let key = problem.path.joined(separator: ".")
      let causes = key == "bind" ? ["bind", "access", "token", "user"] : [key]
      return !wrong.contains { mistake in causes.contains { mistake.hasPrefix($0) } }
    }.map { problem in
      var problem = problem
      problem.origin = reading.origin(of: problem.path)?.description
      return problem
    }
  }
}
