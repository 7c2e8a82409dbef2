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
  /// - Throws: `ParameterError` if the crop is not inside the source, or the source has no lens for it.
  public func sourcePoint(of point: SIMD2<Double>, in size: Size) throws(ParameterError) -> SIMD2<Double>? {
    try sourcePoints(of: [point], in: size)[0]
  }

  /// Returns what `sourcePoint` returns for each point, in order. The view is prepared once for all of them.
  ///
  /// - Throws: `ParameterError` if the crop is not inside the source, or the source has no lens for it.
  package func sourcePoints(
    of points: [SIMD2<Double>], in size: Size
  ) throws(ParameterError) -> [SIMD2<Double>?] {
    let (map, warp, placement) = try map(in: size)
    let part = try visiblePart(of: size)
    var shown: [SIMD2<Double>?] = []
    for point in points {
      var position: SIMD2<Double>?
      if placement.placed.contains(point) {
        position = map(point)
        if let warp, let flat = position {
          position = warp.map.position(of: flat)
          if let seen = position, !part.contains(seen, slack: 1e-6) { position = nil }
        }
      }
      shown.append(position)
    }
    return shown
  }

  /// Returns the point of a view's picture that shows a point of the upright source; nil if it is not
  /// visible. The inverse of `sourcePoint`.
  ///
  /// - Throws: `ParameterError` if the crop is not inside the source, or the source has no lens for it.
  public func picturePoint(of point: SIMD2<Double>, in size: Size) throws(ParameterError) -> SIMD2<Double>? {
    try picturePoints(of: [point], in: size)[0]
  }

  /// Returns what `picturePoint` returns for each point, in order. The view is prepared once for all of them.
  ///
  /// - Throws: `ParameterError` if the crop is not inside the source, or the source has no lens for it.
  package func picturePoints(
    of points: [SIMD2<Double>], in size: Size
  ) throws(ParameterError) -> [SIMD2<Double>?] {
    let (map, warp, placement) = try map(in: size)
    let (inverse, part) = (map.inverse, try visiblePart(of: size))
    var seen: [SIMD2<Double>?] = []
    for point in points {
      var flat: SIMD2<Double>? = point
      if let warp { flat = part.contains(point, slack: 1e-6) ? warp.map.point(at: point) : nil }
      // Tolerates rounding at the edge, which belongs to both sides.
      if let inverse, let flat, placement.placed.contains(inverse(flat), slack: 1e-6) {
        seen.append(inverse(flat))
      } else {
        seen.append(nil)
      }
    }
    return seen
  }

  /// Returns the map from the picture to the source, or to the flattened picture of a warp, which then leads to the
  /// source; the warp; and the placement of the visible part in the picture.
  func map(in size: Size) throws(ParameterError) -> (AffineTransform, Warp?, Placement) {
    let shown = try shown(in: size)
    let turn = Orientation(rotation).followed(by: Orientation(mirroring))
    let crop = shown.warp.map { Rectangle(all: $0.size) } ?? shown.crop
    let map = shown.placement.map(turn, of: crop.size)
      .followed(by: .translation(x: Double(crop.x), y: Double(crop.y)))
    return (map, shown.warp, shown.placement)
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
