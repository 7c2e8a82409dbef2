// The parts of a source's picture to hide, and what is drawn there instead.

/// One hidden part of a source's picture.
///
/// A mask is burned into each frame's samples before any other step: no view, snapshot, scene or texture holds what
/// it hides. `docs/semantics.md` defines the samples it covers, and what lossy cameras still reveal around its edges.
public struct PrivacyMask: Sendable, Hashable {
  /// The hidden part.
  public var shape: Shape
  /// What is drawn in its place.
  public var effect: Effect

  /// Creates a mask, filled black by default.
  public init(_ shape: Shape, effect: Effect = .fill(.black)) {
    self.shape = shape
    self.effect = effect
  }
}

extension PrivacyMask {
  /// Where a mask lies, in pixels of the upright source at its reference size, from the top left corner.
  public enum Shape: Sendable, Hashable {
    /// Whole pixels. The part outside the picture is ignored.
    case rectangle(Rectangle)
    /// The inside of a closed polygon by the non-zero rule: where the line crosses itself, the loops are inside too.
    /// Coordinates lie between pixels: (0, 0) is the first pixel's top left corner. At least three points; they may lie
    /// outside the picture. A polygon without area hides its bounding rectangle.
    case polygon([SIMD2<Int>])
  }

  /// What is drawn in place of the hidden part.
  ///
  /// `fill` reveals nothing. The others reveal mean colours of square cells: a cell's side is at least 8 pixels and at
  /// least an eighth of the mask's shorter side, whatever is requested. Many frames of a moving subject reveal more
  /// than one frame does.
  public enum Effect: Sendable, Hashable {
    /// A solid colour.
    case fill(RGBColor)
    /// Square cells of at least `cell` pixels, each filled with its mean colour.
    case pixelate(cell: Int)
    /// The means of cells of at least `radius` pixels, interpolated smoothly.
    case blur(radius: Int)
  }
}
