// Draws layers: binds programs and textures, sets uniforms, and draws one triangle per part.
internal import Shaders

struct LayerPainter {
  let canvas: PooledTarget
  /// A second canvas for copies of the pixels below, if any layer is blended over them.
  let below: PooledTarget?
  let programs: ProgramCache
  let targets: TargetPool
  let bitmaps: BitmapCache
  let tiles: TileCache
  let frames: [Frame?]

  /// Draws layers that do not touch each other.
  func draw(_ layers: [LayerParts]) throws {
    var drawings: [LayerDrawing] = []
    defer { for drawing in drawings { if let spread = drawing.spread { targets.giveBack(spread) } } }
    for parts in layers {
      let tile = try tile(of: parts.layer)
      let spread = try spread(parts.layer, tile)
      drawings.append(LayerDrawing(parts: parts, tile: tile, spread: spread))
    }
    if let below {
      for edge in layers.flatMap(\.edges) { canvas.target.copy(edge, to: below.target.texture) }
    }
    for drawing in drawings { try draw(drawing) }
  }

  private func draw(_ drawing: LayerDrawing) throws {
    let parts = drawing.parts
    if let word = parts.layer.plainWord {
      for region in parts.interior { canvas.target.fill(with: SIMD4(repeating: word), region) }
    } else {
      try draw(drawing, drawing.opaque, parts.interior)
    }
    try draw(
      drawing, LayerVariant(drawing.content, .mixed, isTransformed: parts.layer.isTransformed), parts.edges)
  }

  private func draw(_ drawing: LayerDrawing, _ variant: LayerVariant, _ regions: [Rectangle]) throws {
    guard !regions.isEmpty else { return }
    let program = try programs.program(variant.program)
    program.shader.use()
    var units = UnitCounter()
    try bind(drawing, program, &units)
    if variant.drawing == .mixed { below?.bind(0, unit: units.next(for: "below", in: program)) }
    drawing.parts.layer.set(program.shader)
    for region in regions {
      canvas.target.begin(region)
      program.shader.drawTriangle()
    }
  }

  private func bind(
    _ drawing: LayerDrawing, _ program: borrowing Program, _ units: inout UnitCounter
  ) throws {
    if case .bitmap(let bitmap) = drawing.parts.layer.content {
      try bitmaps.value(of: bitmap).object.bind(unit: units.next(for: "picture", in: program))
    } else if let spread = drawing.spread {
      spread.bind(0, unit: units.next(for: "spread", in: program))
    } else if let tile = drawing.tile {
      bind(tile, program, &units)
    }
  }

  private func bind(_ tile: DrawnPlane, _ program: borrowing Program, _ units: inout UnitCounter) {
    switch tile.layout {
    case .whole(let output): tile.target.bind(output, unit: units.next(for: "picture", in: program))
    case .texelsByTurns, .rowsByTurns:
      tile.target.bind(0, unit: units.next(for: "picture", in: program))
      tile.target.bind(1, unit: units.next(for: "secondPicture", in: program))
    }
  }

  /// The drawn view of a frame that a layer shows.
  private func tile(of layer: PlannedLayer) throws -> DrawnPlane? {
    switch layer.content {
    case .color, .gradient, .bitmap: return nil
    case .view(let input, let view), .blurred(let input, let view):
      guard let frame = frames[input], let tile = tiles.tile(view, of: frame) else {
        throw RenderError("a layer of \(layer.size) has no tile")
      }
      return tile
    }
  }

  /// Enlarges blur samples along the columns, as the bits of floats: one row per row of the layer.
  private func spread(_ layer: PlannedLayer, _ tile: DrawnPlane?) throws -> PooledTarget? {
    guard case .blurred(_, let view) = layer.content, !layer.isTransformed, let tile else { return nil }
    let target = try targets.take(
      TargetDescription(.rgba32ui, width: view.size.width, height: layer.size.height))
    let program = try programs.program(LayerVariant.spread(tile.store))
    program.shader.use()
    var units = UnitCounter()
    bind(tile, program, &units)
    program.shader.set("lastPixel", view.size.lastPixel)
    program.shader.set("samplesPerRow", Float(view.size.height) / Float(layer.size.height))
    target.target.begin()
    program.shader.drawTriangle()
    return target
  }
}

struct LayerDrawing {
  let parts: LayerParts
  let tile: DrawnPlane?
  /// For a blurred layer without a transform.
  let spread: PooledTarget?

  var content: LayerVariant.Content {
    switch parts.layer.content {
    case .color: .color
    case .gradient: .gradient
    case .bitmap: .pixels(.texels, hasAlpha: true)
    case .view: .pixels(tile?.store ?? .texels, hasAlpha: false)
    case .blurred: spread == nil ? .samples(tile?.store ?? .texels) : .spreadSamples
    }
  }

  /// The variant for the part that hides everything below.
  var opaque: LayerVariant {
    guard case .view = parts.layer.content, parts.layer.adjustment == .none,
      case .aligned(let x, _) = parts.layer.placement
    else { return LayerVariant(content, .opaque) }
    return LayerVariant(content, .copy(onQuads: x % 4 == 0 && tile?.store != .texels))
  }
}

extension DrawnPlane {
  fileprivate var store: PixelStore {
    switch layout {
    case .texelsByTurns, .rowsByTurns: .quadsByTurns
    case .whole: target.description.format == .rgba32ui ? .quads : .texels
    }
  }
}

extension Size {
  fileprivate var lastPixel: SIMD2<Int32> { SIMD2(Int32(width - 1), Int32(height - 1)) }
}

extension Rectangle {
  /// Centre and half size.
  fileprivate var box: SIMD4<Float> {
    let half = SIMD2(Float(width), Float(height)) / 2
    return SIMD4(Float(x) + half.x, Float(y) + half.y, half.x, half.y)
  }
}

extension PlannedLayer {
  fileprivate var isTransformed: Bool { if case .transformed = placement { true } else { false } }

  fileprivate var plainWord: UInt32? {
    guard case .color(let color) = content, adjustment == .none else { return nil }
    return 0xff00_0000 | UInt32(color.blue) << 16 | UInt32(color.green) << 8 | UInt32(color.red)
  }

  /// Sets all uniforms; a variant ignores those that it does not use.
  fileprivate func set(_ shader: borrowing ShaderProgram) {
    setPlace(shader)
    setContent(shader)
    shader.set("colorScale", SIMD3<Float>(adjustment.scale))
    shader.set("colorOffset", SIMD3<Float>(adjustment.offset))
    shader.set("layerBox", Rectangle(all: size).box)
    shader.set("shapeBox", shape.box)
    shader.set("radius", Float(cornerRadius))
    // Without a border, every pixel is inside it.
    shader.set("borderWidth", Float(border?.width ?? -1e6))
    shader.set("borderColor", SIMD3<Float>(border?.color.codes ?? .zero))
    shader.set("opacity", Float(opacity))
  }

  private func setPlace(_ shader: borrowing ShaderProgram) {
    switch placement {
    case .aligned(let x, let y):
      shader.set("origin", SIMD2(Int32(x), Int32(y)))
      shader.set("layerX", SIMD3<Float>(1, 0, 0.5))
      shader.set("layerY", SIMD3<Float>(0, 1, 0.5))
    case .transformed(let transform):
      // Relative to the layer's own corner, where floats are most precise.
      let first = placement.position(of: [Double(bounds.x) + 0.5, Double(bounds.y) + 0.5])
      shader.set("origin", SIMD2(Int32(bounds.x), Int32(bounds.y)))
      shader.set("layerX", SIMD3<Float>(SIMD3(transform.a, transform.c, first.x)))
      shader.set("layerY", SIMD3<Float>(SIMD3(transform.b, transform.d, first.y)))
    }
  }

  private func setContent(_ shader: borrowing ShaderProgram) {
    switch content {
    case .color(let color): shader.set("color", SIMD3<Float>(color.codes))
    case .gradient(let gradient):
      let ramp = GradientRamp(gradient, over: size)
      shader.set("firstColor", SIMD3<Float>(gradient.start.codes))
      shader.set("lastColor", SIMD3<Float>(gradient.end.codes))
      shader.set("ramp", SIMD3(Float(ramp.first), Float(ramp.step.x), Float(ramp.step.y)))
    case .bitmap, .view: shader.set("lastPixel", size.lastPixel)
    case .blurred(_, let view):
      let samples = SIMD2(Float(view.size.width), Float(view.size.height))
      let samplesPerPixel = samples / SIMD2(Float(size.width), Float(size.height))
      shader.set("lastPixel", view.size.lastPixel)
      shader.set("samplesPerPixel", samplesPerPixel)
      shader.set("lastSample", SIMD2(Int32(view.size.width - 1), Int32(size.height - 1)))
      // Three per pixel; the fourth pixel's may begin this many after the first pixel's.
      shader.set("sampleCount", 3 + Int((3 * samplesPerPixel.x).rounded(.up)))
    }
  }
}
