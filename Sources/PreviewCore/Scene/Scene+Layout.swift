// Layouts of a scene's tiles: a grid, one large tile with a strip, pictures in a picture, or free placement.

extension Scene {
  /// How a scene's tiles are arranged.
  public enum Layout: Sendable, Hashable {
    /// Rows of tiles of one size, as in video calls. The number of columns is the one that makes tiles of the scene's
    /// `tileAspect` largest. The last row is centred. Sides differ by a pixel where the picture does not divide evenly.
    case grid
    /// Tile `main` is large; the others form a strip at an edge.
    case spotlight(main: Int = 0, strip: Strip = Strip())
    /// The first tile fills the picture; the others are stacked in one of its corners.
    case inset(Inset = Inset())
    /// Each tile has its own `rectangle`.
    case free
  }

  /// A row of tiles at an edge of the picture.
  public struct Strip: Sendable, Hashable {
    /// A side of the picture.
    public enum Edge: String, Sendable, Hashable, CaseIterable {
      /// The top edge.
      case top
      /// The right edge.
      case right
      /// The bottom edge.
      case bottom
      /// The left edge.
      case left
    }

    /// The edge that the strip lies at.
    public var edge: Edge
    /// The strip's thickness as a fraction of the picture's width (left, right) or height (top, bottom); above 0, below
    /// 1.
    public var share: Double

    /// Creates a strip. The default is a fifth of the picture, at the bottom.
    public init(edge: Edge = .bottom, share: Double = 0.2) {
      self.edge = edge
      self.share = share
    }
  }

  /// Small pictures inside a large one.
  public struct Inset: Sendable, Hashable {
    /// A corner of the picture.
    public enum Corner: String, Sendable, Hashable, CaseIterable {
      /// Top left.
      case topLeft
      /// Top right.
      case topRight
      /// Bottom left.
      case bottomLeft
      /// Bottom right.
      case bottomRight
    }

    /// The corner that they are stacked in.
    public var corner: Corner
    /// Their width as a fraction of the picture's width; above 0, at most 1.
    public var share: Double
    /// Pixels to the picture's edges. The distance between insets is the scene's gap.
    public var margin: Int
    /// The corner radius of tiles without their own, in pixels.
    public var cornerRadius: Double

    /// Creates insets. The default is a quarter of the picture's width, at the bottom right.
    public init(
      corner: Corner = .bottomRight, share: Double = 0.25, margin: Int = 16, cornerRadius: Double = 12
    ) {
      self.corner = corner
      self.share = share
      self.margin = margin
      self.cornerRadius = cornerRadius
    }
  }
}
