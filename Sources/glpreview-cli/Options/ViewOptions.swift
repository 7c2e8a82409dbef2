// The options for views: `--view` any number of times, or its keys as options for a single view.
import ArgumentParser
import GLPreview

struct ViewOptions: ParsableArguments {
  @Option(
    name: .customLong("view"),
    help: ArgumentHelp(
      "A view, with the options below as keys. Repeatable.", valueName: "NAME:KEY=VALUE,..."))
  var named: [String] = []

  @Option(
    help: ArgumentHelp(
      "The part of the upright source to show, in pixels (default: all of it).", valueName: "WxH+X+Y"))
  var crop: String?

  @Option(
    help: ArgumentHelp(
      "Look through the lens (--lens) with another camera: flat, cylinder or equirectangular (default: flat with --yaw, --pitch, --roll or --hfov; otherwise the picture as the lens projects it).",
      valueName: "projection"))
  var projection: String?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Look to the right, in degrees (default: 0).", valueName: "degrees"))
  var yaw: String?

  @Option(
    parsing: .unconditional, help: ArgumentHelp("Look up, in degrees (default: 0).", valueName: "degrees"))
  var pitch: String?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Roll that camera clockwise, in degrees (default: 0).", valueName: "degrees"))
  var roll: String?

  @Option(
    help: ArgumentHelp(
      "The horizontal field of view, in degrees (default: the lens's for flat pictures of a lens that is not a fisheye; otherwise 90 if flat, 180 if not).",
      valueName: "degrees"))
  var hfov: String?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Straighten what lies between four points, in pixels of the upright source: 'X,Y X,Y X,Y X,Y', which become top left, top right, bottom right and bottom left.",
      valueName: "points"))
  var corners: String?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Rotate clockwise by any number of degrees: 90, -90, 180, 1.5. Beyond quarter turns, mode fill shows the largest part inside, fit all of it (default: 0).",
      valueName: "degrees"))
  var rotate: String?

  @Option(
    help: ArgumentHelp("Mirror: none, horizontal, vertical or both (default: none).", valueName: "axis"))
  var mirror: String?

  @Option(
    help: ArgumentHelp(
      "The picture's size: WxH, Wx or xH; with one side, the other keeps the aspect ratio (default: that of the rotated crop).",
      valueName: "WxH"))
  var size: String?

  @Option(help: ArgumentHelp("The picture's width; the same as --size Wx.", valueName: "pixels"))
  var width: String?

  @Option(help: ArgumentHelp("The picture's height; the same as --size xH.", valueName: "pixels"))
  var height: String?

  @Option(
    help: ArgumentHelp(
      "If the aspect ratios differ: fill crops to cover the size, fit adds bars, stretch distorts, inside fits without bars and never enlarges (default: fill).",
      valueName: "mode"))
  var mode: String?

  @Option(
    help: ArgumentHelp(
      "The colour of bars and behind transparency; blur fills the bars with the blurred picture (default: #000000).",
      valueName: "#RRGGBB|blur"))
  var background: String?

  @Option(
    help: ArgumentHelp(
      "The resampling filter: auto, nearest, bilinear, area, bicubic (Catmull-Rom), mitchell or lanczos; auto is area for shrinking and bilinear for enlarging (default: auto).",
      valueName: "filter"))
  var filter: String?

  @Option(
    help: ArgumentHelp(
      "Resample in linear light; the value may be omitted (default: false).", valueName: "true|false"))
  var linear: String?

  @Option(help: ArgumentHelp("Draw this text over the picture, at the bottom left.", valueName: "text"))
  var label: String?

  @Option(
    help: ArgumentHelp(
      "Draw the capture time over the picture, at the top right: local, utc, no, or a strftime pattern such as %H:%M (default: no).",
      valueName: "time"))
  var time: String?

  /// The keys given as single options, with their values.
  private var single: [(key: String, value: String)] {
    [
      ("crop", crop), ("projection", projection), ("yaw", yaw), ("pitch", pitch), ("roll", roll),
      ("hfov", hfov), ("corners", corners), ("rotate", rotate), ("mirror", mirror), ("size", size),
      ("width", width), ("height", height), ("mode", mode), ("background", background), ("filter", filter),
      ("linear", linear), ("label", label), ("time", time),
    ].compactMap { key, value in value.map { (key, $0) } }
  }

  /// The keys given as single options.
  var keys: [String] { single.map(\.key) }

  /// The options as command-line arguments that parse to the same options.
  var words: [String] {
    named.flatMap { ["--view", $0] } + single.map { "--\($0.key)=\($0.value)" }
  }

  /// Returns the requested views; by default one view of the whole source.
  func views() throws -> [ViewConfiguration] {
    guard !named.isEmpty else {
      guard size == nil || (width == nil && height == nil) else {
        throw UsageError("--size can't be combined with --width or --height")
      }
      var view = ViewConfiguration()
      for (key, value) in single { try view.set(key, to: value) }
      return [view]
    }
    guard single.isEmpty else {
      throw UsageError(
        "--\(single[0].key) can't be combined with --view; write it as NAME:\(single[0].key)=...")
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
