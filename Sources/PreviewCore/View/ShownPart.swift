// The part of a source that a view shows, and where it lies in the view's picture.

/// The part of a source that a view shows, and its placement in the target.
package struct ShownPart: Sendable, Hashable {
  /// The part that may be read, in pixels of the upright source.
  package let crop: Rectangle
  /// The picture that is placed instead of the crop itself; nil for most views.
  package let warp: Warp?
  /// The placement of the crop, or of the warp's picture.
  package let placement: Placement

  /// Returns the same part with another placement.
  func placed(by placement: Placement) -> ShownPart {
    ShownPart(crop: crop, warp: warp, placement: placement)
  }
}

extension ViewConfiguration {
  /// Returns the part of an upright source of `size` that the view shows.
  ///
  /// - Throws: `ParameterError` if the crop is not inside the source, or the view can't be warped.
  package func shown(in size: Size) throws(ParameterError) -> ShownPart {
    let crop = try visiblePart(of: size)
    let warp = try warp(in: size)
    let seen = Orientation(rotation).seen(warp?.size ?? crop.size)
    return ShownPart(
      crop: crop, warp: warp,
      placement: Placement(of: seen, width: width, height: height, mode: contentMode))
  }
}

extension Placement {
  /// Returns the map from positions of the target to those of the crop, or of a warp's picture, that it shows: by this rotation
  /// and reflection, of this size before they are applied.
  func map(_ turn: Orientation, of size: Size) -> AffineTransform {
    func axis(_ window: SourceWindow, _ start: Int, _ length: Int) -> (scale: Double, offset: Double) {
      let scale = Double(window.length) / Double(window.denominator) / Double(length)
      return (scale, Double(window.start) / Double(window.denominator) - Double(start) * scale)
    }
    let across = axis(windowX, placed.x, placed.width)
    let down = axis(windowY, placed.y, placed.height)
    return AffineTransform.scale(x: across.scale, y: down.scale)
      .followed(by: .translation(x: across.offset, y: down.offset))
      .followed(by: turn.transform(toStored: size))
  }
}

extension Orientation {
  /// Returns the map from positions of a picture as seen to positions as stored; `size` is that of the stored picture.
  func transform(toStored size: Size) -> AffineTransform {
    let turned = swapsAxes ? AffineTransform(a: 0, b: 1, c: 1, d: 0, tx: 0, ty: 0) : .identity
    return turned.followed(
      by: AffineTransform(
        a: flipsX ? -1 : 1, b: 0, c: 0, d: flipsY ? -1 : 1, tx: flipsX ? Double(size.width) : 0,
        ty: flipsY ? Double(size.height) : 0))
  }
}
