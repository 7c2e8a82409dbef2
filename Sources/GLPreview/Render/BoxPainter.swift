// Draws box filters for sixteen bytes at a time, from a word buffer, with programs for one ratio each. On
// software renderers they are three times as fast as two passes for all ratios, and their pictures are
// bit-identical.
internal import Shaders

/// Draws into targets with sixteen samples per texel, or four pixels per texel in two alternating outputs.
struct BoxPainter {
  let frame: UploadedFrame
  let programs: ProgramCache
  let targets: TargetPool

  /// Carries out a drawing; nil if the frame is too large for a buffer, or the drawing has not been requested
  /// often enough. With `keepingCodes`, the second half of the target's outputs holds the unconverted
  /// drawing.
  func draw(_ drawing: Drawing, _ boxes: [BoxGeometry], keepingCodes: Bool) throws -> PooledTarget? {
    guard frame.fitsWords else { return nil }
    let width = (drawing.size.width + drawing.outputsPerGroup - 1) / drawing.outputsPerGroup
    let whole = Rectangle(x: 0, y: 0, width: width, height: drawing.size.height)
    let interior = boxes.reduce(whole) { $0.intersection($1.interior(rows: drawing.size.height)) }
    let parts = whole.parts(interior: interior)
    let ready = try parts.map {
      try programs.program(
        WordVariant(drawing, boxes, reachesOver: !$0.isInterior, writesCodes: keepingCodes))
    }
    guard ready.allSatisfy({ $0 != nil }) else { return nil }
    let target = try targets.take(
      TargetDescription(
        .rgba32ui, width: width, height: drawing.size.height,
        outputs: (drawing.output == .plane ? 1 : 2) * (keepingCodes ? 2 : 1)))
    for (part, program) in zip(parts, ready.compactMap(\.self)) {
      try prepare(program, drawing, boxes)
      target.target.begin(part.part)
      program.shader.drawTriangle()
      try GLError.check("drawing \(drawing.output) of \(drawing.size)")
    }
    return target
  }

  private func prepare(_ program: borrowing Program, _ drawing: Drawing, _ boxes: [BoxGeometry]) throws {
    program.shader.use()
    var units = UnitCounter()
    for geometry in boxes { try bind(geometry, program, &units) }
    for (name, row) in drawing.conversionRows(.asNamed) { program.shader.set(name, row) }
  }

  private func bind(
    _ boxes: BoxGeometry, _ program: borrowing Program, _ units: inout UnitCounter
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
    let (columns, rows, step) = (boxes.columns, boxes.rows, signal.step)
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

extension WordVariant {
  fileprivate init(_ drawing: Drawing, _ boxes: [BoxGeometry], reachesOver: Bool, writesCodes: Bool) {
    let chroma = boxes.first { $0.signal.signal == .chroma }
    self.init(
      luma: boxes.first { $0.signal.signal == .luma }?.packing, chroma: chroma?.packing,
      isChromaApart: chroma.map { !$0.signal.isInOnePlane } ?? false,
      reversesColumns: drawing.signals.first?.columns.source.isReversed == true,
      reachesOver: reachesOver, output: drawing.shaderOutput, writesCodes: writesCodes)
  }
}

extension BoxGeometry {
  fileprivate var packing: WordVariant.Packing {
    WordVariant.Packing(
      texels: texels, shifts: shifts, samples: columns.sampleCount, step: signal.step, firstBytes: firstBytes,
      columns: SIMD2(columns.start, columns.width), rows: SIMD3(rows.rowCount, rows.unit, rows.height))
  }
}
