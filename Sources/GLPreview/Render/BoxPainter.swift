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
  private let geometries: BoxGeometryCache
  private let targets: TargetPool
  private var drawn: [Drawing: PooledTarget] = [:]
  private var turned: [Turning: PooledTarget] = [:]

  /// What a drawing holds: equal ones are drawn once.
  private struct Drawing: Hashable {
    let signals: [PackedSignal]
    let size: Size
    let conversion: ColorConversion
    let output: BoxVariant.Output

    /// Which way its columns and rows run.
    var flips: Orientation {
      Orientation(
        flipsX: signals.first?.columns.source.isReversed == true,
        flipsY: signals.first?.rows.source.isReversed == true)
    }
  }

  private struct Turning: Hashable {
    let drawing: Drawing
    let output: Int
    let turn: Orientation
  }

  init(
    frame: UploadedFrame, programs: ProgramCache, tables: TapTextureCache, geometries: BoxGeometryCache,
    targets: TargetPool
  ) {
    self.frame = frame
    self.programs = programs
    self.tables = tables
    self.geometries = geometries
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
    // What another drawing is made of must be drawn first: both use the same context.
    let base = try base(of: drawing)
    let target = try targets.take(
      TargetDescription(
        drawing.output == .pixels ? .rgba32ui : .rgba8, width: (drawing.size.width + 3) / 4,
        height: drawing.size.height, isDouble: drawing.output == .twoPlanes))
    drawn[drawing] = target
    let signals: [BoxGeometry]
    if let base {
      signals = [
        geometries.geometry(
          .picture(
            drawing.output == .plane ? .luma : .chroma, size: drawing.size, by: base.factors,
            flips: drawing.flips))
      ]
    } else {
      signals = drawing.signals.map { geometries.geometry($0) }
    }
    let whole = Rectangle(x: 0, y: 0, width: target.description.width, height: drawing.size.height)
    let interior = signals.reduce(whole) { $0.intersection($1.interior) }
    for (part, isInterior) in [(interior, true)] + whole.strips(around: interior).map({ ($0, false) }) {
      guard part.width > 0, part.height > 0 else { continue }
      let program = try prepare(drawing, signals, from: base?.target, isInterior: isInterior)
      target.target.begin(TexelRegion(x: part.x, y: part.y, width: part.width, height: part.height))
      program.shader.drawTriangle()
      try GLError.check("drawing \(drawing.output) of \(drawing.size)")
    }
    return target
  }

  // MARK: Two steps

  /// A drawing of the same in whole times as many samples, not yet converted.
  private struct Base {
    let target: PooledTarget
    let factors: (x: Int, y: Int)
  }

  /// Shrinking by more than this in one step fetches too much at once for a fragment of four outputs.
  private static let maximumRatioInOneStep = 6.0
  /// What the first of two steps shrinks by, about.
  private static let ratioOfFirstStep = 3.0

  /// What a large shrink is made from; nil for the frame itself. Decided by the drawing alone, so that a view does not
  /// change with what else is asked for; another view that is drawn just so shares it.
  private func base(of drawing: Drawing) throws -> Base? {
    guard drawing.output != .pixels, drawing.signals.count == 1 else { return nil }
    func factor(_ ratio: Double) -> Int {
      ratio > BoxPainter.maximumRatioInOneStep ? Int((ratio / BoxPainter.ratioOfFirstStep).rounded(.up)) : 1
    }
    let x = factor(drawing.signals.reduce(1) { max($0, $1.columns.samplesPerOutput) })
    let y = factor(drawing.signals.reduce(1) { max($0, $1.rows.samplesPerOutput) })
    guard x * y > 1, let first = refined(drawing, x, y) else { return nil }
    return Base(target: try draw(first), factors: (x, y))
  }

  /// The first of two steps: the frame's codes as they are, converted by the second.
  private func refined(_ drawing: Drawing, _ x: Int, _ y: Int) -> Drawing? {
    let signals = drawing.signals.compactMap { $0.refined(x: x, y: y) }
    guard signals.count == drawing.signals.count else { return nil }
    return Drawing(
      signals: signals, size: Size(width: drawing.size.width * x, height: drawing.size.height * y),
      conversion: .identity, output: drawing.output)
  }

  // MARK: One step

  /// Makes all ready for a part of a plane: one whose boxes lie within the crop, or one whose boxes may reach over its
  /// edges.
  private func prepare(
    _ drawing: Drawing, _ signals: [BoxGeometry], from base: PooledTarget?, isInterior: Bool
  ) throws -> Program {
    let isApart = base != nil || Set(signals.last?.signal.components.map(\.plane) ?? []).count > 1
    let luma = signals.first { $0.signal.signal == .luma }
    let chroma = signals.first { $0.signal.signal == .chroma }
    let variant = BoxVariant(
      luma: luma?.packing(isInterior: isInterior), chroma: chroma?.packing(isInterior: isInterior),
      isChromaApart: chroma != nil && isApart,
      reachesOver: !isInterior, output: drawing.output)
    let program = try programs.program(variant.program)
    program.shader.use()
    var units = UnitCounter()
    for signal in signals { try bind(signal, from: base, isInterior: isInterior, program, &units) }
    let rows = drawing.output == .plane ? [0] : drawing.output == .twoPlanes ? [1, 2] : [0, 1, 2]
    for (name, row) in zip(["firstOutput", "secondOutput", "thirdOutput"], rows) {
      program.shader.set(name, drawing.conversion.row(row))
    }
    program.shader.set("reversesColumns", drawing.flips.flipsX ? 1 : 0)
    return program
  }

  private func bind(
    _ boxes: BoxGeometry, from base: PooledTarget?, isInterior: Bool, _ program: borrowing Program,
    _ units: inout UnitCounter
  ) throws {
    let signal = boxes.signal
    let name = signal.signal.rawValue
    let samplers = signal.signal == .luma ? ["luma"] : ["cb", "cr"]
    var width = 1
    for (sampler, component) in zip(samplers, signal.components) {
      let unit = units.next(for: "\(sampler)Plane", in: program)
      if let base {
        base.bind(component.plane, unit: unit)
        width = base.description.width
      } else {
        let texture = try frame.packedPlane(component.plane)
        texture.bind(unit: unit)
        width = texture.width
      }
    }
    if isInterior, let across = boxes.columns.period, let down = boxes.rows.period {
      program.shader.set(
        "\(name)Period", SIMD4(Int32(across.first), Int32(down.first), Int32(across.step), Int32(down.step)))
    } else {
      let columns = try tables.table(
        .boxes(signal.columns, outputsPerGroup: 4, samplesPerTexel: signal.samplesPerTexel))
      let rows = try tables.table(.boxes(signal.rows, outputsPerGroup: 1, samplesPerTexel: 1))
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

  // MARK: Turns

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

extension BoxGeometry {
  /// The groups whose boxes lie within the crop: columns of texels, and rows.
  fileprivate var interior: Rectangle {
    Rectangle(
      x: columns.interior.lowerBound, y: rows.interior.lowerBound, width: columns.interior.count,
      height: rows.interior.count)
  }
}

extension Rectangle {
  /// What lies in both; of no size where nothing does.
  fileprivate func intersection(_ other: Rectangle) -> Rectangle {
    let (left, top) = (max(x, other.x), max(y, other.y))
    let right = max(left, min(x + width, other.x + other.width))
    let bottom = max(top, min(y + height, other.y + other.height))
    return Rectangle(x: left, y: top, width: right - left, height: bottom - top)
  }

  /// What is left of it without `inner`: above, below, left and right.
  fileprivate func strips(around inner: Rectangle) -> [Rectangle] {
    guard inner.width > 0, inner.height > 0 else { return [self] }
    let (right, bottom) = (inner.x + inner.width, inner.y + inner.height)
    return [
      Rectangle(x: x, y: y, width: width, height: inner.y - y),
      Rectangle(x: x, y: bottom, width: width, height: y + height - bottom),
      Rectangle(x: x, y: inner.y, width: inner.x - x, height: inner.height),
      Rectangle(x: right, y: inner.y, width: x + width - right, height: inner.height),
    ]
  }
}
