// Draws any kernel of any format: weighted rows are added up first, which shrinks the data at once and needs no
// knowledge of the format, then the sums' columns. What is only copied, and nearest neighbours, are picked in one pass.
internal import PreviewCore
internal import Shaders

/// Draws into targets with four samples or pixels per texel. Sums of rows that several drawings need are made once.
final class PassPainter {
  private let frame: UploadedFrame
  private let programs: ProgramCache
  private let tables: TapTextureCache
  private let weights: ColumnTableCache
  private let targets: TargetPool
  /// Whether shaders read the frame from a buffer.
  private let readsBuffer: Bool
  private var sums: [RowSums: PooledTarget] = [:]

  /// The content of a target of sums: equal ones are drawn once.
  private struct RowSums: Hashable {
    let plane: Int
    let rows: SamplingMap
    /// The texels of each stored row: eight samples each.
    let texels: Range<Int>
    let behind: RGBColor?
  }

  init(
    frame: UploadedFrame, programs: ProgramCache, tables: TapTextureCache, weights: ColumnTableCache,
    targets: TargetPool, prefersBuffer: Bool
  ) {
    self.frame = frame
    self.programs = programs
    self.tables = tables
    self.weights = weights
    self.targets = targets
    readsBuffer = prefersBuffer && frame.fitsWords
  }

  func draw(_ drawing: BoxDrawing) throws -> PooledTarget {
    let target = try targets.take(
      TargetDescription(
        drawing.output == .pixels ? .rgba32ui : .rgba8, width: (drawing.size.width + 3) / 4,
        height: drawing.size.height, outputs: drawing.output == .twoPlanes ? 2 : 1))
    if drawing.isCopied, !readsBuffer || frame.fitsBytes {
      try pick(drawing, into: target)
    } else {
      try addUp(drawing, into: target)
    }
    try GLError.check("drawing \(drawing.output) of \(drawing.size)")
    return target
  }

  func finish() {
    for target in sums.values { targets.giveBack(target) }
    sums = [:]
  }

  private func store(_ drawing: BoxDrawing) -> PassVariant.Store {
    PassVariant.Store(
      isBuffer: readsBuffer, isWide: frame.format.pixelFormat.isWide, hasAlpha: drawing.behind != nil)
  }

  private func setOutputs(_ drawing: BoxDrawing, _ program: borrowing Program) {
    let rows = drawing.output == .plane ? [0] : drawing.output == .twoPlanes ? [1, 2] : [0, 1, 2]
    for (name, row) in zip(["firstOutput", "secondOutput", "thirdOutput"], rows) {
      program.shader.set(name, drawing.conversion.row(row, drawing.order))
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

  private func addUp(_ drawing: BoxDrawing, into target: PooledTarget) throws {
    // The sums before binding anything: both passes use the same context.
    let sums = try drawing.signals.map { try sumRows($0, behind: drawing) }
    let program = try programs.program(PassVariant(drawing.input, to: drawing.shaderOutput).columns)
    program.shader.use()
    var units = UnitCounter()
    for (signal, sums) in zip(drawing.signals, sums) { try bind(signal, sums, program, &units) }
    setOutputs(drawing, program)
    // Samplers of different types may not share a unit, even where they are not read.
    let coverage = units.next(for: "coverageRows", in: program)
    if !drawing.isWhole, let first = drawing.signals.first {
      let rows = try tables.value(of: .sums(first.rows))
      rows.bind(unit: coverage)
      program.shader.set("firstCoverage", rows.sampleCount * rows.tapCount)
    }
    target.target.begin()
    program.shader.drawTriangle()
  }

  /// The sums of rows of a signal's planes, one or two.
  private func sumRows(_ signal: PackedSignal, behind drawing: BoxDrawing) throws -> [PooledTarget] {
    let layout = ColumnWeights.Layout(step: signal.step)
    let texels = layout.texels(of: signal.columns.source.samples)
    var planes: [Int] = []
    for component in signal.components where planes.last != component.plane { planes.append(component.plane) }
    return try planes.map { plane in
      try sumRows(RowSums(plane: plane, rows: signal.rows, texels: texels, behind: drawing.behind), drawing)
    }
  }

  private func sumRows(_ wanted: RowSums, _ drawing: BoxDrawing) throws -> PooledTarget {
    if let done = sums[wanted] { return done }
    let table = try tables.value(of: .sums(wanted.rows))
    let program = try programs.program(PassVariant.rows(store(drawing)))
    program.shader.use()
    var units = UnitCounter()
    try bind(plane: wanted.plane, as: "plane", program, &units)
    table.bind(unit: units.next(for: "planeRows", in: program))
    program.shader.set("firstTexel", wanted.texels.lowerBound)
    program.shader.set("tapCount", table.tapCount)
    let (scale, offset) = wanted.rows.stored(total: table.total)
    program.shader.set("stored", SIMD2(Float(scale / Double(table.total)), Float(offset + 0.5)))
    if let behind = wanted.behind { program.shader.set("behind", drawing.inOrder(behind)) }
    let target = try targets.take(
      TargetDescription(.rgba32ui, width: wanted.texels.count, height: table.sampleCount))
    target.target.begin()
    program.shader.drawTriangle()
    try GLError.check("adding up rows of \(frame.format)")
    sums[wanted] = target
    return target
  }

  private func bind(
    _ signal: PackedSignal, _ sums: [PooledTarget], _ program: borrowing Program, _ units: inout UnitCounter
  ) throws {
    let name = signal.signal.rawValue
    for (sampler, target) in zip(signal.signal == .chroma ? ["cb", "cr"] : [name], sums) {
      target.bind(0, unit: units.next(for: "\(sampler)Rows", in: program))
    }
    let table = try weights.value(
      of: ColumnTableKey(map: signal.columns, layout: ColumnWeights.Layout(step: signal.step)))
    table.bind(unit: units.next(for: "\(name)Columns", in: program))
    program.shader.set("\(name)Records", SIMD2(Int32(table.recordLength), Int32(table.windowCount)))
    let rows = try tables.value(of: .sums(signal.rows))
    let (scale, offset) = signal.rows.stored(total: rows.total)
    program.shader.set(
      "\(name)Scale", SIMD2(Float(1 / (scale * Double(table.total))), Float(-offset / scale)))
  }

  // MARK: Picking

  private func pick(_ drawing: BoxDrawing, into target: PooledTarget) throws {
    let program = try programs.program(PassVariant(drawing.input, to: drawing.shaderOutput).pick(store(drawing)))
    program.shader.use()
    var units = UnitCounter()
    let bytes = frame.format.pixelFormat.isWide ? 2 : 1
    for signal in drawing.signals {
      let name = signal.signal.rawValue
      let samplers = signal.signal == .chroma ? ["cb", "cr"] : [name]
      // R'G'B' is read from its first byte on, in the order of the bytes.
      for (sampler, component) in zip(samplers, signal.components) {
        let first = signal.signal == .rgb ? 0 : component.first * bytes
        try bind(plane: component.plane, as: sampler, from: first, program, &units)
      }
      program.shader.set("\(name)Step", signal.step * bytes)
      try tables.value(of: .sums(signal.columns)).bind(unit: units.next(for: "\(name)Columns", in: program))
      try tables.value(of: .sums(signal.rows)).bind(unit: units.next(for: "\(name)Rows", in: program))
    }
    if let behind = drawing.behind { program.shader.set("behind", drawing.inOrder(behind)) }
    setOutputs(drawing, program)
    program.shader.set("lastOutput", drawing.size.width - 1)
    let across = units.next(for: "coverageColumns", in: program)
    let down = units.next(for: "coverageRows", in: program)
    if !drawing.isWhole, let first = drawing.signals.first {
      let (columns, rows) = (try tables.value(of: .sums(first.columns)), try tables.value(of: .sums(first.rows)))
      columns.bind(unit: across)
      rows.bind(unit: down)
      program.shader.set(
        "firstCoverage",
        SIMD2(Int32(columns.sampleCount * columns.tapCount), Int32(rows.sampleCount * rows.tapCount)))
    }
    target.target.begin()
    program.shader.drawTriangle()
  }

  // MARK: The frame

  /// For `rows.frag` without `first`, for `pick.frag` with the byte of the component's first sample.
  private func bind(
    plane: Int, as name: String, from first: Int? = nil, _ program: borrowing Program, _ units: inout UnitCounter
  ) throws {
    let sampler = name == "plane" ? "plane" : "\(name)Plane"
    let unit = units.next(for: sampler, in: program)
    let store: SIMD2<Int32>
    if readsBuffer {
      let words = try frame.words()
      let place = words.planes[plane]
      if let first {
        words.bind(unit: unit, as: .bytes)
        store = SIMD2(Int32(place.firstTexel * 16 + first), Int32(place.texelsPerRow * 16))
      } else {
        words.bind(unit: unit, as: .pairs)
        store = SIMD2(Int32(place.firstTexel * 2), Int32(place.texelsPerRow * 2))
      }
    } else {
      let texture = try frame.plane(plane, isPacked: true)
      texture.bind(unit: unit)
      store = SIMD2(Int32(first ?? texture.width - 1), 0)
    }
    program.shader.set("\(name)Store", store)
  }
}

extension BoxDrawing {
  /// The order in which shaders see the three components.
  fileprivate enum Order { case asNamed, chromaSwapped, reversed }

  fileprivate var order: Order {
    for signal in signals {
      switch signal.signal {
      case .rgb where signal.components[0].first > signal.components[2].first: return .reversed
      // Those of separate planes are bound by name.
      case .chroma
      where signal.components[0].plane == signal.components[1].plane
        && signal.components[0].first > signal.components[1].first && !isCopied:
        return .chromaSwapped
      default: break
      }
    }
    return .asNamed
  }

  fileprivate func inOrder(_ color: RGBColor) -> SIMD3<Float> {
    let codes = SIMD3<Float>(color.codes)
    return order == .reversed ? SIMD3(codes.z, codes.y, codes.x) : codes
  }

  fileprivate var input: PassVariant.Input {
    func samples(_ signal: PackedSignal) -> PassVariant.Samples {
      let isApart = Set(signal.components.map(\.plane)).count > 1
      let first = signal.components.map(\.first).min() ?? 0
      return PassVariant.Samples(step: signal.step, first: isApart ? 0 : first)
    }
    let luma = signals.first { $0.signal == .luma }.map(samples)
    let chroma = signals.first { $0.signal == .chroma }.map(samples)
    return switch (luma, chroma) {
    case (let luma?, let chroma?): .both(luma: luma, chroma: chroma)
    case (let luma?, nil): .luma(luma)
    case (nil, let chroma?): .chroma(chroma)
    case (nil, nil): .rgb(step: signals.first?.step ?? 4)
    }
  }
}

extension ColorConversion {
  /// The coefficients and offset of output `index`.
  func row(_ index: Int) -> SIMD4<Float> { row(index, .asNamed) }

  fileprivate func row(_ index: Int, _ order: BoxDrawing.Order) -> SIMD4<Float> {
    let columns =
      switch order {
      case .asNamed: [0, 1, 2]
      case .chromaSwapped: [0, 2, 1]
      case .reversed: [2, 1, 0]
      }
    let factors = columns.map { Float(self.columns[$0][index]) }
    return [factors[0], factors[1], factors[2], Float(offset[index])]
  }
}

struct ColumnTableKey: Hashable {
  let map: SamplingMap
  let layout: ColumnWeights.Layout
}

/// Weights of columns as a texture.
final class ColumnTable {
  let windowCount: Int
  let recordLength: Int
  let total: Int
  private let texture: Texture

  /// Texels per row; a power of two within every GLES 3.0 device's limit.
  private static let texelsPerRow = 2048

  init(_ key: ColumnTableKey) throws(GLError) {
    let weights = ColumnWeights(key.map, key.layout)
    (windowCount, recordLength, total) = (weights.windowCount, weights.recordLength, weights.total)
    let count = weights.words.count / 4
    let width = min(count, ColumnTable.texelsPerRow)
    let height = (count + width - 1) / width
    texture = try Texture(.rgba32ui, width: width, height: height)
    let padded = weights.words + [UInt32](repeating: 0, count: (width * height - count) * 4)
    try texture.replace(with: padded.span)
  }

  var byteCount: Int { texture.width * texture.height * 16 }

  func bind(unit: Int) { texture.bind(unit: unit) }
}

typealias ColumnTableCache = DrawingCache<ColumnTableKey, ColumnTable, GLError>
