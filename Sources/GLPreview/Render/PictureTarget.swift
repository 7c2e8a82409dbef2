// The offscreen framebuffers of one picture, one per plane, and their readback.

/// One view's planes on the GPU.
struct PictureTarget {
  let layout: PictureLayout
  /// How the picture is to be coded; nil if it is not.
  let coding: PictureCoding?
  /// Nil for planes that are in a `PictureBuffer`.
  private let planes: [DrawnPlane?]
  /// The targets that only this picture uses.
  let own: [PooledTarget]

  /// Creates a target of planes that it only borrows. Those that are in a `PictureBuffer` are nil.
  init(_ view: PlannedView, _ planes: [DrawnPlane?]) { self.init(view, planes, own: []) }

  init(
    composing view: PlannedView, _ composition: PlannedComposition, of frames: [Frame?], _ tiles: TileCache,
    _ compositor: Compositor
  ) throws {
    let canvas = try compositor.draw(composition, of: frames, tiles)
    let (planes, own) = try compositor.planes(of: canvas, view)
    self.init(view, planes, own: own)
  }

  private init(_ view: PlannedView, _ planes: [DrawnPlane?], own: [PooledTarget]) {
    layout = PictureLayout(
      view, bytesPerRow: zip(planes, view.passes).map { $0?.bytesPerRow ?? $1.bytesPerRowOfTexels },
      isByTurns: planes.contains { $0?.isByTurns == true })
    self.planes = planes
    self.own = own
    coding = view.coding
  }

  /// Waits for the draws and reads the picture.
  func read() throws -> Picture {
    let bytes = try unsafe [UInt8](unsafeUninitializedCapacity: layout.byteCount) { memory, initialized in
      try unsafe read(into: UnsafeMutableRawBufferPointer(memory))
      initialized = layout.byteCount
    }
    return layout.isByTurns ? layout.picture(copying: bytes.span) : layout.picture(bytes)
  }

  @unsafe private func read(into memory: UnsafeMutableRawBufferPointer) throws(GLError) {
    for (plane, picturePlane) in zip(planes, layout.planes) {
      let end = picturePlane.offset + picturePlane.bytesPerRow * picturePlane.size.height
      guard let plane else { throw GLError("reading back a plane", .bounds("not drawn")) }
      for part in plane.parts(picturePlane) {
        try unsafe plane.target.target.read(
          into: UnsafeMutableRawBufferPointer(rebasing: memory[picturePlane.offset + part.offset..<end]),
          bytesPerRow: part.bytesPerRow, part.region, attachment: part.output)
      }
    }
  }

  /// Makes the GPU copy the picture into a buffer at `offset`, without waiting.
  func read(into buffer: borrowing PixelBuffer, at offset: Int) throws(GLError) {
    for (plane, picturePlane) in zip(planes, layout.planes) {
      guard let plane else { continue }
      for part in plane.parts(picturePlane) {
        try plane.target.target.read(
          into: buffer, at: offset + picturePlane.offset + part.offset, bytesPerRow: part.bytesPerRow,
          part.region, attachment: part.output)
      }
    }
  }
}

/// The memory layout of a picture as it is read back: rows of whole texels, so slightly longer than their
/// samples.
struct PictureLayout {
  let size: Size
  let format: Picture.Format
  let planes: [Picture.Plane]
  let byteCount: Int
  /// Whether two halves are read back, whose texels alternate in the picture.
  let isByTurns: Bool

  /// Planes one after another, with these bytes per row.
  init(_ view: PlannedView, bytesPerRow: [Int], isByTurns: Bool) {
    self.isByTurns = isByTurns
    var planes: [Picture.Plane] = []
    var count = 0
    for (pass, bytesPerRow) in zip(view.passes, bytesPerRow) {
      planes.append(Picture.Plane(size: pass.size, offset: count, bytesPerRow: bytesPerRow))
      count += bytesPerRow * pass.size.height
    }
    size = view.size
    format = view.format
    self.planes = planes
    byteCount = count
  }

  func picture(copying bytes: Span<UInt8>) -> Picture {
    picture(
      unsafe bytes.withUnsafeBytes { bytes in
        unsafe [UInt8](unsafeUninitializedCapacity: byteCount) { copy, count in
          let copy = UnsafeMutableRawBufferPointer(copy)
          if isByTurns { unsafe takeTurns(bytes, into: copy) } else { unsafe copy.copyMemory(from: bytes) }
          count = byteCount
        }
      })
  }

  fileprivate func picture(_ bytes: [UInt8]) -> Picture {
    Picture(size: size, format: format, planes: planes, bytes: bytes)
  }

  /// Interleaves the texels of both halves.
  private func takeTurns(_ halves: UnsafeRawBufferPointer, into memory: UnsafeMutableRawBufferPointer) {
    let size = MemoryLayout<SIMD4<UInt32>>.size
    for start in stride(from: 0, to: byteCount / 2, by: size) {
      let first = unsafe halves.loadUnaligned(fromByteOffset: start, as: SIMD4<UInt32>.self)
      let second = unsafe halves.loadUnaligned(fromByteOffset: byteCount / 2 + start, as: SIMD4<UInt32>.self)
      unsafe memory.storeBytes(of: first, toByteOffset: 2 * start, as: SIMD4<UInt32>.self)
      unsafe memory.storeBytes(of: second, toByteOffset: 2 * start + size, as: SIMD4<UInt32>.self)
    }
  }
}

extension DrawnPlane {
  /// Rows of a plane read back together: from a region of an output to `offset` in the plane's bytes.
  fileprivate struct Part {
    let region: Rectangle
    let output: Int
    let offset: Int
    let bytesPerRow: Int
  }

  /// The bytes per row of the picture's plane.
  fileprivate var bytesPerRow: Int {
    if case .texelsByTurns = layout { 2 * target.bytesPerRow } else { target.bytesPerRow }
  }

  fileprivate var isByTurns: Bool { if case .texelsByTurns = layout { true } else { false } }

  /// All rows; if texels alternate, all of one output and then all of the other.
  fileprivate func parts(_ plane: Picture.Plane) -> [Part] {
    let (width, height) = (target.description.width, plane.size.height)
    let whole = Rectangle(x: 0, y: 0, width: width, height: height)
    switch layout {
    case .whole(let output):
      return [Part(region: whole, output: output, offset: 0, bytesPerRow: plane.bytesPerRow)]
    case .rowsByTurns(let skipped):
      return (0..<min(4, height)).map { first in
        Part(
          region: Rectangle(x: 0, y: (first + skipped) / 4, width: width, height: (height - first + 3) / 4),
          output: (first + skipped) % 4, offset: first * plane.bytesPerRow,
          bytesPerRow: plane.bytesPerRow * 4)
      }
    case .texelsByTurns:
      return (0...1).map { output in
        Part(
          region: whole, output: output, offset: output * target.bytesPerRow * height,
          bytesPerRow: target.bytesPerRow)
      }
    }
  }
}

extension PooledTarget {
  /// The bytes per row of one output.
  fileprivate var bytesPerRow: Int { description.width * target.bytesPerReadTexel }
}
