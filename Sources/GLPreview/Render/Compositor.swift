// Draws the layers of a composition on one another, in one framebuffer, and makes the planes of a picture of it.
internal import PreviewCore
internal import Shaders

/// Puts pictures together from what was drawn of frames.
final class Compositor {
  private let programs: ProgramCache
  private let targets: TargetPool
  private let bitmaps = BitmapCache()

  init(_ programs: ProgramCache, _ targets: TargetPool) {
    (self.programs, self.targets) = (programs, targets)
  }

  /// Between pictures.
  func trim() { bitmaps.trim() }

  /// Draws all layers into a target whose texels hold four pixels each. What they show of `frames` is in `tiles`.
  func draw(
    _ composition: PlannedComposition, of frames: [Frame?], _ tiles: TileCache
  ) throws -> PooledTarget {
    let (width, height) = ((composition.size.width + 3) / 4, composition.size.height)
    let description = TargetDescription(.rgba32ui, width: width, height: height)
    let layers = LayerParts.parts(of: composition)
    let canvas = try targets.take(description)
    let below = layers.contains { !$0.edges.isEmpty } ? try targets.take(description) : nil
    defer { if let below { targets.giveBack(below) } }
    let painter = LayerPainter(
      canvas: canvas, below: below, programs: programs, targets: targets, bitmaps: bitmaps, tiles: tiles,
      frames: frames)
    canvas.target.fill(with: .black)
    // Layers that don't touch are drawn together: what lies below them is copied at once, before any of them is drawn.
    var group: [LayerParts] = []
    for parts in layers {
      if group.contains(where: parts.overlaps) {
        try painter.draw(group)
        group = []
      }
      group.append(parts)
    }
    try painter.draw(group)
    try GLError.check("drawing \(composition.layers.count) layers of \(composition.size)")
    return canvas
  }

  /// The planes of a picture of what `draw` drew, and the targets that are theirs.
  func planes(
    of canvas: PooledTarget, _ view: PlannedView
  ) throws -> (planes: [DrawnPlane], own: [PooledTarget]) {
    guard case .ycbcr(let chroma) = view.format else {
      return ([DrawnPlane(target: canvas, layout: .whole(output: 0))], [canvas])
    }
    let luma = try convert(canvas, view.size, .none, rows: [0])
    let both = try convert(canvas, view.size, chroma.subsampling, rows: [1, 2])
    let planes = [(luma, 0), (both, 0), (both, 1)].map { target, output in
      DrawnPlane(target: target, layout: .whole(output: output))
    }
    return (planes, [canvas, luma, both])
  }

  /// Rows of the conversion to Y'CbCr, as many as are written at once.
  private func convert(
    _ canvas: PooledTarget, _ size: Size, _ step: Subsampling, rows: [Int]
  ) throws -> PooledTarget {
    let plane = step.planeSize(of: size)
    let target = try targets.take(
      TargetDescription(.rgba32ui, width: (plane.width + 15) / 16, height: plane.height, outputs: rows.count))
    let program = try programs.program(LayerVariant.planes(x: step.x, y: step.y, writesTwo: rows.count > 1))
    program.shader.use()
    var units = UnitCounter()
    canvas.bind(0, unit: units.next(for: "picture", in: program))
    program.shader.set("lastPixel", SIMD2(Int32(size.width - 1), Int32(size.height - 1)))
    for (name, row) in zip(["firstOutput", "secondOutput"], rows) {
      program.shader.set(name, ColorConversion.jfifFromRGB.row(row))
    }
    target.target.begin()
    program.shader.drawTriangle()
    try GLError.check("converting \(size) pixels")
    return target
  }
}

extension SIMD4<UInt32> {
  /// Four black pixels.
  fileprivate static var black: SIMD4<UInt32> { SIMD4(repeating: 0xff00_0000) }
}
