// Text with its font and colour, and the protocol of text renderers.

/// Everything that a text's bitmap depends on.
package struct StyledText: Sendable, Hashable {
  /// Text in any script; newlines begin new lines.
  package let text: String
  package let font: Label.Font
  /// The text colour. Coloured glyphs, such as emoji, keep their own.
  package let color: RGBColor
  /// The maximum size in pixels: longer lines end in an ellipsis, and lines below it are cut off.
  package let maximumSize: Size

  /// The em size in pixels.
  package var size: Int { font.size ?? Label.Font().size ?? Label.Font.sizes.lowerBound }

  package init(_ text: String, font: Label.Font, color: RGBColor, maximumSize: Size) {
    self.text = text
    self.font = font
    self.color = color
    self.maximumSize = maximumSize
  }
}

/// Draws text. Can be called from any thread.
package protocol TextRenderer: Sendable {
  /// Returns the text's bitmap, as wide as its longest line and as high as its lines; nil if there is nothing
  /// to draw or drawing fails. Equal texts return the identical bitmap while it is cached, so that its
  /// texture is reused.
  func bitmap(for text: StyledText) -> Bitmap?
}
