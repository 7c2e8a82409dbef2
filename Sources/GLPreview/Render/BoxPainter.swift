// Carries out box recipes: draws each plane once a frame, however many views want it, and turns copies of it.
internal import PreviewCore
internal import Shaders

/// A plane on the GPU: an output of a target, four samples (or pixels) in a texel.
struct DrawnPlane {
  let target: PooledTarget
  /// 0 or 1: which of the target's outputs.
  let output: Int
}

/// Draws the boxes of one frame.
final class BoxPainter {
  private let frame: UploadedFrame
  private let programs: ProgramCache
  private let tables: TapTextureCache
  private let targets: TargetPool
  private var drawn: [Drawing: PooledTarget] = [:]
  private var turned: [Turning: PooledTarget] = [:]

  /// What a drawing holds: equal ones are drawn once.
  private struct Drawing: Hashable {
    let signals: [PackedSignal]
    let size: Size
    let conversion: ColorConversion
    let output: BoxVariant.Output
  }

  private struct Turning: Hashable {
    let drawing: Drawing
    let output: Int
    let turn: Orientation
  }

  init(frame: UploadedFrame, programs: ProgramCache, tables: TapTextureCache, targets: TargetPool) {
    self.frame = frame
    self.programs = programs
    self.tables = tables
    self.targets = targets
  }

  /// The plane that a pass asks for, drawn now if no view asked for it before.
  func plane(of pass: PlanePass, _ box: BoxRecipe) throws -> DrawnPlane {
    let (output, index): (BoxVariant.Output, Int) =
      switch pass.output {
      case .rgba: (.pixels, 0)
      case .component(0): (.plane, 0)
      case .component(let component): (.twoPlanes, component - 1)
      }
    let drawing = Drawing(
      signals: box.signals, size: box.size, conversion: pass.conversion, output: output)
    let target = try draw(drawing)
    guard box.turn != .upright else { return DrawnPlane(target: target, output: index) }
    return DrawnPlane(
      target: try turn(target, Turning(drawing: drawing, output: index, turn: box.turn)), output: 0)
  }

  /// Gives back what was drawn.
  func finish() {
    for target in drawn.values { targets.giveBack(target) }
    for target in turned.values { targets.giveBack(target) }
    (drawn, turned) = ([:], [:])
  }

  private func draw(_ drawing: Drawing) throws -> PooledTarget {
    if let target = drawn[drawing] { return target }
    let program = try programs.program(variant(drawing).program)
    program.shader.use()
    var units = UnitCounter()
    for signal in drawing.signals { try bind(signal, drawing, program, &units) }
    let rows = drawing.output == .plane ? [0] : drawing.output == .twoPlanes ? [1, 2] : [0, 1, 2]
    for (name, row) in zip(["firstOutput", "secondOutput", "thirdOutput"], rows) {
      program.shader.set(name, drawing.conversion.row(row))
    }
    program.shader.set(
      "reversesColumns", drawing.signals.first?.columns.source.isReversed == true ? 1 : 0)
    let target = try targets.take(
      TargetDescription(
        drawing.output == .pixels ? .rgba32ui : .rgba8, width: (drawing.size.width + 3) / 4,
        height: drawing.size.height, isDouble: drawing.output == .twoPlanes))
    drawn[drawing] = target
    target.target.begin()
    program.shader.drawTriangle()
    try GLError.check("drawing \(drawing.output) of \(drawing.size)")
    return target
  }

  private func variant(_ drawing: Drawing) -> BoxVariant {
    func packing(_ signal: Signal) -> BoxVariant.Packing? {
      drawing.signals.first { $0.signal == signal }.map {
        BoxVariant.Packing(texels: $0.texelsAcross, samples: $0.samplesPerTexel)
      }
    }
    let chroma = drawing.signals.first { $0.signal == .chroma }
    return BoxVariant(
      luma: packing(.luma), chroma: packing(.chroma),
      isChromaApart: Set(chroma?.components.map(\.plane) ?? []).count > 1, output: drawing.output)
  }

  private func bind(
    _ signal: PackedSignal, _ drawing: Drawing, _ program: borrowing Program, _ units: inout UnitCounter
  ) throws {
    let name = signal.signal.rawValue
    let samplers = signal.signal == .luma ? ["luma"] : ["cb", "cr"]
    var width = 1
    for (sampler, component) in zip(samplers, signal.components) {
      let texture = try frame.packedPlane(component.plane)
      texture.bind(unit: units.next(for: "\(sampler)Plane", in: program))
      width = texture.width
      var firstByte = SIMD4<Float>.zero
      firstByte[component.firstByte] = 1
      program.shader.set("\(sampler)Byte", firstByte)
    }
    let columns = try tables.table(.boxes(signal.columns, samplesPerTexel: signal.samplesPerTexel))
    let rows = try tables.table(.taps(signal.rows, from: 0))
    columns.bind(unit: units.next(for: "\(name)Columns", in: program))
    rows.bind(unit: units.next(for: "\(name)Rows", in: program))
    program.shader.set("\(name)RowTaps", rows.tapCount)
    program.shader.set("\(name)Ratio", Float(signal.columns.samplesPerOutput))
    let span = signal.columns.source.samples
    program.shader.set(
      "\(name)Span", SIMD3(Int32(span.lowerBound), Int32(span.upperBound), Int32(width - 1)))
  }

  private func turn(_ source: PooledTarget, _ turning: Turning) throws -> PooledTarget {
    if let target = turned[turning] { return target }
    let isPixels = turning.drawing.output == .pixels
    let program = try programs.program(BoxVariant.turn(pixels: isPixels))
    program.shader.use()
    var units = UnitCounter()
    source.bind(turning.output, unit: units.next(for: "source", in: program))
    let size = turning.drawing.size
    program.shader.set("sourceSize", SIMD2(Int32(size.width), Int32(size.height)))
    program.shader.set("flips", SIMD2<Int32>(turning.turn.flipsX ? 1 : 0, turning.turn.flipsY ? 1 : 0))
    let target = try targets.take(
      TargetDescription(source.description.format, width: (size.height + 3) / 4, height: size.width))
    turned[turning] = target
    target.target.begin()
    program.shader.drawTriangle()
    try GLError.check("turning \(turning.drawing.output) of \(size)")
    return target
  }
}

extension ColorConversion {
  /// What output `index` takes of each input, and its offset.
  fileprivate func row(_ index: Int) -> SIMD4<Float> {
    [
      Float(columns[0][index]), Float(columns[1][index]), Float(columns[2][index]), Float(offset[index]),
    ]
  }
}
