// Box filters for sixteen bytes at a time, from a word buffer: two and a half times as fast as texels on software
// renderers.
internal import PreviewCore
internal import Shaders

/// Draws into targets with sixteen samples per texel, or four pixels per texel in two alternating outputs.
struct WordBoxes {
  let frame: UploadedFrame
  let programs: ProgramCache
  let geometries: WordGeometryCache
  let targets: TargetPool

  /// Makes a drawing from the frame or from its first step; nil if the boxes do not repeat suitably. With
  /// `keepingCodes`, the second half of the target's outputs holds the unconverted drawing.
  func draw(_ drawing: BoxDrawing, from base: BoxPainter.Base?, keepingCodes: Bool) throws -> PooledTarget? {
    guard let signals = signals(drawing, shrinkingBy: base?.factors) else { return nil }
    let outputsPerGroup = outputsPerGroup(drawing)
    let target = try targets.take(
      TargetDescription(
        .rgba32ui, width: (drawing.size.width + outputsPerGroup - 1) / outputsPerGroup,
        height: drawing.size.height, outputs: (drawing.output == .plane ? 1 : 2) * (keepingCodes ? 2 : 1)))
    let whole = Rectangle(x: 0, y: 0, width: target.description.width, height: drawing.size.height)
    let interior = signals.reduce(whole) { $0.intersection($1.interior(rows: drawing.size.height)) }
    for (part, isInterior) in whole.parts(interior: interior) {
      let program = try prepare(
        drawing, signals, from: base, isInterior: isInterior, keepingCodes: keepingCodes)
      target.target.begin(part)
      program.shader.drawTriangle()
      try GLError.check("drawing \(drawing.output) of \(drawing.size)")
    }
    return target
  }

  /// Whether the boxes of a drawing, or of its second step, repeat suitably.
  func canDraw(_ drawing: BoxDrawing, shrinkingBy factors: (x: Int, y: Int)? = nil) -> Bool {
    signals(drawing, shrinkingBy: factors) != nil
  }

  private func outputsPerGroup(_ drawing: BoxDrawing) -> Int { drawing.output == .pixels ? 8 : 16 }

  private func signals(_ drawing: BoxDrawing, shrinkingBy factors: (x: Int, y: Int)?) -> [WordGeometry]? {
    guard factors != nil || frame.fitsWords, drawing.lightCrop == nil, drawing.behind == nil else {
      return nil
    }
    let read = factors.map { [drawing.signal(shrinkingBy: $0)] } ?? drawing.signals.flatMap(\.apart)
    let signals = read.compactMap {
      geometries.value(of: WordGrouping(signal: $0, outputsPerGroup: outputsPerGroup(drawing)))
    }
    return signals.count == read.count ? signals : nil
  }

  private func prepare(
    _ drawing: BoxDrawing, _ signals: [WordGeometry], from base: BoxPainter.Base?, isInterior: Bool,
    keepingCodes: Bool
  ) throws -> Program {
    let chroma = signals.first { $0.signal.signal == .chroma }
    let isApart = base != nil || Set(chroma?.signal.components.map(\.plane) ?? []).count > 1
    let variant = WordVariant(
      luma: signals.first { $0.signal.signal == .luma }?.packing, chroma: chroma?.packing,
      isChromaApart: chroma != nil && isApart, readsPicture: base != nil,
      reversesColumns: drawing.flips.flipsX, reachesOver: !isInterior, output: drawing.shaderOutput,
      writesCodes: keepingCodes)
    let program = try programs.program(variant)
    program.shader.use()
    var units = UnitCounter()
    for signal in signals { try bind(signal, from: base, program, &units) }
    for (name, row) in drawing.conversionRows { program.shader.set(name, row) }
    return program
  }

  private func bind(
    _ boxes: WordGeometry, from base: BoxPainter.Base?, _ program: borrowing Program,
    _ units: inout UnitCounter
  ) throws {
    let signal = boxes.signal
    let name = signal.signal.rawValue
    for (sampler, component) in zip(signal.signal == .luma ? ["luma"] : ["cb", "cr"], signal.components) {
      guard program.shader.has("\(sampler)Words") else { continue }
      let unit = units.next(for: "\(sampler)Words", in: program)
      if let base {
        base.target.bind(base.firstOutput + component.plane, unit: unit)
        program.shader.set("\(sampler)Store", SIMD2(0, Int32(base.target.description.width)))
      } else {
        let words = try frame.words()
        words.bind(unit: unit)
        let plane = words.planes[component.plane]
        program.shader.set("\(sampler)Store", SIMD2(Int32(plane.firstTexel), Int32(plane.texelsPerRow)))
      }
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
