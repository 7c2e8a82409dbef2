// From a point of a view's picture to the point of the source that is seen there, and back: for a tap that is to set a
// camera's focus, or a frame around what somebody found in the source.

extension ViewConfiguration {
  /// Where in the upright source lies what a view's picture shows at a point.
  ///
  /// - Parameters:
  ///   - point: in pixels of the picture; its top left corner is (0, 0), its first pixel's centre (0.5, 0.5).
  ///   - size: of the upright source, in whose pixels the crop is said.
  /// - Returns: in pixels of the source; nil where the point is in a bar beside a fitted picture, or outside the picture.
  /// - Throws: `WordError` where the crop is not inside the source.
  public func sourcePoint(of point: SIMD2<Double>, in size: Size) throws(WordError) -> SIMD2<Double>? {
    let (map, placed) = try map(in: size)
    let corner = SIMD2(Double(placed.x), Double(placed.y))
    let end = corner + SIMD2(Double(placed.width), Double(placed.height))
    guard point.x >= corner.x, point.y >= corner.y, point.x <= end.x, point.y <= end.y else { return nil }
    return map(point)
  }

  /// Where in a view's picture a point of the upright source is seen; nil where it is not. The inverse of `sourcePoint`.
  ///
  /// - Throws: `WordError` where the crop is not inside the source.
  public func picturePoint(of point: SIMD2<Double>, in size: Size) throws(WordError) -> SIMD2<Double>? {
    let (map, placed) = try map(in: size)
    guard let seen = map.inverse?(point) else { return nil }
    let corner = SIMD2(Double(placed.x), Double(placed.y))
    let end = corner + SIMD2(Double(placed.width), Double(placed.height))
    // What lies beyond the crop is not seen where the picture ends: both are the same edge.
    let slack = 1e-6
    guard seen.x >= corner.x - slack, seen.y >= corner.y - slack, seen.x <= end.x + slack,
      seen.y <= end.y + slack
    else { return nil }
    return seen
  }

  /// From the picture to the source, and which pixels of the picture show it.
  private func map(in size: Size) throws(WordError) -> (AffineTransform, Rectangle) {
    let crop = crop ?? Rectangle(all: size)
    guard crop.isInside(size) else {
      throw WordError("crop", "\(crop) is not inside the picture, which has \(size) pixels (view '\(name)')")
    }
    let turn = Orientation(rotation)
    let orientation = turn.followed(by: Orientation(mirroring))
    let placement = Placement(of: turn.seen(crop.size), width: width, height: height, mode: contentMode)
    let placed = placement.placed
    func axis(_ window: SourceWindow, _ start: Int, _ length: Int) -> (scale: Double, offset: Double) {
      let scale = Double(window.length) / Double(window.denominator) / Double(length)
      return (scale, Double(window.start) / Double(window.denominator) - Double(start) * scale)
    }
    let across = axis(placement.windowX, placed.x, placed.width)
    let down = axis(placement.windowY, placed.y, placed.height)
    // To the crop as seen, then to the crop as it lies in the source.
    let seen = AffineTransform(
      a: across.scale, b: 0, c: 0, d: down.scale, tx: across.offset, ty: down.offset)
    let stored =
      orientation.swapsAxes ? AffineTransform(a: 0, b: 1, c: 1, d: 0, tx: 0, ty: 0) : .identity
    let flipped = AffineTransform(
      a: orientation.flipsX ? -1 : 1, b: 0, c: 0, d: orientation.flipsY ? -1 : 1,
      tx: Double(crop.x + (orientation.flipsX ? crop.width : 0)),
      ty: Double(crop.y + (orientation.flipsY ? crop.height : 0)))
    return (seen.followed(by: stored).followed(by: flipped), placed)
  }
}
