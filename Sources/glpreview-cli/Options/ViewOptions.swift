// The views of a command line: `--view` as often as wanted, or the same keys as options for one view.
import ArgumentParser
import GLPreview

struct ViewOptions: ParsableArguments {
  @Option(
    name: .customLong("view"),
    help: ArgumentHelp(
      "A view; may be given many times. Keys are those of the options below.",
      valueName: "NAME:KEY=VALUE,..."))
  var named: [String] = []

  @Option(help: ArgumentHelp("Pixels of the upright source (default: all of it).", valueName: "WxH+X+Y"))
  var crop: String?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Degrees clockwise: 0, 90, 180 or 270 (default: 0).", valueName: "degrees"))
  var rotate: String?

  @Option(help: ArgumentHelp("none, horizontal, vertical or both (default: none).", valueName: "axis"))
  var mirror: String?

  @Option(
    help: ArgumentHelp(
      "Of the picture: WxH, Wx or xH; one side keeps the aspect ratio (default: the crop's, rotated).",
      valueName: "WxH"))
  var size: String?

  @Option(help: ArgumentHelp("Of the picture; the same as --size Wx.", valueName: "pixels"))
  var width: String?

  @Option(help: ArgumentHelp("Of the picture; the same as --size xH.", valueName: "pixels"))
  var height: String?

  @Option(
    help: ArgumentHelp(
      "fill covers the size and crops, fit shows all with bars, stretch distorts, inside fits and never enlarges (default: fill).",
      valueName: "mode"))
  var mode: String?

  @Option(
    help: ArgumentHelp(
      "Of bars, and behind transparency; blur has the picture itself, out of focus, for bars (default: #000000).",
      valueName: "#RRGGBB|blur"))
  var background: String?

  @Option(
    help: ArgumentHelp(
      "auto, nearest, bilinear, area or lanczos; auto is area where it shrinks, bilinear where it grows (default: auto).",
      valueName: "filter"))
  var filter: String?

  @Option(
    help: ArgumentHelp(
      "Mix samples in linear light; alone or with true or false (default: false).", valueName: "true|false"))
  var linear: String?

  /// What the single options say.
  private var single: [(key: String, value: String)] {
    [
      ("crop", crop), ("rotate", rotate), ("mirror", mirror), ("size", size), ("width", width),
      ("height", height), ("mode", mode), ("background", background), ("filter", filter), ("linear", linear),
    ].compactMap { key, value in value.map { (key, $0) } }
  }

  /// What is said by single options.
  var keys: [String] { single.map(\.key) }

  /// The views that are asked for; one of all of the source where nothing is said.
  func views() throws -> [ViewConfiguration] {
    guard !named.isEmpty else {
      guard size == nil || (width == nil && height == nil) else {
        throw UsageError("--size and --width or --height say the same; give one of them")
      }
      var view = ViewConfiguration()
      for (key, value) in single { try view.set(key, to: value) }
      return [view]
    }
    guard single.isEmpty else {
      throw UsageError(
        "--\(single[0].key) is for one view; beside --view write it as NAME:\(single[0].key)=...")
    }
    var views: [ViewConfiguration] = []
    for text in named {
      let view = try ViewConfiguration(parsing: text)
      guard !views.contains(where: { $0.name == view.name }) else {
        throw UsageError("there are two views named '\(view.name)'")
      }
      views.append(view)
    }
    return views
  }
}
