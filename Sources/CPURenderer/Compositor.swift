// Draws a composition's layers onto a canvas of pixels, the lowest first.
internal import CPixels
internal import PreviewCore

@safe struct Compositor {
  private let composition: PlannedComposition
  private let tiles: [Tile: PlaneMemory]

  init(_ composition: PlannedComposition, _ tiles: [Tile: PlaneMemory]) {
    (self.composition, self.tiles) = (composition, tiles)
  }

  /// Draws all layers, into `memory` if there is some. A single view that covers all is its own canvas.
  func canvas(into memory: PlaneMemory?) -> PlaneMemory {
    let size = composition.size
    if memory == nil, let whole = wholeView { return whole }
    let canvas = memory ?? PlaneMemory(bytesPerRow: size.width * 4, rows: size.height)
    let layers = LayerParts.parts(of: composition)
    if !layers.contains(where: {
      $0.interior == [Rectangle(x: 0, y: 0, width: (size.width + 3) / 4, height: size.height)]
    }) {
      fill(canvas, RGBColor.black, Rectangle(all: size))
    }
    for parts in layers { draw(parts, canvas) }
    return canvas
  }

  /// The only layer, if it is a view of the canvas' size, unchanged.
  private var wholeView: PlaneMemory? {
    guard composition.layers.count == 1, let layer = composition.layers.first,
      case .view(let input, let view) = layer.content, layer.adjustment == .none,
      layer.size == composition.size,
      layer.placement == .aligned(x: 0, y: 0), layer.opacity == 1, layer.border == nil,
      layer.cornerRadius == 0,
      layer.shape == Rectangle(all: layer.size), layer.bounds == Rectangle(all: layer.size)
    else { return nil }
    return tiles[Tile(input: input, view: view)]
  }

  private func draw(_ parts: LayerParts, _ canvas: PlaneMemory) {
    let layer = parts.layer
    var description = unsafe pixels_layer(layer)
    let width = composition.size.width
    switch layer.content {
    case .color, .gradient: break
    case .bitmap(let bitmap):
      let bytes = bitmap.bytes
      unsafe bytes.withUnsafeBufferPointer { bytes in
        unsafe description.pixels = bytes.baseAddress
        unsafe description.stride = bitmap.size.width * 4
        unsafe (description.pixels_width, description.pixels_height) = (
          Int32(bitmap.size.width), Int32(bitmap.size.height)
        )
        unsafe draw(&description, parts.interior + parts.edges, canvas, width)
      }
      return
    case .view(let input, let view), .blurred(let input, let view):
      guard let tile = tiles[Tile(input: input, view: view)] else { return }
      unsafe description.pixels = unsafe UnsafePointer(tile.bytes)
      unsafe description.stride = tile.stride
      unsafe (description.pixels_width, description.pixels_height) = (
        Int32(view.size.width), Int32(view.size.height)
      )
      if case .view = layer.content, case .aligned(let x, let y) = layer.placement, layer.adjustment == .none
      {
        for part in parts.interior { copy(tile, x, y, canvas, part.pixels(within: width)) }
        return unsafe draw(&description, parts.edges, canvas, width)
      }
    }
    if case .color(let color) = layer.content, layer.adjustment == .none {
      for part in parts.interior { fill(canvas, color, part.pixels(within: width)) }
      return unsafe draw(&description, parts.edges, canvas, width)
    }
    unsafe draw(&description, parts.interior + parts.edges, canvas, width)
  }

  private func draw(
    _ description: inout pixels_layer, _ parts: [Rectangle], _ canvas: PlaneMemory, _ width: Int
  ) {
    for part in parts {
      let part = part.pixels(within: width)
      unsafe pixels_draw_layer(
        &description, canvas.bytes, canvas.stride, Int32(part.x), Int32(part.y), Int32(part.width),
        Int32(part.height))
    }
  }

  private func copy(_ tile: PlaneMemory, _ x: Int, _ y: Int, _ canvas: PlaneMemory, _ part: Rectangle) {
    for row in part.y..<part.y + part.height {
      unsafe (canvas.bytes + row * canvas.stride + part.x * 4).update(
        from: tile.bytes + (row - y) * tile.stride + (part.x - x) * 4, count: part.width * 4)
    }
  }

  private func fill(_ canvas: PlaneMemory, _ color: RGBColor, _ part: Rectangle) {
    let pixel = UInt32(color.red) | UInt32(color.green) << 8 | UInt32(color.blue) << 16 | 0xff00_0000
    unsafe pixels_fill(
      canvas.bytes, canvas.stride, pixel.littleEndian, Int32(part.x), Int32(part.y), Int32(part.width),
      Int32(part.height))
  }
}

extension Rectangle {
  /// The pixels of a part in texels of four, within a row.
  fileprivate func pixels(within width: Int) -> Rectangle {
    Rectangle(x: x * 4, y: y, width: min((x + self.width) * 4, width) - x * 4, height: height)
  }
}

extension pixels_layer {
  fileprivate init(_ layer: PlannedLayer) {
    unsafe self.init()
    switch layer.content {
    case .color(let color):
      unsafe (content, colors.0) = (PIXELS_COLOR, color.codes.three)
    case .gradient(let gradient):
      let line = GradientRamp(gradient, over: layer.size)
      unsafe (content, colors) = (PIXELS_GRADIENT, (gradient.start.codes.three, gradient.end.codes.three))
      unsafe ramp = (Float(line.first), Float(line.step.x), Float(line.step.y))
    case .bitmap, .view: unsafe content = PIXELS_PIXELS
    case .blurred: unsafe content = PIXELS_SPLINE
    }
    unsafe (width, height) = (Int32(layer.size.width), Int32(layer.size.height))
    switch layer.placement {
    case .aligned(let x, let y):
      unsafe (to_x, to_y) = ((1, 0, Double(-x)), (0, 1, Double(-y)))
    case .transformed(let transform):
      unsafe is_transformed = 1
      unsafe (to_x, to_y) = (
        (transform.a, transform.c, transform.tx), (transform.b, transform.d, transform.ty)
      )
    }
    unsafe (shape_x, shape_y) = (Float(layer.shape.x), Float(layer.shape.y))
    unsafe (shape_width, shape_height) = (Float(layer.shape.width), Float(layer.shape.height))
    unsafe radius = Float(layer.cornerRadius)
    if let edge = layer.border {
      unsafe (has_border, border_width, border) = (1, Float(edge.width), edge.color.codes.three)
    }
    unsafe opacity = Float(layer.opacity)
    unsafe (scale, offset) = (layer.adjustment.scale.three, layer.adjustment.offset.three)
  }
}

extension SIMD3<Double> {
  fileprivate var three: (Float, Float, Float) { (Float(x), Float(y), Float(z)) }
}
