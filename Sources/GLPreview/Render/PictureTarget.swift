// The offscreen framebuffers of one picture, a plane each, and how they come back.
internal import PreviewCore

/// One view's planes on the GPU.
struct PictureTarget {
  private let view: PlannedView
  private let planes: [DrawnPlane]
  /// Targets that belong to this picture alone.
  let own: [PooledTarget]

  /// Draws all planes of a view: four outputs at a time where the plan says so, else tap by tap.
  init(drawing view: PlannedView, _ passes: PassExecutor, _ boxes: BoxPainter, _ targets: TargetPool) throws {
    var planes: [DrawnPlane] = []
    var own: [PooledTarget] = []
    for pass in view.passes {
      if let box = pass.box {
        planes.append(try boxes.plane(of: pass, box))
      } else {
        let width = pass.output == .rgba ? pass.size.width : (pass.size.width + 3) / 4
        let target = try targets.take(TargetDescription(.rgba8, width: width, height: pass.size.height))
        own.append(target)
        try passes.draw(pass, of: view, into: target)
        planes.append(DrawnPlane(target: target, layout: .whole(output: 0)))
      }
    }
    self.view = view
    self.planes = planes
    self.own = own
  }

  /// Waits for what was drawn and copies it out: rows of whole texels, so a little longer than their samples.
  func read() throws -> Picture {
    var picturePlanes: [PicturePlane] = []
    var count = 0
    for (plane, pass) in zip(planes, view.passes) {
      picturePlanes.append(
        PicturePlane(size: pass.size, offset: count, bytesPerRow: plane.bytesPerRow))
      count += plane.bytesPerRow * pass.size.height
    }
    let bytes = try unsafe [UInt8](unsafeUninitializedCapacity: count) { memory, initialized in
      for (plane, picturePlane) in zip(planes, picturePlanes) {
        let end = picturePlane.offset + picturePlane.bytesPerRow * picturePlane.size.height
        try unsafe plane.read(
          into: UnsafeMutableRawBufferPointer(
            rebasing: UnsafeMutableRawBufferPointer(memory)[picturePlane.offset..<end]),
          picturePlane)
      }
      initialized = count
    }
    return Picture(size: view.size, format: view.format, planes: picturePlanes, bytes: bytes)
  }
}

extension DrawnPlane {
  /// Of what is read back.
  fileprivate var bytesPerRow: Int {
    if case .texelsByTurns = layout { 2 * target.bytesPerRow } else { target.bytesPerRow }
  }

  /// Copies all rows to `memory`, which is the plane's.
  @unsafe fileprivate func read(
    into memory: UnsafeMutableRawBufferPointer, _ plane: PicturePlane
  ) throws(GLError) {
    let (width, height) = (target.description.width, plane.size.height)
    switch layout {
    case .whole(let output):
      try unsafe target.target.read(
        into: memory, bytesPerRow: plane.bytesPerRow, TexelRegion(x: 0, y: 0, width: width, height: height),
        attachment: output)
    case .rowsByTurns(let skipped):
      for first in 0..<min(4, height) {
        let region = TexelRegion(
          x: 0, y: (first + skipped) / 4, width: width, height: (height - first + 3) / 4)
        try unsafe target.target.read(
          into: UnsafeMutableRawBufferPointer(rebasing: memory[(first * plane.bytesPerRow)...]),
          bytesPerRow: plane.bytesPerRow * 4, region, attachment: (first + skipped) % 4)
      }
    case .texelsByTurns:
      let region = TexelRegion(x: 0, y: 0, width: width, height: height)
      let count = width * height
      try unsafe withUnsafeTemporaryAllocation(of: SIMD4<UInt32>.self, capacity: count) {
        texels throws(GLError) in
        for output in 0...1 {
          try unsafe target.target.read(
            into: UnsafeMutableRawBufferPointer(texels), bytesPerRow: width * 16, region, attachment: output)
          for index in 0..<count {
            let place = (2 * index + output) * MemoryLayout<SIMD4<UInt32>>.size
            unsafe memory.storeBytes(of: texels[index], toByteOffset: place, as: SIMD4<UInt32>.self)
          }
        }
      }
    }
  }
}

extension PooledTarget {
  /// Of one output.
  fileprivate var bytesPerRow: Int { description.width * target.bytesPerReadTexel }
}
