// Sizes, rectangles and the eight ways in which a picture can lie: the geometry of the picture's way.

/// A size in pixels.
public struct Size: Sendable, Hashable, CustomStringConvertible {
  /// Columns.
  public let width: Int
  /// Rows.
  public let height: Int

  /// The longest side that can be asked for.
  public static let maximumSide = 65535

  /// `width` columns by `height` rows.
  public init(width: Int, height: Int) {
    self.width = width
    self.height = height
  }

  /// The same size turned by a quarter.
  public var transposed: Size { Size(width: height, height: width) }

  /// Each side times `eighths` / 8, rounded up: what a decoder makes of a picture at so many eighths.
  package func scaled(toEighths eighths: Int) -> Size {
    // A size that a file made up must not overflow.
    func scaled(_ side: Int) -> Int { side / 8 * eighths + (side % 8 * eighths + 7) / 8 }
    return Size(width: scaled(width), height: scaled(height))
  }

  /// How many pixels, or `Int.max` where the product does not fit.
  public var pixelCount: Int {
    let (product, overflow) = width.multipliedReportingOverflow(by: height)
    return overflow ? .max : product
  }

  /// `WxH`.
  public var description: String { "\(width)x\(height)" }

  /// Why a picture of this size is refused; nil where it has no more than `maximumPixels`.
  package func refusal(maximumPixels: Int) -> String? {
    guard pixelCount > maximumPixels else { return nil }
    let megapixels = Double(maximumPixels) / 1_000_000
    let limit = megapixels == megapixels.rounded() ? "\(Int(megapixels))" : "\(megapixels)"
    return "\(self) is over the limit of \(limit) megapixels (--max-megapixels raises it)"
  }
}

extension Size {
  /// Whether pictures of both sizes can show the same: their shapes differ by no more than a fiftieth, as those of 1920x1080
  /// and 1920x1088 do.
  package func hasShape(of other: Size) -> Bool {
    let (one, two) = (width * other.height, height * other.width)
    return abs(one - two) <= two / 50
  }
}

/// A rectangle of whole pixels; the origin is the top left corner of what it lies in.
public struct Rectangle: Sendable, Hashable, CustomStringConvertible {
  /// Columns to its left.
  public let x: Int
  /// Rows above it.
  public let y: Int
  /// Its size.
  public let size: Size

  /// `width` x `height` pixels from (`x`, `y`) on.
  public init(x: Int, y: Int, width: Int, height: Int) {
    self.x = x
    self.y = y
    self.size = Size(width: width, height: height)
  }

  /// All of a picture.
  public init(all size: Size) {
    self.init(x: 0, y: 0, width: size.width, height: size.height)
  }

  /// Columns.
  public var width: Int { size.width }
  /// Rows.
  public var height: Int { size.height }

  /// Whether no part of it lies outside a picture of `size`, and it is not empty.
  public func isInside(_ size: Size) -> Bool {
    x >= 0 && y >= 0 && width > 0 && height > 0 && width <= size.width && height <= size.height
      && x <= size.width - width && y <= size.height - height
  }

  /// Whether it has no pixels.
  public var isEmpty: Bool { width <= 0 || height <= 0 }

  /// What lies in both; of no size where nothing does.
  public func intersection(_ other: Rectangle) -> Rectangle {
    let (left, top) = (max(x, other.x), max(y, other.y))
    let right = max(left, min(x + width, other.x + other.width))
    let bottom = max(top, min(y + height, other.y + other.height))
    return Rectangle(x: left, y: top, width: right - left, height: bottom - top)
  }

  /// `WxH+X+Y`, X11's geometry.
  public var description: String { "\(size)+\(x)+\(y)" }
}

/// How a picture as it is seen lies in the picture as it is stored: one of the eight symmetries of a rectangle.
///
/// With `swapsAxes` a seen row is a stored column. The flips are along the *stored* axes: with `flipsX` the
/// stored column 0 is seen last.
public struct Orientation: Sendable, Hashable {
  /// Rows as seen are columns as stored.
  public let swapsAxes: Bool
  /// The stored columns are seen in reverse.
  public let flipsX: Bool
  /// The stored rows are seen in reverse.
  public let flipsY: Bool

  /// As stored, unless said otherwise.
  public init(swapsAxes: Bool = false, flipsX: Bool = false, flipsY: Bool = false) {
    self.swapsAxes = swapsAxes
    self.flipsX = flipsX
    self.flipsY = flipsY
  }

  /// Seen as stored.
  public static let upright = Orientation()

  /// All eight, in the order of EXIF's numbers.
  public static let allCases: [Orientation] = (1...8).compactMap { Orientation(exif: $0) }

  /// EXIF's tag 0x0112 (CIPA DC-008, 4.6.5.1.3), 1...8; nil for any other number.
  public init?(exif: Int) {
    switch exif {
    case 1: self.init()
    case 2: self.init(flipsX: true)
    case 3: self.init(flipsX: true, flipsY: true)
    case 4: self.init(flipsY: true)
    case 5: self.init(swapsAxes: true)
    case 6: self.init(swapsAxes: true, flipsY: true)
    case 7: self.init(swapsAxes: true, flipsX: true, flipsY: true)
    case 8: self.init(swapsAxes: true, flipsX: true)
    default: return nil
    }
  }

  /// A turn clockwise: what was the left edge comes to the top after 90 degrees.
  public init(_ rotation: Rotation) {
    switch rotation {
    case .none: self.init()
    case .clockwise90: self.init(swapsAxes: true, flipsY: true)
    case .half: self.init(flipsX: true, flipsY: true)
    case .clockwise270: self.init(swapsAxes: true, flipsX: true)
    }
  }

  /// A reflection.
  public init(_ mirroring: Mirroring) {
    self.init(
      flipsX: mirroring == .horizontal || mirroring == .both,
      flipsY: mirroring == .vertical || mirroring == .both)
  }

  /// The number that EXIF gives to it.
  public var exif: Int {
    switch (swapsAxes, flipsX, flipsY) {
    case (false, false, false): 1
    case (false, true, false): 2
    case (false, true, true): 3
    case (false, false, true): 4
    case (true, false, false): 5
    case (true, false, true): 6
    case (true, true, true): 7
    case (true, true, false): 8
    }
  }

  /// What is seen when the picture that this one shows is itself seen through `next`.
  package func followed(by next: Orientation) -> Orientation {
    // `next` flips along the axes of our seen picture; where we swap, those are the other stored axes.
    Orientation(
      swapsAxes: swapsAxes != next.swapsAxes,
      flipsX: flipsX != (swapsAxes ? next.flipsY : next.flipsX),
      flipsY: flipsY != (swapsAxes ? next.flipsX : next.flipsY))
  }

  /// The size as seen of a picture stored with `size`.
  package func seen(_ size: Size) -> Size { swapsAxes ? size.transposed : size }

  /// Where a rectangle of the seen picture lies in the stored one, whose size is `stored`.
  package func stored(_ seen: Rectangle, in stored: Size) -> Rectangle {
    let (x, y, width, height) =
      swapsAxes ? (seen.y, seen.x, seen.height, seen.width) : (seen.x, seen.y, seen.width, seen.height)
    return Rectangle(
      x: flipsX ? stored.width - x - width : x, y: flipsY ? stored.height - y - height : y,
      width: width, height: height)
  }
}

/// A turn by quarters, clockwise.
public enum Rotation: Int, Sendable, Hashable, CaseIterable {
  /// As it is.
  case none = 0
  /// The left edge comes to the top.
  case clockwise90 = 90
  /// Upside down.
  case half = 180
  /// The right edge comes to the top.
  case clockwise270 = 270
}

/// A reflection.
public enum Mirroring: String, Sendable, Hashable, CaseIterable {
  /// As it is.
  case none
  /// Left and right change places.
  case horizontal
  /// Top and bottom change places.
  case vertical
  /// Both: the same as half a turn.
  case both
}

/// Of two whole numbers, at least one of which is not 0; positive.
func greatestCommonDivisor(_ a: Int, _ b: Int) -> Int {
  var (divisor, rest) = (abs(a), abs(b))
  while rest != 0 { (divisor, rest) = (rest, divisor % rest) }
  return divisor
}
