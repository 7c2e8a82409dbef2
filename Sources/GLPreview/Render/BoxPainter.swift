// Executes box recipes. Draws each plane once per frame, however many views need it, and makes rotated copies.
internal import PreviewCore
internal import Shaders

/// A drawn plane: one output of a target, or several interleaved ones.
struct DrawnPlane {
  let target: PooledTarget
  let layout: Layout

  enum Layout {
    case whole(output: Int)
    /// Row y is row (y + skipped) / 4 of output (y + skipped) % 4.
    case rowsByTurns(skipped: Int)
    /// Texel x of a row is texel x / 2 of output x % 2.
    case texelsByTurns
  }
}

final class BoxPainter {
  private let passes: PassPainter
  /// Nil if the device is no software renderer.
  private let words: WordBoxes?
  private let format: Frame.Format
  private let programs: ProgramCache
  private let targets: TargetPool
  /// The finished drawings, and the first output that holds each.
  private var drawn: [BoxDrawing: Drawn] = [:]
  private var turned: [Turning: DrawnPlane] = [:]
  private var firstSteps: Set<BoxDrawing> = []
  /// Requested drawings, by their unconverted form.
  private var converted: [BoxDrawing: BoxDrawing] = [:]

  struct Drawn {
    let target: PooledTarget
    let firstOutput: Int
  }

  private struct Turning: Hashable {
    let drawing: BoxDrawing
    let output: Int
    let turn: Orientation
  }

  init(
    _ passes: PassPainter, _ words: WordBoxes?, for views: [PlannedView], of format: Frame.Format,
    programs: ProgramCache, targets: TargetPool
  ) {
    self.passes = passes
    self.words = words
    self.format = format
    self.programs = programs
    self.targets = targets
    for view in views {
      for pass in view.passes {
        guard let box = pass.box else { continue }
        let drawing = BoxDrawing.of(pass, box, view, format).drawing
        converted[drawing.unconverted] = drawing
        if let first = firstStep(of: drawing) { firstSteps.insert(first.drawing) }
      }
    }
  }

  /// The plane that a pass needs; drawn now unless another view needed it before.
  func plane(of pass: PlanePass, _ box: BoxRecipe, _ view: PlannedView) throws -> DrawnPlane {
    let (drawing, output) = BoxDrawing.of(pass, box, view, format)
    let source = try draw(drawing)
    guard box.turn != .upright else {
      let isByTurns = drawing.output == .pixels && source.target.description.outputs == 2
      return DrawnPlane(
        target: source.target,
        layout: isByTurns ? .texelsByTurns : .whole(output: source.firstOutput + output)
      )
    }
    return try turn(source, Turning(drawing: drawing, output: output, turn: box.turn))
  }

  /// Returns the targets to the pool if `isFree` says that nobody keeps them.
  func finish(_ isFree: (PooledTarget) -> Bool) {
    let drawnTargets = drawn.values.filter { $0.firstOutput == 0 }.map(\.target)
    for target in drawnTargets + turned.values.map(\.target) where isFree(target) { targets.giveBack(target) }
    (drawn, turned) = ([:], [:])
    passes.finish()
  }

  /// The first of two steps, if words can sum it.
  private func firstStep(of drawing: BoxDrawing) -> BoxDrawing.FirstStep? {
    guard let words, let first = drawing.firstStep, words.canDraw(first.drawing) else { return nil }
    return first
  }

  private func draw(_ drawing: BoxDrawing) throws -> Drawn {
    if let done = drawn[drawing] { return done }
    // Another drawing starts with the same sums. Writing them as extra outputs is cheaper than summing twice.
    if firstSteps.contains(drawing), let other = converted[drawing], other != drawing {
      _ = try draw(other)
      if let done = drawn[drawing] { return done }
    }
    let unconverted = drawing.unconverted
    let keepsCodes = unconverted != drawing && firstSteps.contains(unconverted) && drawn[unconverted] == nil
    let target: PooledTarget
    if let first = firstStep(of: drawing) {
      target = try passes.draw(drawing.secondStep(shrinkingBy: first.factors), from: draw(first.drawing))
    } else if let words, let wordTarget = try words.draw(drawing, keepingCodes: keepsCodes) {
      target = wordTarget
      if keepsCodes {
        drawn[unconverted] = Drawn(target: target, firstOutput: drawing.output == .twoPlanes ? 2 : 1)
      }
    } else {
      target = try passes.draw(drawing)
    }
    let done = Drawn(target: target, firstOutput: 0)
    drawn[drawing] = done
    return done
  }

  // MARK: Turns

  private func turn(_ source: Drawn, _ turning: Turning) throws -> DrawnPlane {
    if let plane = turned[turning] { return plane }
    let inWords = turning.drawing.output != .pixels && source.target.description.format == .rgba32ui
    let plane = try inWords ? turnWords(source, turning) : turnTexels(source, turning)
    turned[turning] = plane
    return plane
  }

  private func turnTexels(_ source: Drawn, _ turning: Turning) throws -> DrawnPlane {
    let size = turning.drawing.size
    let target = try targets.take(
      TargetDescription(source.target.description.format, width: (size.height + 3) / 4, height: size.width))
    let isPixels = turning.drawing.output == .pixels
    let isByTurns = isPixels && source.target.description.outputs == 2
    let key = PassVariant.turn(pixels: isPixels, byTurns: isByTurns)
    try turn(source, turning, key, size, into: target)
    return DrawnPlane(target: target, layout: .whole(output: 0))
  }

  /// A fragment makes four rows, so that it reads each source word once.
  private func turnWords(_ source: Drawn, _ turning: Turning) throws -> DrawnPlane {
    let size = turning.drawing.size
    let wholeWidth = (size.width + 3) / 4 * 4
    let target = try targets.take(
      TargetDescription(.rgba32ui, width: (size.height + 15) / 16, height: wholeWidth / 4, outputs: 4))
    try turn(
      source, turning, WordVariant.turn, Size(width: wholeWidth / 4, height: size.height), into: target)
    return DrawnPlane(
      target: target, layout: .rowsByTurns(skipped: turning.turn.flipsX ? wholeWidth - size.width : 0))
  }

  private func turn(
    _ source: Drawn, _ turning: Turning, _ key: ProgramKey, _ sourceSize: Size, into target: PooledTarget
  ) throws {
    let program = try programs.program(key)
    program.shader.use()
    var units = UnitCounter()
    source.target.bind(source.firstOutput + turning.output, unit: units.next(for: "source", in: program))
    if program.shader.has("secondSource") {
      source.target.bind(1, unit: units.next(for: "secondSource", in: program))
    }
    program.shader.set("sourceSize", SIMD2(Int32(sourceSize.width), Int32(sourceSize.height)))
    program.shader.set("flips", SIMD2<Int32>(turning.turn.flipsX ? 1 : 0, turning.turn.flipsY ? 1 : 0))
    target.target.begin()
    program.shader.drawTriangle()
    try GLError.check("turning \(turning.drawing.output) of \(turning.drawing.size)")
  }
}

extension BoxDrawing {
  var shaderOutput: PassVariant.Output {
    switch output {
    case .plane: .plane
    case .twoPlanes: .twoPlanes
    case .pixels: .pixels
    }
  }

  /// The rows of the conversion that are written, by uniform name.
  var conversionRows: [(name: String, row: SIMD4<Float>)] {
    let rows = output == .plane ? [0] : output == .twoPlanes ? [1, 2] : [0, 1, 2]
    return zip(["firstOutput", "secondOutput", "thirdOutput"], rows).map { ($0, conversion.row($1)) }
  }
}
