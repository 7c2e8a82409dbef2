// Sizes, rectangles, and the eight orientations of a picture.

/// A size in pixels.
public struct Size: Sendable, Hashable, CustomStringConvertible {
  /// The number of columns.
  public let width: Int
  /// The number of rows.
  public let height: Int

  /// The largest side that a request may have.
  package static let maximumSide = 65535

  /// Creates a size of `width` columns by `height` rows.
  public init(width: Int, height: Int) {
    self.width = width
    self.height = height
  }

  /// Width and height exchanged.
  package var transposed: Size { Size(width: height, height: width) }

  /// Returns each side times `eighths` / 8, rounded up: the size of a JPEG decoded at this scale.
  package func scaled(toEighths eighths: Int) -> Size {
    // Written so that a bogus size from a file cannot overflow.
    func scaled(_ side: Int) -> Int { side / 8 * eighths + (side % 8 * eighths + 7) / 8 }
    return Size(width: scaled(width), height: scaled(height))
  }

  /// The number of pixels; `Int.max` if the product overflows.
  package var pixelCount: Int {
    let (product, overflow) = width.multipliedReportingOverflow(by: height)
    return overflow ? .max : product
  }

  /// `WxH`.
  public var description: String { "\(width)x\(height)" }

  /// Returns the reason to refuse a picture of this size; nil if it has at most `maximumPixels`.
  package func refusal(maximumPixels: Int) -> String? {
    guard pixelCount > maximumPixels else { return nil }
    let limit = (Double(maximumPixels) / 1_000_000).shortText
    return "\(self) is over the limit of \(limit) megapixels (--max-megapixels raises it)"
  }

  /// Returns whether the aspect ratios differ by at most 2 %, so that both sizes can show the same picture,
  /// like 1920x1080 and 1920x1088.
  package func hasShape(of other: Size) -> Bool {
    let (one, two) = (width * other.height, height * other.width)
    return abs(one - two) <= two / 50
  }
}

/// A rectangle in whole pixels, measured from the top left corner of the enclosing picture.
public struct Rectangle: Sendable, Hashable, CustomStringConvertible {
  /// Columns to the left of the rectangle.
  public let x: Int
  /// Rows above the rectangle.
  public let y: Int
  /// Width and height, in pixels.
  public let size: Size

  /// Creates a rectangle of `width` x `height` pixels at (`x`, `y`).
  public init(x: Int, y: Int, width: Int, height: Int) {
    self.x = x
    self.y = y
    self.size = Size(width: width, height: height)
  }

  /// Creates a rectangle that covers a whole picture.
  package init(all size: Size) {
    self.init(x: 0, y: 0, width: size.width, height: size.height)
  }

  /// The number of columns.
  public var width: Int { size.width }
  /// The number of rows.
  public var height: Int { size.height }

  /// Returns whether it is not empty and lies wholly inside a picture of `size`.
  package func isInside(_ size: Size) -> Bool {
    x >= 0 && y >= 0 && width > 0 && height > 0 && width <= size.width && height <= size.height
      && x <= size.width - width && y <= size.height - height
  }

  package var isEmpty: Bool { width <= 0 || height <= 0 }

  /// Returns the common part; of zero size if there is none.
  package func intersection(_ other: Rectangle) -> Rectangle {
    let (left, top) = (max(x, other.x), max(y, other.y))
    let right = max(left, min(x + width, other.x + other.width))
    let bottom = max(top, min(y + height, other.y + other.height))
    return Rectangle(x: left, y: top, width: right - left, height: bottom - top)
  }

  /// `WxH+X+Y`, as in X11 geometry.
  public var description: String { "\(size)+\(x)+\(y)" }
}

/// The relation of a picture as seen to the picture as stored: one of the eight symmetries of a rectangle.
///
/// With `swapsAxes`, a seen row is a stored column. Flips are along the *stored* axes: with `flipsX`, the
/// stored column 0 is seen last.
package struct Orientation: Sendable, Hashable {
  /// Whether seen rows are stored columns.
  package let swapsAxes: Bool
  /// Whether the stored columns are seen in reverse.
  package let flipsX: Bool
  /// Whether the stored rows are seen in reverse.
  package let flipsY: Bool

  /// Creates an orientation; the default is upright.
  package init(swapsAxes: Bool = false, flipsX: Bool = false, flipsY: Bool = false) {
    self.swapsAxes = swapsAxes
    self.flipsX = flipsX
    self.flipsY = flipsY
  }

  /// Seen as stored.
  package static let upright = Orientation()

  /// All eight, in the order of their EXIF numbers.
  package static let allCases: [Orientation] = (1...8).compactMap { Orientation(exif: $0) }

  /// Creates an orientation from EXIF tag 0x0112 (CIPA DC-008, 4.6.5.1.3), 1...8; nil for other numbers.
  package init?(exif: Int) {
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

  /// Creates a clockwise rotation: after 90 degrees the left edge is at the top.
  package init(_ rotation: Rotation) {
    switch rotation {
    case .none: self.init()
    case .clockwise90: self.init(swapsAxes: true, flipsY: true)
    case .half: self.init(flipsX: true, flipsY: true)
    case .clockwise270: self.init(swapsAxes: true, flipsX: true)
    }
  }

  package init(_ mirroring: Mirroring) {
    self.init(
      flipsX: mirroring == .horizontal || mirroring == .both,
      flipsY: mirroring == .vertical || mirroring == .both)
  }

  /// The EXIF number, 1...8.
  package var exif: Int { (Orientation.allCases.firstIndex(of: self) ?? 0) + 1 }

  /// Returns the orientation of a picture seen through `self` and then through `next`.
  package func followed(by next: Orientation) -> Orientation {
    // `next` flips along the axes of the picture that `self` shows; if `self` swaps axes, those are the other
    // stored axes.
    Orientation(
      swapsAxes: swapsAxes != next.swapsAxes,
      flipsX: flipsX != (swapsAxes ? next.flipsY : next.flipsX),
      flipsY: flipsY != (swapsAxes ? next.flipsX : next.flipsY))
  }

  /// Returns the size as seen of a picture of stored `size`.
  package func seen(_ size: Size) -> Size { swapsAxes ? size.transposed : size }

  /// Returns the position of a seen rectangle in the stored picture of size `stored`.
  package func stored(_ seen: Rectangle, in stored: Size) -> Rectangle {
    let (x, y, width, height) =
      swapsAxes ? (seen.y, seen.x, seen.height, seen.width) : (seen.x, seen.y, seen.width, seen.height)
    return Rectangle(
      x: flipsX ? stored.width - x - width : x, y: flipsY ? stored.height - y - height : y,
      width: width, height: height)
  }
}

/// A clockwise rotation in quarter turns.
public enum Rotation: Int, Sendable, Hashable, CaseIterable {
  /// Not rotated.
  case none = 0
  /// A quarter turn: the left edge moves to the top.
  case clockwise90 = 90
  /// A half turn: upside down.
  case half = 180
  /// Three quarter turns: the right edge moves to the top.
  case clockwise270 = 270
}

/// A reflection.
public enum Mirroring: String, Sendable, Hashable, CaseIterable {
  /// Not mirrored.
  case none
  /// Left and right are exchanged.
  case horizontal
  /// Top and bottom are exchanged.
  case vertical
  /// Both are exchanged, like a half turn.
  case both
}
