// Several sources in one picture, such as a call's grid, a speaker with a strip, or a picture in a picture;
// and the text form, which is similar to a view's: `grid:size=1280x720,gap=8,radius=12,background=#101418`.

/// The layout and appearance of a picture of several sources.
///
///     var scene = Scene(size: Size(width: 1280, height: 720), tiles: ["ann", "bo"].map { Tile($0) })
///     scene.gap = 8
///     scene.tiles[0].isSpeaking = true
public struct Scene: Sendable, Hashable {
  /// The picture's size, in pixels.
  public var size: Size
  /// How the tiles are arranged.
  public var layout: Layout
  /// 1 to 49 tiles, in layout order. Of tiles with the same `zIndex`, later ones are drawn above earlier
  /// ones.
  public var tiles: [Tile]
  /// The background, drawn below all tiles.
  public var background: Background
  /// Pixels between tiles, and between tiles and the picture's edges.
  public var gap: Int
  /// The aspect ratio for which grids maximise their tiles, and which tiles in strips and insets have.
  /// Default 16:9.
  public var tileAspect: Size
  /// The corner radius of tiles without their own, in pixels; 0 is square corners.
  public var cornerRadius: Double
  /// The border of speaking tiles, in place of their own.
  public var speakingBorder: Border
  /// Labels of the whole picture, above all tiles.
  public var labels: [Label]

  /// Creates a scene. The default is a grid on black without gaps.
  public init(
    size: Size, layout: Layout = .grid, tiles: [Tile] = [], background: Background = .color(.black),
    gap: Int = 0, tileAspect: Size = Size(width: 16, height: 9), cornerRadius: Double = 0,
    speakingBorder: Border = .speaking, labels: [Label] = []
  ) {
    self.size = size
    self.layout = layout
    self.tiles = tiles
    self.background = background
    self.gap = gap
    self.tileAspect = tileAspect
    self.cornerRadius = cornerRadius
    self.speakingBorder = speakingBorder
    self.labels = labels
  }

  /// The most tiles that a scene can have.
  package static let maximumTiles = 49
}

extension Scene {
  /// The background below all tiles.
  public enum Background: Sendable, Hashable {
    /// A solid colour.
    case color(RGBColor)
    /// A gradient between two colours.
    case gradient(LinearGradient)
    /// A blurred source that fills the picture; black while it is off or has no frame.
    case blur(source: String)
  }
}

extension Border {
  /// A green line of four pixels that marks a speaker.
  public static let speaking = Border(width: 4, color: RGBColor(red: 0x2e, green: 0xcc, blue: 0x71))
}

extension Scene {
  /// The accepted keys of all layouts.
  package static let keys = [
    "size", "gap", "radius", "aspect", "background", "main", "edge", "share", "corner", "margin",
  ]

  /// Parses `LAYOUT` or `LAYOUT:KEY=VALUE,KEY=VALUE...`. The caller adds tiles and labels.
  ///
  /// A layout is `grid`, `spotlight`, `inset` or `free`. All accept `size=WxH` (default 1280x720),
  /// `gap=PIXELS` (0), `radius=PIXELS` (0; insets 12), `aspect=W:H` (16:9), and `background=#RRGGBB`,
  /// `#RRGGBB-#RRGGBB` (a gradient downwards) or `blur:SOURCE`. A spotlight also accepts `main=NUMBER` (a
  /// tile's index; 0), `edge=top|right|bottom|left` (bottom) and `share=PART` (0.2). An inset accepts
  /// `corner=topLeft|topRight|bottomLeft|bottomRight` (bottomRight), `share=PART` (0.25) and `margin=PIXELS`
  /// (16).
  ///
  /// - Throws: `ParameterError` for an unknown layout, a key that is unknown, repeated or of another layout, or a
  ///   bad value.
  public init(parsing text: String) throws(ParameterError) {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    let layouts: [Substring: Layout] = [
      "grid": .grid, "spotlight": .spotlight(), "inset": .inset(), "free": .free,
    ]
    guard let layout = layouts[parts[0]] else {
      throw ParameterError("layout", "'\(parts[0])' is not a layout: use grid, spotlight, inset or free")
    }
    self.init(size: Size(width: 1280, height: 720), layout: layout)
    guard parts.count == 2 else { return }
    for (key, value) in try ParameterParser.pairs(parts[1], of: "scene") { try set(key, to: value) }
  }

  private mutating func set(_ key: String, to value: String) throws(ParameterError) {
    let lengths = 0...Size.maximumSide
    switch key {
    case "size": size = try ParameterParser.size(key, value)
    case "aspect": tileAspect = try ParameterParser.size(key, value, separator: ":")
    case "gap": gap = try ParameterParser.whole(key, value, in: lengths)
    case "background": background = try Scene.background(value)
    case "radius":
      let radius = Double(try ParameterParser.whole(key, value, in: lengths))
      if case .inset(var inset) = layout {
        inset.cornerRadius = radius
        layout = .inset(inset)
      } else {
        cornerRadius = radius
      }
    default: try setLayout(key, to: value)
    }
  }

  /// Sets a key that only some layouts have.
  private mutating func setLayout(_ key: String, to value: String) throws(ParameterError) {
    switch (layout, key) {
    case (.spotlight(_, let strip), "main"):
      layout = .spotlight(
        main: try ParameterParser.whole(key, value, in: 0...(Scene.maximumTiles - 1)), strip: strip)
    case (.spotlight(let main, var strip), "edge"):
      strip.edge = try ParameterParser.choice(key, value)
      layout = .spotlight(main: main, strip: strip)
    case (.spotlight(let main, var strip), "share"):
      strip.share = try Scene.share(key, value)
      layout = .spotlight(main: main, strip: strip)
    case (.inset(var inset), "corner"):
      inset.corner = try ParameterParser.choice(key, value)
      layout = .inset(inset)
    case (.inset(var inset), "share"):
      inset.share = try Scene.share(key, value)
      layout = .inset(inset)
    case (.inset(var inset), "margin"):
      inset.margin = try ParameterParser.whole(key, value, in: 0...Size.maximumSide)
      layout = .inset(inset)
    case _ where Scene.keys.contains(key): throw ParameterError(key, "does not apply to this layout")
    default:
      throw ParameterError("scene", "unknown key '\(key)' (known: \(Scene.keys.joined(separator: ", ")))")
    }
  }

  private static func background(_ value: String) throws(ParameterError) -> Background {
    if value.hasPrefix("blur:"), value.count > 5 { return .blur(source: String(value.dropFirst(5))) }
    let colors = value.split(separator: "-", omittingEmptySubsequences: false).map { RGBColor($0) }
    return switch (colors.first, colors.dropFirst().first, colors.count) {
    case (let color??, _, 1): .color(color)
    case (let start??, let end??, 2): .gradient(LinearGradient(from: start, to: end))
    default:
      throw ParameterError(
        "background", "'\(value)' is not a background: use #RRGGBB, #RRGGBB-#RRGGBB or blur:SOURCE")
    }
  }

  private static func share(_ key: String, _ value: String) throws(ParameterError) -> Double {
    guard let share = Double(value), share > 0, share <= 1 else {
      throw ParameterError(key, "'\(value)' is not above 0 and at most 1")
    }
    return share
  }
}
