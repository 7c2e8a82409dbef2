// Where tiles lie: a grid, one large with a strip, one in another's corner, or anywhere.

/// How a scene's tiles are laid out.
public enum SceneLayout: Sendable, Hashable {
  /// Rows of tiles of one size, as calls show them: as many columns as make tiles of the scene's `tileAspect` largest.
  /// The last row is centred. Tiles fill the picture evenly; their sides differ by a pixel where it does not divide.
  case grid
  /// Tile `main` large, the others in a strip at an edge.
  case spotlight(main: Int = 0, strip: Strip = Strip())
  /// The first tile all over the picture, the others above one another in one of its corners.
  case inset(Inset = Inset())
  /// Each in its own `rectangle`.
  case free
}

/// Tiles in a row at an edge of the picture.
public struct Strip: Sendable, Hashable {
  /// Where.
  public var edge: Edge
  /// How thick, of the picture's width at the left and right, else of its height; above 0, below 1.
  public var share: Double

  /// At the bottom, a fifth of the picture, unless said otherwise.
  public init(edge: Edge = .bottom, share: Double = 0.2) {
    self.edge = edge
    self.share = share
  }
}

/// Pictures in a picture.
public struct Inset: Sendable, Hashable {
  /// Where.
  public var corner: Corner
  /// How wide, of the picture's width; above 0, at most 1.
  public var share: Double
  /// Pixels to the picture's edges; between one and the next it is the scene's gap.
  public var margin: Int
  /// Of tiles that say none, in pixels.
  public var cornerRadius: Double

  /// At the bottom right, a quarter of the picture, rounded, unless said otherwise.
  public init(
    corner: Corner = .bottomRight, share: Double = 0.25, margin: Int = 16, cornerRadius: Double = 12
  ) {
    self.corner = corner
    self.share = share
    self.margin = margin
    self.cornerRadius = cornerRadius
  }
}

/// A side of the picture.
public enum Edge: String, Sendable, Hashable, CaseIterable {
  /// Above.
  case top
  /// To the right.
  case right
  /// Below.
  case bottom
  /// To the left.
  case left
}

/// Where two sides meet.
public enum Corner: String, Sendable, Hashable, CaseIterable {
  /// Above and to the left.
  case topLeft
  /// Above and to the right.
  case topRight
  /// Below and to the left.
  case bottomLeft
  /// Below and to the right.
  case bottomRight
}
