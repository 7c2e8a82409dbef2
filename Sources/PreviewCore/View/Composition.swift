// A picture put together from several: what scenes, fallbacks, replicators and blurred backgrounds come to. Plain
// values; a planner makes passes of them, two renderers carry those out.

/// Layers on one another in a picture of a given size, the lowest first. Where none reaches, it is black.
package struct Composition: Sendable, Hashable {
  /// In pixels.
  package var size: Size
  /// Bottom first.
  package var layers: [Layer]

  /// A picture of `size`.
  package init(size: Size, layers: [Layer] = []) {
    self.size = size
    self.layers = layers
  }
}

/// One thing in a composition, and where it is seen.
///
/// A layer is drawn in its own pixels (those of `frame.size`), cut to its shape, given its border, its colours adjusted,
/// put where `frame` and `transform` say, and mixed with what lies below by its opacity. What is mixed is rounded to
/// whole codes, layer by layer, halves up.
package struct Layer: Sendable, Hashable {
  /// What is seen.
  package var content: LayerContent
  /// Where, in pixels of the composition; may reach beyond it.
  package var frame: Rectangle
  /// What of it is seen; all, unless told.
  package var shape: LayerShape
  /// Along the inside of the shape's edge.
  package var border: Border?
  /// 0 (not seen) to 1, the default.
  package var opacity: Double
  /// What becomes of the content's colours; the border keeps its own.
  package var adjustment: ColorAdjustment
  /// About the centre of `frame`.
  package var transform: AffineTransform

  /// `content` in `frame`.
  package init(
    _ content: LayerContent, in frame: Rectangle, shape: LayerShape = .rectangle, border: Border? = nil,
    opacity: Double = 1, adjustment: ColorAdjustment = .none, transform: AffineTransform = .identity
  ) {
    self.content = content
    self.frame = frame
    self.shape = shape
    self.border = border
    self.opacity = opacity
    self.adjustment = adjustment
    self.transform = transform
  }
}

/// What a layer shows.
package enum LayerContent: Sendable, Hashable {
  /// One colour.
  case color(RGBColor)
  /// Two colours and all between them.
  case gradient(LinearGradient)
  /// A view of frame `input`, with the layer's size in place of the view's own. What `fit` and `inside` leave free is the
  /// view's `surround`, cut and bordered with it; where that is `.clear`, the layer is what they place alone.
  case view(input: Int, ViewConfiguration)
  /// The same view, which then fills the layer, out of focus.
  case blurred(input: Int, ViewConfiguration, Blur)
  /// A picture of the program's own, such as text or an icon; must be of the layer's size.
  case bitmap(Bitmap)
}

/// What of a layer is seen.
package enum LayerShape: Sendable, Hashable {
  /// All, with corners rounded to circles of this radius in pixels, at most half the shorter side; 0 is none.
  case rounded(Double)
  /// The largest circle in its middle.
  case circle

  /// All of it.
  package static let rectangle = LayerShape.rounded(0)
}

/// A line along the inside of a layer's edge.
public struct Border: Sendable, Hashable {
  /// In pixels; above 0.
  public var width: Double
  /// Its colour.
  public var color: RGBColor

  /// A line of `width` pixels.
  public init(width: Double, color: RGBColor) {
    self.width = width
    self.color = color
  }
}

/// A gradient along a line, as CSS's `linear-gradient` has it (CSS Images 3, 3.1.1): the line goes through the centre,
/// and is as long as makes the corners the ends' colours. Codes are mixed as they are.
public struct LinearGradient: Sendable, Hashable {
  /// Where the line begins.
  public var start: RGBColor
  /// Where it ends.
  public var end: RGBColor
  /// Degrees clockwise from upwards: 90 goes to the right, 180, the default, down.
  public var angle: Double

  /// From `start` to `end`.
  public init(from start: RGBColor, to end: RGBColor, angle: Double = 180) {
    self.start = start
    self.end = end
    self.angle = angle
  }
}

/// How far out of focus.
///
/// A blurred view is rendered with one sample (a mean over its area) for `cell` x `cell` pixels, counts rounded up, at
/// least 1, and drawn larger with quadratic B-splines (Unser 1999, "Splines: a perfect fit", order 2), the edge's
/// samples repeated.
public struct Blur: Sendable, Hashable {
  /// Pixels, 2...256.
  public var cell: Int

  /// `cell` outside 2...256 counts as the nearest of them.
  public init(cell: Int = 24) { self.cell = min(max(cell, 2), 256) }
}

/// What becomes of each code: `code * scale + offset`, within 0...255.
package struct ColorAdjustment: Sendable, Hashable {
  /// Of R', G', B'; 1 each leaves them.
  package var scale: SIMD3<Double>
  /// In codes.
  package var offset: SIMD3<Double>

  /// All as it is, unless told.
  package init(scale: SIMD3<Double> = [1, 1, 1], offset: SIMD3<Double> = [0, 0, 0]) {
    self.scale = scale
    self.offset = offset
  }

  /// Nothing changes.
  package static let none = ColorAdjustment()

  /// Darker, towards black: 0.4 leaves four tenths.
  package static func dimmed(to factor: Double) -> ColorAdjustment {
    ColorAdjustment(scale: SIMD3(repeating: factor))
  }
}
