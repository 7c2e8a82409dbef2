// One uploaded frame and everything that draws from it.
internal import PreviewCore

/// Draws the planes of one frame's views. Intermediate targets return to the pool at the end.
struct FrameDrawing {
  private let uploaded: UploadedFrame
  private let passes: PassExecutor
  private let boxes: BoxPainter
  private let targets: TargetPool

  init(
    _ uploaded: UploadedFrame, _ passes: PassExecutor, _ boxes: BoxPainter, _ targets: TargetPool
  ) {
    (self.uploaded, self.passes, self.boxes, self.targets) = (uploaded, passes, boxes, targets)
  }

  /// Draws one plane of a view: four outputs at a time if the plan says so, otherwise tap by tap.
  ///
  /// - Returns: the plane, and whether the caller must return its target; otherwise it is lent until `finish`.
  func plane(of pass: PlanePass, _ view: PlannedView) throws -> (plane: DrawnPlane, isOwn: Bool) {
    if let box = pass.box { return (try boxes.plane(of: pass, box), false) }
    let width = pass.output == .rgba ? pass.size.width : (pass.size.width + 3) / 4
    let target = try targets.take(TargetDescription(.rgba8, width: width, height: pass.size.height))
    try passes.draw(pass, of: view, into: target)
    return (DrawnPlane(target: target, layout: .whole(output: 0)), true)
  }

  /// Returns the drawn targets, except those that `tiles` holds.
  func finish(keeping tiles: TileCache) {
    passes.finish()
    boxes.finish { !tiles.holds($0) }
    uploaded.finish()
  }
}
