// A line of text in a tile or a scene, such as a name or a time.

/// Text with an optional background. Lines beyond the maximum width end in an ellipsis.
public struct Label: Sendable, Hashable {
  /// The content of a label.
  public enum Content: Sendable, Hashable {
    /// A fixed text; newlines begin new lines.
    case text(String)
    /// The capture time of the tile's frame. If it is unknown, and in a scene's labels, the scene's time.
    case time(TimeFormat = .standard)
  }

  /// The text or time to show.
  public var content: Content
  /// The font.
  public var font: Font
  /// The text colour.
  public var color: RGBColor
  /// The background behind the text; nil draws none.
  public var background: Background?
  /// The position in the tile or scene.
  public var position: Anchor
  /// The distance to the nearest edges of the tile, in pixels, measured from the background if there is one.
  public var margin: Int
  /// The text's maximum width, in pixels; nil or a larger value uses the whole width between the margins.
  public var maximumWidth: Int?

  /// Creates a label. The defaults are white text at the bottom left.
  public init(
    _ content: Content, font: Font = Font(), color: RGBColor = .white, background: Background? = nil,
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

  /// Creates a name label: white text on a dark pill, as in video calls.
  public init(name: String, size: Int = 16) {
    self.init(.text(name), font: Font(size: size), background: Background())
  }
}

extension Label {
  /// A font: family, size and weight.
  public struct Font: Sendable, Hashable {
    /// A font weight, by OpenType's numbers.
    public enum Weight: Int, Sendable, Hashable, CaseIterable {
      /// 300.
      case light = 300
      /// 400.
      case regular = 400
      /// 500.
      case medium = 500
      /// 600.
      case semibold = 600
      /// 700.
      case bold = 700
    }

    /// A family name known to fontconfig, or `sans`, `serif` or `monospace`. Missing glyphs come from other
    /// fonts.
    public var family: String
    /// The em size in pixels, 4...512. Nil is 1/24 of the shorter side of the tile or picture, at least 10.
    public var size: Int?
    /// The weight.
    public var weight: Weight

    /// Creates a font. The default is sans, 16 pixels, regular.
    public init(family: String = "sans", size: Int? = 16, weight: Weight = .regular) {
      self.family = family
      self.size = size
      self.weight = weight
    }

    /// The allowed sizes, in pixels.
    package static let sizes = 4...512

    /// Returns the font with a size for text in `area`.
    fileprivate func sized(for area: Rectangle) -> Font {
      var font = self
      font.size = size ?? min(max(min(area.width, area.height) / 24, 10), Font.sizes.upperBound)
      return font
    }
  }

  /// The background of a label.
  public struct Background: Sendable, Hashable {
    /// The colour.
    public var color: RGBColor
    /// The opacity, 0 (invisible) to 1 (opaque).
    public var opacity: Double
    /// The padding in pixels to the left and right of the text; half as much, rounded up, above and below.
    public var padding: Int
    /// The corner radius in pixels; drawn as at most half the height.
    public var cornerRadius: Double

    /// Creates a background. The default is a pill of half-transparent black.
    public init(
      color: RGBColor = .black, opacity: Double = 0.5, padding: Int = 8, cornerRadius: Double = 1000
    ) {
      self.color = color
      self.opacity = opacity
      self.padding = padding
      self.cornerRadius = cornerRadius
    }
  }

  /// One of nine positions in a rectangle.
  public enum Anchor: String, Sendable, Hashable, CaseIterable {
    /// Top left corner.
    case topLeft
    /// Centre of the top edge.
    case top
    /// Top right corner.
    case topRight
    /// Centre of the left edge.
    case left
    /// Centre.
    case center
    /// Centre of the right edge.
    case right
    /// Bottom left corner.
    case bottomLeft
    /// Centre of the bottom edge.
    case bottom
    /// Bottom right corner.
    case bottomRight

    /// Returns the position of a rectangle of `size` in `area`, `margin` pixels from the edges that it is
    /// aligned with. When centred, an odd pixel is left over at the right or bottom. In an area that is too
    /// small, it may extend beyond it.
    package func place(_ size: Size, in area: Rectangle, margin: Int) -> Rectangle {
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
}

extension Label {
  /// Returns the layers of the label over the content of `area`; none if there is no room or no text.
  func layers(
    in area: Rectangle, at time: WallClockTime, opacity: Double = 1, by renderer: (any TextRenderer)?
  ) -> [Layer] {
    let text =
      switch content {
      case .text(let fixed): fixed
      case .time(let format): format.text(of: time)
      }
    let padding = (x: background?.padding ?? 0, y: ((background?.padding ?? 0) + 1) / 2)
    let room = Size(
      width: min(area.width - 2 * (margin + padding.x), maximumWidth ?? .max),
      height: area.height - 2 * (margin + padding.y))
    guard room.width > 0, room.height > 0,
      let bitmap = renderer?.bitmap(
        for: StyledText(text, font: font.sized(for: area), color: color, maximumSize: room))
    else { return [] }
    let size = Size(width: bitmap.size.width + 2 * padding.x, height: bitmap.size.height + 2 * padding.y)
    let place = position.place(size, in: area, margin: margin)
    let letters = Rectangle(
      x: place.x + padding.x, y: place.y + padding.y, width: bitmap.size.width, height: bitmap.size.height)
    let behind = background.map {
      Layer(.color($0.color), in: place, shape: .rounded($0.cornerRadius), opacity: $0.opacity * opacity)
    }
    return (behind.map { [$0] } ?? []) + [Layer(.bitmap(bitmap), in: letters, opacity: opacity)]
  }

  /// Whether the text depends on the time.
  package var isTime: Bool { if case .time = content { true } else { false } }

  /// Checks the label.
  ///
  /// - Throws: `ParameterError`, whose key begins with `key`, for values that can't be drawn.
  func check(_ key: String) throws(ParameterError) {
    let length = Size.maximumSide
    if let size = font.size { try ParameterError.check(Double(size), in: 4...512, "\(key) size") }
    try ParameterError.check(Double(margin), in: 0...Double(length), "\(key) margin")
    if let maximumWidth {
      try ParameterError.check(Double(maximumWidth), in: 1...Double(length), "\(key) width")
    }
    guard let background else { return }
    try ParameterError.check(background.opacity, in: 0...1, "\(key) background opacity")
    try ParameterError.check(Double(background.padding), in: 0...Double(length), "\(key) padding")
    try ParameterError.check(background.cornerRadius, in: 0...ParameterError.length, "\(key) radius")
  }
}
