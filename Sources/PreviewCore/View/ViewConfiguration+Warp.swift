// The flattened picture that a view shows instead of a crop: that of a lens, of four corners or of a rotation.
internal import Glibc

extension ViewConfiguration {
  /// Whether positions of the picture are mapped to the source by more than an offset, a scale, quarter turns and
  /// reflections.
  package var isWarped: Bool { projection != nil || corners != nil || angle != 0 }

  /// Whether the size of its pictures may follow from its field of view. They are the largest in the widest one.
  package var followsField: Bool { projection != nil && width == nil && height == nil }

  /// Returns the warp for an upright source of `size`; nil if the view has none.
  ///
  /// - Throws: `ParameterError` if the crop is not inside the source, if settings exclude each other, or if a
  ///   projection has no lens for such a source.
  package func warp(in size: Size) throws(ParameterError) -> Warp? {
    guard isWarped else { return nil }
    let crop = try visiblePart(of: size)
    try checkWarp()
    let warp: Warp
    if let corners { warp = try corners.warp(in: size) } else { warp = try lensWarp(of: crop, in: size) }
    try checkBars(beside: warp.size)
    return warp
  }

  /// Checks a warp without a source: its settings go together, a projection has a lens, and the numbers of that
  /// lens and of corners are possible. `warp` checks the rest. A view without a warp passes.
  ///
  /// - Throws: `ParameterError`.
  package func checkSettings() throws(ParameterError) {
    guard isWarped else { return }
    try checkWarp()
    if projection != nil { try requiredLens().check() }
    // The flattened picture of corners has the same size in every source.
    let largest = Size(width: Size.maximumSide, height: Size.maximumSide)
    if let corners { try checkBars(beside: corners.warp(in: largest).size) }
  }

  /// Returns the view with a camera's lens, if it has a projection and no lens of its own.
  package func withLens(_ lens: Lens?) -> ViewConfiguration {
    guard projection != nil, self.lens == nil else { return self }
    var view = self
    view.lens = lens
    return view
  }

  /// Returns the lens of a projection.
  private func requiredLens() throws(ParameterError) -> Lens {
    guard let lens else {
      throw ParameterError("projection", "the camera has no lens: give lens=... (view '\(name)')")
    }
    return lens
  }

  /// Checks that a flattened picture of this size leaves no bars that would have to show its blur.
  private func checkBars(beside flat: Size) throws(ParameterError) {
    guard surround == .blur else { return }
    let seen = Orientation(rotation).seen(flat)
    let placement = Placement(of: seen, width: width, height: height, mode: contentMode)
    if placement.hasBars { throw blurRefused }
  }

  /// Returns the warp of a projection, or without one, of a free rotation.
  private func lensWarp(of crop: Rectangle, in size: Size) throws(ParameterError) -> Warp {
    guard let projection else { return rotated(crop) }
    let map = try LensMap(requiredLens(), in: size)
    var resolved = projection
    resolved.hfov = projection.field(of: map, width: crop.width)
    // The picture has the target's shape, so that there are no bars and nothing is cut.
    let turn = Orientation(rotation)
    let usual =
      followsField
      ? resolved.usualSize(of: map, crop: crop.size) : resolved.usualShape(of: map, crop: crop.size)
    let target = Placement(of: turn.seen(usual), width: width, height: height, mode: .stretch).target
    let flat = turn.seen(target)
    return Warp(size: flat, map: .lens(LensView(resolved, of: map, size: flat)))
  }

  /// Whether a free rotation shows the crop's corners, on the background.
  private var showsWholeRotation: Bool { contentMode == .fit || contentMode == .inside }

  /// Checks that the settings of a warp go together.
  private func checkWarp() throws(ParameterError) {
    guard (-45.0...45).contains(angle) else {
      throw ParameterError("rotate", "\(angle.shortText) is not from -45 to 45 beyond a quarter turn")
    }
    if corners != nil, crop != nil { throw excluded("corners", "crop") }
    if corners != nil, projection != nil { throw excluded("corners", "projection") }
    if corners != nil, angle != 0 {
      throw excluded("corners", "rotate by other angles than quarter turns")
    }
    if projection != nil, angle != 0 {
      throw excluded("projection", "rotate by other angles than quarter turns: use roll")
    }
    if filter == .lanczos || filter == .mitchell {
      throw refused("filter", filter.rawValue, ": use area, bilinear, bicubic or nearest")
    }
    if light == .linear { throw refused("linear", "true", ": use linear=false") }
    if angle != 0, surround == .blur, showsWholeRotation { throw blurRefused }
    do throws(ParameterError) {
      try projection?.check()
    } catch {
      throw ParameterError(error.key, "\(error.reason) (view '\(name)')")
    }
  }

  private var blurRefused: ParameterError {
    refused("background", "blur", " where it leaves bars: use a colour, or mode=fill")
  }

  private func excluded(_ key: String, _ other: String) -> ParameterError {
    ParameterError(key, "does not go with \(other) (view '\(name)')")
  }

  private func refused(_ key: String, _ value: String, _ rest: String) -> ParameterError {
    let warp =
      if projection != nil { "projection" } else if corners != nil { "corners" } else { "a free rotation" }
    return ParameterError(key, "\(value) does not go with \(warp)\(rest) (view '\(name)')")
  }

  /// Returns the warp of a rotation by `angle` about a crop's centre: the largest part of the crop's shape inside
  /// it, or all of it.
  private func rotated(_ crop: Rectangle) -> Warp {
    let (width, height) = (Double(crop.width), Double(crop.height))
    let radians = angle * .pi / 180
    let (cosine, sine) = (abs(cos(radians)), abs(sin(radians)))
    let (across, down) = (width * cosine + height * sine, width * sine + height * cosine)
    // Products that are whole but for rounding stay whole.
    let slack = 1e-9
    let size: Size
    if showsWholeRotation {
      size = Size(width: Int((across - slack).rounded(.up)), height: Int((down - slack).rounded(.up)))
    } else {
      let part = min(width / across, height / down)
      size = Size(
        width: max(1, Int((width * part + slack).rounded(.down))),
        height: max(1, Int((height * part + slack).rounded(.down))))
    }
    let map = AffineTransform.translation(x: -Double(size.width) / 2, y: -Double(size.height) / 2)
      .followed(by: .rotation(degrees: -angle))
      .followed(by: .translation(x: Double(crop.x) + width / 2, y: Double(crop.y) + height / 2))
    return Warp(size: size, map: .homography(Homography(map)))
  }
}
