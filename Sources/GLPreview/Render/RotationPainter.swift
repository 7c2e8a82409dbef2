// Copies drawn planes, rotated or mirrored.
internal import Shaders

struct RotationPainter {
  let programs: ProgramCache
  let targets: TargetPool
  let computing: Computing?

  /// `result` is the step's; the plane is nil if a compute shader wrote to a `PictureBuffer`.
  func turn(_ source: DrawnPlane, _ turning: Turning, _ result: Int) throws -> DrawnPlane? {
    let inWords = turning.drawing.output != .pixels && source.target.description.format == .rgba32ui
    return try inWords ? turnWords(source, turning) : turnTexels(source, turning, result)
  }

  private func turnTexels(_ source: DrawnPlane, _ turning: Turning, _ result: Int) throws -> DrawnPlane? {
    let size = turning.drawing.size
    let description = TargetDescription(
      source.target.description.format, width: (size.height + 3) / 4, height: size.width)
    let isByTurns = if case .texelsByTurns = source.layout { true } else { false }
    let isOfPixels = turning.drawing.output == .pixels
    computing?.orderWrites(drawn: true)
    let destination = computing?.destination(of: result, ofTwoPlanes: false)
    let computed = destination.flatMap {
      programs.computeProgram(PassVariant.turn(pixels: isOfPixels, byTurns: isByTurns, in: $0.stage))
    }
    let program = try computed ?? programs.program(PassVariant.turn(pixels: isOfPixels, byTurns: isByTurns))
    prepare(program, source, turning, size)
    guard let computing, let destination, computed != nil else {
      let target = try targets.take(description)
      try draw(program, turning, into: target)
      return DrawnPlane(target)
    }
    let output = try destination.output { try targets.take(description, discarding: false) }
    computing.draw(program, description.size, into: output)
    try GLError.check("turning \(turning.drawing.output) of \(turning.drawing.size)")
    return output.target.map { DrawnPlane($0) }
  }

  /// A fragment makes four rows, so that it reads each source word once.
  private func turnWords(_ source: DrawnPlane, _ turning: Turning) throws -> DrawnPlane {
    let size = turning.drawing.size
    let wholeWidth = (size.width + 3) / 4 * 4
    let target = try targets.take(
      TargetDescription(.rgba32ui, width: (size.height + 15) / 16, height: wholeWidth / 4, outputs: 4))
    let program = try programs.program(WordVariant.turn)
    prepare(program, source, turning, Size(width: wholeWidth / 4, height: size.height))
    try draw(program, turning, into: target)
    return DrawnPlane(target, .rowsByTurns(skipped: turning.turn.flipsX ? wholeWidth - size.width : 0))
  }

  private func prepare(
    _ program: borrowing Program, _ source: DrawnPlane, _ turning: Turning, _ sourceSize: Size
  ) {
    program.shader.use()
    var units = UnitCounter()
    source.bind(unit: units.next(for: "source", in: program))
    if program.shader.has("secondSource") {
      source.target.bind(1, unit: units.next(for: "secondSource", in: program))
    }
    program.shader.set("sourceSize", SIMD2(Int32(sourceSize.width), Int32(sourceSize.height)))
    program.shader.set("flips", SIMD2<Int32>(turning.turn.flipsX ? 1 : 0, turning.turn.flipsY ? 1 : 0))
  }

  private func draw(_ program: borrowing Program, _ turning: Turning, into target: PooledTarget) throws {
    target.target.begin()
    program.shader.drawTriangle()
    try GLError.check("turning \(turning.drawing.output) of \(turning.drawing.size)")
  }
}
