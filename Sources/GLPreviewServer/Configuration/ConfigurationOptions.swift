// What a command's options say, by the keys of a configuration file.
internal import PreviewCore

/// Options of the command: they win over the environment and over files.
package struct ConfigurationOptions: Sendable {
  private(set) var root = ConfigurationNode(content: .members([]), origin: .option("options"))
  private(set) var problems: [ConfigurationProblem] = []

  /// Says nothing.
  package init() {}

  /// The camera that `setSource` and `addView` speak of.
  package static let cameraName = "camera"

  private static let views = ["cameras", cameraName, "views"]

  /// Says a key of a configuration.
  ///
  /// - Parameters:
  ///   - key: its parts, such as `["access", "insecure"]`; `["token"]` and `["user"]` (`NAME:PASSWORD`) are keys beside those of
  ///     files, whose owner may control the service.
  ///   - value: as a file has it; nil says nothing.
  ///   - option: what messages name, such as `--bind`.
  package mutating func set(_ key: [String], to value: String?, by option: String) {
    guard let value else { return }
    root.put(ConfigurationNode(content: .word(value), origin: .option(option)), at: key[...])
  }

  /// Adds the camera `camera`, before those of files.
  package mutating func setSource(_ source: String, by option: String = "SOURCE") {
    set(["cameras", Self.cameraName, "source"], to: source, by: option)
  }

  /// Adds a view of the camera `camera`: `NAME:KEY=VALUE,...` with the keys of a file's view.
  package mutating func addView(_ text: String, by option: String = "--view") {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    let name = String(parts[0])
    let path = Self.views + [name]
    guard viewNames.allSatisfy({ $0 != name }) else {
      return refuse(option, "there are two views named '\(name)'")
    }
    do throws(WordError) {
      try ViewConfiguration.check(name: name)
      root.put(ConfigurationNode(content: .members([]), origin: .option(option)), at: path[...])
      guard parts.count == 2 else { return }
      let pairs = try Words.pairs(parts[1], of: "view '\(name)'", twins: ViewConfiguration.longForms)
      for (key, value) in pairs {
        let key = ["w": "width", "h": "height"][key] ?? key
        if ConfigurationKeys.view.contains(where: { $0.name == key }) {
          set(path + [key], to: value, by: option)
        } else {
          refuse(option, ViewConfiguration.unknown(key).description)
        }
      }
    } catch {
      refuse(option, error.description)
    }
  }

  /// Says a key of all views of the camera `camera` that were added and don't say it themselves; of `main` where none was.
  package mutating func setForViews(_ key: String, to value: String?, by option: String) {
    for name in viewNames.isEmpty ? ["main"] : viewNames where views?[name]?[key] == nil {
      set(Self.views + [name, key], to: value, by: option)
    }
  }

  private var views: ConfigurationNode? { Self.views.reduce(root) { $0?[$1] } }
  private var viewNames: [String] { views?.members.map(\.key) ?? [] }

  /// Something that makes no sense before any file is read.
  private mutating func refuse(_ option: String, _ reason: String) {
    problems.append(ConfigurationProblem(origin: option, reason))
  }
}
