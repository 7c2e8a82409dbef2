// A rectangle drawn on a picture, to show where something is.

extension RenderedPicture {
  /// Returns the picture with the outline of a rectangle drawn on it, in its pixels, clipped to the picture.
  /// The result shares no JPEGs with this picture. A picture of R, G and B is returned unchanged.
  package func framed(_ rectangle: Rectangle) -> RenderedPicture {
    guard case .ycbcr = picture.format else { return self }
    let line = max(2, max(picture.size.width, picture.size.height) / 160)
    var bytes = picture.bytes
    for (plane, code) in zip(picture.planes, Self.frameColor) {
      // Planes of odd pictures are rounded up.
      let scale = SIMD2(
        (picture.size.width + plane.size.width - 1) / plane.size.width,
        (picture.size.height + plane.size.height - 1) / plane.size.height)
      let outer = Self.samples(of: rectangle, scale, in: plane.size, inset: 0)
      let inner = Self.samples(of: rectangle, scale, in: plane.size, inset: line)
      for row in outer.rows {
        let isEdge = !inner.rows.contains(row)
        for column in outer.columns where isEdge || !inner.columns.contains(column) {
          bytes[plane.offset + row * plane.bytesPerRow + column] = code
        }
      }
    }
    return RenderedPicture(
      name: name,
      picture: Picture(size: picture.size, format: picture.format, planes: picture.planes, bytes: bytes),
      key, timestamp: timestamp, sourceState: sourceState, iccProfile: iccProfile)
  }

  /// Y, Cb and Cr of a red that stands out in most pictures.
  private static let frameColor: [UInt8] = [120, 104, 206]

  /// Returns the samples of a plane that a rectangle covers, less `inset` pixels on each side.
  private static func samples(
    of rectangle: Rectangle, _ scale: SIMD2<Int>, in size: Size, inset: Int
  ) -> (columns: Range<Int>, rows: Range<Int>) {
    func span(_ start: Int, _ length: Int, _ scale: Int, _ limit: Int) -> Range<Int> {
      let low = min(max((start + inset) / scale, 0), limit)
      return low..<max(low, min((start + length - inset + scale - 1) / scale, limit))
    }
    return (
      span(rectangle.x, rectangle.width, scale.x, size.width),
      span(rectangle.y, rectangle.height, scale.y, size.height)
    )
  }
}
