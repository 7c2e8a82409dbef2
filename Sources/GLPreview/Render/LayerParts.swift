// A layer in parts: what hides all that lies below, and what is mixed with it. Arithmetic alone.
internal import PreviewCore

/// The texels of a canvas, four pixels each, that a layer touches.
struct LayerParts {
  let layer: PlannedLayer
  /// Where it hides what lies below, and no layer above hides it.
  let interior: [TexelRegion]
  /// Where it is mixed with what lies below, and no layer above hides it.
  let edges: [TexelRegion]
  private let whole: Rectangle

  /// All layers, bottom first.
  static func parts(of composition: PlannedComposition) -> [LayerParts] {
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
    interior = [core].filter { !$0.isEmpty }.flatMap { $0.left(under: covers) }.map(\.region)
    edges = whole.strips(around: core).filter { !$0.isEmpty }.flatMap { $0.left(under: covers) }.map(\.region)
  }

  /// Whether a texel belongs to both.
  func overlaps(_ other: LayerParts) -> Bool { !whole.intersection(other.whole).isEmpty }
}

extension Rectangle {
  /// What is worth drawing under rectangles that hide it: those that hide little of it are passed over.
  fileprivate func left(under covers: [Rectangle]) -> [Rectangle] {
    covers.reduce([self]) { parts, cover in
      parts.flatMap { part -> [Rectangle] in
        let hidden = part.intersection(cover)
        guard hidden.size.pixelCount * 4 >= part.size.pixelCount else { return [part] }
        return part.strips(around: hidden).filter { !$0.isEmpty }
      }
    }
  }

  fileprivate var region: TexelRegion { TexelRegion(x: x, y: y, width: width, height: height) }
}

extension PlannedLayer {
  /// Texels all of whose pixels it hides; of no size where there are none.
  fileprivate func core(on canvas: Size) -> Rectangle {
    let opaque = opaquePart.intersection(bounds)
    let first = (opaque.x + 3) / 4
    // What follows a row's last pixel is nobody's.
    let end = opaque.x + opaque.width
    let last = end == canvas.width ? (end + 3) / 4 : end / 4
    guard !opaque.isEmpty, last > first else { return Rectangle(x: 0, y: 0, width: 0, height: 0) }
    return Rectangle(x: first, y: opaque.y, width: last - first, height: opaque.height)
  }

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
