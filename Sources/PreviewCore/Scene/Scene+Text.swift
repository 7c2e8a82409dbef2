// The text form of a scene, similar to a view's: `grid:size=1280x720,gap=8,radius=12,background=#101418`.

extension Scene {
  /// The accepted keys, of all layouts.
  package static let keys = [
    "size", "gap", "radius", "aspect", "background", "main", "edge", "share", "corner", "margin",
  ]

  /// Parses `LAYOUT` or `LAYOUT:KEY=VALUE,KEY=VALUE...`. The caller adds tiles and labels.
  ///
  /// A layout is `grid`, `spotlight`, `inset` or `free`. All accept `size=WxH` (default 1280x720), `gap=PIXELS` (0),
  /// `radius=PIXELS` (0; insets 12), `aspect=W:H` (16:9), and `background=#RRGGBB`, `#RRGGBB-#RRGGBB` (a gradient
  /// downwards) or `blur:SOURCE`. A spotlight also accepts `main=NUMBER` (a tile's index; 0),
  /// `edge=top|right|bottom|left` (bottom) and `share=PART` (0.2). An inset accepts
  /// `corner=topLeft|topRight|bottomLeft|bottomRight` (bottomRight), `share=PART` (0.25) and `margin=PIXELS` (16).
  ///
  /// - Throws: `WordError` for an unknown layout, a key that is unknown, repeated or of another layout, or a bad
  ///   value.
  public init(parsing text: String) throws(WordError) {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    let layouts: [Substring: Layout] = [
      "grid": .grid, "spotlight": .spotlight(), "inset": .inset(), "free": .free,
    ]
    guard let layout = layouts[parts[0]] else {
      throw WordError("layout", "'\(parts[0])' is none of grid, spotlight, inset, free")
    }
    self.init(size: Size(width: 1280, height: 720), layout: layout)
    guard parts.count == 2 else { return }
    for (key, value) in try Words.pairs(parts[1], of: "scene") { try set(key, to: value) }
  }

  private mutating func set(_ key: String, to value: String) throws(WordError) {
    let lengths = 0...Size.maximumSide
    switch key {
    case "size": size = try Words.size(key, value)
    case "aspect": tileAspect = try Words.size(key, value, separator: ":")
    case "gap": gap = try Words.whole(key, value, in: lengths)
    case "background": background = try Scene.background(value)
    case "radius":
      let radius = Double(try Words.whole(key, value, in: lengths))
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
  private mutating func setLayout(_ key: String, to value: String) throws(WordError) {
    switch (layout, key) {
    case (.spotlight(_, let strip), "main"):
      layout = .spotlight(main: try Words.whole(key, value, in: 0...(Scene.maximumTiles - 1)), strip: strip)
    case (.spotlight(let main, var strip), "edge"):
      strip.edge = try Words.word(key, value)
      layout = .spotlight(main: main, strip: strip)
    case (.spotlight(let main, var strip), "share"):
      strip.share = try Scene.share(key, value)
      layout = .spotlight(main: main, strip: strip)
    case (.inset(var inset), "corner"):
      inset.corner = try Words.word(key, value)
      layout = .inset(inset)
    case (.inset(var inset), "share"):
      inset.share = try Scene.share(key, value)
      layout = .inset(inset)
    case (.inset(var inset), "margin"):
      inset.margin = try Words.whole(key, value, in: 0...Size.maximumSide)
      layout = .inset(inset)
    case _ where Scene.keys.contains(key): throw WordError(key, "is not of this layout")
    default:
      throw WordError("scene", "unknown key '\(key)' (there are \(Scene.keys.joined(separator: ", ")))")
    }
  }

  private static func background(_ value: String) throws(WordError) -> Background {
    if value.hasPrefix("blur:"), value.count > 5 { return .blur(source: String(value.dropFirst(5))) }
    let colors = value.split(separator: "-", omittingEmptySubsequences: false).map { RGBColor($0) }
    return switch (colors.first, colors.dropFirst().first, colors.count) {
    case (let color??, _, 1): .color(color)
    case (let start??, let end??, 2): .gradient(LinearGradient(from: start, to: end))
    default: throw WordError("background", "'\(value)' is none of #RRGGBB, #RRGGBB-#RRGGBB, blur:SOURCE")
    }
  }

  private static func share(_ key: String, _ value: String) throws(WordError) -> Double {
    guard let share = Double(value), share > 0, share <= 1 else {
      throw WordError(key, "'\(value)' is not above 0 and at most 1")
    }
    return share
  }
}
