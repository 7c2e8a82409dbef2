// The layout of a picture's rows in a driver's buffer, and their places in a frame. Drivers add padding;
// copied frames have none.

struct V4L2Layout: Sendable, Hashable {
  struct Plane: Sendable, Hashable {
    /// The memory plane in the buffer, and the offset in bytes from the start of the picture there.
    let memoryPlane: Int
    let offset: Int
    /// The stride in the buffer, in bytes.
    let bytesPerRow: Int
    /// The offset in the frame, where rows have no padding.
    let target: Int
    let rowByteCount: Int
    let rows: Int
  }

  let samples: V4L2Samples
  let size: Size
  /// The planes in the order of memory.
  let planes: [Plane]
  /// The fewest bytes of each memory plane that contain a whole picture.
  let neededByteCounts: [Int]
  let byteCount: Int

  /// `bytesPerLine` is the driver's stride of each memory plane, or, of a single memory plane, the stride of
  /// the first plane's rows. Nil if the driver's number of memory planes does not match the format, or the
  /// picture is too large for memory.
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
      // In a single memory plane, chroma rows are padded in the same proportion as luma rows.
      let stated =
        isAlone || position == 0
        ? bytesPerLine[isAlone ? position : 0]
        : bytesPerLine[0] * plane.texel.byteCount / plane.subsampling.x
      let bytesPerRow = max(stated, row)
      let memoryPlane = isAlone ? position : 0
      if isAlone { offset = 0 }
      planes.append(
        Plane(
          memoryPlane: memoryPlane, offset: offset, bytesPerRow: bytesPerRow, target: targets[index],
          rowByteCount: row, rows: rows))
      // The last row's padding may be missing.
      needed[memoryPlane] = offset + bytesPerRow * (rows - 1) + row
      offset += bytesPerRow * rows
    }
    self.samples = samples
    self.size = size
    self.planes = planes
    neededByteCounts = needed
    self.byteCount = byteCount
  }

  /// Returns the frame of a picture with the driver's `color`. `sources` are as in `copy`.
  func frame(_ sources: [UnsafeRawBufferPointer], _ color: V4L2Color, _ memory: FramePool) throws -> Frame {
    let format = samples.format
    let expands = format.isRGB && color.range(of: format) == .limited
    let target = try memory.take(byteCount)
    unsafe target.write { unsafe copy(sources, to: $0, expands: expands) }
    return try Frame(
      tight: frameFormat(color), storage: FrameBytes(target))
  }

  /// Why a driver's picture can't be a frame where it lies; nil if it can.
  func obstacle(_ color: V4L2Color) -> String? {
    if samples.memoryPlanes > 1 { return "a picture is in several buffers" }
    // No consumer could know that the fourth byte is not alpha.
    if samples.isOpaque { return "the fourth byte of a pixel has no meaning, and has to be set" }
    if samples.format.isRGB, color.range(of: samples.format) == .limited {
      return "R'G'B' of limited range has to be expanded"
    }
    return nil
  }

  /// The planes of a frame whose picture begins at byte `start` of its memory.
  func framePlanes(from start: Int = 0) -> [Frame.Plane] {
    let places = Dictionary(
      uniqueKeysWithValues: zip(samples.order, planes).map {
        ($0, Frame.Plane(offset: start + $1.offset, bytesPerRow: $1.bytesPerRow))
      })
    return samples.format.planes.indices.compactMap { places[$0] }
  }

  func frameFormat(_ color: V4L2Color) -> Frame.Format {
    Frame.Format(samples.format, size, color: color.description(size, samples.format))
  }

  /// Returns the frame of a picture where it lies, from byte `start` of its memory on.
  func frame(in memory: SharedFrameMemory, from start: Int, _ color: V4L2Color) throws -> Frame {
    try Frame(frameFormat(color), storage: FrameBytes(memory), planes: framePlanes(from: start))
  }

  /// Copies a picture. `sources` are its memory planes from the start of the picture, each with at least
  /// `neededByteCounts` bytes; `target` has `byteCount` bytes.
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

  /// Expands R'G'B' of limited range (CTA-861: 16...235) to full range, which R'G'B' frames have.
  private func expandRange(_ target: UnsafeMutableRawBufferPointer) {
    let table = (0...255).map { code in UInt8(clamping: ((code - 16) * 255 * 2 + 219) / (219 * 2)) }
    let hasAlpha = samples.format.planes[0].texel == .four8
    for index in 0..<byteCount where !hasAlpha || index % 4 != 3 {
      unsafe target[index] = table[Int(target[index])]
    }
  }
}

extension V4L2ModeSelection {
  /// The bytes of a row to request for pictures that GPUs read in place, most of which want multiples of 256; 0 for formats that they
  /// don't read in place. Drivers may answer with others.
  var bytesPerRowForGPU: Int {
    guard case .samples(let samples) = V4L2PixelFormat(fourCC), samples.memoryPlanes == 1 else { return 0 }
    return (samples.format.planes[0].tightBytesPerRow(of: size) + 255) / 256 * 256
  }
}
