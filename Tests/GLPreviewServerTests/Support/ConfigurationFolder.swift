// A folder of configuration files for one test.
import Foundation
import GLPreviewServer
import Testing

@testable import ServiceFoundation

/// Gone when the test is over.
final class ConfigurationFolder: Sendable {
  /// Without links: what a path in a file becomes.
  let path: String

  init() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "glpreview-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    path = folder.resolvingSymlinksInPath().path
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  func write(_ text: String, to name: String = "glpreview.yaml") throws {
    try Data(text.utf8).write(to: URL(filePath: "\(path)/\(name)"))
  }

  /// A loader of files here.
  func loader(
    _ names: [String] = ["glpreview.yaml"], options: ConfigurationOptions = ConfigurationOptions(),
    environment: [String: String] = [:]
  ) -> ConfigurationLoader {
    ConfigurationLoader(
      .all, files: names.map { "\(path)/\($0)" }, options: options, environment: environment)
  }

  /// What a file comes to.
  func load(
    _ text: String, options: ConfigurationOptions = ConfigurationOptions(),
    environment: [String: String] = [:]
  ) throws -> ValidatedConfiguration {
    try write(text)
    return try loader(options: options, environment: environment).load()
  }

  /// What is wrong with a file, a line each, places without the folder: `3:5: bind: ...`.
  func problems(
    _ text: String, options: ConfigurationOptions = ConfigurationOptions(),
    environment: [String: String] = [:]
  ) throws -> [String] {
    try write(text)
    return problems(loader(options: options, environment: environment))
  }

  func problems(_ loader: ConfigurationLoader) -> [String] {
    do throws(ConfigurationError) {
      _ = try loader.load()
      return []
    } catch {
      return error.problems.map {
        "\($0)".replacing("\(path)/", with: "").replacing(/^glpreview\.yaml:(?=[0-9])/, with: "")
      }
    }
  }
}
