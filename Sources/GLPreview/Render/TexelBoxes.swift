// Box filters for four outputs at a time, from textures of four-byte texels; works on every device.
internal import PreviewCore
internal import Shaders

/// Draws into targets with four samples or pixels per texel.
struct TexelBoxes {
  let frame: UploadedFrame
  let programs: ProgramCache
  let tables: TapTextureCache
  let geometries: BoxGeometryCache
  let targets: TargetPool

  /// Makes a drawing from the frame or from its first step.
  func draw(_ drawing: BoxDrawing, from base: BoxPainter.Base?) throws -> PooledTarget {
    let target = try targets.take(
      TargetDescription(
        drawing.output == .pixels ? .rgba32ui : .rgba8, width: (drawing.size.width + 3) / 4,
        height: drawing.size.height, outputs: drawing.output == .twoPlanes ? 2 : 1))
    let signals =
      if let base { [geometries.value(of: drawing.signal(shrinkingBy: base.factors))] } else {
        drawing.signals.map { geometries.value(of: $0) }
      }
    let whole = Rectangle(x: 0, y: 0, width: target.description.width, height: drawing.size.height)
    let interior = signals.reduce(whole) { $0.intersection($1.interior) }
    for (part, isInterior) in whole.parts(interior: interior) {
      let program = try prepare(drawing, signals, from: base, isInterior: isInterior)
      target.target.begin(part)
      program.shader.drawTriangle()
      try GLError.check("drawing \(drawing.output) of \(drawing.size)")
    }
    return target
  }

  /// Prepares the part whose boxes lie inside the crop, or the part whose boxes may reach over its edges.
  private func prepare(
    _ drawing: BoxDrawing, _ signals: [BoxGeometry], from base: BoxPainter.Base?, isInterior: Bool
  ) throws -> Program {
    let isApart = base != nil || Set(signals.last?.signal.components.map(\.plane) ?? []).count > 1
    let luma = signals.first { $0.signal.signal == .luma }
    let chroma = signals.first { $0.signal.signal == .chroma }
    let variant = BoxVariant(
      luma: luma?.packing(isInterior: isInterior), chroma: chroma?.packing(isInterior: isInterior),
      isChromaApart: chroma != nil && isApart, reachesOver: !isInterior, output: drawing.shaderOutput)
    let program = try programs.program(variant)
    program.shader.use()
    var units = UnitCounter()
    for signal in signals { try bind(signal, from: base, isInterior: isInterior, program, &units) }
    for (name, row) in drawing.conversionRows { program.shader.set(name, row) }
    program.shader.set("reversesColumns", drawing.flips.flipsX ? 1 : 0)
    return program
  }

  private func bind(
    _ boxes: BoxGeometry, from base: BoxPainter.Base?, isInterior: Bool, _ program: borrowing Program,
    _ units: inout UnitCounter
  ) throws {
    let signal = boxes.signal
    let name = signal.signal.rawValue
    let samplers = signal.signal == .luma ? ["luma"] : ["cb", "cr"]
    var width = 1
    for (sampler, component) in zip(samplers, signal.components) {
      let unit = units.next(for: "\(sampler)Plane", in: program)
      if let base {
        base.target.bind(base.firstOutput + component.plane, unit: unit)
        width = base.target.description.width
      } else {
        let texture = try frame.plane(component.plane, isPacked: true)
        texture.bind(unit: unit)
        width = texture.width
      }
    }
    if isInterior, let across = boxes.columns.period, let down = boxes.rows.period {
      program.shader.set(
        "\(name)Period", SIMD4(Int32(across.first), Int32(down.first), Int32(across.step), Int32(down.step)))
    } else {
      let columns = try tables.value(
        of: .boxes(signal.columns, outputsPerGroup: 4, samplesPerTexel: signal.samplesPerTexel))
      let rows = try tables.value(of: .boxes(signal.rows, outputsPerGroup: 1, samplesPerTexel: 1))
      columns.bind(unit: units.next(for: "\(name)Columns", in: program))
      rows.bind(unit: units.next(for: "\(name)Rows", in: program))
      program.shader.set("\(name)Ratio", SIMD2(Float(boxes.columns.ratio), Float(boxes.rows.ratio)))
    }
    let (across, down) = (signal.columns.source.samples, signal.rows.source.samples)
    program.shader.set(
      "\(name)Span",
      SIMD4(
        Int32(across.lowerBound), Int32(across.upperBound), Int32(down.lowerBound), Int32(down.upperBound)))
    program.shader.set("\(name)LastTexel", width - 1)
    program.shader.set("\(name)RowCount", boxes.rows.texelCount)
  }
}

/// The boxes of one signal along both axes, computed once for all frames of a plan.
final class BoxGeometry {
  let signal: PackedSignal
  let columns: BoxAxis
  let rows: BoxAxis

  init(_ signal: PackedSignal) {
    self.signal = signal
    columns = BoxAxis(signal.columns, outputsPerGroup: 4, samplesPerTexel: signal.samplesPerTexel)
    rows = BoxAxis(signal.rows, outputsPerGroup: 1, samplesPerTexel: 1)
  }

  /// The groups whose boxes lie inside the crop: columns of texels, and rows.
  var interior: Rectangle {
    Rectangle(
      x: columns.interior.lowerBound, y: rows.interior.lowerBound, width: columns.interior.count,
      height: rows.interior.count)
  }

  /// The shader variant for the interior, whose boxes may repeat, or for the boxes that reach over the crop's edges.
  func packing(isInterior: Bool) -> BoxVariant.Packing {
    var boxes: BoxVariant.Packing.Boxes?
    if isInterior, let across = columns.period, let down = rows.period {
      boxes = BoxVariant.Packing.Boxes(
        columns: [across.start, columns.ratio], rows: [down.start, rows.ratio])
    }
    return BoxVariant.Packing(
      texels: columns.texelCount, rows: rows.texelCount, samples: signal.samplesPerTexel,
      firstBytes: signal.components.map(\.firstByte),
      columnWeights: columns.isBilinear ? .nearness : .coverage,
      rowWeights: rows.isBilinear ? .nearness : .coverage, boxes: boxes)
  }
}

typealias BoxGeometryCache = DrawingCache<PackedSignal, BoxGeometry, Never>
