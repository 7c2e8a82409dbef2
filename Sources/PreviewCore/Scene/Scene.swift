// Several sources in one picture, as somebody asks for it: a call's grid, a speaker with a strip, a picture in a picture.

/// What a picture of several sources looks like.
///
///     var scene = Scene(size: Size(width: 1280, height: 720), tiles: ["ann", "bo"].map { Tile($0) })
///     scene.gap = 8
///     scene.tiles[0].isSpeaking = true
public struct Scene: Sendable, Hashable {
  /// Of the picture, in pixels.
  public var size: Size
  /// Where its tiles lie.
  public var layout: SceneLayout
  /// 1 to 49, in the layout's order; those of one `zIndex` lie on one another in this order, the last on top.
  public var tiles: [Tile]
  /// Below all tiles.
  public var background: SceneBackground
  /// Pixels between tiles, and between them and the picture's edge.
  public var gap: Int
  /// The shape that grids make their tiles as large as they can for, and strips and insets give theirs; 16:9.
  public var tileAspect: Size
  /// Of tiles that say none, in pixels; 0 is none.
  public var cornerRadius: Double
  /// Around tiles that are speaking, in place of their own.
  public var speakingBorder: Border
  /// Of the whole picture, above all tiles.
  public var labels: [Label]

  /// A grid over black with no gaps, unless said otherwise.
  public init(
    size: Size, layout: SceneLayout = .grid, tiles: [Tile] = [], background: SceneBackground = .color(.black),
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

  /// The most tiles that a scene has.
  public static let maximumTiles = 49
}

/// What lies below all tiles.
public enum SceneBackground: Sendable, Hashable {
  /// One colour.
  case color(RGBColor)
  /// Two colours and all between them.
  case gradient(LinearGradient)
  /// A source that fills the picture, out of focus; black while it has no frame, or is off.
  case blur(source: String, Blur = Blur())
}

extension Border {
  /// Four pixels of green: somebody speaks.
  public static let speaking = Border(width: 4, color: RGBColor(red: 0x2e, green: 0xcc, blue: 0x71))
}
