// Layouts of a scene's tiles: a grid, one large tile with a strip, inset pictures, or free placement.

extension Scene {
  /// How a scene's tiles are arranged.
  public enum Layout: Sendable, Hashable {
    /// Rows of tiles of one size, as in video calls. The number of columns is the one that makes tiles of the
    /// scene's `tileAspect` largest. The last row is centred. Sides differ by a pixel where the picture does
    /// not divide evenly.
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
    /// The strip's thickness as a fraction of the picture's width (left, right) or height (top, bottom);
    /// above 0, below 1.
    public var share: Double

    /// Creates a strip. The default is a fifth of the picture, at the bottom.
    public init(edge: Edge = .bottom, share: Double = 0.2) {
      self.edge = edge
      self.share = share
    }
  }

  /// Small pictures inside a large one (picture in picture).
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

    /// The corner that the insets are stacked in.
    public var corner: Corner
    /// The width of an inset as a fraction of the picture's width; above 0, at most 1.
    public var share: Double
    /// Pixels from the insets to the picture's edges. The distance between insets is the scene's gap.
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

extension Scene.Layout {
  /// Returns the tiles' rectangles in a picture.
  ///
  /// - Parameters:
  ///   - tiles: 1 to 49 tiles. Only `free` reads them, for their rectangles; the other layouts use their
  ///     number.
  ///   - size: the picture's size.
  ///   - gap: pixels between tiles, and in grids and strips also to the edges.
  ///   - tileAspect: the aspect ratio for which grids choose their columns, and which tiles in strips and
  ///     insets
  ///     have.
  /// - Returns: one rectangle per tile, in order, in whole pixels, rounded half up.
  /// - Throws: `ParameterError` if there are no or too many tiles, a size is empty or beyond 65535, or the tiles
  ///   do not fit.
  public func rectangles(
    for tiles: [Tile], in size: Size, gap: Int = 0, tileAspect: Size = Size(width: 16, height: 9)
  ) throws(ParameterError) -> [Rectangle] {
    let sides = 1...Size.maximumSide
    guard sides.contains(size.width), sides.contains(size.height) else {
      throw ParameterError("size", "\(size): sides are from 1 to \(sides.upperBound)")
    }
    guard sides.contains(tileAspect.width), sides.contains(tileAspect.height) else {
      throw ParameterError("aspect", "\(tileAspect) is not a valid aspect ratio")
    }
    guard (0...sides.upperBound).contains(gap) else {
      throw ParameterError("gap", "\(gap) is not from 0 to \(sides.upperBound)")
    }
    guard (1...Scene.maximumTiles).contains(tiles.count) else {
      throw ParameterError("tiles", "there are \(tiles.count), not 1 to \(Scene.maximumTiles)")
    }
    let room = Room(size: size, gap: gap, aspect: tileAspect)
    return switch self {
    case .grid: try room.grid(of: tiles.count)
    case .spotlight(let main, let strip): try room.spotlight(on: main, of: tiles.count, strip)
    case .inset(let inset): try room.insets(tiles.count, inset)
    case .free: try Self.freeRectangles(of: tiles)
    }
  }

  private static func freeRectangles(of tiles: [Tile]) throws(ParameterError) -> [Rectangle] {
    var rectangles: [Rectangle] = []
    for (index, tile) in tiles.enumerated() {
      guard let rectangle = tile.rectangle else {
        throw ParameterError(tile.key(at: index), "has no rectangle, which the layout 'free' needs")
      }
      let bound = Size.maximumSide
      guard (1...bound).contains(rectangle.width), (1...bound).contains(rectangle.height),
        (-bound...bound).contains(rectangle.x), (-bound...bound).contains(rectangle.y)
      else {
        throw ParameterError(
          tile.key(at: index), "\(rectangle) does not have sides of 1 to \(bound) pixels, or is too far away")
      }
      rectangles.append(rectangle)
    }
    return rectangles
  }
}

extension Tile {
  /// Returns the tile's name in errors; tiles count from 1.
  func key(at index: Int) -> String { "tile \(index + 1) (\(source))" }
}

/// The picture area and the gap that a layout works with.
private struct Room {
  let size: Size
  let gap: Int
  let aspect: Size

  private func tooSmall(_ count: Int) -> ParameterError {
    ParameterError("size", "\(count) tiles with gaps of \(gap) don't fit \(size)")
  }

  // MARK: grid

  func grid(of count: Int) throws(ParameterError) -> [Rectangle] {
    guard let columns = columns(for: count) else { throw tooSmall(count) }
    let rows = (count - 1) / columns + 1
    let x = edges(of: size.width - gap, parts: columns)
    let y = edges(of: size.height - gap, parts: rows)
    return (0..<count).map { index in
      let (row, column) = (index / columns, index % columns)
      // Centres an incomplete row.
      let shift = (x[columns] - x[min(columns, count - row * columns)]) / 2
      return Rectangle(
        x: shift + gap + x[column], y: gap + y[row],
        width: x[column + 1] - x[column] - gap, height: y[row + 1] - y[row] - gap)
    }
  }

  /// Returns the number of columns that gives the largest tiles of the wanted shape; among equals, fewest
  /// rows, then fewest columns. Nil if a tile would have no pixel.
  private func columns(for count: Int) -> Int? {
    var best: (columns: Int, rows: Int, width: Double)?
    for columns in 1...count {
      let rows = (count - 1) / columns + 1
      guard (size.width - gap) / columns > gap, (size.height - gap) / rows > gap else { continue }
      // The width of the largest tile of the shape in a cell, times the shape's height. Numerators are below
      // 2^33 and denominators below 50: fractions are equal exactly if their doubles are.
      let width = min(
        Double((size.width - gap - columns * gap) * aspect.height) / Double(columns),
        Double((size.height - gap - rows * gap) * aspect.width) / Double(rows))
      if let best, width < best.width || (width == best.width && rows >= best.rows) { continue }
      best = (columns, rows, width)
    }
    return best?.columns
  }

  /// Returns the start of each of `parts` equal parts of a length, and the end of the last.
  private func edges(of length: Int, parts: Int) -> [Int] {
    (0...parts).map { (2 * $0 * length + parts) / (2 * parts) }
  }

  // MARK: spotlight

  func spotlight(on main: Int, of count: Int, _ strip: Scene.Strip) throws(ParameterError) -> [Rectangle] {
    guard (0..<count).contains(main) else {
      throw ParameterError("main", "\(main) is not one of the tiles 0...\(count - 1)")
    }
    guard strip.share > 0, strip.share < 1 else {
      throw ParameterError("strip", "a share of \(strip.share) is not between 0 and 1")
    }
    let isAcross = strip.edge == .top || strip.edge == .bottom
    let thickness =
      count == 1 ? 0 : max(1, rounded(strip.share * Double(isAcross ? size.height : size.width)))
    // The strip's thickness plus the gap to the main tile.
    let taken = count == 1 ? 0 : thickness + gap
    let large = Rectangle(
      x: gap + (strip.edge == .left ? taken : 0), y: gap + (strip.edge == .top ? taken : 0),
      width: size.width - 2 * gap - (isAcross ? 0 : taken),
      height: size.height - 2 * gap - (isAcross ? taken : 0))
    guard large.width > 0, large.height > 0 else { throw tooSmall(count) }
    guard count > 1 else { return [large] }
    let start =
      switch strip.edge {
      case .top, .left: gap
      case .bottom: size.height - gap - thickness
      case .right: size.width - gap - thickness
      }
    var tiles: [Rectangle] = []
    for (position, length) in try spans(count - 1, isAcross ? size.width : size.height, thickness, isAcross) {
      tiles.append(
        isAcross
          ? Rectangle(x: position, y: start, width: length, height: thickness)
          : Rectangle(x: start, y: position, width: thickness, height: length))
    }
    tiles.insert(large, at: main)
    return tiles
  }

  /// Returns the start and length of each tile in a strip: of the wanted aspect ratio and centred, or
  /// narrower to fit.
  private func spans(_ count: Int, _ side: Int, _ thickness: Int, _ isAcross: Bool) throws(ParameterError)
    -> [(position: Int, length: Int)]
  {
    let (along, across) = isAcross ? (aspect.width, aspect.height) : (aspect.height, aspect.width)
    let natural = max(1, (2 * thickness * along + across) / (2 * across))
    let free = side - gap - count * (natural + gap)
    guard free < 0 else {
      return (0..<count).map { (gap + free / 2 + $0 * (natural + gap), natural) }
    }
    guard (side - gap) / count > gap else { throw tooSmall(count + 1) }
    let edges = edges(of: side - gap, parts: count)
    return (0..<count).map { (gap + edges[$0], edges[$0 + 1] - edges[$0] - gap) }
  }

  // MARK: inset

  func insets(_ count: Int, _ inset: Scene.Inset) throws(ParameterError) -> [Rectangle] {
    guard inset.share > 0, inset.share <= 1 else {
      throw ParameterError("inset", "a share of \(inset.share) is not above 0 and at most 1")
    }
    guard (0...Size.maximumSide).contains(inset.margin) else {
      throw ParameterError(
        "inset", "a margin of \(inset.margin) is not from 0 to \(Size.maximumSide)")
    }
    let width = max(1, rounded(inset.share * Double(size.width)))
    let height = max(1, (2 * width * aspect.height + aspect.width) / (2 * aspect.width))
    let isLeft = inset.corner == .topLeft || inset.corner == .bottomLeft
    let isTop = inset.corner == .topLeft || inset.corner == .topRight
    var rectangles = [Rectangle(all: size)]
    for index in 0..<(count - 1) {
      let distance = inset.margin + index * (height + gap)
      let rectangle = Rectangle(
        x: isLeft ? inset.margin : size.width - inset.margin - width,
        y: isTop ? distance : size.height - distance - height, width: width, height: height)
      guard rectangle.isInside(size) else { throw tooSmall(count) }
      rectangles.append(rectangle)
    }
    return rectangles
  }
}

/// Rounds a small positive length half up.
private func rounded(_ length: Double) -> Int { Int((length + 0.5).rounded(.down)) }
