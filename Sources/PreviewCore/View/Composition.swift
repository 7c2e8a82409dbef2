// A picture made of layers: the common form of scenes, fallbacks, replicators and blurred backgrounds. Plain
// values; the planner turns them into passes, which both renderers execute.

/// A stack of layers in a picture of a given size, lowest first. Pixels that no layer covers are black.
package struct Composition: Sendable, Hashable {
  package var size: Size
  package var layers: [Layer]

  package init(size: Size, layers: [Layer] = []) {
    self.size = size
    self.layers = layers
  }
}

/// One element of a composition and its position.
///
/// A layer is drawn in its own pixels (those of `frame.size`), clipped to its shape, bordered,
/// colour-adjusted, placed by `frame` and `transform`, and blended over the layers below by its opacity. Each
/// blend is rounded to whole codes, halves up.
package struct Layer: Sendable, Hashable {
  package var content: LayerContent
  /// Its rectangle in pixels of the composition; it may extend beyond it.
  package var frame: Rectangle
  /// The visible part. Default: all.
  package var shape: LayerShape
  /// The border along the inside of the shape's edge.
  package var border: Border?
  /// 0 (invisible) to 1 (opaque, the default).
  package var opacity: Double
  /// Applied to the content's colours, not to the border's.
  package var adjustment: ColorAdjustment
  /// Applied about the centre of `frame`.
  package var transform: AffineTransform

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

package enum LayerContent: Sendable, Hashable {
  case color(RGBColor)
  case gradient(LinearGradient)
  /// A view of frame `input`, at the layer's size instead of the view's own. The bars that `fit` and `inside`
  /// leave are filled with the view's `surround`, and clipped and bordered with it. If that is `.clear`, the
  /// layer is only the placed picture.
  case view(input: Int, ViewConfiguration)
  /// A blurred view that fills the layer.
  case blurred(input: Int, ViewConfiguration, Blur)
  /// A picture made by the program, such as text or an icon. It must have the layer's size.
  case bitmap(Bitmap)
}

/// The visible part of a layer.
package enum LayerShape: Sendable, Hashable {
  /// Everything, with corners rounded by this radius in pixels; at most half the shorter side. 0 is square
  /// corners.
  case rounded(Double)
  /// The largest circle around the centre.
  case circle

  /// Everything, with square corners.
  package static let rectangle = LayerShape.rounded(0)
}

/// A line along the inside of an edge.
public struct Border: Sendable, Hashable {
  /// The width in pixels; above 0.
  public var width: Double
  /// The line's colour.
  public var color: RGBColor

  /// Creates a border of `width` pixels.
  public init(width: Double, color: RGBColor) {
    self.width = width
    self.color = color
  }
}

/// A linear gradient as in CSS `linear-gradient` (CSS Images 3, 3.1.1): its line passes through the centre
/// and is long enough that the corners get the end colours. Encoded codes are interpolated.
public struct LinearGradient: Sendable, Hashable {
  /// The colour at the line's start.
  public var start: RGBColor
  /// The colour at the line's end.
  public var end: RGBColor
  /// Degrees clockwise: 0 points up, 90 right, 180 (the default) down.
  public var angle: Double

  /// Creates a gradient from `start` to `end`.
  public init(from start: RGBColor, to end: RGBColor, angle: Double = 180) {
    self.start = start
    self.end = end
    self.angle = angle
  }
}

/// The strength of a blur.
///
/// A blurred view is rendered at one sample (the mean) per `cell` x `cell` pixels, counts rounded up, at
/// least 1. It is then enlarged with quadratic B-splines (Unser 1999, "Splines: a perfect fit", order 2),
/// repeating the edge samples.
package struct Blur: Sendable, Hashable {
  /// The side of a cell in pixels, 2...256.
  package var cell: Int

  /// Creates a blur. `cell` is clamped to 2...256.
  package init(cell: Int = 24) { self.cell = min(max(cell, 2), 256) }
}

/// A linear change of each code: `code * scale + offset`, clamped to 0...255.
package struct ColorAdjustment: Sendable, Hashable {
  /// Factors of R', G', B'.
  package var scale: SIMD3<Double>
  /// In codes, for R', G', B'.
  package var offset: SIMD3<Double>

  /// Creates an adjustment. The defaults change nothing.
  package init(scale: SIMD3<Double> = [1, 1, 1], offset: SIMD3<Double> = [0, 0, 0]) {
    self.scale = scale
    self.offset = offset
  }

  package static let none = ColorAdjustment()

  /// Returns an adjustment that scales all colours towards black: 0.4 keeps 40 %.
  package static func dimmed(to factor: Double) -> ColorAdjustment {
    ColorAdjustment(scale: SIMD3(repeating: factor))
  }

  /// Returns the adjustment that applies `self`, then `next`; exact as long as codes stay within 0...255 in
  /// between.
  package func followed(by next: ColorAdjustment) -> ColorAdjustment {
    ColorAdjustment(scale: scale * next.scale, offset: offset * next.scale + next.offset)
  }
}
