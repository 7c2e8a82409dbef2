// Draws the layers of a composition into one framebuffer, and converts it to the planes of a picture.
internal import Shaders

/// The textures of bitmaps, which compare by identity and live as long as they are keys.
typealias BitmapCache = DrawingCache<Bitmap, Shared<Texture>, GLError>

/// Composes pictures from the drawn views of frames.
final class Compositor {
  private let programs: ProgramCache
  private let targets: TargetPool
  private let bitmaps = BitmapCache(capacity: 128, maximumCost: 64 << 20) { bitmap throws(GLError) in
    let texture = try Texture(.rgba8, width: bitmap.size.width, height: bitmap.size.height)
    let bytes = bitmap.bytes
    try texture.replace(with: bytes.span, bytesPerRow: bitmap.size.width * 4)
    return Shared(texture)
  } cost: {
    $0.object.width * $0.object.height * 4
  }

  init(_ programs: ProgramCache, _ targets: TargetPool) {
    (self.programs, self.targets) = (programs, targets)
  }

  func trim() { bitmaps.trim() }

  /// Draws all layers into a target with four pixels per texel. The views of `frames` are in `tiles`.
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
    // Layers that do not touch are drawn as a group: the pixels below them are copied once, before any is
    // drawn.
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

  /// The planes of a picture of the drawn composition, and the targets that they own.
  func planes(
    of canvas: PooledTarget, _ view: PlannedView
  ) throws -> (planes: [DrawnPlane], own: [PooledTarget]) {
    guard case .ycbcr(let chroma, let range) = view.format else {
      return ([DrawnPlane(canvas)], [canvas])
    }
    let conversion = ColorConversion.ycbcrFromRGB(range)
    let luma = try convert(canvas, view.size, .none, [0], of: conversion)
    let both = try convert(canvas, view.size, chroma.subsampling, [1, 2], of: conversion)
    let planes = [(luma, 0), (both, 0), (both, 1)].map { target, output in
      DrawnPlane(target, .whole(output: output))
    }
    return (planes, [canvas, luma, both])
  }

  /// Converts to the components `rows` of Y'CbCr, which are written in one pass.
  private func convert(
    _ canvas: PooledTarget, _ size: Size, _ step: Subsampling, _ rows: [Int], of conversion: ColorConversion
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
      program.shader.set(name, conversion.row(row))
    }
    target.target.begin()
    program.shader.drawTriangle()
    try GLError.check("converting \(size) pixels")
    return target
  }
}

extension SIMD4<UInt32> {
  fileprivate static var black: SIMD4<UInt32> { SIMD4(repeating: 0xff00_0000) }
}
