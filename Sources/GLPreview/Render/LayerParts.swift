// A layer in parts: what hides all that lies below, and what is mixed with it. Arithmetic alone.
internal import PreviewCore

/// The texels of a canvas, four pixels each, that a layer touches.
struct LayerParts {
  let layer: PlannedLayer
  /// In texels.
  let whole: Rectangle
  /// Texels all of whose pixels the layer hides; of no size where there are none.
  let core: Rectangle

  init(_ layer: PlannedLayer, on canvas: Size) {
    let bounds = layer.bounds
    self.layer = layer
    whole = Rectangle(
      x: bounds.x / 4, y: bounds.y, width: (bounds.x + bounds.width + 3) / 4 - bounds.x / 4,
      height: bounds.height)
    let opaque = layer.opaquePart.intersection(bounds)
    let first = (opaque.x + 3) / 4
    // What follows a row's last pixel is nobody's.
    let end = opaque.x + opaque.width
    let last = end == canvas.width ? (end + 3) / 4 : end / 4
    core =
      opaque.isEmpty || last <= first
      ? Rectangle(x: 0, y: 0, width: 0, height: 0)
      : Rectangle(x: first, y: opaque.y, width: last - first, height: opaque.height)
  }

  /// Where it is mixed with what lies below.
  var edges: [TexelRegion] { whole.parts(interior: core).filter { !$0.isInterior }.map(\.region) }

  /// Where it hides what lies below.
  var interior: TexelRegion? {
    core.isEmpty ? nil : TexelRegion(x: core.x, y: core.y, width: core.width, height: core.height)
  }

  /// Whether a texel belongs to both.
  func overlaps(_ other: LayerParts) -> Bool { !whole.intersection(other.whole).isEmpty }
}

extension PlannedLayer {
  /// A rectangle of the composition's pixels that shows nothing but the content; of no size where there is none.
  fileprivate var opaquePart: Rectangle {
    let none = Rectangle(x: 0, y: 0, width: 0, height: 0)
    if case .bitmap = content { return none }
    guard case .aligned(let x, let y) = placement, opacity == 1 else { return none }
    let inset = min(inset, max(shape.width, shape.height))
    let inner = Rectangle(
      x: shape.x + inset, y: shape.y + inset, width: shape.width - 2 * inset, height: shape.height - 2 * inset
    )
    guard !inner.isEmpty else { return none }
    let part = inner.intersection(Rectangle(all: size))
    return Rectangle(x: x + part.x, y: y + part.y, width: part.width, height: part.height)
  }

  /// From the shape's edges to a rectangle that neither the border nor the corners reach.
  private var inset: Int {
    let border = border?.width ?? 0
    let side = min(border.rounded(.up), 1e9)
    // The corner's arc, half a pixel inside, where it comes nearest to the corner: at 45 degrees.
    let corner = cornerRadius - 0.5 - max(cornerRadius - border - 0.5, 0) * 0.5.squareRoot()
    return Int(max(side, side + 0.5 < cornerRadius ? corner.rounded(.up) : 0, 0))
  }
}
