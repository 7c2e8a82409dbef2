// What of a source nobody is to see, and what is seen in its place.

/// A part of a source's picture that is hidden.
///
/// It is burned into each frame's samples before anything else sees the frame: no view, snapshot, scene or texture holds
/// what is behind it. `docs/semantics.md` says which samples it takes, and what lossy cameras still tell of their edges.
public struct PrivacyMask: Sendable, Hashable {
  /// Which part.
  public var shape: MaskShape
  /// What is seen instead.
  public var effect: MaskEffect

  /// A mask; black, unless told.
  public init(_ shape: MaskShape, effect: MaskEffect = .fill(.black)) {
    self.shape = shape
    self.effect = effect
  }
}

/// Where a mask lies, in pixels of the upright source at its reference size, from the top left corner.
public enum MaskShape: Sendable, Hashable {
  /// Whole pixels; what lies outside the picture counts for nothing.
  case rectangle(Rectangle)
  /// All that a line through these points and back to the first goes round, once or more often; where it crosses itself,
  /// the loops count too (the non-zero rule). Positions lie between pixels: (0, 0) is the first pixel's top left corner.
  /// Three points or more, which may lie outside the picture. One without any area hides the rectangle around it.
  case polygon([SIMD2<Int>])
}

/// What is seen in place of what is hidden.
///
/// `fill` tells nothing. The others tell means over squares, and no more: a square is at least 8 pixels and an eighth
/// of the shorter side of the mask, whatever is asked. Of what moves behind them many frames tell more than one.
public enum MaskEffect: Sendable, Hashable {
  /// One colour.
  case fill(RGBColor)
  /// Squares of at least `cell` pixels, each of the mean of what it hides.
  case pixelate(cell: Int)
  /// The same means over squares of at least `radius` pixels, drawn smoothly.
  case blur(radius: Int)
}
