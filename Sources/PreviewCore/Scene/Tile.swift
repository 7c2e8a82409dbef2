// One source in a scene: its view, position and decoration, and its text form, which is similar to a view's:
// `ann:crop=640x640+320+0,mode=fit,background=blur`.

/// One source in a scene.
public struct Tile: Sendable, Hashable {
  /// The source's name.
  public var source: String
  /// The view of the source. Its name and size are ignored; the layout sets the tile's size.
  public var view: ViewConfiguration
  /// The position in pixels of the scene, used only by the layout `free`; it may extend beyond the picture.
  public var rectangle: Rectangle?
  /// Tiles with a higher value are drawn above those with a lower one.
  public var zIndex: Int
  /// The corner radius in pixels; nil uses the layout's, or else the scene's.
  public var cornerRadius: Double?
  /// The border along the inside of the tile's edge.
  public var border: Border?
  /// Whether the tile has the scene's `speakingBorder` instead of `border`.
  public var isSpeaking: Bool
  /// The opacity of each of the tile's layers, 0 (invisible) to 1 (opaque).
  public var opacity: Double
  /// The label above the picture or its fallback.
  public var label: Label?
  /// Draws the tile, without its label, several times.
  public var replicator: Replicator?
  /// The pictures shown while the source delivers no frames; nil uses the source's own.
  public var fallback: Fallback?

  /// Creates a tile. By default the whole source fills it.
  public init(
    _ source: String, view: ViewConfiguration = ViewConfiguration(), rectangle: Rectangle? = nil,
    zIndex: Int = 0, cornerRadius: Double? = nil, border: Border? = nil,
    isSpeaking: Bool = false, opacity: Double = 1, label: Label? = nil, replicator: Replicator? = nil,
    fallback: Fallback? = nil
  ) {
    self.source = source
    self.view = view
    self.rectangle = rectangle
    self.zIndex = zIndex
    self.cornerRadius = cornerRadius
    self.border = border
    self.isSpeaking = isSpeaking
    self.opacity = opacity
    self.label = label
    self.replicator = replicator
    self.fallback = fallback
  }
}

extension Tile {
  /// The labels of its view, and its own.
  package var labels: [Label] { view.labels + (label.map { [$0] } ?? []) }

  /// The accepted keys: a view's, except for its size, which the layout sets, and a tile's own.
  package static let keys =
    ViewConfiguration.keys.filter { !["size", "width", "height"].contains($0) } + ownKeys

  private static let ownKeys = ["at", "z", "radius", "opacity"]

  /// Parses `SOURCE` or `SOURCE:KEY=VALUE,KEY=VALUE...`.
  ///
  /// The view's keys are those of `ViewConfiguration`, including `background=blur`. The tile's are
  /// `at=WxH+X+Y`, its rectangle in the layout `free`; `z=NUMBER`, its `zIndex` (0); `radius=PIXELS`; and
  /// `opacity=PART` from 0 to 1 (1).
  ///
  /// - Throws: `ParameterError` for a tile without a source, an unknown or repeated key, or a bad value.
  public init(parsing text: String) throws(ParameterError) {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard let name = parts.first, !name.isEmpty else {
      throw ParameterError("tile", "'\(text)' names no source")
    }
    self.init(String(name))
    guard parts.count == 2 else { return }
    for (key, value) in try ParameterParser.pairs(parts[1], of: "tile '\(name)'") {
      do throws(ParameterError) {
        try set(key, to: value)
      } catch {
        throw ParameterError(error.key, "\(error.reason) (tile '\(name)')")
      }
    }
  }

  private mutating func set(_ key: String, to value: String) throws(ParameterError) {
    switch key {
    case "at": rectangle = try ParameterParser.rectangle(key, value)
    case "z": zIndex = try ParameterParser.whole(key, value, in: -1000...1000)
    case "radius": cornerRadius = try ParameterParser.number(key, value, in: 0...Double(Size.maximumSide))
    case "opacity": opacity = try ParameterParser.number(key, value, in: 0...1)
    case _ where Tile.keys.contains(key): try view.set(key, to: value)
    default:
      throw ParameterError("tile", "unknown key '\(key)' (known: \(Tile.keys.joined(separator: ", ")))")
    }
  }
}
