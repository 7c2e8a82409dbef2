// A composition as it is to be drawn: every view planned, every place in whole pixels.
internal import Glibc

/// What is drawn on one another.
package struct PlannedComposition: Sendable, Hashable {
  /// In pixels.
  package let size: Size
  /// Bottom first; those that can't be seen are left out.
  package let layers: [PlannedLayer]

  /// A composition.
  package init(size: Size, layers: [PlannedLayer]) {
    self.size = size
    self.layers = layers
  }
}

extension PlannedComposition {
  /// All that is drawn of frame `input`, each once, in the order of the layers.
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

/// One layer.
package struct PlannedLayer: Sendable, Hashable {
  /// What is seen.
  package let content: PlannedContent
  /// The pixels of the composition that it may touch, all inside it.
  package let bounds: Rectangle
  /// The layer's own size, in its own pixels.
  package let size: Size
  /// From positions in the composition to positions in the layer; both from the top left corner, pixel k is k...k+1.
  package let placement: LayerPlacement
  /// Of the corners, in the layer's pixels.
  package let cornerRadius: Double
  /// The part of the layer that is cut to the shape, in its own pixels: all of it, or the square around a circle.
  package let shape: Rectangle
  /// Along the inside of the shape's edge.
  package let border: Border?
  /// 0...1.
  package let opacity: Double
  /// Of the content.
  package let adjustment: ColorAdjustment
}

/// Where a layer's pixels lie.
package enum LayerPlacement: Sendable, Hashable {
  /// Pixel on pixel: the layer's first pixel is at (`x`, `y`), which may be negative.
  case aligned(x: Int, y: Int)
  /// By this transform from the composition to the layer, bilinear between the layer's pixels.
  case transformed(AffineTransform)
}

extension LayerPlacement {
  /// Where a point of the composition is in the layer; both in pixels, from the top left corner.
  package func position(of point: SIMD2<Double>) -> SIMD2<Double> {
    switch self {
    case .aligned(let x, let y): point - SIMD2(Double(x), Double(y))
    case .transformed(let transform): transform(point)
    }
  }
}

/// A gradient's line over a layer of a given size: how far along it a point is.
package struct GradientRamp: Sendable, Hashable {
  /// At the layer's top left corner.
  package let first: Double
  /// What a pixel to the right, and one down, add.
  package let step: SIMD2<Double>

  /// As CSS has it: the line goes through the centre, and its ends are where the corners' perpendiculars meet it.
  package init(_ gradient: LinearGradient, over size: Size) {
    let turn = gradient.angle.remainder(dividingBy: 360) * .pi / 180
    let direction = SIMD2(sin(turn), -cos(turn))
    let (width, height) = (Double(size.width), Double(size.height))
    step = direction / (abs(width * direction.x) + abs(height * direction.y))
    first = 0.5 - (step.x * width + step.y * height) / 2
  }

  /// 0 at the line's start, 1 at its end, and beyond them in the same measure.
  package func part(at point: SIMD2<Double>) -> Double { first + step.x * point.x + step.y * point.y }
}

/// What a layer shows.
package enum PlannedContent: Sendable, Hashable {
  /// One colour.
  case color(RGBColor)
  /// A gradient over the layer.
  case gradient(LinearGradient)
  /// An `rgba` picture of frame `input`, of the layer's size.
  case view(input: Int, PlannedView)
  /// An `rgba` picture of frame `input`, to be drawn larger, smoothly.
  case blurred(input: Int, PlannedView)
  /// A bitmap of the layer's size.
  case bitmap(Bitmap)
}

/// What is to be drawn of several frames at once.
package struct ScenePlan: Sendable, Hashable {
  /// Of the frames that it is for, in order; nil for those that nothing reads.
  package let sources: [FrameFormat?]
  /// The picture: its `composition` is what is drawn, its passes make the picture's planes of that.
  package let view: PlannedView
}

extension FrameFormat {
  /// What a picture put together of layers is to the passes that make planes of it.
  public init(composed size: Size) { self.init(.rgba, size, color: .jfif) }
}

extension ScenePlan: CustomStringConvertible {
  /// A line for each frame that is read, a line a layer and for the passes that it needs, then a line a pass.
  package var description: String {
    let frames = sources.enumerated().compactMap { index, source in source.map { "frame \(index) \($0)" } }
    return (frames + view.lines).joined(separator: "\n")
  }
}

extension PlannedLayer {
  /// What it shows, where, and how it is changed; then the passes of what it shows.
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

extension LayerPlacement: CustomStringConvertible {
  /// `at (X, Y)`, or `by` the six numbers, rounded to thousandths.
  package var description: String {
    switch self {
    case .aligned(let x, let y): return "at (\(x), \(y))"
    case .transformed(let transform):
      let numbers = [transform.a, transform.b, transform.c, transform.d, transform.tx, transform.ty]
      // Adding 0 makes -0 of rounding 0.
      return "by \(numbers.map { ($0 * 1000).rounded() / 1000 + 0 })"
    }
  }
}
