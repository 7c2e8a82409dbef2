// A scene in a line, as a view's words are: `grid:size=1280x720,gap=8,radius=12,background=#101418`.

extension Scene {
  /// The keys that are known, with what each is of.
  public static let keys = [
    "size", "gap", "radius", "aspect", "background", "main", "edge", "share", "corner", "margin",
  ]

  /// Reads `LAYOUT` or `LAYOUT:KEY=VALUE,KEY=VALUE...`; tiles and labels are for the caller to add.
  ///
  /// A layout is `grid`, `spotlight`, `inset` or `free`. All have `size=WxH` (1280x720), `gap=PIXELS` (0), `radius=PIXELS`
  /// (0; of the insets, 12), `aspect=W:H` (16:9), and `background=#RRGGBB`, `#RRGGBB-#RRGGBB` (a gradient, downwards) or
  /// `blur:SOURCE`. A spotlight has `main=NUMBER` of the tile, from 0 (0), `edge=top|right|bottom|left` (bottom) and
  /// `share=PART` (0.2); an inset `corner=topLeft|topRight|bottomLeft|bottomRight` (bottomRight), `share=PART` (0.25) and
  /// `margin=PIXELS` (16).
  ///
  /// - Throws: `SceneError` for an unknown layout, an unknown, repeated or foreign key, or a bad value.
  public init(parsing text: String) throws(SceneError) {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    let layouts: [Substring: SceneLayout] = [
      "grid": .grid, "spotlight": .spotlight(), "inset": .inset(), "free": .free,
    ]
    guard let layout = layouts[parts[0]] else {
      throw SceneError("layout", "'\(parts[0])' is none of grid, spotlight, inset, free")
    }
    self.init(size: Size(width: 1280, height: 720), layout: layout)
    guard parts.count == 2 else { return }
    var seen: Set<Substring> = []
    for pair in parts[1].split(separator: ",", omittingEmptySubsequences: false) {
      let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard sides.count == 2 else { throw SceneError("scene", "'\(pair)' is not KEY=VALUE") }
      guard seen.insert(sides[0]).inserted else { throw SceneError(String(sides[0]), "given twice") }
      try set(String(sides[0]), to: sides[1])
    }
  }

  private mutating func set(_ key: String, to value: Substring) throws(SceneError) {
    let lengths = 0...ViewConfiguration.maximumSide
    switch key {
    case "size": size = try Scene.sides(key, value, separator: "x")
    case "aspect": tileAspect = try Scene.sides(key, value, separator: ":")
    case "gap": gap = try Scene.number(key, value, in: lengths)
    case "background": background = try Scene.background(value)
    case "radius":
      let radius = Double(try Scene.number(key, value, in: lengths))
      if case .inset(var inset) = layout {
        inset.cornerRadius = radius
        layout = .inset(inset)
      } else {
        cornerRadius = radius
      }
    default: try setLayout(key, to: value)
    }
  }

  /// A key that not every layout has.
  private mutating func setLayout(_ key: String, to value: Substring) throws(SceneError) {
    switch (layout, key) {
    case (.spotlight(_, let strip), "main"):
      layout = .spotlight(main: try Scene.number(key, value, in: 0...(Scene.maximumTiles - 1)), strip: strip)
    case (.spotlight(let main, var strip), "edge"):
      strip.edge = try Scene.word(key, value)
      layout = .spotlight(main: main, strip: strip)
    case (.spotlight(let main, var strip), "share"):
      strip.share = try Scene.share(key, value)
      layout = .spotlight(main: main, strip: strip)
    case (.inset(var inset), "corner"):
      inset.corner = try Scene.word(key, value)
      layout = .inset(inset)
    case (.inset(var inset), "share"):
      inset.share = try Scene.share(key, value)
      layout = .inset(inset)
    case (.inset(var inset), "margin"):
      inset.margin = try Scene.number(key, value, in: 0...ViewConfiguration.maximumSide)
      layout = .inset(inset)
    case _ where Scene.keys.contains(key): throw SceneError(key, "is not of this layout")
    default:
      throw SceneError("scene", "unknown key '\(key)' (there are \(Scene.keys.joined(separator: ", ")))")
    }
  }

  private static func background(_ value: Substring) throws(SceneError) -> SceneBackground {
    if value.hasPrefix("blur:"), value.count > 5 { return .blur(source: String(value.dropFirst(5))) }
    let colors = value.split(separator: "-", omittingEmptySubsequences: false).map { RGBColor($0) }
    return switch (colors.first, colors.dropFirst().first, colors.count) {
    case (let color??, _, 1): .color(color)
    case (let start??, let end??, 2): .gradient(LinearGradient(from: start, to: end))
    default: throw SceneError("background", "'\(value)' is none of #RRGGBB, #RRGGBB-#RRGGBB, blur:SOURCE")
    }
  }

  private static func word<Word: RawRepresentable & CaseIterable>(_ key: String, _ value: Substring)
    throws(SceneError) -> Word where Word.RawValue == String
  {
    guard let word = Word(rawValue: String(value)) else {
      throw SceneError(key, "'\(value)' is none of \(Word.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    return word
  }

  private static func share(_ key: String, _ value: Substring) throws(SceneError) -> Double {
    guard let share = Double(value), share > 0, share <= 1 else {
      throw SceneError(key, "'\(value)' is not above 0 and at most 1")
    }
    return share
  }

  private static func sides(_ key: String, _ value: Substring, separator: Character) throws(SceneError)
    -> Size
  {
    let sides = value.split(separator: separator, omittingEmptySubsequences: false)
    guard sides.count == 2 else { throw SceneError(key, "'\(value)' is not W\(separator)H") }
    let bounds = 1...ViewConfiguration.maximumSide
    return Size(
      width: try number(key, sides[0], in: bounds), height: try number(key, sides[1], in: bounds))
  }

  /// Digits alone: no sign, no space.
  private static func number(_ key: String, _ text: Substring, in bounds: ClosedRange<Int>) throws(SceneError)
    -> Int
  {
    guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(text),
      bounds.contains(number)
    else {
      throw SceneError(
        key, "'\(text)' is not a whole number from \(bounds.lowerBound) to \(bounds.upperBound)")
    }
    return number
  }
}
