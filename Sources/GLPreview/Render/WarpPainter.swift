// Draws warped views: outputs are means of samples around the positions of a grid.
internal import Shaders

/// Draws into targets with four samples or pixels per texel.
struct WarpPainter {
  private let passes: PassPainter

  init(_ passes: PassPainter) { self.passes = passes }

  func draw(_ drawing: WarpedDrawing) throws -> PooledTarget {
    guard let sampling = drawing.signals.first?.sampling else {
      throw RenderError("\(drawing) reads no signal")
    }
    let nodes = try nodes(of: sampling.grid)
    let target = try passes.targets.take(drawing.output.target(drawing.size))
    let store = passes.store(hasAlpha: drawing.behind != nil)
    let program = try passes.programs.program(
      PassVariant(drawing.input, to: drawing.output.ofShader).warp(store))
    program.shader.use()
    var units = UnitCounter()
    nodes.bind(unit: units.next(for: "nodes", in: program))
    setPositions(sampling, program)
    for signal in drawing.signals { try bind(signal, program, &units) }
    if let behind = drawing.behind { program.shader.set("behind", SIMD3<Float>(behind.codes)) }
    for (name, row) in drawing.output.rows(of: drawing.conversion) { program.shader.set(name, row) }
    program.shader.set("background", drawing.output.codes(drawing.background))
    program.shader.set("lastOutput", drawing.size.width - 1)
    target.target.begin()
    program.shader.drawTriangle()
    try GLError.check("drawing \(drawing)")
    return target
  }

  private func nodes(of grid: WarpGrid) throws -> WarpTable {
    let (size, limit) = (WarpTable.textureSize(of: grid), passes.frame.maximumSide)
    guard passes.tables.isInBuffers || size.height <= limit else {
      throw RenderError(
        "the \(grid.cells) cells of a warped view are too many for this device's textures of \(limit) a side")
    }
    return try passes.tables.nodes(grid)
  }

  /// Sets where outputs lie, which is the same for all signals.
  private func setPositions(_ sampling: WarpSampling, _ program: borrowing Program) {
    let grid = sampling.grid
    let unit = WarpGrid.outputUnit
    program.shader.set(
      "grid",
      SIMD4(
        Int32(grid.nodeSize.width), Int32(grid.shift + unit.trailingZeroBitCount),
        Int32(unit * sampling.step.x), Int32(unit * sampling.step.y)))
    let placed = sampling.placed
    program.shader.set(
      "placed",
      SIMD4(
        Int32(clamping: placed.x * unit), Int32(clamping: placed.y * unit),
        Int32(clamping: (placed.x + placed.width) * unit), Int32(clamping: (placed.y + placed.height) * unit))
    )
    let (columns, rows) = (sampling.columns, sampling.rows)
    program.shader.set(
      "crop",
      SIMD4(
        Int32(clamping: columns.start * WarpGrid.unit), Int32(clamping: rows.start * WarpGrid.unit),
        Int32(clamping: (columns.start + columns.length) * WarpGrid.unit),
        Int32(clamping: (rows.start + rows.length) * WarpGrid.unit)))
    program.shader.set("tapCount", sampling.kernel == .nearest ? 1 : sampling.kernel == .bicubic ? 4 : 2)
    program.shader.set("finest", sampling.supersamples ? sampling.finest.trailingZeroBitCount : -1)
  }

  /// Binds a signal's planes, and sets which of their samples lie around a position.
  private func bind(
    _ signal: WarpedDrawing.Signal, _ program: borrowing Program, _ units: inout UnitCounter
  ) throws {
    let (planes, components) = (passes.planes, signal.components)
    switch signal.signal {
    case .rgb:
      let isOfWords = signal.step == 4 && !passes.frame.format.pixelFormat.isWide
      try planes.bindRGB(components, step: signal.step, as: isOfWords ? .pairs : .bytes, program, &units)
    case .chroma: try planes.bindChroma(components[0], components[1], program, &units)
    case .luma:
      try planes.bind(plane: components[0].plane, as: "lumaPlane", .bytes, program, &units)
      program.shader.set("lumaStep", components[0].step)
      program.shader.set("lumaFirst", components[0].first)
    }
    let (columns, rows) = (signal.sampling.columns, signal.sampling.rows)
    let (name, across, down) = (signal.signal.rawValue, columns.samples, rows.samples)
    program.shader.set(
      "\(name)Samples",
      SIMD4(
        Int32(across.lowerBound), Int32(down.lowerBound), Int32(across.upperBound), Int32(down.upperBound)))
    let siting = columns.siting == .left ? WarpGrid.unit / 2 * (columns.subsampling - 1) : 0
    program.shader.set(
      "\(name)Scale",
      SIMD4(
        Int32(columns.eighths), Int32(siting), Int32(columns.subsampling.trailingZeroBitCount),
        Int32(rows.subsampling.trailingZeroBitCount)))
  }
}
