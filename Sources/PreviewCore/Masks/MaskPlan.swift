// Masks resolved for one frame format: which samples of which planes they hide. Computed once, then used for
// every frame.

/// The masking steps for frames of one format.
package struct MaskPlan: Sendable, Hashable {
  package let format: Frame.Format
  let steps: [Step]

  /// The work for one mask.
  struct Step: Sendable, Hashable {
    let effect: PlannedEffect
    /// The hidden part, in pixels of the frame.
    let region: MaskRegion
    /// The hidden part in samples, for planes with each subsampling.
    let regions: [Subsampling: MaskRegion]

    func region(of subsampling: Subsampling) -> MaskRegion { regions[subsampling] ?? region }
  }

  /// The drawing operation of a mask.
  enum PlannedEffect: Sendable, Hashable {
    /// One code for each of the format's components.
    case fill(codes: [Int])
    case cells(columns: Int, rows: Int, CellDrawing)
  }

  /// How the cells' means are drawn.
  enum CellDrawing: Sendable, Hashable {
    case flat
    case smooth
  }

  /// The smallest side of a cell, in source pixels, and the most cells along the shorter side of a mask.
  private static let (smallestCell, mostCells) = (8.0, 8.0)

  /// Resolves masks for frames of a format.
  ///
  /// - Parameters:
  ///   - masks: the parts to hide, in order: where two overlap, the later works on the result of the earlier.
  ///   - reference: the upright source size that the masks are given in.
  ///   - format: the format of the frames.
  /// - Throws: `ParameterError` with key `mask` if a mask lies outside the reference, or if the frame's aspect
  ///   ratio differs from it by more than 2 %, because positions are then unknown. For smaller differences
  ///   the masks grow by the difference.
  package init(_ masks: [PrivacyMask], reference: Size, format: Frame.Format) throws(ParameterError) {
    try masks.check(in: reference)
    let seen = format.uprightSize
    guard masks.isEmpty || seen.hasShape(of: reference) else {
      throw ParameterError(
        "mask", "the source is now \(seen), but its masks are for \(reference): their positions are unknown")
    }
    self.format = format
    let stored = StoredMask(reference, format)
    let (slack, scale) = (stored.slack, stored.scale)
    let kinds = Set(format.pixelFormat.components.map(\.subsampling))
    steps = masks.map { mask in
      let region = MaskRegion(mask.shape, reference: reference, in: format).grown(by: slack, in: format.size)
      return Step(
        effect: Self.effect(mask.effect, region.bounds.size, scale: scale, format), region: region,
        regions: Dictionary(uniqueKeysWithValues: kinds.map { ($0, region.subsampled($0)) }))
    }
  }

  /// Resolves masks of a source for a picture of a view of it, which was drawn without them. The masks grow by
  /// as much as the view's filter may have spread what they hide; those that the picture does not show are
  /// left out.
  ///
  /// - Parameters:
  ///   - masks: the parts to hide, in pixels of the upright source at `geometry.reference`.
  ///   - geometry: where the picture shows the source.
  ///   - format: the format of the picture, which is upright and may have a row and a column more than
  ///     `geometry.size`.
  package init(_ masks: [PrivacyMask], shownBy geometry: ViewGeometry, format: Frame.Format) {
    self.format = format
    let kinds = Set(format.pixelFormat.components.map(\.subsampling))
    let (margin, scale) = (geometry.spread, geometry.scale)
    steps = masks.compactMap { mask in
      let region = MaskRegion(
        around: geometry.corners(of: mask.shape), within: margin, inPictureOf: format.size)
      guard !region.spans.isEmpty else { return nil }
      return Step(
        effect: Self.effect(mask.effect, region.bounds.size, scale: scale, format), region: region,
        regions: Dictionary(uniqueKeysWithValues: kinds.map { ($0, region.subsampled($0)) }))
    }
  }

  private static func effect(
    _ effect: PrivacyMask.Effect, _ size: Size, scale: SIMD2<Double>, _ format: Frame.Format
  ) -> PlannedEffect {
    func cells(_ asked: Int, _ drawing: CellDrawing) -> PlannedEffect {
      let sides = SIMD2(Double(size.width), Double(size.height)) / scale
      let cell = max(Double(asked), smallestCell, sides.min() / mostCells)
      return .cells(columns: max(Int(sides.x / cell), 1), rows: max(Int(sides.y / cell), 1), drawing)
    }
    return switch effect {
    case .fill(let color): .fill(codes: format.pixelFormat.codes(of: color, format.color))
    case .pixelate(let cell): cells(cell, .flat)
    case .blur(let radius): cells(radius, .smooth)
    }
  }
}

extension PixelFormat {
  /// All components, including alpha.
  var components: [Component] {
    switch model {
    case .rgb(let red, let green, let blue, let alpha): [red, green, blue] + (alpha.map { [$0] } ?? [])
    case .luma(let luma): [luma]
    case .ycbcr(let luma, let cb, let cr): [luma, cb, cr]
    }
  }

  /// Returns the codes of `components` for a colour.
  func codes(of color: RGBColor, _ description: ColorDescription) -> [Int] {
    let rgb = color.codes
    switch model {
    case .rgb: return (0..<3).map { Int(rgb[$0]) * (maximumCode / 255) } + [maximumCode]
    case .luma: return [description.luma(rgb)]
    case .ycbcr:
      let matrix = description.matrix
      let luma = description.normalizedLuma(rgb)
      return [
        description.luma(rgb), description.chroma((rgb.z - luma) / (2 * (1 - matrix.blueWeight))),
        description.chroma((rgb.x - luma) / (2 * (1 - matrix.redWeight))),
      ]
    }
  }
}

extension ColorDescription {
  /// Returns luma by H.273, 8.3, equation 38, for codes from 0 to 255.
  fileprivate func normalizedLuma(_ rgb: SIMD3<Double>) -> Double {
    let (red, blue) = (matrix.redWeight, matrix.blueWeight)
    return red * rgb.x + (1 - red - blue) * rgb.y + blue * rgb.z
  }

  fileprivate func luma(_ rgb: SIMD3<Double>) -> Int {
    let luma = normalizedLuma(rgb)
    return Int((range == .full ? luma : 16 + luma * 219 / 255).rounded())
  }

  /// Returns the code of a chroma value of -127.5...127.5.
  fileprivate func chroma(_ chroma: Double) -> Int {
    min(max(Int((128 + (range == .full ? chroma : chroma * 224 / 255)).rounded()), 0), 255)
  }
}
