// Copies drawn planes, rotated or mirrored.
internal import Shaders

struct RotationPainter {
  let programs: ProgramCache
  let targets: TargetPool

  func turn(_ source: DrawnPlane, _ turning: Turning) throws -> DrawnPlane {
    let inWords = turning.drawing.output != .pixels && source.target.description.format == .rgba32ui
    return try inWords ? turnWords(source, turning) : turnTexels(source, turning)
  }

  private func turnTexels(_ source: DrawnPlane, _ turning: Turning) throws -> DrawnPlane {
    let size = turning.drawing.size
    let target = try targets.take(
      TargetDescription(source.target.description.format, width: (size.height + 3) / 4, height: size.width))
    let isByTurns = if case .texelsByTurns = source.layout { true } else { false }
    let key = PassVariant.turn(pixels: turning.drawing.output == .pixels, byTurns: isByTurns)
    try turn(source, turning, key, size, into: target)
    return DrawnPlane(target)
  }

  /// A fragment makes four rows, so that it reads each source word once.
  private func turnWords(_ source: DrawnPlane, _ turning: Turning) throws -> DrawnPlane {
    let size = turning.drawing.size
    let wholeWidth = (size.width + 3) / 4 * 4
    let target = try targets.take(
      TargetDescription(.rgba32ui, width: (size.height + 15) / 16, height: wholeWidth / 4, outputs: 4))
    try turn(
      source, turning, WordVariant.turn, Size(width: wholeWidth / 4, height: size.height), into: target)
    return DrawnPlane(target, .rowsByTurns(skipped: turning.turn.flipsX ? wholeWidth - size.width : 0))
  }

  private func turn(
    _ source: DrawnPlane, _ turning: Turning, _ key: ProgramKey, _ sourceSize: Size, into target: PooledTarget
  ) throws {
    let program = try programs.program(key)
    program.shader.use()
    var units = UnitCounter()
    source.bind(unit: units.next(for: "source", in: program))
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
