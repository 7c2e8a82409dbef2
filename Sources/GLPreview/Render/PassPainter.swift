// Draws any kernel of any format: weighted rows are added up first, which shrinks the data at once and needs no
// knowledge of the format, then the sums' columns. Where few samples make an output, one pass weighs them.
internal import PreviewCore
internal import Shaders

/// Draws into targets with four samples or pixels per texel. Sums of rows that several drawings need are made once.
final class PassPainter {
  private let frame: UploadedFrame
  private let programs: ProgramCache
  private let tables: TableCache
  private let targets: TargetPool
  private let planes: FramePlanes
  private var sums: [RowSums: PooledTarget] = [:]

  /// The content of a target of sums: equal ones are drawn once.
  private struct RowSums: Hashable {
    let plane: Int
    let rows: SamplingMap
    /// As in `PackedSignal`.
    let half: Int?
    /// The texels of each row: eight samples each.
    let texels: Range<Int>
    let behind: RGBColor?
    let lightCrop: Rectangle?
    /// The drawn picture that is read instead of the frame; `plane` is then its output.
    let picture: ObjectIdentifier?
  }

  init(
    frame: UploadedFrame, programs: ProgramCache, tables: TableCache, targets: TargetPool
  ) {
    self.frame = frame
    self.programs = programs
    self.tables = tables
    self.targets = targets
    planes = FramePlanes(frame, inBuffers: tables.isInBuffers)
  }

  /// Makes a drawing of the frame, or of a drawn picture.
  func draw(_ drawing: BoxDrawing, from picture: BoxPainter.Drawn? = nil) throws -> PooledTarget {
    let target = try targets.take(
      TargetDescription(
        drawing.output == .pixels ? .rgba32ui : .rgba8, width: (drawing.size.width + 3) / 4,
        height: drawing.size.height, outputs: drawing.output == .twoPlanes ? 2 : 1))
    if picture == nil, let columns = try neighbours(of: drawing) {
      try sample(drawing, columns, into: target)
    } else {
      try addUp(drawing, from: picture, into: target)
    }
    try GLError.check("drawing \(drawing.output) of \(drawing.size)")
    return target
  }

  func finish() {
    for target in sums.values { targets.giveBack(target) }
    sums = [:]
  }

  private func store(
    _ drawing: BoxDrawing, _ picture: BoxPainter.Drawn? = nil
  ) -> PassVariant.Store {
    if let picture {
      let isWords = picture.target.description.format == .rgba32ui
      return PassVariant.Store(
        isWords ? .drawnWords : .drawnTexels, hasBufferTables: tables.isInBuffers)
    }
    return PassVariant.Store(
      planes.areInBuffer ? .buffer : .textures, hasBufferTables: tables.isInBuffers,
      isWide: frame.format.pixelFormat.isWide, hasAlpha: drawing.behind != nil)
  }

  private func setOutputs(_ drawing: BoxDrawing, _ order: BoxDrawing.Order, _ program: borrowing Program) {
    let rows = drawing.output == .plane ? [0] : drawing.output == .twoPlanes ? [1, 2] : [0, 1, 2]
    for (name, row) in zip(["firstOutput", "secondOutput", "thirdOutput"], rows) {
      program.shader.set(name, drawing.conversion.row(row, order))
    }
    let background = drawing.background
    program.shader.set(
      "background",
      drawing.output == .twoPlanes
        ? SIMD3(Float(background.y), Float(background.z), 0)
        : drawing.output == .plane
          ? SIMD3(repeating: Float(background[0])) : SIMD3<Float>(background))
    program.shader.set("barCount", drawing.isWhole ? 0 : 1)
  }

  // MARK: Two passes

  private func addUp(
    _ drawing: BoxDrawing, from picture: BoxPainter.Drawn?, into target: PooledTarget
  ) throws {
    // The sums before binding anything: both passes use the same context.
    let sums = try drawing.signals.map { try sumRows(of: $0, drawing, from: picture) }
    let program = try programs.program(
      PassVariant(drawing.input, to: drawing.shaderOutput).columns(store(drawing)))
    program.shader.use()
    var units = UnitCounter()
    for (signal, sums) in zip(drawing.signals, sums) { try bind(signal, sums, drawing, program, &units) }
    setOutputs(drawing, drawing.order, program)
    // Samplers of different types may not share a unit, even where they are not read.
    let coverage = units.next(for: "coverageRows", in: program)
    if !drawing.isWhole, let first = drawing.signals.first {
      let rows = try tables.taps(first.rows)
      rows.bind(unit: coverage)
      program.shader.set("firstCoverage", rows.firstCoverage)
    }
    target.target.begin()
    program.shader.drawTriangle()
  }

  /// The sums of rows of a signal's planes, one or two, or of its light.
  private func sumRows(
    of signal: PackedSignal, _ drawing: BoxDrawing, from picture: BoxPainter.Drawn?
  ) throws -> [PooledTarget] {
    let texels = signal.layout(drawing).texels(of: signal.columns.source.samples)
    var planes: [Int] = []
    for component in signal.components where planes.last != component.plane { planes.append(component.plane) }
    if drawing.lightCrop != nil { planes = [0] }
    return try planes.map { plane in
      let wanted = RowSums(
        plane: (picture?.firstOutput ?? 0) + plane, rows: signal.rows,
        half: drawing.lightCrop == nil ? signal.half : nil, texels: texels, behind: drawing.behind,
        lightCrop: drawing.lightCrop,
        picture: picture.map { ObjectIdentifier($0.target) })
      if let done = sums[wanted] { return done }
      let table = try tables.taps(wanted.rows)
      let fold = fold(signal, drawing, height: table.sampleCount)
      let bands = (texels.count - 1) >> Int(fold.x) + 1
      let target = try targets.take(
        TargetDescription(
          .rgba32ui, width: bands == 1 ? texels.count : 1 << Int(fold.x), height: table.sampleCount * bands,
          outputs: drawing.lightCrop == nil ? 1 : 3))
      sums[wanted] = target
      if let crop = drawing.lightCrop {
        try sumLight(signal, wanted, table, drawing, fold, within: crop, into: target)
      } else {
        try sumBytes(wanted, table, drawing, fold, from: picture, into: target)
      }
      try GLError.check("adding up rows of \(frame.format)")
      return target
    }
  }

  /// How sums of rows that are wider than a texture lie in it: log2 of a band's columns, and its rows.
  private func fold(_ signal: PackedSignal, _ drawing: BoxDrawing, height: Int) -> SIMD2<Int32> {
    let count = signal.layout(drawing).texels(of: signal.columns.source.samples).count
    let limit = frame.maximumSide
    let shift = count > limit ? Int.bitWidth - 1 - limit.leadingZeroBitCount : 30
    return SIMD2(Int32(shift), Int32(height))
  }

  private func sumBytes(
    _ wanted: RowSums, _ table: AxisTable, _ drawing: BoxDrawing, _ fold: SIMD2<Int32>,
    from picture: BoxPainter.Drawn?, into target: PooledTarget
  ) throws {
    let program = try programs.program(
      PassVariant.rows(store(drawing, picture), takesHalves: wanted.half != nil))
    program.shader.use()
    var units = UnitCounter()
    if let picture {
      picture.target.bind(wanted.plane, unit: units.next(for: "plane", in: program))
    } else {
      try planes.bind(plane: wanted.plane, as: "plane", .pairs, program, &units)
    }
    table.bind(unit: units.next(for: "planeRows", in: program))
    program.shader.set("firstTexel", wanted.texels.lowerBound)
    program.shader.set("pairCount", table.pairCount)
    program.shader.set("planeFold", fold)
    let (scale, offset) = wanted.rows.stored(total: table.total)
    program.shader.set("stored", SIMD2(Float(scale / Double(table.total)), Float(offset + 0.5)))
    if let behind = wanted.behind { program.shader.set("behind", drawing.inOrder(behind)) }
    if let half = wanted.half { program.shader.set("halfShift", half * 8) }
    target.target.begin()
    program.shader.drawTriangle()
  }

  private func sumLight(
    _ signal: PackedSignal, _ wanted: RowSums, _ table: AxisTable, _ drawing: BoxDrawing,
    _ fold: SIMD2<Int32>,
    within crop: Rectangle, into target: PooledTarget
  ) throws {
    let format = frame.format
    let components = signal.components
    let isRGB = format.pixelFormat.isRGB
    let kind: PassVariant.Light =
      isRGB ? .rgb(step: signal.step) : components.count == 1 ? .luma : .ycbcr
    let program = try programs.program(PassVariant.light(kind, store(drawing)))
    program.shader.use()
    var units = UnitCounter()
    if isRGB {
      try planes.bindRGB(signal, as: format.pixelFormat.isWide ? .bytes : .pairs, program, &units)
      if let behind = wanted.behind { program.shader.set("behind", SIMD3<Float>(behind.codes)) }
    } else {
      try planes.bind(plane: components[0].plane, as: "lumaPlane", .bytes, program, &units)
      program.shader.set("lumaStep", components[0].step)
      program.shader.set("lumaFirst", components[0].first)
      let decoding = ColorConversion(rgbFrom: format.color)
      for (row, name) in ["redRow", "greenRow", "blueRow"].enumerated() {
        program.shader.set(name, decoding.row(row))
      }
    }
    if kind == .ycbcr, case .ycbcr(_, let cb, _) = format.pixelFormat.model {
      try planes.bindChroma(components[1], components[2], program, &units)
      setUpsampling(cb.subsampling, within: crop, program)
    }
    table.bind(unit: units.next(for: "planeRows", in: program))
    program.shader.set("firstSample", wanted.texels.lowerBound * 4)
    program.shader.set("tapCount", table.tapCount)
    program.shader.set("planeFold", fold)
    target.target.begin()
    program.shader.drawTriangle()
  }

  /// Brings chroma to luma's grid with the same arithmetic as the maps, at every pixel of the crop.
  private func setUpsampling(_ step: Subsampling, within crop: Rectangle, _ program: borrowing Program) {
    let siting = frame.format.color.siting == .left ? 0.5 - 0.5 / Float(step.x) : 0
    program.shader.set("chromaScale", SIMD2(1 / Float(step.x), 1 / Float(step.y)))
    program.shader.set("chromaSiting", SIMD2(siting, 0))
    func samples(_ start: Int, _ length: Int, _ step: Int) -> ClosedRange<Int> {
      CropSpan(start: start, length: length, subsampling: step, eighths: frame.format.eighths).samples
    }
    let columns = samples(crop.x, crop.width, step.x)
    let rows = samples(crop.y, crop.height, step.y)
    program.shader.set(
      "chromaSpan",
      SIMD4(
        Int32(columns.lowerBound), Int32(rows.lowerBound), Int32(columns.upperBound), Int32(rows.upperBound)))
  }

  private func bind(
    _ signal: PackedSignal, _ sums: [PooledTarget], _ drawing: BoxDrawing, _ program: borrowing Program,
    _ units: inout UnitCounter
  ) throws {
    let name = signal.signal.rawValue
    if drawing.lightCrop != nil, let target = sums.first {
      for (output, sampler) in ["redRows", "greenRows", "blueRows"].enumerated() {
        target.bind(output, unit: units.next(for: sampler, in: program))
      }
    } else {
      for (sampler, target) in zip(signal.signal == .chroma ? ["cb", "cr"] : [name], sums) {
        target.bind(0, unit: units.next(for: "\(sampler)Rows", in: program))
      }
    }
    let table = try tables.columns(
      ColumnTable.Key(map: signal.columns, layout: signal.layout(drawing)))
    table.bind(unit: units.next(for: "\(name)Columns", in: program))
    program.shader.set("\(name)Fold", fold(signal, drawing, height: signal.rows.output.sampleCount))
    program.shader.set("\(name)Records", SIMD2(Int32(table.recordLength), Int32(table.windowCount)))
    // Light is not stored in sixteen bits: its sums' total is left.
    let rows = try tables.taps(signal.rows)
    let (scale, offset) =
      drawing.lightCrop == nil ? signal.rows.stored(total: rows.total) : (Double(rows.total), 0)
    program.shader.set(
      "\(name)Scale", SIMD2(Float(1 / (scale * Double(table.total))), Float(-offset / scale)))
  }

  // MARK: One pass

  /// The tables of each signal's columns; nil unless one pass can draw it.
  private func neighbours(of drawing: BoxDrawing) throws(GLError) -> [NeighbourTable]? {
    guard drawing.hasFewTaps else { return nil }
    var columns: [NeighbourTable] = []
    for signal in drawing.signals {
      guard let table = try tables.neighbours(signal.columns) else { return nil }
      columns.append(table)
    }
    return columns
  }

  private func sample(_ drawing: BoxDrawing, _ columns: [NeighbourTable], into target: PooledTarget) throws {
    let hasNeighbours = drawing.signals.contains {
      $0.columns.kernel == .bilinear || $0.rows.kernel == .bilinear
    }
    let program = try programs.program(
      PassVariant(drawing.input, to: drawing.shaderOutput).sample(
        store(drawing), hasNeighbours: hasNeighbours))
    program.shader.use()
    var units = UnitCounter()
    for (signal, columns) in zip(drawing.signals, columns) {
      let (name, components) = (signal.signal.rawValue, signal.components)
      switch signal.signal {
      case .rgb:
        try planes.bindRGB(signal, as: frame.format.pixelFormat.isWide ? .bytes : .pairs, program, &units)
      case .chroma: try planes.bindChroma(components[0], components[1], program, &units)
      case .luma:
        try planes.bind(plane: components[0].plane, as: "lumaPlane", .bytes, program, &units)
        program.shader.set("lumaStep", components[0].step)
        program.shader.set("lumaFirst", components[0].first)
      }
      columns.bind(unit: units.next(for: "\(name)Columns", in: program))
      let rows = try tables.taps(signal.rows)
      rows.bind(unit: units.next(for: "\(name)Rows", in: program))
      program.shader.set("\(name)Total", columns.total)
      program.shader.set("\(name)Scale", hasNeighbours ? 1 / (Float(columns.total) * Float(rows.total)) : 1)
    }
    if let behind = drawing.behind { program.shader.set("behind", SIMD3<Float>(behind.codes)) }
    setOutputs(drawing, .asNamed, program)
    program.shader.set("lastOutput", drawing.size.width - 1)
    let across = units.next(for: "coverageColumns", in: program)
    let down = units.next(for: "coverageRows", in: program)
    if !drawing.isWhole, let first = drawing.signals.first {
      let (columns, rows) = (try tables.taps(first.columns), try tables.taps(first.rows))
      columns.bind(unit: across)
      rows.bind(unit: down)
      program.shader.set(
        "firstCoverage",
        SIMD2(Int32(columns.firstCoverage), Int32(rows.firstCoverage)))
    }
    target.target.begin()
    program.shader.drawTriangle()
  }
}
