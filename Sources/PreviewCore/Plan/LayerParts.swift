// Splits rectangles: a layer into the part that hides everything below and the part that is blended, and a
// drawing into the groups of outputs whose boxes lie inside the crop and those whose boxes may reach over its
// edges.

/// The texels of a canvas, four pixels each, that a layer touches.
package struct LayerParts: Sendable {
  package let layer: PlannedLayer
  /// The part that hides the layers below, and that no higher layer hides.
  package let interior: [Rectangle]
  /// The part that is blended, and that no higher layer hides.
  package let edges: [Rectangle]
  private let whole: Rectangle

  /// Returns the parts of all layers, lowest first.
  package static func parts(of composition: PlannedComposition) -> [LayerParts] {
    var parts: [LayerParts] = []
    var covers: [Rectangle] = []
    for layer in composition.layers.reversed() {
      let core = layer.core(on: composition.size)
      parts.append(LayerParts(layer, core, under: covers))
      if !core.isEmpty { covers.append(core) }
    }
    return parts.reversed()
  }

  private init(_ layer: PlannedLayer, _ core: Rectangle, under covers: [Rectangle]) {
    let bounds = layer.bounds
    self.layer = layer
    whole = Rectangle(
      x: bounds.x / 4, y: bounds.y, width: (bounds.x + bounds.width + 3) / 4 - bounds.x / 4,
      height: bounds.height)
    interior = [core].filter { !$0.isEmpty }.flatMap { $0.left(under: covers) }
    edges = whole.strips(around: core).filter { !$0.isEmpty }.flatMap { $0.left(under: covers) }
  }

  /// Returns whether both touch a common texel.
  package func overlaps(_ other: LayerParts) -> Bool { !whole.intersection(other.whole).isEmpty }
}

extension Rectangle {
  /// Returns `interior` and the strips around it, in drawing order, without empty ones.
  package func parts(interior: Rectangle) -> [(part: Rectangle, isInterior: Bool)] {
    ([(interior, true)] + strips(around: interior).map { ($0, false) }).filter { !$0.0.isEmpty }
  }

  /// Returns the strips above, below, left and right of `inner`.
  package func strips(around inner: Rectangle) -> [Rectangle] {
    guard inner.width > 0, inner.height > 0 else { return [self] }
    let (right, bottom) = (inner.x + inner.width, inner.y + inner.height)
    return [
      Rectangle(x: x, y: y, width: width, height: inner.y - y),
      Rectangle(x: x, y: bottom, width: width, height: y + height - bottom),
      Rectangle(x: x, y: inner.y, width: inner.x - x, height: inner.height),
      Rectangle(x: right, y: inner.y, width: x + width - right, height: inner.height),
    ]
  }

  /// Returns the parts that the covering rectangles leave to draw. A rectangle that covers less than a
  /// quarter of a part is ignored.
  fileprivate func left(under covers: [Rectangle]) -> [Rectangle] {
    covers.reduce([self]) { parts, cover in
      parts.flatMap { part -> [Rectangle] in
        let hidden = part.intersection(cover)
        guard hidden.size.pixelCount * 4 >= part.size.pixelCount else { return [part] }
        return part.strips(around: hidden).filter { !$0.isEmpty }
      }
    }
  }
}

extension PlannedLayer {
  /// Returns the texels whose pixels are all hidden by this layer; empty if there are none.
  fileprivate func core(on canvas: Size) -> Rectangle {
    let opaque = opaquePart.intersection(bounds)
    let first = (opaque.x + 3) / 4
    // Pixels beyond the end of a row do not matter.
    let end = opaque.x + opaque.width
    let last = end == canvas.width ? (end + 3) / 4 : end / 4
    guard !opaque.isEmpty, last > first else { return Rectangle(x: 0, y: 0, width: 0, height: 0) }
    return Rectangle(x: first, y: opaque.y, width: last - first, height: opaque.height)
  }

  /// The rectangle of the composition's pixels that shows only opaque content; empty if there is none.
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

  /// The distance from the shape's edges that neither the border nor the corners reach.
  private var inset: Int {
    let border = border?.width ?? 0
    let side = min(border.rounded(.up), 1e9)
    // Where the corner's arc, half a pixel inside, is nearest to the corner: at 45 degrees.
    let corner = cornerRadius - 0.5 - max(cornerRadius - border - 0.5, 0) * 0.5.squareRoot()
    return Int(max(side, side + 0.5 < cornerRadius ? corner.rounded(.up) : 0, 0))
  }
}
