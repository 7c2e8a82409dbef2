// Text on its way to a bitmap: what is to be drawn, and who can.

/// Letters: of which family, how large, how heavy.
public struct Font: Sendable, Hashable {
  /// As fontconfig knows it, or one of `sans`, `serif` and `monospace`. What it has no letters for comes from others.
  public var family: String
  /// Of the em, in pixels, 4...512.
  public var size: Int
  /// How heavy.
  public var weight: FontWeight

  /// Sans, of 16 pixels, regular, unless said otherwise.
  public init(family: String = "sans", size: Int = 16, weight: FontWeight = .regular) {
    self.family = family
    self.size = size
    self.weight = weight
  }

  /// What sizes there are.
  public static let sizes = 4...512
}

/// How heavy letters are, by OpenType's numbers.
public enum FontWeight: Int, Sendable, Hashable, CaseIterable {
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

/// All that a picture of a text depends on.
public struct StyledText: Sendable, Hashable {
  /// Of any script; newlines begin new lines.
  public let text: String
  /// In which letters.
  public let font: Font
  /// Of the letters; those that have colours of their own keep them.
  public let color: RGBColor
  /// What it may take at most, in pixels: a longer line ends in an ellipsis, what is below is cut off.
  public let maximumSize: Size

  /// A text.
  public init(_ text: String, font: Font, color: RGBColor, maximumSize: Size) {
    self.text = text
    self.font = font
    self.color = color
    self.maximumSize = maximumSize
  }
}

/// Who draws text. Any thread may ask.
public protocol TextRenderer: Sendable {
  /// The text's picture, as wide as its longest line and as high as its lines; nil where there is nothing to see, or it
  /// can't be drawn. Equal texts have the identical bitmap, as long as it is kept, so that its texture is not made anew.
  func bitmap(for text: StyledText) -> Bitmap?
}
