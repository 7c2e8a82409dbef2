// The offscreen framebuffer of one picture: where its planes stand in it, and how they come back.
internal import PreviewCore

/// One view's framebuffer: R, G, B, A as they are, or the planes of Y'CbCr side by side, four samples in a texel.
struct PictureTarget {
  let view: PlannedView
  let pooled: PooledTarget
  /// Of each plane, in texels.
  let regions: [TexelRegion]

  init(_ view: PlannedView, from targets: TargetPool) throws {
    var x = 0
    let regions = view.passes.map { pass in
      let width = pass.output == .rgba ? pass.size.width : (pass.size.width + 3) / 4
      defer { x += width }
      return TexelRegion(x: x, y: 0, width: width, height: pass.size.height)
    }
    self.view = view
    self.regions = regions
    self.pooled = try targets.take(.rgba8, width: x, height: view.size.height)
  }

  /// Waits for what was drawn and copies it out: rows of whole texels, so up to three bytes longer than their samples.
  func read() throws -> Picture {
    var planes: [PicturePlane] = []
    var bytes: [UInt8] = []
    for (region, pass) in zip(regions, view.passes) {
      planes.append(PicturePlane(size: pass.size, offset: bytes.count, bytesPerRow: region.width * 4))
      var plane = [UInt8](repeating: 0, count: region.width * 4 * region.height)
      try pooled.target.read(into: &plane, region)
      bytes = bytes.isEmpty ? plane : bytes + plane
    }
    return Picture(size: view.size, format: view.format, planes: planes, bytes: bytes)
  }
}
