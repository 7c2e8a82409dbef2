// A line of text in a tile or a scene: a name, a time.

/// A line of text, with what it stands on. Lines longer than they may be end in an ellipsis.
public struct Label: Sendable, Hashable {
  /// What it says.
  public enum Content: Sendable, Hashable {
    /// Always the same; newlines begin new lines.
    case text(String)
    /// When the tile's frame was captured, or where that is not known, and for a scene's labels, the time of the scene.
    case time(TimeFormat = .standard)
  }

  /// What it says.
  public var content: Content
  /// In which letters.
  public var font: Font
  /// Of the letters.
  public var color: RGBColor
  /// What it stands on; nothing, unless told.
  public var background: LabelBackground?
  /// Where in its tile, or scene.
  public var position: Anchor
  /// Pixels to the edges of the tile that it stands at; with its background, if it has one.
  public var margin: Int
  /// Of the text, in pixels; nil, or more than there is, is all the room between the margins.
  public var maximumWidth: Int?

  /// White, at the bottom left, unless said otherwise.
  public init(
    _ content: Content, font: Font = Font(), color: RGBColor = .white, background: LabelBackground? = nil,
    position: Anchor = .bottomLeft, margin: Int = 8, maximumWidth: Int? = nil
  ) {
    self.content = content
    self.font = font
    self.color = color
    self.background = background
    self.position = position
    self.margin = margin
    self.maximumWidth = maximumWidth
  }

  /// A text on a dark pill, as calls name who is seen.
  public init(name: String, size: Int = 16) {
    self.init(.text(name), font: Font(size: size), background: LabelBackground())
  }
}

/// What a label stands on.
public struct LabelBackground: Sendable, Hashable {
  /// Its colour.
  public var color: RGBColor
  /// 0...1.
  public var opacity: Double
  /// Pixels around the text; half as many above and below it, rounded up.
  public var padding: Int
  /// In pixels; at most half its height is drawn.
  public var cornerRadius: Double

  /// A pill of half-transparent black, unless said otherwise.
  public init(
    color: RGBColor = .black, opacity: Double = 0.5, padding: Int = 8, cornerRadius: Double = 1000
  ) {
    self.color = color
    self.opacity = opacity
    self.padding = padding
    self.cornerRadius = cornerRadius
  }
}

/// Nine places in a rectangle.
public enum Anchor: String, Sendable, Hashable, CaseIterable {
  /// Above and to the left.
  case topLeft
  /// Above, in the middle.
  case top
  /// Above and to the right.
  case topRight
  /// To the left, half way down.
  case left
  /// In the middle of all.
  case center
  /// To the right, half way down.
  case right
  /// Below and to the left.
  case bottomLeft
  /// Below, in the middle.
  case bottom
  /// Below and to the right.
  case bottomRight

  /// Where something of `size` stands in `area`, `margin` pixels from the edges that it stands at; odd rests of what is
  /// centred are on the right and below. May reach beyond an area that is too small.
  public func place(_ size: Size, in area: Rectangle, margin: Int = 0) -> Rectangle {
    let x =
      switch self {
      case .topLeft, .left, .bottomLeft: margin
      case .top, .center, .bottom: (area.width - size.width) >> 1
      case .topRight, .right, .bottomRight: area.width - size.width - margin
      }
    let y =
      switch self {
      case .topLeft, .top, .topRight: margin
      case .left, .center, .right: (area.height - size.height) >> 1
      case .bottomLeft, .bottom, .bottomRight: area.height - size.height - margin
      }
    return Rectangle(x: area.x + x, y: area.y + y, width: size.width, height: size.height)
  }
}

extension RGBColor {
  /// (255, 255, 255).
  public static let white = RGBColor(red: 255, green: 255, blue: 255)
}
