// Several sources in one picture, such as a call's grid, a speaker with a strip, or a picture in a picture.

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
  /// 1 to 49 tiles, in layout order. Of tiles with the same `zIndex`, later ones are drawn above earlier ones.
  public var tiles: [Tile]
  /// Drawn below all tiles.
  public var background: Background
  /// Pixels between tiles, and between tiles and the picture's edges.
  public var gap: Int
  /// The aspect ratio for which grids maximise their tiles, and which tiles in strips and insets have. Default 16:9.
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
  /// What lies below all tiles.
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
