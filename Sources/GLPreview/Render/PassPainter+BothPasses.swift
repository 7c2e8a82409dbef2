// Draws both passes at once, in a compute shader, where the sums of the rows that a tile of outputs needs fit into the
// memory that a workgroup shares.
internal import Shaders

extension PassPainter {
  /// Adds up the rows of the frame and weighs the columns of their sums; nil unless compute shaders draw, and can. `sums`
  /// has, for each signal of the drawing, those of its planes; `result` is the step's.
  func addUpAndWeigh(_ sums: [[RowSums]], _ drawing: Drawing, _ result: Int) throws -> Computing.Output? {
    guard let computing, !tables.isInBuffers, !planes.areInBuffer else { return nil }
    let columns = try drawing.signals.map { try columnTable($0, drawing) }
    let parts = drawing.lightCrop == nil ? sums.map(\.count) : [3]
    let size = Size(width: (drawing.size.width + 3) / 4, height: drawing.size.height)
    guard let tile = PassTile(size, Array(zip(columns, parts)), capacity: PassVariant.sharedTexels) else {
      return nil
    }
    let all = sums.flatMap(\.self)
    let takesHalves = all.contains { $0.half != nil }
    guard all.allSatisfy({ ($0.half != nil) == takesHalves && !$0.isOfDrawnPlane }) else { return nil }
    let destination = computing.destination(of: result, ofTwoPlanes: drawing.output == .twoPlanes)
    let key = PassVariant(drawing.input, to: drawing.shaderOutput).bothPasses(
      store(hasAlpha: all.contains { $0.behind != nil }), takesHalves: takesHalves, light: light(of: sums),
      in: destination.stage)
    guard let program = programs.computeProgram(key) else { return nil }
    let output = try destination.output { try targets.take(description(drawing), discarding: false) }
    program.shader.use()
    var units = UnitCounter()
    var first = 0
    for (index, (signal, sums)) in zip(drawing.signals, sums).enumerated() {
      let name = signal.signal.rawValue
      try setColumns(signal, drawing, program, &units)
      let texels = tile.strides[index] * tile.rows
      let places = (0..<3).map { Int32(first + (parts[index] > $0 ? $0 : 0) * texels) }
      program.shader.set("\(name)Sums", SIMD4(places[0], places[1], places[2], Int32(tile.strides[index])))
      first += texels * parts[index]
      try setRows(sums, signal, program, &units)
    }
    try setColumnOutputs(drawing, program, &units)
    program.shader.set("tile", SIMD2(Int32(tile.columns), Int32(tile.rows)))
    program.shader.set("drawnSize", SIMD2(Int32(size.width), Int32(size.height)))
    computing.run(program, in: size.tiles(of: Size(width: tile.columns, height: tile.rows)), into: output)
    try GLError.check("drawing \(drawing) by a compute shader")
    return output
  }

  /// The light that is summed, if any.
  private func light(of sums: [[RowSums]]) -> PassVariant.Light? {
    guard case .light(let signal, _) = sums.first?.first?.source else { return nil }
    return lightKind(signal)
  }

  private func setRows(
    _ sums: [RowSums], _ signal: PackedSignal, _ program: borrowing Program, _ units: inout UnitCounter
  ) throws {
    guard let first = sums.first else { return }
    if case .light(let signal, let crop) = first.source {
      return try setLight(first, signal, within: crop, program, &units)
    }
    let name = signal.signal.rawValue
    for (sampler, sums) in zip(signal.signal == .chroma ? ["cb", "cr"] : [name], sums) {
      guard case .plane(let plane) = sums.source else { continue }
      try planes.bind(plane: plane, as: "\(sampler)Plane", .texels, program, &units)
    }
    let table = try tables.runs(first.rows)
    table.bind(unit: units.next(for: "\(name)Runs", in: program))
    program.shader.set(
      "\(name)Run",
      SIMD3(Int32(table.pairCount), Int32(first.texels.lowerBound), Int32(first.half ?? 0) * 8))
    let (scale, offset) = first.rows.stored(total: table.total)
    program.shader.set("\(name)Stored", SIMD2(Float(scale / Double(table.total)), Float(offset + 0.5)))
    if let behind = first.behind { program.shader.set("behind", SIMD3<Float>(behind.codes)) }
  }
}

extension RowSums {
  fileprivate var isOfDrawnPlane: Bool { if case .drawn = source { true } else { false } }
}

/// The outputs that a workgroup draws.
struct PassTile {
  /// Columns of four outputs.
  let columns: Int
  let rows: Int
  /// For each signal, the texels of a row of sums that are kept.
  let strides: [Int]

  /// Wide tiles, because neighbours read some texels twice; not too wide, so that there are enough for many processors.
  private static let widest = (columns: 32, rows: 4)

  /// Finds the largest tile of a drawing of `size`, in columns of four outputs and rows, whose sums fit into `capacity` texels;
  /// nil if there is none. `signals` are the tables of columns and the numbers of planes.
  init?(_ size: Size, _ signals: [(table: ColumnTable, planes: Int)], capacity: Int) {
    var (columns, rows) = (min(Self.widest.columns, size.width), Self.widest.rows)
    while true {
      let strides = signals.compactMap { $0.table.texels(ofTiles: columns) }
      guard strides.count == signals.count else { return nil }
      let texels = zip(strides, signals).reduce(0) { $0 + $1.0 * $1.1.planes }
      if texels * rows <= capacity {
        (self.columns, self.rows, self.strides) = (columns, rows, strides)
        return
      }
      if columns > 8 || (rows == 1 && columns > 1) {
        columns /= 2
      } else if rows > 1 {
        rows /= 2
      } else {
        return nil
      }
    }
  }
}
