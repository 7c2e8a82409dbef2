// Masks worked out for frames of one format: which samples of which planes, once for all frames that follow.

/// What is to be done to frames of a format.
package struct MaskPlan: Sendable, Hashable {
  /// The frames that it is for.
  package let format: FrameFormat
  let steps: [Step]

  /// One mask.
  struct Step: Sendable, Hashable {
    let effect: PlannedEffect
    /// In pixels of the planes.
    let region: MaskRegion
    /// In samples of planes that are subsampled so.
    let regions: [Subsampling: MaskRegion]

    func region(of subsampling: Subsampling) -> MaskRegion { regions[subsampling] ?? region }
  }

  /// What a mask is filled with.
  enum PlannedEffect: Sendable, Hashable {
    case fill(RGBColor)
    case cells(columns: Int, rows: Int, CellDrawing)
  }

  /// How means over cells are drawn.
  enum CellDrawing: Sendable, Hashable {
    case flat
    case smooth
  }

  /// The least side of a cell, in pixels of the source, and how many there are at most along the shorter side of a mask.
  private static let (smallestCell, mostCells) = (8.0, 8.0)

  /// Works out where masks lie in frames of a format.
  ///
  /// - Parameters:
  ///   - masks: what is hidden.
  ///   - reference: the size of the upright source that they were said in; `masks.referenceSize` comes before it.
  ///   - format: of the frames.
  /// - Throws: `WordError` of key `mask`, where a mask lies outside the reference, or the frames' shape differs from it by
  ///   more than a fiftieth, so that nobody can tell what is where. Where it differs by less, masks grow by the difference.
  package init(_ masks: PrivacyMasks, reference: Size, format: FrameFormat) throws(WordError) {
    let reference = masks.referenceSize ?? reference
    try masks.check(in: reference)
    let seen = format.uprightSize
    guard masks.isEmpty || seen.hasShape(of: reference) else {
      throw WordError(
        "mask", "the source is \(seen) now, and its masks are for \(reference): what they hide can't be told")
    }
    self.format = format
    let slack = Self.slack(reference, format)
    steps = masks.masks.map { mask in
      let region = MaskRegion(mask.shape, said: reference, in: format).grown(by: slack, in: format.size)
      let kinds = Set(format.pixelFormat.components.map(\.subsampling))
      return Step(
        effect: Self.effect(mask.effect, region.bounds.size, scale: Self.scale(reference, format)),
        region: region,
        regions: Dictionary(uniqueKeysWithValues: kinds.map { ($0, region.subsampled($0)) }))
    }
  }

  /// How far a thing may lie from where proportion puts it, in pixels of the planes along each axis: a source whose shape is
  /// a little different may have stretched its picture, cut it or put edges on it. None where the shape is the same.
  private static func slack(_ reference: Size, _ format: FrameFormat) -> SIMD2<Int> {
    let stored = format.orientation.seen(reference)
    let (width, height) = (stored.width * 8, stored.height * 8)
    let eighths = format.eighths
    // Of the two scales, times `width` and `height`.
    let difference = abs(
      format.referenceSize.width * eighths * height - format.referenceSize.height * eighths * width)
    return [(difference + 8 * height - 1) / (8 * height), (difference + 8 * width - 1) / (8 * width)]
  }

  /// Pixels of the planes to one that masks are said in, along each axis as stored.
  private static func scale(_ reference: Size, _ format: FrameFormat) -> SIMD2<Double> {
    let stored = format.orientation.seen(reference)
    return [
      Double(format.referenceSize.width * format.eighths) / Double(stored.width * 8),
      Double(format.referenceSize.height * format.eighths) / Double(stored.height * 8),
    ]
  }

  private static func effect(_ effect: MaskEffect, _ size: Size, scale: SIMD2<Double>) -> PlannedEffect {
    func cells(_ asked: Int, _ drawing: CellDrawing) -> PlannedEffect {
      let sides = SIMD2(Double(size.width), Double(size.height)) / scale
      let cell = max(Double(asked), smallestCell, sides.min() / mostCells)
      return .cells(columns: max(Int(sides.x / cell), 1), rows: max(Int(sides.y / cell), 1), drawing)
    }
    return switch effect {
    case .fill(let color): .fill(color)
    case .pixelate(let cell): cells(cell, .flat)
    case .blur(let radius): cells(radius, .smooth)
    }
  }
}

extension PixelFormat {
  /// All of them, alpha too.
  var components: [Component] {
    switch model {
    case .rgb(let red, let green, let blue, let alpha): [red, green, blue] + (alpha.map { [$0] } ?? [])
    case .luma(let luma): [luma]
    case .ycbcr(let luma, let cb, let cr): [luma, cb, cr]
    }
  }

  /// The codes of `components` that a colour comes to.
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
  /// H.273, 8.3, equation 38, in codes from 0 to 255.
  fileprivate func normalizedLuma(_ rgb: SIMD3<Double>) -> Double {
    let (red, blue) = (matrix.redWeight, matrix.blueWeight)
    return red * rgb.x + (1 - red - blue) * rgb.y + blue * rgb.z
  }

  fileprivate func luma(_ rgb: SIMD3<Double>) -> Int {
    let luma = normalizedLuma(rgb)
    return Int((range == .full ? luma : 16 + luma * 219 / 255).rounded())
  }

  /// Of -127.5...127.5.
  fileprivate func chroma(_ chroma: Double) -> Int {
    min(max(Int((128 + (range == .full ? chroma : chroma * 224 / 255)).rounded()), 0), 255)
  }
}
