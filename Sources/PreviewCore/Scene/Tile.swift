// One source in a scene: its view, position and decoration.

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
  /// In pixels; nil uses the layout's, or else the scene's.
  public var cornerRadius: Double?
  /// Drawn along the inside of the tile's edge.
  public var border: Border?
  /// Whether the tile has the scene's `speakingBorder` instead of `border`.
  public var isSpeaking: Bool
  /// 0 (invisible) to 1 (opaque), applied to each of the tile's layers.
  public var opacity: Double
  /// Drawn above the picture or its fallback.
  public var label: Label?
  /// Draws the tile, without its label, several times.
  public var replicator: Replicator?
  /// Shown while the source delivers no frames; nil uses the source's own.
  public var fallback: Fallback?

  /// Creates a tile. By default all of `source` fills it.
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
