// From planned rectangles to regions of a texture.
internal import PreviewCore

extension TexelRegion {
  /// Creates the region of `rectangle`, which is in texels.
  init(_ rectangle: Rectangle) {
    self.init(x: rectangle.x, y: rectangle.y, width: rectangle.width, height: rectangle.height)
  }
}
