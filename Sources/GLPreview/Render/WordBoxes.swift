// Box filters for sixteen bytes at a time, from a word buffer, by programs for one ratio each: on software renderers
// three times as fast as two passes for all ratios, whose pictures they draw bit by bit.
internal import PreviewCore
internal import Shaders

/// Draws into targets with sixteen samples per texel, or four pixels per texel in two alternating outputs.
struct WordBoxes {
  let frame: UploadedFrame
  let programs: ProgramCache
  let geometries: WordGeometryCache
  let targets: TargetPool

  /// Makes a drawing from the frame; nil if the boxes do not repeat suitably, or the drawing has not come often enough.
  /// With `keepingCodes`, the second half of the target's outputs holds the unconverted drawing.
  func draw(_ drawing: BoxDrawing, keepingCodes: Bool) throws -> PooledTarget? {
    guard let signals = signals(drawing) else { return nil }
    let outputsPerGroup = outputsPerGroup(drawing)
    let width = (drawing.size.width + outputsPerGroup - 1) / outputsPerGroup
    let whole = Rectangle(x: 0, y: 0, width: width, height: drawing.size.height)
    let interior = signals.reduce(whole) { $0.intersection($1.interior(rows: drawing.size.height)) }
    let parts = whole.parts(interior: interior)
    let ready = try parts.map { try program(drawing, signals, isInterior: $0.isInterior, keepingCodes) }
    guard ready.allSatisfy({ $0 != nil }) else { return nil }
    let target = try targets.take(
      TargetDescription(
        .rgba32ui, width: width, height: drawing.size.height,
        outputs: (drawing.output == .plane ? 1 : 2) * (keepingCodes ? 2 : 1)))
    for (part, program) in zip(parts, ready.compactMap(\.self)) {
      try prepare(program, drawing, signals)
      target.target.begin(part.part)
      program.shader.drawTriangle()
      try GLError.check("drawing \(drawing.output) of \(drawing.size)")
    }
    return target
  }

  /// Whether the boxes of a drawing repeat suitably.
  func canDraw(_ drawing: BoxDrawing) -> Bool { signals(drawing) != nil }

  private func outputsPerGroup(_ drawing: BoxDrawing) -> Int { drawing.output == .pixels ? 8 : 16 }

  private func signals(_ drawing: BoxDrawing) -> [WordGeometry]? {
    guard frame.fitsWords, drawing.lightCrop == nil, drawing.behind == nil else { return nil }
    let read = drawing.signals.flatMap(\.apart)
    let signals = read.compactMap {
      geometries.value(of: WordGrouping(signal: $0, outputsPerGroup: outputsPerGroup(drawing)))
    }
    return signals.count == read.count ? signals : nil
  }

  private func program(
    _ drawing: BoxDrawing, _ signals: [WordGeometry], isInterior: Bool, _ keepingCodes: Bool
  ) throws -> Program? {
    let chroma = signals.first { $0.signal.signal == .chroma }
    let isApart = Set(chroma?.signal.components.map(\.plane) ?? []).count > 1
    let variant = WordVariant(
      luma: signals.first { $0.signal.signal == .luma }?.packing, chroma: chroma?.packing,
      isChromaApart: chroma != nil && isApart, reversesColumns: drawing.flips.flipsX,
      reachesOver: !isInterior, output: drawing.shaderOutput,
      writesCodes: keepingCodes)
    return try programs.program(variant)
  }

  private func prepare(_ program: borrowing Program, _ drawing: BoxDrawing, _ signals: [WordGeometry]) throws
  {
    program.shader.use()
    var units = UnitCounter()
    for signal in signals { try bind(signal, program, &units) }
    for (name, row) in drawing.conversionRows { program.shader.set(name, row) }
  }

  private func bind(
    _ boxes: WordGeometry, _ program: borrowing Program, _ units: inout UnitCounter
  ) throws {
    let signal = boxes.signal
    let name = signal.signal.rawValue
    for (sampler, component) in zip(signal.signal == .luma ? ["luma"] : ["cb", "cr"], signal.components) {
      guard program.shader.has("\(sampler)Words") else { continue }
      let unit = units.next(for: "\(sampler)Words", in: program)
      let words = try frame.words()
      words.bind(unit: unit)
      let plane = words.planes[component.plane]
      program.shader.set("\(sampler)Store", SIMD2(Int32(plane.firstTexel), Int32(plane.texelsPerRow)))
    }
    let (columns, rows, step) = (boxes.columns, boxes.rows, boxes.step)
    let (across, down) = (signal.columns.source.samples, signal.rows.source.samples)
    program.shader.set(
      "\(name)Groups", SIMD2(Int32(columns.firstSample * step), Int32(columns.samplesPerGroup * step)))
    program.shader.set(
      "\(name)Rows",
      SIMD4(Int32(rows.start), Int32(rows.step), Int32(down.lowerBound), Int32(down.upperBound)))
    program.shader.set(
      "\(name)Span",
      SIMD3(
        Int32(across.lowerBound - columns.firstSample), Int32(across.upperBound - columns.firstSample),
        Int32(columns.samplesPerGroup)))
  }
}

/// The boxes of one signal that can be summed sixteen bytes at a time, computed once for all frames of a plan.
struct WordGeometry {
  let signal: PackedSignal
  let columns: WordColumns
  let rows: WordRows
  /// The same for all groups of outputs.
  let packing: WordVariant.Packing

  /// Bytes from one sample of a component to the next.
  var step: Int { signal.step }

  /// The most texels that a fragment may read.
  private static let maximumTexels = 17

  /// Nil if the boxes do not repeat, or are too wide or too high.
  init?(_ signal: PackedSignal, outputsPerGroup: Int) {
    guard signal.isWhole,
      let columns = WordColumns(signal.columns, outputsPerGroup: outputsPerGroup),
      let rows = WordRows(signal.rows)
    else { return nil }
    self.signal = signal
    self.columns = columns
    self.rows = rows
    let step = signal.step
    let places = (0..<columns.groupCount).map {
      (columns.firstSample + $0 * columns.samplesPerGroup) * step & 15
    }
    let shifts = places.reduce(0) { $0 | ($1 ^ places[0]) }
    let texels = ((places.max() ?? 0) + columns.sampleCount * step + 15) / 16
    guard texels <= WordGeometry.maximumTexels else { return nil }
    packing = WordVariant.Packing(
      texels: texels, shifts: shifts, samples: columns.sampleCount, step: step,
      firstBytes: signal.components.map { $0.first + (places[0] & ~shifts) },
      columns: SIMD2(columns.start, columns.width), rows: SIMD3(rows.rowCount, rows.unit, rows.height))
  }

  /// The groups whose boxes lie inside the crop, for all rows: rows beyond it are clamped anyway.
  func interior(rows: Int) -> Rectangle {
    Rectangle(x: columns.interior.lowerBound, y: 0, width: columns.interior.count, height: rows)
  }
}

/// A signal, and how many of its outputs a fragment makes.
struct WordGrouping: Hashable {
  let signal: PackedSignal
  let outputsPerGroup: Int
}

typealias WordGeometryCache = DrawingCache<WordGrouping, WordGeometry?, Never>
