// The command's options, stored under the keys of a configuration file.

/// The command's options. They override the environment and files.
package struct ConfigurationOptions: Sendable {
  private(set) var root = ConfigurationNode(content: .members([]), origin: .option("options"))
  private(set) var problems: [ConfigurationProblem] = []

  package init() {}

  /// The name of the camera that `setSource` and `addView` configure.
  package static let cameraName = "camera"

  private static let views = ["cameras", cameraName, "views"]

  /// Sets a configuration key, such as `["access", "insecure"]`, to a value as in a file; nil sets nothing.
  /// `["token"]` and `["user"]` (`NAME:PASSWORD`) can't be set in files; these credentials have the role
  /// `control`. `option` is the name for messages, such as `--bind`.
  package mutating func set(_ key: [String], to value: String?, by option: String) {
    guard let value else { return }
    root.put(ConfigurationNode(content: .scalar(value), origin: .option(option)), at: key[...])
  }

  /// Adds the camera `camera`, before the cameras of files.
  package mutating func setSource(_ source: String, by option: String = "SOURCE") {
    set(["cameras", Self.cameraName, "source"], to: source, by: option)
  }

  /// Adds a view of the camera `camera`: `NAME:KEY=VALUE,...`, with the keys of a view in a file.
  package mutating func addView(_ text: String) {
    let option = "--view"
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    let name = String(parts[0])
    let path = Self.views + [name]
    do throws(ParameterError) {
      guard !viewNames.contains(name) else { throw ParameterError("two views are named '\(name)'") }
      try ViewConfiguration.check(name: name)
      root.put(ConfigurationNode(content: .members([]), origin: .option(option)), at: path[...])
      guard parts.count == 2 else { return }
      let pairs = try ParameterParser.pairs(
        parts[1], of: "view '\(name)'", twins: ViewConfiguration.longForms)
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

  /// Sets a key of all added views of the camera `camera` that do not set it themselves; of `main` if none
  /// was added.
  package mutating func setForViews(_ key: String, to value: String?, by option: String) {
    for name in viewNames.isEmpty ? ["main"] : viewNames where views?[name]?[key] == nil {
      set(Self.views + [name, key], to: value, by: option)
    }
  }

  private var views: ConfigurationNode? { Self.views.reduce(root) { $0?[$1] } }
  private var viewNames: [String] { views?.members.map(\.key) ?? [] }

  /// Reports a problem found before any file is read.
  private mutating func refuse(_ option: String, _ reason: String) {
    problems.append(ConfigurationProblem(origin: option, reason))
  }
}
