// A planned composition: each view has its passes, each layer its position in whole pixels.
internal import Glibc

/// The layers of a planned picture.
package struct PlannedComposition: Sendable, Hashable {
  package let size: Size
  /// Lowest first, without invisible layers.
  package let layers: [PlannedLayer]

  /// Returns all views of frame `input`, without duplicates, in layer order.
  package func views(of input: Int) -> [PlannedView] {
    var seen: Set<PlannedView> = []
    return layers.compactMap { layer in
      switch layer.content {
      case .view(input, let view), .blurred(input, let view): seen.insert(view).inserted ? view : nil
      case .view, .blurred, .color, .gradient, .bitmap: nil
      }
    }
  }
}

/// A layer ready to draw.
package struct PlannedLayer: Sendable, Hashable {
  package let content: PlannedContent
  /// The pixels of the composition that the layer may touch; all inside it.
  package let bounds: Rectangle
  /// The layer's size in its own pixels.
  package let size: Size
  /// From composition to layer positions. Both are measured from the top left corner; pixel k spans k...k+1.
  package let placement: LayerPlacement
  /// The radius of the corners, in the layer's pixels.
  package let cornerRadius: Double
  /// The part of the layer that is clipped to the shape, in its own pixels: everything, or the square around
  /// a circle.
  package let shape: Rectangle
  /// Drawn along the inside of the shape's edge.
  package let border: Border?
  /// 0...1.
  package let opacity: Double
  package let adjustment: ColorAdjustment

  /// Returns one line with content, position and changes, then the lines of the content's passes.
  func lines(_ name: String) -> [String] {
    let (what, passes): (String, [String]) =
      switch content {
      case .color(let color): ("\(color)", [])
      case .gradient(let gradient): ("\(gradient.start) to \(gradient.end) at \(gradient.angle) degrees", [])
      case .bitmap: ("bitmap", [])
      case .view(let input, let view): ("view of \(input)", view.lines)
      case .blurred(let input, let view): ("blurred view of \(input)", view.lines)
      }
    var words = ["\(name) \(what) \(size) \(placement) in \(bounds)"]
    if shape != Rectangle(all: size) { words.append("cut to \(shape)") }
    if cornerRadius > 0 { words.append("radius \(cornerRadius)") }
    if let border { words.append("border \(border.width) \(border.color)") }
    if opacity < 1 { words.append("opacity \(opacity)") }
    if adjustment != .none {
      let (scale, offset) = (adjustment.scale, adjustment.offset)
      words.append("scaled by (\(scale.x), \(scale.y), \(scale.z))")
      words.append("plus (\(offset.x), \(offset.y), \(offset.z))")
    }
    return [words.joined(separator: ", ")] + passes.map { "  \($0)" }
  }
}

/// The position of a layer's pixels.
package enum LayerPlacement: Sendable, Hashable, CustomStringConvertible {
  /// Pixel on pixel: the layer's first pixel is at (`x`, `y`), which may be negative.
  case aligned(x: Int, y: Int)
  /// Through this transform from composition to layer, interpolated bilinearly.
  case transformed(AffineTransform)

  /// Returns the layer position of a composition point; both in pixels from the top left corner.
  package func position(of point: SIMD2<Double>) -> SIMD2<Double> {
    switch self {
    case .aligned(let x, let y): point - SIMD2(Double(x), Double(y))
    case .transformed(let transform): transform(point)
    }
  }

  /// `at (X, Y)`, or `by` and the six coefficients, rounded to thousandths.
  package var description: String {
    switch self {
    case .aligned(let x, let y): return "at (\(x), \(y))"
    case .transformed(let transform):
      let numbers = [transform.a, transform.b, transform.c, transform.d, transform.tx, transform.ty]
      // Adding 0 turns a rounded -0 into 0.
      return "by \(numbers.map { ($0 * 1000).rounded() / 1000 + 0 })"
    }
  }
}

/// A gradient's line over a layer of a given size. It gives the fraction along the line at each point.
package struct GradientRamp: Sendable, Hashable {
  /// The fraction at the layer's top left corner.
  package let first: Double
  /// The change per pixel to the right and per pixel down.
  package let step: SIMD2<Double>

  /// Creates the line as in CSS: it passes through the centre, and its ends are where the perpendiculars from
  /// the corners meet it.
  package init(_ gradient: LinearGradient, over size: Size) {
    let turn = gradient.angle.remainder(dividingBy: 360) * .pi / 180
    let direction = SIMD2(sin(turn), -cos(turn))
    let (width, height) = (Double(size.width), Double(size.height))
    step = direction / (abs(width * direction.x) + abs(height * direction.y))
    first = 0.5 - (step.x * width + step.y * height) / 2
  }

  /// Returns the fraction along the line: 0 at its start, 1 at its end, continuing linearly beyond both.
  package func part(at point: SIMD2<Double>) -> Double { first + step.x * point.x + step.y * point.y }
}

package enum PlannedContent: Sendable, Hashable {
  case color(RGBColor)
  case gradient(LinearGradient)
  /// An `rgba` picture of frame `input` at the layer's size.
  case view(input: Int, PlannedView)
  /// A reduced `rgba` picture of frame `input`, to be enlarged smoothly.
  case blurred(input: Int, PlannedView)
  /// A bitmap of the layer's size.
  case bitmap(Bitmap)
}

/// A plan for one picture of several frames.
package struct ScenePlan: Sendable, Hashable, CustomStringConvertible {
  /// The frame formats, in order; nil for frames that are not read.
  package let sources: [Frame.Format?]
  /// The picture: `composition` is drawn first, and the passes convert it to the picture's planes.
  package let view: PlannedView
  /// The steps in which a device draws the views of each frame; nil for the reference renderer, and for
  /// frames that are not read.
  package let drawings: [FrameDrawing?]

  /// One line per frame that is read, per layer with its passes, and per pass of the picture.
  package var description: String {
    let frames = sources.enumerated().compactMap { index, source in source.map { "frame \(index) \($0)" } }
    return (frames + view.lines).joined(separator: "\n")
  }
}

extension Frame.Format {
  /// Creates the format of a drawn composition, as the passes that convert it see it.
  package init(composed size: Size) { self.init(.rgba, size, color: .jfif) }
}
