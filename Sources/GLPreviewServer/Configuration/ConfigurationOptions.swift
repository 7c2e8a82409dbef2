// What a command's options say, by the keys of a configuration file.
internal import PreviewCore

/// Options of the command: they win over the environment and over files.
package struct ConfigurationOptions: Sendable {
  private(set) var layer = ConfigurationLayer(name: "options")
  private(set) var problems: [ConfigurationProblem] = []

  /// Says nothing.
  package init() {}

  /// The camera that `setSource` and `addView` speak of.
  package static let cameraName = "camera"

  /// Says a key of a configuration.
  ///
  /// - Parameters:
  ///   - key: its parts, such as `["access", "insecure"]`; `["token"]` and `["user"]` (`NAME:PASSWORD`) are keys beside those of
  ///     files, whose owner may control the service.
  ///   - value: as a file has it; nil says nothing.
  ///   - option: what messages name, such as `--bind`.
  package mutating func set(_ key: [String], to value: String?, by option: String) {
    guard let value else { return }
    // What is said of a camera that nobody knows is told as this option's.
    if key.first == "cameras" { layer.declare(Array(key.prefix(2)), at: .option(option)) }
    layer.set(key, ConfigurationLayer.Entry(.word(value), [.option(option)]))
  }

  /// Adds the camera `camera`, before those of files.
  package mutating func setSource(_ source: String, by option: String = "SOURCE") {
    set(["cameras", Self.cameraName, "source"], to: source, by: option)
  }

  /// Adds a view of the camera `camera`: `NAME:KEY=VALUE,...` with a view's words, `fps`, `quality`, `enabled` and `locked`.
  package mutating func addView(_ text: String, by option: String = "--view") {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    let name = String(parts[0])
    let path = ["cameras", Self.cameraName, "views", name]
    guard !layer.names(below: Array(path.dropLast())).contains(name) else {
      return refuse(option, "there are two views named '\(name)'")
    }
    layer.declare(path, at: .option(option))
    do throws(WordError) {
      try ViewConfiguration.check(name: name)
      guard parts.count == 2 else { return }
      for (key, value) in try Words.pairs(
        parts[1], of: "view '\(name)'", twins: ViewConfiguration.longForms)
      {
        let key = ["w": "width", "h": "height"][key] ?? key
        guard Self.ownKeys.contains(key) || ViewConfiguration.keys.contains(key) else {
          refuse(option, "\(ViewConfiguration.unknown(key))")
          continue
        }
        set(path + [key], to: value, by: option)
      }
    } catch {
      refuse(option, error.description)
    }
  }

  /// Says a key of all views of the camera `camera` that were added and don't say it themselves; of `main` where none was.
  package mutating func setForViews(_ key: String, to value: String?, by option: String) {
    guard let value else { return }
    let path = ["cameras", Self.cameraName, "views"]
    let names = layer.names(below: path)
    for name in names.isEmpty ? ["main"] : names where layer[path + [name, key]] == nil {
      set(path + [name, key], to: value, by: option)
    }
  }

  /// Something that makes no sense before any file is read.
  mutating func refuse(_ option: String, _ reason: String) {
    problems.append(ConfigurationProblem(origin: option, reason))
  }

  private static let ownKeys = ["fps", "quality", "enabled", "locked"]
}
