// One source in a scene: which, what of it, and how it is dressed.

/// One source in a scene.
public struct Tile: Sendable, Hashable {
  /// By its name.
  public var source: String
  /// What of it is seen. Its name and size are not looked at: the layout says how large a tile is.
  public var view: ViewConfiguration
  /// Where, in pixels of the scene, and only in the layout `free`; may reach beyond the picture.
  public var rectangle: Rectangle?
  /// Tiles of a higher one lie above those of a lower one.
  public var zIndex: Int
  /// In pixels; nil is the layout's, or else the scene's.
  public var cornerRadius: Double?
  /// Along the inside of its edge.
  public var border: Border?
  /// Shows the scene's `speakingBorder` in place of `border`.
  public var isSpeaking: Bool
  /// 0...1; each of a tile's layers is mixed with what lies below it by this.
  public var opacity: Double
  /// Above its picture, or its fallback.
  public var label: Label?
  /// Draws the tile, but for its label, several times.
  public var replicator: Replicator?
  /// What is shown where the source gives nothing; nil is what the source has.
  public var fallback: Fallback?

  /// All of `source`, filling its tile, unless said otherwise.
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
