// Text with its font and colour, and the protocol of text renderers.

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

  /// A family name known to fontconfig, or `sans`, `serif` or `monospace`. Missing glyphs come from other fonts.
  public var family: String
  /// The em size in pixels, 4...512.
  public var size: Int
  /// The weight.
  public var weight: Weight

  /// Creates a font. The default is sans, 16 pixels, regular.
  public init(family: String = "sans", size: Int = 16, weight: Weight = .regular) {
    self.family = family
    self.size = size
    self.weight = weight
  }

  /// The allowed sizes, in pixels.
  package static let sizes = 4...512
}

/// Everything that a text's bitmap depends on.
package struct StyledText: Sendable, Hashable {
  /// Text in any script; newlines begin new lines.
  package let text: String
  package let font: Font
  /// The text colour. Coloured glyphs, such as emoji, keep their own.
  package let color: RGBColor
  /// The maximum size in pixels: longer lines end in an ellipsis, lines below it are cut off.
  package let maximumSize: Size

  package init(_ text: String, font: Font, color: RGBColor, maximumSize: Size) {
    self.text = text
    self.font = font
    self.color = color
    self.maximumSize = maximumSize
  }
}

/// Draws text. Can be called from any thread.
package protocol TextRenderer: Sendable {
  /// The text's bitmap, as wide as its longest line and as high as its lines; nil if there is nothing to draw or
  /// drawing fails. Equal texts return the identical bitmap while it is cached, so that its texture is reused.
  func bitmap(for text: StyledText) -> Bitmap?
}
