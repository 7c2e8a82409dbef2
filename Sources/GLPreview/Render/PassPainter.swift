// Draws any kernel of any format: weighted rows are added up first, which shrinks the data at once and needs
// no knowledge of the format, then the sums' columns. Where few samples make an output, one pass weighs them.
internal import Shaders

/// Draws into targets with four samples or pixels per texel.
struct PassPainter {
  let frame: UploadedFrame
  let programs: ProgramCache
  let tables: TableCache
  let targets: TargetPool
  let planes: FramePlanes
  /// Nil if fragment shaders draw everything.
  let computing: Computing?
  /// Whether rows are summed sixteen samples at a time. Elsewhere than in software they are for the widest frames alone,
  /// whose sums would be folded.
  private let takesSixteen: Bool

  init(
    frame: UploadedFrame, programs: ProgramCache, tables: TableCache, targets: TargetPool,
    _ computing: Computing?
  ) {
    self.frame = frame
    self.programs = programs
    self.tables = tables
    self.targets = targets
    planes = FramePlanes(frame, inBuffers: tables.isInBuffers)
    self.computing = computing
    let format = frame.format
    let widest = format.pixelFormat.planes.map { $0.tightBytesPerRow(of: format.size) }.max() ?? 0
    takesSixteen = tables.isInBuffers || widest / 8 > frame.maximumSide
  }

  /// How shaders read the frame: from a buffer or from textures, and the kind of its samples.
  func store(hasAlpha: Bool = false) -> PassVariant.Store {
    PassVariant.Store(
      planes.place, hasBufferTables: tables.isInBuffers, takesSixteen: takesSixteen,
      isWide: frame.format.pixelFormat.isWide, hasAlpha: hasAlpha)
  }

  func setOutputs(_ drawing: Drawing, _ order: Drawing.Order, _ program: borrowing Program) {
    for (name, row) in drawing.conversionRows(order) { program.shader.set(name, row) }
    program.shader.set("background", drawing.output.codes(drawing.background))
    program.shader.set("barCount", drawing.isWhole ? 0 : 1)
  }

  // MARK: Rows

  /// Adds up weighted rows: of the frame, or of a drawn plane.
  func addUp(_ sums: RowSums, of drawn: DrawnPlane?) throws -> PooledTarget {
    let height = sums.rows.output.sampleCount
    let isLight = if case .light = sums.source { true } else { false }
    let columns = columns(sums.texels, areOfLight: isLight)
    let fold = fold(columns, height: height)
    let bands = (columns - 1) >> Int(fold.x) + 1
    let target = try targets.take(
      TargetDescription(
        .rgba32ui, width: bands == 1 ? columns : 1 << Int(fold.x), height: height * bands,
        outputs: isLight ? 3 : takesSixteen ? 2 : 1, isArray: !isLight && takesSixteen))
    switch sums.source {
    case .light(let signal, let crop): try addUpLight(sums, fold, signal, within: crop, into: target)
    case .plane(let plane): try addUpBytes(sums, fold, .plane(plane), into: target)
    case .drawn:
      guard let drawn else { throw RenderError("\(sums) has not been drawn") }
      try addUpBytes(sums, fold, .drawn(drawn), into: target)
    }
    try GLError.check("adding up rows of \(frame.format)")
    return target
  }

  /// The number of columns of the target of sums. For sums of sixteen bytes, a column has two layers, so that it holds
  /// two texels.
  private func columns(_ texels: Range<Int>, areOfLight: Bool) -> Int {
    areOfLight || !takesSixteen ? texels.count : texels.count / 2
  }

  /// How sums of rows are folded that are wider than a texture: log2 of a band's columns, and its rows.
  private func fold(_ columns: Int, height: Int) -> SIMD2<Int32> {
    let limit = frame.maximumSide
    let shift = columns > limit ? Int.bitWidth - 1 - limit.leadingZeroBitCount : 30
    return SIMD2(Int32(shift), Int32(height))
  }

  private enum Bytes {
    case plane(Int)
    case drawn(DrawnPlane)
  }

  private func addUpBytes(
    _ sums: RowSums, _ fold: SIMD2<Int32>, _ bytes: Bytes, into target: PooledTarget
  ) throws {
    let store =
      switch bytes {
      case .plane: store(hasAlpha: sums.behind != nil)
      case .drawn(let plane):
        PassVariant.Store(
          plane.target.description.format == .rgba32ui ? .drawnWords : .drawnTexels,
          hasBufferTables: tables.isInBuffers, takesSixteen: takesSixteen)
      }
    let program = try programs.program(PassVariant.rows(store, takesHalves: sums.half != nil))
    program.shader.use()
    var units = UnitCounter()
    switch bytes {
    case .plane(let plane): try planes.bind(plane: plane, as: "plane", .texels, program, &units)
    case .drawn(let plane): plane.bind(unit: units.next(for: "plane", in: program))
    }
    let table = try tables.runs(sums.rows)
    table.bind(unit: units.next(for: "planeRows", in: program))
    program.shader.set("firstColumn", sums.texels.lowerBound / (takesSixteen ? 2 : 1))
    program.shader.set("pairCount", table.pairCount)
    program.shader.set("planeFold", fold)
    let (scale, offset) = sums.rows.stored(total: table.total)
    program.shader.set("stored", SIMD2(Float(scale / Double(table.total)), Float(offset + 0.5)))
    if let behind = sums.behind { program.shader.set("behind", SIMD3<Float>(behind.codes)) }
    if let half = sums.half { program.shader.set("halfShift", half * 8) }
    target.target.begin()
    program.shader.drawTriangle()
  }

  private func addUpLight(
    _ sums: RowSums, _ fold: SIMD2<Int32>, _ signal: PackedSignal, within crop: Rectangle,
    into target: PooledTarget
  ) throws {
    let kind = lightKind(signal)
    let program = try programs.program(PassVariant.light(kind, store(hasAlpha: sums.behind != nil)))
    program.shader.use()
    var units = UnitCounter()
    try setLight(sums, signal, within: crop, program, &units)
    program.shader.set("planeFold", fold)
    target.target.begin()
    program.shader.drawTriangle()
  }

  func lightKind(_ signal: PackedSignal) -> PassVariant.Light {
    frame.format.pixelFormat.isRGB
      ? .rgb(step: signal.step) : signal.components.count == 1 ? .luma : .ycbcr
  }

  /// Sets what the light of a signal is made of.
  func setLight(
    _ sums: RowSums, _ signal: PackedSignal, within crop: Rectangle, _ program: borrowing Program,
    _ units: inout UnitCounter
  ) throws {
    let format = frame.format
    let components = signal.components
    if format.pixelFormat.isRGB {
      try planes.bindRGB(signal, as: format.pixelFormat.isWide ? .bytes : .pairs, program, &units)
      if let behind = sums.behind { program.shader.set("behind", SIMD3<Float>(behind.codes)) }
    } else {
      try planes.bind(plane: components[0].plane, as: "lumaPlane", .bytes, program, &units)
      program.shader.set("lumaStep", components[0].step)
      program.shader.set("lumaFirst", components[0].first)
      let decoding = ColorConversion(rgbFrom: format.color)
      for (row, name) in ["redRow", "greenRow", "blueRow"].enumerated() {
        program.shader.set(name, decoding.row(row))
      }
    }
    if components.count > 1, case .ycbcr(_, let cb, _) = format.pixelFormat.model {
      try planes.bindChroma(components[1], components[2], program, &units)
      setUpsampling(cb.subsampling, within: crop, program)
    }
    let table = try tables.taps(sums.rows)
    table.bind(unit: units.next(for: "planeRows", in: program))
    program.shader.set("firstSample", sums.texels.lowerBound * 4)
    program.shader.set("tapCount", table.tapCount)
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

  // MARK: Columns

  /// Weighs columns of sums; `sums` has those of each signal's planes.
  func weigh(_ sums: [[PooledTarget]], _ drawing: Drawing) throws -> PooledTarget {
    let target = try targets.take(description(drawing))
    let program = try programs.program(
      PassVariant(drawing.input, to: drawing.shaderOutput).columns(store()))
    program.shader.use()
    var units = UnitCounter()
    for (signal, sums) in zip(drawing.signals, sums) { try bind(signal, sums, drawing, program, &units) }
    try setColumnOutputs(drawing, program, &units)
    target.target.begin()
    program.shader.drawTriangle()
    try GLError.check("drawing \(drawing)")
    return target
  }

  /// Sets what becomes of weighed columns.
  func setColumnOutputs(
    _ drawing: Drawing, _ program: borrowing Program, _ units: inout UnitCounter
  ) throws {
    setOutputs(drawing, drawing.order, program)
    // Samplers of different types may not share a unit, even where they are not read.
    let coverage = units.next(for: "coverageRows", in: program)
    if !drawing.isWhole, let first = drawing.signals.first {
      let rows = try tables.taps(first.rows)
      rows.bind(unit: coverage)
      program.shader.set("firstCoverage", rows.firstCoverage)
    }
  }

  func description(_ drawing: Drawing) -> TargetDescription { drawing.output.target(drawing.size) }

  private func bind(
    _ signal: PackedSignal, _ sums: [PooledTarget], _ drawing: Drawing, _ program: borrowing Program,
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
    let columns = columns(drawing.texels(signal), areOfLight: drawing.lightCrop != nil)
    program.shader.set("\(name)Fold", fold(columns, height: signal.rows.output.sampleCount))
    try setColumns(signal, drawing, program, &units)
  }

  /// Sets the weights of a signal's columns.
  func setColumns(
    _ signal: PackedSignal, _ drawing: Drawing, _ program: borrowing Program, _ units: inout UnitCounter
  ) throws {
    let name = signal.signal.rawValue
    let table = try columnTable(signal, drawing)
    table.bind(unit: units.next(for: "\(name)Columns", in: program))
    program.shader.set("\(name)Records", SIMD2(Int32(table.recordLength), Int32(table.windowCount)))
    // Sums of light are not scaled to sixteen bits: only their total must be divided out.
    let (scale, offset) =
      drawing.lightCrop == nil
      ? signal.rows.stored(total: try tables.runs(signal.rows).total)
      : (Double(try tables.taps(signal.rows).total), 0)
    program.shader.set(
      "\(name)Scale", SIMD2(Float(1 / (scale * Double(table.total))), Float(-offset / scale)))
  }

  func columnTable(_ signal: PackedSignal, _ drawing: Drawing) throws -> ColumnTable {
    try tables.columns(ColumnTable.Key(map: signal.columns, layout: drawing.layout(signal)))
  }

  // MARK: Few samples

  /// Reading sixteen bytes costs llvmpipe as much as reading four single ones. Measured on two cores,
  /// 1920x1080 NV12 to 2560x1440 RGBA: 18 ms instead of 30 ms, to JPEG 23 ms instead of 25 ms.
  private func samples(_ drawing: Drawing, _ columns: [NeighbourTable]) -> PassVariant.Samples {
    guard drawing.signals.contains(where: { $0.columns.kernel == .bilinear || $0.rows.kernel == .bilinear })
    else { return .one }
    let fit =
      !frame.format.pixelFormat.isWide
      && zip(drawing.signals, columns).allSatisfy { signal, columns in
        let (first, last) = (signal.components[0], signal.components[signal.components.count - 1])
        return signal.signal != .rgb && columns.fitWindows(step: first.step, first.first, last.first)
      }
    return fit ? .neighboursInWindows : .neighbours
  }

  /// Draws each output from at most two by two samples of the frame. `result` is the step's; the target is nil if a compute
  /// shader wrote to a `PictureBuffer`.
  func sample(_ drawing: Drawing, _ result: Int) throws -> PooledTarget? {
    let columns = try drawing.signals.map { try tables.neighbours($0.columns) }
    let samples = samples(drawing, columns)
    let store = store(hasAlpha: drawing.behind != nil)
    let variant = PassVariant(drawing.input, to: drawing.shaderOutput)
    let destination = computing?.destination(of: result, ofTwoPlanes: drawing.output == .twoPlanes)
    let computed = destination.flatMap {
      programs.computeProgram(variant.sample(store, samples, in: $0.stage))
    }
    let program = try computed ?? programs.program(variant.sample(store, samples))
    program.shader.use()
    var units = UnitCounter()
    let bytes = samples == .neighboursInWindows ? TexelBuffer.View.pairs : .bytes
    for (signal, columns) in zip(drawing.signals, columns) {
      let (name, components) = (signal.signal.rawValue, signal.components)
      switch signal.signal {
      case .rgb:
        try planes.bindRGB(signal, as: frame.format.pixelFormat.isWide ? .bytes : .pairs, program, &units)
      case .chroma: try planes.bindChroma(components[0], components[1], as: bytes, program, &units)
      case .luma:
        try planes.bind(plane: components[0].plane, as: "lumaPlane", bytes, program, &units)
        program.shader.set("lumaStep", components[0].step)
        program.shader.set("lumaFirst", components[0].first)
      }
      columns.bind(unit: units.next(for: "\(name)Columns", in: program))
      let rows = try tables.taps(signal.rows)
      rows.bind(unit: units.next(for: "\(name)Rows", in: program))
      program.shader.set("\(name)Total", columns.total)
      program.shader.set("\(name)Scale", samples == .one ? 1 : 1 / (Float(columns.total) * Float(rows.total)))
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
    let description = description(drawing)
    let output: Computing.Output
    if let computing, let destination, computed != nil {
      output = try destination.output { try targets.take(description, discarding: false) }
      computing.draw(program, description.size, into: output)
    } else {
      let target = try targets.take(description)
      output = .target(target)
      target.target.begin()
      program.shader.drawTriangle()
    }
    try GLError.check("drawing \(drawing)")
    return output.target
  }
}
