// Maps points between a view's picture and the source: to focus a camera where the user taps, or to draw a
// box around an object detected in the source.

extension ViewConfiguration {
  /// Returns the point of the upright source that a view shows at a point of its picture.
  ///
  /// - Parameters:
  ///   - point: in pixels of the picture; its top left corner is (0, 0), the centre of its first pixel (0.5,
  ///     0.5).
  ///   - size: the upright source's size, in whose pixels the crop is given.
  /// - Returns: the point in source pixels; nil if `point` lies outside the picture or in a bar beside it.
  /// - Throws: `ParameterError` if the crop is not inside the source.
  public func sourcePoint(of point: SIMD2<Double>, in size: Size) throws(ParameterError) -> SIMD2<Double>? {
    let (map, placement) = try map(in: size)
    return placement.placed.contains(point) ? map(point) : nil
  }

  /// Returns the point of a view's picture that shows a point of the upright source; nil if it is not
  /// visible. The inverse of `sourcePoint`.
  ///
  /// - Throws: `ParameterError` if the crop is not inside the source.
  public func picturePoint(of point: SIMD2<Double>, in size: Size) throws(ParameterError) -> SIMD2<Double>? {
    let (map, placement) = try map(in: size)
    // Tolerates rounding at the edge, which belongs to both sides.
    guard let seen = map.inverse?(point), placement.placed.contains(seen, slack: 1e-6) else { return nil }
    return seen
  }

  /// Returns the map from the picture to the source, and the placement of the visible part in the picture.
  func map(in size: Size) throws(ParameterError) -> (AffineTransform, Placement) {
    let crop = try visiblePart(of: size)
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
    // First to the crop as seen, then to the crop as it lies in the source.
    let seen = AffineTransform.scale(x: across.scale, y: down.scale)
      .followed(by: .translation(x: across.offset, y: down.offset))
    let stored =
      orientation.swapsAxes ? AffineTransform(a: 0, b: 1, c: 1, d: 0, tx: 0, ty: 0) : .identity
    let flipped = AffineTransform(
      a: orientation.flipsX ? -1 : 1, b: 0, c: 0, d: orientation.flipsY ? -1 : 1,
      tx: Double(crop.x + (orientation.flipsX ? crop.width : 0)),
      ty: Double(crop.y + (orientation.flipsY ? crop.height : 0)))
    return (seen.followed(by: stored).followed(by: flipped), placement)
  }
}

extension Rectangle {
  /// Returns whether a point lies inside or on the edge, with a tolerance of `slack`.
  fileprivate func contains(_ point: SIMD2<Double>, slack: Double = 0) -> Bool {
    let (left, top) = (Double(x) - slack, Double(y) - slack)
    let (right, bottom) = (Double(x + width) + slack, Double(y + height) + slack)
    return point.x >= left && point.y >= top && point.x <= right && point.y <= bottom
  }
}
