// Where a driver puts a picture's rows, and where they go: drivers pad rows and planes, frames are tight.
internal import PreviewCore

/// How pictures are copied out of a driver's buffers.
struct V4L2Layout: Sendable, Hashable {
  /// One plane's way.
  struct Plane: Sendable, Hashable {
    /// In which memory plane of the buffer, and how many bytes from its picture's begin.
    let memoryPlane: Int
    let offset: Int
    /// From row to row there.
    let bytesPerRow: Int
    /// Where the rows go, one after another.
    let target: Int
    let rowByteCount: Int
    let rows: Int
  }

  let samples: V4L2Samples
  let size: Size
  /// In memory's order.
  let planes: [Plane]
  /// The least bytes of each memory plane that hold a whole picture.
  let neededByteCounts: [Int]
  /// Of a frame.
  let byteCount: Int

  /// `bytesPerLine` is the driver's, of each memory plane: of the first plane's rows where all stand in one. Nil where
  /// the format's and the driver's number of memory planes differ, or no memory holds such pictures.
  init?(_ samples: V4L2Samples, _ size: Size, bytesPerLine: [Int]) {
    guard size.width > 0, size.height > 0, bytesPerLine.count == samples.memoryPlanes,
      let byteCount = samples.format.tightByteCount(of: size)
    else { return nil }
    let descriptions = samples.format.planes
    var targets: [Int] = []
    var target = 0
    for plane in descriptions {
      targets.append(target)
      target += plane.tightBytesPerRow(of: size) * plane.texels(of: size).height
    }
    var planes: [Plane] = []
    var needed = [Int](repeating: 0, count: samples.memoryPlanes)
    var offset = 0
    for (position, index) in samples.order.enumerated() {
      let plane = descriptions[index]
      let (row, rows) = (plane.tightBytesPerRow(of: size), plane.texels(of: size).height)
      let isAlone = samples.memoryPlanes > 1
      // In one memory plane the chroma's rows are padded as the luma's are, in proportion.
      let told =
        isAlone || position == 0
        ? bytesPerLine[isAlone ? position : 0]
        : bytesPerLine[0] * plane.texel.byteCount / plane.subsampling.x
      let bytesPerRow = max(told, row)
      let memoryPlane = isAlone ? position : 0
      if isAlone { offset = 0 }
      planes.append(
        Plane(
          memoryPlane: memoryPlane, offset: offset, bytesPerRow: bytesPerRow, target: targets[index],
          rowByteCount: row, rows: rows))
      // The last row's padding need not be there.
      needed[memoryPlane] = offset + bytesPerRow * (rows - 1) + row
      offset += bytesPerRow * rows
    }
    self.samples = samples
    self.size = size
    self.planes = planes
    neededByteCounts = needed
    self.byteCount = byteCount
  }

  /// Copies a picture; `sources` are its memory planes from the picture's begin on, each with at least
  /// `neededByteCounts`, `target` has `byteCount` bytes.
  func copy(_ sources: [UnsafeRawBufferPointer], to target: UnsafeMutableRawBufferPointer, expands: Bool) {
    for plane in planes {
      let source = unsafe sources[plane.memoryPlane]
      let count = plane.rowByteCount
      if plane.bytesPerRow == count {
        let all = count * plane.rows
        unsafe UnsafeMutableRawBufferPointer(rebasing: target[plane.target..<plane.target + all])
          .copyMemory(from: UnsafeRawBufferPointer(rebasing: source[plane.offset..<plane.offset + all]))
        continue
      }
      for row in 0..<plane.rows {
        let (from, to) = (plane.offset + row * plane.bytesPerRow, plane.target + row * count)
        unsafe UnsafeMutableRawBufferPointer(rebasing: target[to..<to + count])
          .copyMemory(from: UnsafeRawBufferPointer(rebasing: source[from..<from + count]))
      }
    }
    if expands { unsafe expandRange(target) }
    if samples.isOpaque {
      for index in stride(from: 3, to: byteCount, by: 4) { unsafe target[index] = 255 }
    }
  }

  /// R'G'B' of limited range (CTA-861: 16...235) to the full range that frames of R'G'B' have.
  private func expandRange(_ target: UnsafeMutableRawBufferPointer) {
    let table = (0...255).map { code in UInt8(clamping: ((code - 16) * 255 * 2 + 219) / (219 * 2)) }
    let hasAlpha = samples.format.planes[0].texel == .four8
    for index in 0..<byteCount where !hasAlpha || index % 4 != 3 {
      unsafe target[index] = table[Int(target[index])]
    }
  }
}
